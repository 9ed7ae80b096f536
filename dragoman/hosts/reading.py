"""Requests, from ASGI."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from dragoman.errors import InvalidRequestError, RequestTooLargeError
from dragoman.hosts.binding import Receive
from dragoman.hosts.timing import within

__all__ = ["BODILESS", "Disconnected", "read_body", "request_path"]

LONGEST_NUMBER = 18
"""Digits of a length that is a number of bytes that could be."""
BODILESS = frozenset({"GET", "HEAD"})
"""Methods whose requests have no body that means anything (RFC 9110 sections 9.3.1 and 9.3.2)."""
PATH_SAFE = "/:@!$&'()*+,;=~"


class Disconnected(Exception):
    """The caller left before the request was whole."""


def request_path(scope: Mapping[str, Any]) -> str:
    """The path relative to where the application is mounted, percent-encoded, beginning with a slash or empty."""
    root = scope.get("root_path", "")
    raw = scope.get("raw_path")
    path: str = scope["path"] if raw is None else raw.decode("latin-1")
    if raw is None:
        path = quote(path, safe=PATH_SAFE)
    if root:
        encoded = quote(root, safe=PATH_SAFE)
        path = path.removeprefix(encoded) if path.startswith(encoded) else path.removeprefix(root)
    return path


async def read_body(
    scope: Mapping[str, Any], headers: Mapping[str, str], receive: Receive, limit: int, seconds: float
) -> bytes:
    """The whole body.

    Raises:
        RequestTooLargeError: it is, or says it is, longer than `limit` bytes.
        InvalidRequestError: it did not come within `seconds`.
        Disconnected: the caller left.
    """
    if scope["method"] in BODILESS:
        return b""
    stated = headers.get("content-length", "")
    if stated.isdecimal() and (len(stated) > LONGEST_NUMBER or int(stated) > limit):
        raise _too_large(limit)
    try:
        return await within(seconds, _chunks(receive, limit))
    except TimeoutError as error:
        raise InvalidRequestError(f"The body did not arrive within {seconds:g} seconds") from error


async def _chunks(receive: Receive, limit: int) -> bytes:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False) and len(body) <= limit:
        return body
    chunks, size = [body], len(body)
    while message.get("more_body", False):
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            break
    if size > limit:
        raise _too_large(limit)
    return b"".join(chunks)


def _too_large(limit: int) -> RequestTooLargeError:
    return RequestTooLargeError(f"The body is longer than {limit} bytes", details={"maxBodyBytes": str(limit)})
