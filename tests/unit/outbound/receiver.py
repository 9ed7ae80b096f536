"""Receivers that do what a test says, at an address that plays the public internet."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from dragoman.outbound import GuardedClient, Policy

__all__ = ["OK", "PUBLIC", "Receiver", "Script", "answering", "calling", "listening", "lookup", "silent"]

PUBLIC = "127.80.0.1"
"""Opened by the tests that call it. All of 127.0.0.0/8 is this machine on Linux."""

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Script = Callable[["Receiver", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Receiver(msgspec.Struct, eq=False):
    """What it has seen."""

    port: int = 0
    connections: int = 0
    heads: list[str] = []
    bodies: list[bytes] = []
    names: list[str | None] = []
    """What TLS was asked for (SNI)."""
    asked: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """Whether a request has come."""
    closed: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    """Whether a connection has ended, whoever has ended it."""

    def url(self, host: str = PUBLIC, scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}/hook"

    async def read(self, reader: asyncio.StreamReader) -> None:
        """One request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = head.lower().partition("content-length:")[2].partition("\r\n")[0].strip()
        self.heads.append(head)
        self.bodies.append(await reader.readexactly(int(length or "0")))
        self.asked.set()


def answering(*answers: bytes, close: bool = False) -> Script:
    """Gives these answers, one to each request of a connection, and the last to all further ones."""

    async def script(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number = 0
        while True:
            await receiver.read(reader)
            writer.write(answers[min(number, len(answers) - 1)])
            await writer.drain()
            number += 1
            if close:
                return

    return script


async def silent(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await receiver.read(reader)
    await reader.read()


@asynccontextmanager
async def listening(
    script: Script, *, host: str = PUBLIC, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncGenerator[Receiver, None]:
    receiver = Receiver()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        receiver.connections += 1
        with suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            await script(receiver, reader, writer)
        writer.close()
        receiver.closed.set()

    if tls is not None:
        tls.sni_callback = lambda _socket, name, _context: receiver.names.append(name)
    server = await asyncio.start_server(connected, host, port, ssl=tls, reuse_address=True)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()


def lookup(*answers: Any) -> Callable[[str], Awaitable[list[str]]]:
    """A resolver that gives these answers one after the other, the last again and again; errors are raised."""
    waiting = list(answers)

    async def resolve(name: str) -> list[str]:
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(answer, BaseException):
            raise answer
        return list(answer)

    return resolve


@asynccontextmanager
async def calling(script: Script, *, within: float = 10.0) -> AsyncGenerator[tuple[GuardedClient, Receiver], None]:
    async with listening(script) as receiver:
        client = GuardedClient(
            Policy(allow=[f"http://{PUBLIC}:{receiver.port}"]), timeout=within, resolve=lookup([PUBLIC])
        )
        try:
            yield client, receiver
        finally:
            await client.close()
