"""The page on this machine to which a browser comes back from the provider (RFC 8252 section 7.3)."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from hmac import compare_digest
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

from dragoman.client.login.oauth.failures import LoginFailed

__all__ = ["Callback", "waiting_for_callback"]

PATH = "/callback"
LONGEST_HEAD = 16 * 1024
"""Bytes of a request."""
PATIENCE = 5.0
"""Seconds that a request may take."""
MOST = 16
"""Connections at a time; browsers open some in advance."""
MOST_PARAMETERS = 20

_PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
    "<body style='font-family:sans-serif;margin:4em auto;max-width:30em'><h1>{title}</h1><p>{text}</p></body></html>"
)
_DONE = _PAGE.format(title="That was it", text="You can close this page and go back to where you came from.")
_STRANGE = _PAGE.format(title="This was not asked for", text="Nothing was taken from this request.")
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}


class Callback(NamedTuple):
    """Where the browser is to come back to, and what it brings."""

    url: str
    told: "asyncio.Future[dict[str, str]]"
    """The parameters of the first request that has the right `state`."""


@asynccontextmanager
async def waiting_for_callback(state: str, port: int = 0) -> AsyncGenerator[Callback, None]:
    """Listens on 127.0.0.1 alone while it is entered, at a free port unless told otherwise.

    What does not come with this `state`, or for another host (as it does after a name was turned to this machine), is
    answered and changes nothing: any page of any site can send a browser here.

    Raises:
        LoginFailed: somebody else listens at the port.
    """
    told: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()
    slots = asyncio.Semaphore(MOST)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with slots:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(PATIENCE):
                    head = await reader.readuntil(b"\r\n\r\n")
                    status, found = _read(head, authority, state)
                    writer.write(_answer(status))
                    await writer.drain()
                if found and not told.done():
                    told.set_result(found)
            writer.close()

    try:
        server = await asyncio.start_server(connected, "127.0.0.1", port, limit=LONGEST_HEAD)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else type(error).__name__
        raise LoginFailed(f"Port {port} of 127.0.0.1, where the browser is to come back, is not free: {why}") from None
    authority = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield Callback(f"http://{authority}{PATH}", told)
    finally:
        server.close()
        told.cancel()


def _read(head: bytes, authority: str, state: str) -> tuple[int, dict[str, str]]:
    """The status to answer with, and what was told, if anything was."""
    line, *fields = head.decode("latin-1").split("\r\n")
    method, _, rest = line.partition(" ")
    target = urlsplit(rest.rpartition(" ")[0])
    hosts = [value.strip() for name, _, value in (field.partition(":") for field in fields) if name.lower() == "host"]
    if target.path != PATH or hosts != [authority]:
        return 404, {}
    if method != "GET":
        return 405, {}
    try:
        pairs = parse_qsl(target.query, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError:
        return 400, {}
    found = dict(pairs)
    is_ours = len(found) == len(pairs) and compare_digest(found.get("state", "").encode(), state.encode())
    return (200, found) if is_ours else (400, {})


def _answer(status: int) -> bytes:
    page = (_DONE if status == 200 else _STRANGE).encode()  # noqa: PLR2004 -- the status of success
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\n"
        "Content-Type: text/html; charset=utf-8\r\n"
        f"Content-Length: {len(page)}\r\n"
        "Cache-Control: no-store\r\n"
        "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n"
        "Referrer-Policy: no-referrer\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + page
