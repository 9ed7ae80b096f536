"""What an answer says, as far as anybody wants to know it, and what is said if there is none."""

import ssl
import time
from collections.abc import Mapping
from datetime import UTC

import aiohttp
import msgspec

from dragoman.ports.webhook import Answer, Undelivered

__all__ = ["FAILURES", "Page", "answer_of", "words_for"]

FAILURES = (aiohttp.ClientError, OSError, EOFError, ValueError, RuntimeError)
"""What comes out of aiohttp when a call fails; the last two for headers that cannot be sent and for what is closed."""

FIRST, LAST = 200, 599
LONGEST_WISH = 10
"""Digits."""


class Page(msgspec.Struct, frozen=True):
    """An answer with its body. Names of headers are lower case, the last of several with one name counts."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def answer_of(status: int, headers: Mapping[str, str]) -> Answer:
    """The answer by its head.

    Raises:
        Undelivered: the head is that of another protocol, or of none.
    """
    if not FIRST <= status <= LAST:
        raise Undelivered(f"Status {status} answers no request")
    wish = headers.get("Retry-After")
    return Answer(status) if wish is None else Answer(status, _seconds(wish.strip()))


def words_for(error: Exception) -> str:
    """What went wrong, without the URL and without what was sent."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return _unconnected(error.os_error)
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "The connection was closed before an answer came"
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.ClientPayloadError):
        return "The answer is not HTTP, or its head is too long"
    if isinstance(error, aiohttp.ClientError | OSError):
        return f"The connection broke: {type(error).__name__}"
    return "The client was closed, or a header cannot be sent"


def _unconnected(error: OSError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"The certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        return f"TLS failed: {error.reason}"
    return f"No connection: {error.strerror or type(error).__name__}"


def _seconds(wish: str) -> float | None:
    """`Retry-After` (RFC 9110, section 10.2.3): seconds, or a date, which may have passed; None if it is neither."""
    if wish.isascii() and wish.isdecimal():
        return float(wish[:LONGEST_WISH])
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(wish)
    except (ValueError, OverflowError):
        return None
    # A date without a zone is one of the universal time, as all dates in HTTP are.
    date = date if date.tzinfo is not None else date.replace(tzinfo=UTC)
    return max(0.0, date.timestamp() - time.time())
