"""A TCP proxy that breaks connections: cut at any byte, half open, slow, refused."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress

__all__ = ["Proxy", "proxied"]

CHUNK = 4096


class Proxy:
    """Stands between clients and one server. What it does to connections may be changed at any time."""

    def __init__(self, host: str, port: int) -> None:
        self._upstream = host, port
        self._open: set[asyncio.StreamWriter] = set()
        self._allowances: deque[int] = deque()
        self._refusals = 0
        self._serving: set[asyncio.Task[None]] = set()
        self._gates = [_gate()]
        self.port = 0
        self.delay = 0.0
        """Seconds that each piece of an answer is late."""
        self.connections = 0
        self.cuts = 0
        self.answered = 0
        """Bytes of answers that went through."""

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cut_after(self, allowances: Iterable[int]) -> None:
        """Cuts each of the next connections when so many bytes of answers went through, but at none before the server
        has said something; those after them are left alone.
        """
        self._allowances = deque(allowances)

    def refuse(self, times: int) -> None:
        """Closes the next connections without a byte."""
        self._refusals = times

    def cut(self) -> None:
        """Breaks all connections that there are."""
        for writer in list(self._open):
            self._abort(writer)

    def freeze(self) -> None:
        """Lets nothing through any more on the connections that there are, and tells nobody."""
        self._gates[-1].clear()
        self._gates.append(_gate())

    def thaw(self) -> None:
        """Lets everything through again, also what was held."""
        for gate in self._gates:
            gate.set()

    async def aclose(self) -> None:
        """Ends all connections."""
        self.thaw()
        self.cut()
        if self._serving:
            await asyncio.wait(self._serving, timeout=5)

    def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.ensure_future(self._serve(reader, writer))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        if self._refusals:
            self._refusals -= 1
            self._abort(writer)
            return
        allowance = self._allowances.popleft() if self._allowances else None
        gate = self._gates[-1]
        with suppress(OSError):
            above, below = await asyncio.open_connection(*self._upstream)
            self._open |= {writer, below}
            up = asyncio.ensure_future(self._pump(reader, below, gate))
            try:
                await self._answer(above, writer, gate, allowance)
            finally:
                up.cancel()
                await asyncio.wait([up])
                for end in (writer, below):
                    self._open.discard(end)
                    end.close()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event) -> None:
        with suppress(OSError):
            while data := await reader.read(CHUNK):
                await gate.wait()
                writer.write(data)
                await writer.drain()
            writer.close()

    async def _answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, gate: asyncio.Event, allowance: int | None
    ) -> None:
        while data := await reader.read(CHUNK):
            await gate.wait()
            if self.delay:
                await asyncio.sleep(self.delay)
            passed = data if allowance is None else data[:allowance]
            writer.write(passed)
            await writer.drain()
            self.answered += len(passed)
            if allowance is not None:
                allowance -= len(passed)
                if not allowance:
                    self._abort(writer)
                    return

    def _abort(self, writer: asyncio.StreamWriter) -> None:
        self.cuts += 1
        writer.transport.abort()


def _gate() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


@asynccontextmanager
async def proxied(host: str, port: int) -> AsyncGenerator[Proxy, None]:
    """A proxy to a server, on a port of its own."""
    proxy = Proxy(host, port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        await proxy.aclose()
