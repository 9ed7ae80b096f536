"""Which members of a configuration can be sent as they are: what they say stands in headers of HTTP."""

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import urlsplit

from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.types.push import TaskPushNotificationConfig

__all__ = ["check_members", "origin_of"]

LONGEST = 4_096
"""Characters of a member; of an id no more than `LONGEST_ID`."""
LONGEST_ID = 256

_fits_scheme = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_DEFAULT_PORTS = {"http": 80, "https": 443}
_plain_url = re.compile(r"(https?://[a-z0-9.-]+(?::(?!80[/?]|443[/?])[0-9]{1,4})?)[/?][!\"$-\[\]-~]*").fullmatch


def check_members(config: TaskPushNotificationConfig, where: str) -> None:
    """Raises `InvalidParamsError` for members that cannot be sent; `where` stands before their names."""
    wrong = [FieldViolation(f"{where}{name}", why) for name, why in _wrong(config)]
    if wrong:
        raise InvalidParamsError(f"{wrong[0].field} {wrong[0].description}", violations=wrong)


def _wrong(config: TaskPushNotificationConfig) -> Iterator[tuple[str, str]]:
    if len(config.url) > LONGEST:
        yield "url", f"is longer than {LONGEST} characters"
    elif not _has_origin(config.url):
        yield "url", "is no URL"
    if len(config.id) > LONGEST_ID or " " in config.id or not _visible(config.id):
        yield "id", f"must be at most {LONGEST_ID} visible characters of ASCII"
    if config.token and not _sendable(config.token):
        yield "token", _VALUE
    given = config.authentication
    if given is not None:
        if len(given.scheme) > LONGEST or not _fits_scheme(given.scheme):
            yield "authentication.scheme", "must be the name of an authentication scheme of HTTP"
        if given.credentials and not _sendable(given.credentials):
            yield "authentication.credentials", _VALUE


_VALUE = f"must be fit for a header of HTTP: at most {LONGEST} characters of ASCII without control characters"


def _sendable(value: str) -> bool:
    return len(value) <= LONGEST and _visible(value) and value.strip(" ") == value


def _visible(value: str) -> bool:
    return value.isascii() and value.isprintable()


def _has_origin(url: str) -> bool:
    try:
        return bool(origin_of(url))
    except ValueError:
        return False


@lru_cache(maxsize=256)
def origin_of(url: str) -> str:
    """Scheme, host and port of a URL in one spelling; the default port is left out.

    Raises:
        ValueError: it is no URL.
    """
    plain = _plain_url(url)
    if plain is not None:
        return plain[1]
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    host = f"[{host}]" if ":" in host else host
    port = "" if parts.port in (None, _DEFAULT_PORTS.get(parts.scheme)) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"
