"""An agent behind TLS on a real socket, and callers with certificates: over HTTP/2, which carries every binding."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import h2.connection
import h2.events
import msgspec

from dragoman import Agent
from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.hosts.connections import ConnectionLimits
from dragoman.hosts.listening import Listener
from dragoman.hosts.site import Site
from dragoman.hosts.tls import tls_context
from dragoman.testing.bridge import AsgiBridge
from tests.unit.auth.certificates import Issued, alternative, authority, issued

__all__ = ["SecureLine", "Secured", "secured"]


class Secured(msgspec.Struct):
    """A port, and the folder with what is known of it."""

    port: int
    folder: Path

    def line(self, own: Issued | None, *, maximum: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> "SecureLine":
        """As a caller with this certificate has it."""
        context = ssl.create_default_context(cafile=self.folder / "authority.pem")
        context.maximum_version = maximum
        context.set_alpn_protocols(["h2"])
        if own is not None:
            context.load_cert_chain(*own.files(self.folder, "own"))
        return SecureLine(self.port, context)


@asynccontextmanager
async def secured(agent: Agent, folder: Path, **limits: Any) -> AsyncGenerator[Secured]:
    """Serves the agent, and asks callers for certificates of the authority."""
    authority().files(folder, "authority")
    own = issued(authority(), names=alternative(ip="127.0.0.1"), uses=None).files(folder, "server")
    app, loop = agent.asgi(http2=True), asyncio.get_running_loop()
    tls = tls_context(own, folder / "authority.pem")
    site = Site(app, loop, limits=ConnectionLimits(**limits), state={}, tls=tls)
    listener = Listener(site)
    async with AsgiBridge(app):
        _, port = await listener.bind("127.0.0.1", 0)
        await listener.start()
        try:
            yield Secured(port, folder)
        finally:
            listener.close()
            for connection in tuple(site.connections):
                connection.abort()
            await asyncio.gather(*site.tasks, return_exceptions=True)


class SecureLine(AsgiBridge):
    """A connection for each request."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(_nothing)
        self._port = port
        self._context = context

    async def send(self, request: HttpRequest) -> HttpReply:
        """The answer; trailers stand among the headers.

        Raises:
            OSError, EOFError: the server has not taken the connection.
        """
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, ssl=self._context)
        try:
            async with asyncio.timeout(20):
                return await _exchanged(reader, writer, request)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _exchanged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: HttpRequest) -> HttpReply:
    caller = h2.connection.H2Connection()
    caller.initiate_connection()
    target = request.path + (f"?{request.query}" if request.query else "")
    pseudo = {":method": request.method, ":scheme": "https", ":authority": "127.0.0.1", ":path": target or "/"}
    further = {"te": "trailers"} if "grpc" in request.headers.get("content-type", "") else {}
    own = {name: value for name, value in request.headers.items() if name != "host"}
    caller.send_headers(1, [*{**pseudo, **own, **further}.items()], end_stream=not request.body)
    if request.body:
        caller.send_data(1, request.body, end_stream=True)
    head: dict[str, str] = {}
    body = b""
    while True:
        writer.write(caller.data_to_send())
        data = await reader.read(65536)
        if not data:
            raise EOFError
        for event in caller.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived | h2.events.TrailersReceived):
                head |= {bytes(name).decode(): bytes(value).decode() for name, value in event.headers or ()}
            elif isinstance(event, h2.events.DataReceived):
                body += event.data or b""
            elif isinstance(event, h2.events.StreamEnded):
                return HttpReply(int(head.pop(":status")), head, body)


async def _nothing(_scope: Any, _receive: Any, _send: Any) -> None:
    """Lifespans are the server's."""
