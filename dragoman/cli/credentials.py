"""Credentials: which of them a call carries, as the card declares, and what never reaches a screen."""

import re
from base64 import b64encode, urlsafe_b64encode
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from dragoman.types.card import (
    AgentCard,
    APIKeySecurityScheme,
    HTTPAuthSecurityScheme,
    MutualTlsSecurityScheme,
    OAuth2SecurityScheme,
    OpenIdConnectSecurityScheme,
    SecurityScheme,
)

__all__ = ["Attachment", "Redactor", "attach"]

_MASK = "[redacted]"
_USER_INFO = re.compile(r"(?<=://)[^/\s@]+(?=@)")
_SECRET_MEMBERS = re.compile(r'("(?:token|credentials)"\s*:\s*")(?:[^"\\]|\\.)*')
"""What configurations of push notifications have, those of other callers too."""
_SHORTEST_PIECE = 8


class Redactor:
    """The one place where secrets are taken out of text, in whatever spelling they come."""

    def __init__(self) -> None:
        self._spellings: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def hide(self, secret: str) -> None:
        """From now on this is not shown: raw, in base64, or quoted for a URL or a JSON string."""
        raw = secret.encode("utf-8", "surrogatepass")
        encoded = {b64encode(raw).decode().rstrip("="), urlsafe_b64encode(raw).decode().rstrip("=")}
        escaped = secret.replace("\\", "\\\\").replace('"', '\\"')
        quoted = {quote(raw), quote(raw, safe=""), quote_plus(raw), repr(secret)[1:-1], escaped}
        self._spellings |= {spelling for spelling in {secret} | encoded | quoted if spelling}
        ordered = sorted(self._spellings, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE)

    def hide_parameter(self, name: str, value: str) -> None:
        """Hides the value of a service parameter, and its longer words, unless the name is known to be harmless."""
        # Without parameters the client need not be loaded for this.
        from dragoman.client.login.identity import HARMLESS

        if name.lower() in HARMLESS or not value:
            return
        self.hide(value)
        for piece in re.split(r"[\s;,=]+", value):
            if len(piece) >= _SHORTEST_PIECE:
                self.hide(piece)

    def __call__(self, text: str) -> str:
        """The text without any secret, those in JSON known by their names, and without the user information of URLs."""
        shown = self._pattern.sub(_MASK, text) if self._pattern is not None else text
        return _USER_INFO.sub(_MASK, _SECRET_MEMBERS.sub(rf"\1{_MASK}", shown))


class Attachment(NamedTuple):
    """Which scheme gets which secret, and what the user should know about it."""

    secrets: dict[str, str]
    """By the names of the card's schemes."""
    warnings: tuple[str, ...]
    missing: tuple[str, ...]
    """Names of schemes of which the card demands one, where nothing was given that fits any."""


def attach(card: AgentCard, *, bearer: str | None, api_key: str | None, query: bool = True) -> Attachment:
    """Gives each credential to the scheme of the card that takes it; what no scheme takes is not sent.

    Schemes named in the card's security requirements come before others. `query` says whether the binding has one.
    """
    from dragoman.client.login.placing import has_place

    schemes = _by_precedence(card)
    secrets: dict[str, str] = {}
    warnings: list[str] = []
    if bearer is not None:
        name = next((name for name, scheme in schemes.items() if _takes_bearer(scheme)), None)
        if name is not None:
            secrets[name] = bearer
        else:
            warnings.append(_unused("bearer token", "--bearer"))
    if api_key is not None:
        name = next((name for name, scheme in schemes.items() if isinstance(scheme, APIKeySecurityScheme)), None)
        if name is None:
            warnings.append(_unused("API key", "--api-key"))
        elif not has_place(schemes[name], query=query):
            warnings.append("the API key belongs in the query, which gRPC does not have: it is not sent")
        else:
            secrets[name] = api_key
    return Attachment(secrets, tuple(warnings), _missing(card, bearer=bearer, api_key=api_key))


def _unused(what: str, flag: str) -> str:
    return (
        f"the card declares no scheme that takes a {what}; {flag} was not sent. "
        "A header that the agent expects beyond its card can be sent with --svc-param NAME:VALUE"
    )


def _by_precedence(card: AgentCard) -> dict[str, SecurityScheme]:
    named = [name for requirement in card.security_requirements for name in requirement]
    order = [*dict.fromkeys(name for name in named if name in card.security_schemes), *card.security_schemes]
    return {name: card.security_schemes[name] for name in order}


def _missing(card: AgentCard, *, bearer: str | None, api_key: str | None) -> tuple[str, ...]:
    wanted: list[str] = []
    for requirement in card.security_requirements:
        lacking = [
            name
            for name in requirement
            if not _met(card.security_schemes.get(name), has_bearer=bearer is not None, has_key=api_key is not None)
        ]
        if not lacking:
            return ()
        wanted += lacking
    return tuple(dict.fromkeys(wanted))


def _met(scheme: SecurityScheme | None, *, has_bearer: bool, has_key: bool) -> bool:
    if isinstance(scheme, APIKeySecurityScheme):
        return has_key
    if scheme is None or isinstance(scheme, MutualTlsSecurityScheme):
        return True
    return has_bearer and _takes_bearer(scheme)


def _takes_bearer(scheme: SecurityScheme) -> bool:
    if isinstance(scheme, HTTPAuthSecurityScheme):
        return scheme.scheme.lower() == "bearer"
    return isinstance(scheme, OAuth2SecurityScheme | OpenIdConnectSecurityScheme)
