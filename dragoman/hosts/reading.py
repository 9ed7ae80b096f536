"""Requests, from ASGI."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from dragoman.errors import InvalidRequestError, RequestTooLargeError
from dragoman.hosts.binding import Receive
from dragoman.hosts.bodies import Bodies, Held
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
    scope: Mapping[str, Any],
    headers: Mapping[str, str],
    receive: Receive,
    limit: int,
    seconds: float,
    *,
    bodies: Bodies,
) -> bytes:
    """The whole body, which `bodies` counts while it comes.

    Raises:
        RequestTooLargeError: it is, or says it is, longer than `limit` bytes.
        LimitExceededError: there is no room for it now.
        InvalidRequestError: it did not come within `seconds`.
        Disconnected: the caller left.
    """
    if scope["method"] in BODILESS:
        return b""
    stated = headers.get("content-length", "")
    if stated.isdecimal() and (len(stated) > LONGEST_NUMBER or int(stated) > limit):
        raise _too_large(limit)
    try:
        return await within(seconds, _read(scope, headers, receive, limit, bodies))
    except TimeoutError as error:
        raise InvalidRequestError(f"The body did not arrive within {seconds:g} seconds") from error


async def _read(
    scope: Mapping[str, Any], headers: Mapping[str, str], receive: Receive, limit: int, bodies: Bodies
) -> bytes:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    body: bytes = message.get("body", b"")
    if len(body) > limit:
        raise _too_large(limit)
    if not message.get("more_body", False):
        return body
    held = bodies.begin(scope, headers)
    try:
        held.grow(len(body))
        return await _rest(body, receive, limit, held)
    finally:
        held.leave()


async def _rest(body: bytes, receive: Receive, limit: int, held: Held) -> bytes:
    chunks, size, more = [body], len(body), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Disconnected
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise _too_large(limit)
        held.grow(len(chunk))
        chunks.append(chunk)
        more = message.get("more_body", False)
    return b"".join(chunks)


def _too_large(limit: int) -> RequestTooLargeError:
    return RequestTooLargeError(f"The body is longer than {limit} bytes", details={"maxBodyBytes": str(limit)})
