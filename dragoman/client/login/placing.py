"""Where secrets stand in a request, by their schemes; over every binding alike."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping
from urllib.parse import quote

import msgspec

from dragoman.client.login.need import LoginError, Need, Secret
from dragoman.client.words import shown
from dragoman.types.card import APIKeySecurityScheme, HTTPAuthSecurityScheme, SecurityScheme

__all__ = ["NOTHING", "Carried", "has_place", "place"]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE = re.compile(r"[\x20-\x7e]+")
_COOKIE = re.compile(r"[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]+")
# What says how a message is read, and to whom it goes, is not a card's to choose.
_RESERVED = frozenset(
    {"a2a-extensions", "a2a-version", "accept", "accept-encoding", "connection", "content-encoding", "content-length"}
    | {"content-type", "expect", "host", "keep-alive", "last-event-id", "te", "trailer", "transfer-encoding", "upgrade"}
)


class Carried(msgspec.Struct, frozen=True):
    """What a request carries so that its caller is known. Its `repr` shows nothing of it."""

    headers: Mapping[str, str] = {}
    """Over gRPC these are metadata. Names are lower case."""
    query: str = ""
    """Encoded; joins what the query has."""
    secrets: tuple[tuple[Need, Secret], ...] = ()

    def __repr__(self) -> str:
        return "Carried()"

    def __rich_repr__(self) -> list[tuple[str, object]]:
        return []


NOTHING = Carried()


def has_place(scheme: SecurityScheme, *, query: bool) -> bool:
    """Whether the scheme's secret has a place where there is, or is not, a query."""
    return query or not isinstance(scheme, APIKeySecurityScheme) or scheme.location.lower() != "query"


def place(secrets: Iterable[tuple[Need, Secret]], headers: Mapping[str, str]) -> Carried:
    """The secrets where their schemes have them, cookies behind those that `headers` already has.

    Raises:
        LoginError: one cannot stand there, or two want the same place.
    """
    kept = tuple(secrets)
    placed: dict[str, str] = {}
    cookies: list[str] = [headers["cookie"]] if "cookie" in headers else []
    query: list[str] = []
    for need, secret in kept:
        scheme = need.scheme
        match scheme:
            case APIKeySecurityScheme() if scheme.location.lower() == "query":
                query.append(f"{quote(scheme.name, safe='')}={quote(secret.value, safe='', errors='surrogateescape')}")
            case APIKeySecurityScheme() if scheme.location.lower() == "cookie":
                cookies.append(f"{_checked(_TOKEN, scheme.name, need)}={_checked(_COOKIE, secret.value, need)}")
            case APIKeySecurityScheme():
                _put(placed, _checked(_TOKEN, scheme.name, need).lower(), secret.value, need)
            case _:
                _put(placed, "authorization", _authorization(need, secret.value), need)
    if len(cookies) > ("cookie" in headers):
        placed["cookie"] = "; ".join(cookies)
    return Carried(placed, "&".join(query), kept)


def _put(placed: dict[str, str], name: str, value: str, need: Need) -> None:
    if name in placed or name in _RESERVED or name == "cookie":
        raise LoginError(
            f"The scheme {shown(need.name)!r} has no place of its own: the header {shown(name)!r} is not free for it"
        )
    placed[name] = _checked(_VISIBLE, value, need)


def _authorization(need: Need, value: str) -> str:
    scheme = need.scheme.scheme if isinstance(need.scheme, HTTPAuthSecurityScheme) else "Bearer"
    match scheme.lower():
        case "basic":
            return f"Basic {b64encode(value.encode(errors='surrogateescape')).decode()}"
        case "bearer":
            return f"Bearer {value}"
        case _:
            return f"{_checked(_TOKEN, scheme, need)} {value}"


def _checked(form: re.Pattern[str], text: str, need: Need) -> str:
    """The text, whose message does not repeat it: it may be secret."""
    if form.fullmatch(text) is None:
        raise LoginError(f"The scheme {shown(need.name)!r}, or the secret for it, has characters that cannot be sent")
    return text
