"""A client that says exactly what it is told, right or wrong, and a server on a real socket to say it to."""

import asyncio
from asyncio import AbstractEventLoop, StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from struct import pack, unpack
from typing import Any, NamedTuple, cast

from hpack import Decoder, Encoder

from dragoman.hosts.http2 import frames as h2
from dragoman.hosts.http2.connection import Http2
from dragoman.hosts.http2.limits import Http2Limits
from dragoman.hosts.site import AsgiApplication, ConnectionLimits, Site

__all__ = ["GET", "POST", "Clock", "Frame", "Peer", "Server", "frame", "frames_in", "rst", "serving", "update"]

Headers = list[tuple[str, str]]
GET: Headers = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "test")]
POST: Headers = [(":method", "POST"), *GET[1:]]


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def code(self) -> int:
        """Of RST_STREAM and GOAWAY."""
        return int(unpack(">L", self.payload[4:8] if self.kind == h2.GOAWAY else self.payload)[0])


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"", *, size: int | None = None) -> bytes:
    """`size` lies about the payload."""
    length = len(payload) if size is None else size
    return pack(">LBL", length << 8 | kind, flags, stream) + payload


def rst(stream: int, code: int = h2.CANCEL) -> bytes:
    return frame(h2.RST_STREAM, 0, stream, pack(">L", code))


def update(stream: int, increment: int) -> bytes:
    return frame(h2.WINDOW_UPDATE, 0, stream, pack(">L", increment))


def frames_in(data: bytes) -> tuple[list[Frame], bytes]:
    """The whole frames, and what is left."""
    found: list[Frame] = []
    while len(data) >= 9:
        head, flags, stream = unpack(">LBL", data[:9])
        end = 9 + (head >> 8)
        if len(data) < end:
            break
        found.append(Frame(head & 0xFF, flags, stream, data[9:end]))
        data = data[end:]
    return found, data


class _Handle:
    def __init__(self, at: float, callback: Callable[..., object]) -> None:
        self.at = at
        self.callback = callback
        self.live = True

    def cancel(self) -> None:
        self.live = False


class Clock:
    """A loop whose time passes when it is told to; everything else is the real one's."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._now = 1000.0
        self._due: list[_Handle] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    def time(self) -> float:
        return self._now

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> _Handle:
        self._due.append(_Handle(self._now + delay, partial(callback, *args)))
        return self._due[-1]

    def advance(self, seconds: float) -> None:
        """Calls what falls due on the way, each at its time."""
        end = self._now + seconds
        while self._due and (first := min(self._due, key=lambda handle: handle.at)).at <= end:
            self._due.remove(first)
            self._now = first.at
            if first.live:
                first.callback()
        self._now = end


class Peer:
    """One connection. Settings are acknowledged when they are read."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.encoder = Encoder()
        self.decoder = Decoder()
        self._rest = b""
        self._read: list[Frame] = []

    async def greet(self, settings: dict[int, int] | None = None) -> None:
        await self.write(h2.PREFACE, h2.settings(settings or {}), frame(h2.SETTINGS, h2.ACK))

    async def write(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))
        await self.writer.drain()

    def head(self, stream: int, headers: Headers, flags: int = h2.END_STREAM | h2.END_HEADERS) -> bytes:
        return frame(h2.HEADERS, flags, stream, self.encoder.encode(headers))

    async def next(self, *kinds: int) -> Frame:
        """The next frame of one of these kinds; others are dropped."""
        while True:
            while self._read:
                found = self._read.pop(0)
                if found.kind in kinds:
                    return found
            data = await self.reader.read(1 << 16)
            assert data, f"closed, while {kinds} was expected"
            self._read, self._rest = frames_in(self._rest + data)

    async def rest(self) -> list[Frame]:
        """All that is left until the server closes."""
        found = [*self._read]
        while True:
            try:
                data = await self.reader.read(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                return found
            more, self._rest = frames_in(self._rest + data)
            found += more

    async def answer(self, stream: int) -> tuple[dict[str, str], bytes]:
        """The response: its fields without the date, those of trailers and interim responses with them, its body."""
        fields: dict[str, str] = {}
        body = b""
        while True:
            found = await self.next(h2.HEADERS, h2.DATA, h2.RST_STREAM, h2.GOAWAY)
            assert found.kind in {h2.HEADERS, h2.DATA}, f"{found}: {found.code}"
            if found.kind == h2.HEADERS:
                assert found.flags & h2.END_HEADERS
                decoded = dict(cast("Iterable[tuple[str, str]]", self.decoder.decode(found.payload)))
                fields |= decoded if found.stream == stream else {}
            elif found.stream == stream:
                body += found.payload
            if found.stream == stream and found.flags & h2.END_STREAM:
                fields.pop("date", None)
                return fields, body

    async def get(self, stream: int, path: str = "/") -> tuple[dict[str, str], bytes]:
        headers = [(name, path if name == ":path" else value) for name, value in GET]
        await self.write(self.head(stream, headers))
        return await self.answer(stream)

    async def alive(self) -> bool:
        """A ping is answered; false if the server has closed the connection."""
        try:
            await self.write(frame(h2.PING, 0, 0, b"alive?!?"))
            while (await self.next(h2.PING)).payload != b"alive?!?":
                pass
        except (OSError, AssertionError):
            return False
        return True

    async def fault(self) -> int:
        """The code with which the server ends the connection."""
        last = [found for found in await self.rest() if found.kind == h2.GOAWAY]
        assert last, "closed without GOAWAY"
        return last[-1].code

    def close(self) -> None:
        self.writer.close()


class Server(NamedTuple):
    site: Site
    port: int
    connections: list[Http2]
    clock: Clock

    @asynccontextmanager
    async def raw(self) -> AsyncGenerator[Peer]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        try:
            yield Peer(reader, writer)
        finally:
            writer.close()

    @asynccontextmanager
    async def peer(self, settings: dict[int, int] | None = None) -> AsyncGenerator[Peer]:
        async with self.raw() as peer:
            await peer.greet(settings)
            yield peer


@asynccontextmanager
async def serving(
    app: AsgiApplication,
    limits: ConnectionLimits | None = None,
    http2: Http2Limits | None = None,
    *,
    state: dict[str, Any] | None = None,
    hsts: bytes | None = None,
    frozen: bool = False,
    ssl: Any = None,
) -> AsyncGenerator[Server]:
    """`frozen` has connections see a time that passes only as told. Anything the loop has to report is a failure."""
    loop = asyncio.get_running_loop()
    reports: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: reports.append(context))
    clock = Clock(loop)
    seen = cast("AbstractEventLoop", clock) if frozen else loop
    site = Site(app, seen, limits=limits or ConnectionLimits(), state=state or {}, hsts=hsts)
    connections: list[Http2] = []

    def made() -> Http2:
        connections.append(Http2(site, http2 or Http2Limits()))
        return connections[-1]

    listener = await loop.create_server(made, "127.0.0.1", 0, ssl=ssl)
    try:
        yield Server(site, listener.sockets[0].getsockname()[1], connections, clock)
    finally:
        listener.close()
        for connection in list(site.connections):
            connection.abort()
        if site.tasks:
            await asyncio.wait(site.tasks, timeout=5)
        await listener.wait_closed()
    assert reports == []
    assert site.tasks == set()
