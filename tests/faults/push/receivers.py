"""Receivers of webhooks on sockets of their own, each with a vice, until it is healed. They write down what arrives.

They speak HTTP by hand, since no server says what they say.
"""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random

from tests.faults.push.agent import TIMEOUT
from tests.faults.push.history import Arrival, Clock, History

__all__ = ["VICES", "Receiver", "receiving"]

VICIOUS = 0.5
"""How often a receiver gives in to its vice."""
HEAD_LIMIT = 65_536
READ_LIMIT = 30.0
NOW = struct.pack("ii", 1, 0)
"""For `SO_LINGER`: a connection that is closed is reset."""


class _Call:
    """One notification on a connection, and what can be said to it."""

    def __init__(self, arrival: Arrival, writer: asyncio.StreamWriter, clock: Clock, random: Random, trap: str) -> None:
        self.random = random
        self.trap = trap
        self._arrival = arrival
        self._writer = writer
        self._clock = clock

    def accept(self, text: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") -> None:
        """Says something with a whole head of a 2xx: from here on the notification counts as delivered."""
        self._arrival.accepted = self._arrival.accepted or self._clock.tick()
        self._writer.write(text)

    def say(self, text: bytes) -> None:
        self._writer.write(text)

    def refuse(self, status: int, *fields: str) -> None:
        head = "".join([f"{one}\r\n" for one in (f"HTTP/1.1 {status} No", *fields, "Content-Length: 2", "")])
        self._writer.write(head.encode() + b"no")

    def reset(self) -> None:
        link: socket.socket = self._writer.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NOW)
        self._writer.transport.abort()


Vice = Callable[[_Call], Awaitable[bool]]
"""Says something to a call, and whether the connection is kept."""


async def _well(call: _Call) -> bool:
    call.accept(
        call.random.choice(
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
                b"HTTP/1.1 204 No Content\r\n\r\n",
                b"HTTP/1.1 202 Accepted\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            )
        )
    )
    return True


async def _error(call: _Call) -> bool:
    call.refuse(call.random.choice((500, 502, 503, 504)), *call.random.choice(((), ("Retry-After: 0",))))
    return True


async def _busy(call: _Call) -> bool:
    call.refuse(429, call.random.choice(("Retry-After: 1", "Retry-After: Fri, 01 Jan 2038 00:00:00 GMT")))
    return True


async def _elsewhere(call: _Call) -> bool:
    call.refuse(call.random.choice((301, 302, 303, 307, 308)), f"Location: {call.trap}")
    return True


async def _hang(_: _Call) -> bool:
    await asyncio.sleep(2 * TIMEOUT)
    return False


async def _slow(call: _Call) -> bool:
    await asyncio.sleep(call.random.uniform(0.1, 0.5) * TIMEOUT)
    return await _well(call)


async def _reset(call: _Call) -> bool:
    call.reset()
    return False


async def _garbage(call: _Call) -> bool:
    """No 2xx, but what may be taken for one."""
    call.say(
        call.random.choice(
            (
                b"\x00\xff\x16\x03 200 OK\r\n\r\n",
                b"HTTP/1.1 20",
                b"HTTP/1.1 2OO OK\r\n\r\n",
                b"200 OK\r\n\r\n",
                b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
                b"HTTP/1.1 100 Continue\r\n\r\n",
            )
        )
    )
    return False


async def _cut(call: _Call) -> bool:
    """A 2xx whose body breaks off, or is none."""
    call.accept(
        call.random.choice(
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc",
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello",
                b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
            )
        )
    )
    if call.random.random() < 0.5:
        await asyncio.sleep(0.01)
        call.reset()
    return False


async def _more(call: _Call) -> bool:
    """More than was announced: the next one on this connection may be answered by it, wrongly."""
    call.accept(
        call.random.choice(
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
                b"HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more of it",
            )
        )
    )
    return True


async def _any(call: _Call) -> bool:
    return await call.random.choice((_error, _busy, _elsewhere, _hang, _slow, _reset, _garbage, _cut, _more))(call)


VICES: dict[str, tuple[Vice, ...]] = {
    "good": (_well,),
    "error": (_error,),
    "busy": (_busy,),
    "redirect": (_elsewhere,),
    "hang": (_hang,),
    "slow": (_slow,),
    "reset": (_reset,),
    "lie": (_garbage, _cut, _more),
    "down": (_well,),
    "any": (_any,),
}


class Receiver:
    """Listens on one port of the loopback interface, while it is up."""

    def __init__(self, name: str, history: History, clock: Clock, random: Random, trap: str) -> None:
        self.name = name
        self.healed = False
        self.port = 0
        self._history = history
        self._clock = clock
        self._random = random
        self._trap = trap
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def up(self) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", self.port, limit=HEAD_LIMIT)
        self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """From here on connections are refused; those that are open break."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for one in self._open:
            one.cancel()
        if self._open:
            await asyncio.wait(self._open, timeout=READ_LIMIT)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            while await self._answered(reader, writer):
                await writer.drain()
        except (OSError, EOFError, TimeoutError, asyncio.CancelledError):
            """The connection ends."""
        finally:
            self._open.discard(task)
            with contextlib.suppress(OSError):
                writer.close()

    async def _answered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Reads one notification and answers it; whether the connection is kept."""
        async with asyncio.timeout(READ_LIMIT):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in [one.partition(":") for one in head[1:-2]]}
            body = await reader.readexactly(int(headers["content-length"]))
        arrival = Arrival(self._clock.tick(), headers, body)
        method, path, _ = head[0].split(" ")
        if method != "POST" or self.name not in path:
            self._history.strays.append(f"{method} {path} at {self.name}")
        self._history.arrivals.setdefault(path, []).append(arrival)
        call = _Call(arrival, writer, self._clock, self._random, self._trap)
        vicious = not self.healed and self._random.random() < VICIOUS
        kept = await (self._random.choice(VICES[self.name]) if vicious else _well)(call)
        await writer.drain()
        return kept


@asynccontextmanager
async def receiving(history: History, clock: Clock, random: Random) -> AsyncGenerator[dict[str, Receiver]]:
    """A receiver of each vice; and one that nobody is to call, to whom redirects lead."""

    async def trapped(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        history.strays.append("a redirect was followed")
        writer.close()

    trap = await asyncio.start_server(trapped, "127.0.0.1", 0)
    location = f"http://127.0.0.1:{trap.sockets[0].getsockname()[1]}/"
    receivers = {name: Receiver(name, history, clock, random, location) for name in VICES}
    try:
        for receiver in receivers.values():
            await receiver.up()
        yield receivers
    finally:
        trap.close()
        for receiver in receivers.values():
            await receiver.down()
