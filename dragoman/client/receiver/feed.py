"""Events on their way to somebody who reads them at leisure."""

import asyncio
from collections import deque

from dragoman.types.events import StreamEvent

__all__ = ["Feed"]


class Feed:
    """Events of one task for one reader. When too many wait they are dropped, and the reader is told once."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._waiting: deque[tuple[StreamEvent, int, int | None]] = deque()
        self._bytes = 0
        self._lost = False
        self._some = asyncio.Event()

    def put(self, event: StreamEvent, size: int, seq: int | None) -> None:
        """Never waits. `size` is about how many bytes the event has, `seq` its number, if it has one."""
        self._waiting.append((event, size, seq))
        self._bytes += size
        if len(self._waiting) > self._most or self._bytes > self._most_bytes:
            self._lost = True
        if self._lost:
            # What the reader will have instead covers all that has come until it asks.
            self._waiting.clear()
            self._bytes = 0
        self._some.set()

    async def get(self) -> StreamEvent | None:
        """The next event; None in place of all that were dropped."""
        await self._some.wait()
        if self._lost:
            self._lost, event = False, None
        else:
            event, size, _ = self._waiting.popleft()
            self._bytes -= size
        self._settle()
        return event

    def skip(self, number: int | None) -> None:
        """Drops what waits up to this number: the reader has a task in which it is."""
        while number and self._waiting and (seq := self._waiting[0][2]) is not None and seq <= number:
            self._bytes -= self._waiting.popleft()[1]
        self._settle()

    def _settle(self) -> None:
        if not self._waiting and not self._lost:
            self._some.clear()
