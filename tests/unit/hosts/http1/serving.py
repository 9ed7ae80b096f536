"""A server of connections on a real socket, and a caller that says exactly the bytes it is given."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.listening import Listener
from dragoman.hosts.site import AsgiApplication, ConnectionLimits, Site

SECONDS = 10.0
"""That anything may take."""

Caller = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Served:
    """A site that listens, and its port. Whatever the event loop had to complain of is an error at the end."""

    def __init__(self, site: Site, port: int, tls: ssl.SSLContext | None) -> None:
        self.site = site
        self.port = port
        self._tls = tls

    @asynccontextmanager
    async def caller(self) -> AsyncGenerator[Caller]:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, ssl=self._tls, server_hostname="localhost" if self._tls else None
        )
        try:
            async with asyncio.timeout(SECONDS):
                yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def said(self, data: bytes) -> bytes:
        """All that comes back for these bytes until the server closes."""
        async with self.caller() as (reader, writer):
            writer.write(data)
            return await reader.read()


@asynccontextmanager
async def serving(
    application: AsgiApplication,
    *,
    server_tls: ssl.SSLContext | None = None,
    client_tls: ssl.SSLContext | None = None,
    hsts: bytes | None = None,
    **limits: Any,
) -> AsyncGenerator[Served]:
    loop = asyncio.get_running_loop()
    complaints: list[Mapping[str, Any]] = []
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, complaint: complaints.append(complaint))
    site = Site(application, loop, limits=ConnectionLimits(**limits), state={}, hsts=hsts, tls=server_tls)
    listener = Listener(site)
    _, port = await listener.bind("127.0.0.1", 0)
    await listener.start()
    try:
        yield Served(site, port, client_tls)
    finally:
        listener.close()
        for connection in tuple(site.connections):
            connection.abort()
        for task in tuple(site.tasks):
            task.cancel()
        await asyncio.gather(*site.tasks, return_exceptions=True)
        loop.set_exception_handler(before)
    assert complaints == []


async def whole(receive: Receive) -> bytes:
    """The body of a request."""
    body = b""
    while True:
        message = await receive()
        assert message["type"] == "http.request"
        piece: bytes = message["body"]
        body += piece
        if not message["more_body"]:
            return body


async def answer(send: Send, body: bytes, status: int = 200, *headers: tuple[bytes, bytes]) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Says method, target and body."""
    body = await whole(receive)
    await answer(send, b"%b %b %b" % (scope["method"].encode(), scope["raw_path"], body))


def request(
    path: str = "/", body: bytes = b"", method: str = "POST", *lines: str, version: str = "1.1", length: bool = True
) -> bytes:
    head = [f"{method} {path} HTTP/{version}", "host: x", *lines]
    if length:
        head.append(f"content-length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode() + body


def body_of(reply: bytes) -> bytes:
    return reply.partition(b"\r\n\r\n")[2]


def status_of(reply: bytes) -> int:
    return int(reply.split(b" ", 2)[1])


Application = Callable[[Scope, Receive, Send], Any]
