"""Everything that one connection sends: frames gathered for one write, windows, and turns for those who wait."""

import asyncio
from asyncio import AbstractEventLoop, Transport
from collections import deque
from typing import Protocol

from dragoman.hosts.http2.fields import EMPTY_TABLE
from dragoman.hosts.http2.frames import MAX_FRAME, data_prefix, header_block

__all__ = ["DEFAULT_WINDOW", "Outlet", "Sender"]

DEFAULT_WINDOW = 65_535
"""Of both sides, until something else is said."""
FULL = 64 * 1024
"""Bytes that are gathered before they are written within a turn."""


class Sender(Protocol):
    """A stream whose DATA waits for its turn."""

    number: int
    window: int
    """What the peer takes of this stream; below 0 after the peer lowered its setting."""
    pending: memoryview | None
    """What is left to send; None when there is nothing, or the stream is gone."""
    ending: bool
    """The stream ends with the last byte of it."""
    queued: bool
    moved: float
    """When something was sent last, or began to wait."""

    def drained(self) -> None:
        """The last byte is on its way."""
        ...


class Outlet:
    """The sending half. Frames of a turn of the loop go out in one write, in the order in which they were given."""

    def __init__(self, loop: AbstractEventLoop, transport: Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._frames: list[bytes | memoryview] = []
        self._size = 0
        self._flushing = False
        self._closed = False
        self._queue: deque[Sender] = deque()
        self._writable = asyncio.Event()
        self._table_is_empty = False
        self.window = DEFAULT_WINDOW
        """What the peer takes of all streams together."""
        self.stream_window = DEFAULT_WINDOW
        """What it takes of a new one."""
        self.sent = 0
        """DATA frames so far."""
        self.paused = False
        """The transport has enough: the peer does not read."""
        self.paused_since = 0.0
        self.waiting_control = 0
        """Control frames since then."""

    def hold(self) -> None:
        """Until the next `flush` nothing needs to ask for one."""
        self._flushing = True

    def flush(self) -> None:
        self._flushing = False
        if self._frames:
            whole = b"".join(self._frames)
            self._frames.clear()
            self._size = 0
            if not self._closed:
                self._transport.write(whole)

    def write(self, *frames: bytes | memoryview) -> None:
        """What answers the application; it was made to wait before, if need be."""
        self._frames += frames
        for frame in frames:
            self._size += len(frame)
        if self._size >= FULL:
            self.flush()
        elif not self._flushing:
            self._flushing = True
            self._loop.call_soon(self.flush)

    def control(self, frame: bytes) -> None:
        """What answers the peer, and is counted while the peer does not read."""
        if self.paused:
            self.waiting_control += 1
        self.write(frame)

    def fields(self, block: bytes, stream: int, *, end: bool) -> None:
        """A header block, whose encoding relies on no table: the peer is told so before the first."""
        if not self._table_is_empty:
            self._table_is_empty = True
            block = EMPTY_TABLE + block
        self.write(header_block(block, stream, end=end))

    def forget_table(self) -> None:
        """The peer set a size for our table, and waits to be told that it is kept (RFC 7541 section 4.2)."""
        self._table_is_empty = False

    def data(self, sender: Sender, body: bytes, *, end: bool) -> bool:
        """Sends at once if everything is open and nobody waits (then true); else in turns, which `queue` begins."""
        size = len(body)
        if size <= MAX_FRAME and not self._queue and ((size <= sender.window and size <= self.window) or not size):
            sender.window -= size
            self.window -= size
            self.sent += 1
            self.write(data_prefix(size, sender.number, end=end), body)
            return True
        sender.pending, sender.ending, sender.moved = memoryview(body), end, self._loop.time()
        self.queue(sender)
        return False

    def queue(self, sender: Sender) -> None:
        """Gives a stream that has something pending its turn."""
        if not sender.queued:
            sender.queued = True
            self._queue.append(sender)
        self.pump()

    def pump(self) -> None:
        """Sends for those who wait, one frame for each in turn, as long as the peer takes it."""
        queue = self._queue
        while queue and self.window > 0 and not self.paused and not self._closed:
            sender = queue.popleft()
            sender.queued = False
            pending = sender.pending
            if pending is None or sender.window <= 0:
                continue  # gone, or waiting for its own window, which queues it again
            if self._part(sender, pending):
                sender.drained()
            else:
                sender.queued = True
                queue.append(sender)

    def _part(self, sender: Sender, pending: memoryview) -> bool:
        size = min(len(pending), sender.window, self.window, MAX_FRAME)
        last = size == len(pending)
        sender.window -= size
        self.window -= size
        self.sent += 1
        sender.moved = self._loop.time()
        sender.pending = None if last else pending[size:]
        self.write(data_prefix(size, sender.number, end=last and sender.ending), pending[:size])
        return last

    @property
    def crowded(self) -> bool:
        """Whether somebody waits for the window of the connection, or for the transport."""
        return bool(self._queue)

    async def writable(self) -> None:
        """Waits until the transport takes something again, or never will."""
        while self.paused and not self._closed:
            self._writable.clear()
            await self._writable.wait()

    def pause(self) -> None:
        self.paused = True
        self.paused_since = self._loop.time()

    def resume(self) -> None:
        self.paused = False
        self.waiting_control = 0
        self._writable.set()
        self.pump()

    def close(self) -> None:
        """Nothing more is written; nobody is kept waiting."""
        self._closed = True
        self._queue.clear()
        self._frames.clear()
        self._writable.set()
