"""An agent that means no good: what it says to a client, byte for byte."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import msgspec

__all__ = ["HEAD", "JSON", "Case", "Script", "Villain", "body", "dripping", "endless", "saying", "silent", "villain"]

Script = Callable[["Villain", asyncio.StreamWriter], Awaitable[None]]

HEAD = b"HTTP/1.1 200 OK\r\n"
JSON = HEAD + b"Content-Type: application/json\r\n"


class Villain(msgspec.Struct, eq=False):
    """Where it is, and how much of its answers it got rid of."""

    port: int = 0
    sent: int = 0
    requests: list[bytes] = []
    reader: asyncio.StreamReader | None = None
    gone: asyncio.Event = msgspec.field(default_factory=asyncio.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def card(self) -> bytes:
        interface = {"url": f"{self.url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        return json.dumps(
            {"name": "Villain", "supportedInterfaces": [interface], "capabilities": {"streaming": True}}
        ).encode()


class Case(msgspec.Struct, frozen=True):
    """What is said to which request, and what the client makes of it: the words of its error, or none at all."""

    name: str
    script: Script
    words: str | None
    most: int = 16 * 1024 * 1024
    """Bytes that the client may have taken in."""


def body(content: bytes, head: bytes = JSON) -> bytes:
    return head + b"Content-Length: %d\r\n\r\n" % len(content) + content


def saying(*pieces: bytes, reset: bool = False) -> Script:
    """Says this and closes."""

    async def script(place: Villain, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            await _written(place, writer, piece)
        if reset:
            writer.transport.abort()

    return script


def endless(begin: bytes, piece: bytes) -> Script:
    """Says the piece again and again, for as long as anybody listens."""

    async def script(place: Villain, writer: asyncio.StreamWriter) -> None:
        await _written(place, writer, begin)
        while True:
            await _written(place, writer, piece)

    return script


def dripping(begin: bytes, piece: bytes = b"x", pace: float = 0.02) -> Script:
    """The same, a little at a time."""

    async def script(place: Villain, writer: asyncio.StreamWriter) -> None:
        await _written(place, writer, begin)
        while True:
            await asyncio.sleep(pace)  # the fault itself: somebody slow
            await _written(place, writer, piece)

    return script


def silent(begin: bytes = b"") -> Script:
    """Says this, and nothing more, until the client has left."""

    async def script(place: Villain, writer: asyncio.StreamWriter) -> None:
        await _written(place, writer, begin)
        assert place.reader is not None
        await place.reader.read()

    return script


async def _written(place: Villain, writer: asyncio.StreamWriter, piece: bytes) -> None:
    writer.write(piece)
    await writer.drain()
    place.sent += len(piece)


@asynccontextmanager
async def villain(script: Script, *, at_card: bool) -> AsyncGenerator[Villain, None]:
    """Plays the script where the card is, or else where a decent card says to call."""
    place = Villain()
    talks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talking = asyncio.current_task()
        assert talking is not None
        talks.add(talking)
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await _talked(place, script, reader, writer, at_card=at_card)
        writer.transport.abort()
        place.gone.set()
        talks.discard(talking)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    place.port = server.sockets[0].getsockname()[1]
    try:
        yield place
    finally:
        server.close()
        for talking in tuple(talks):
            talking.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


async def _talked(
    place: Villain, script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, at_card: bool
) -> None:
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0].strip()
        await reader.readexactly(int(length or b"0"))
        place.requests.append(head)
        if at_card or b"/rpc" in head:
            place.reader = reader
            await script(place, writer)
            return
        await _written(place, writer, body(place.card))
        place.sent = 0
