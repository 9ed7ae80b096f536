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
        self._waiting: deque[tuple[StreamEvent, int]] = deque()
        self._bytes = 0
        self._lost = False
        self._some = asyncio.Event()

    def put(self, event: StreamEvent, size: int) -> None:
        """Never waits. `size` is about how many bytes the event has."""
        self._waiting.append((event, size))
        self._bytes += size
        if len(self._waiting) > self._most or self._bytes > self._most_bytes:
            self._waiting.clear()
            self._bytes, self._lost = 0, True
        self._some.set()

    async def get(self) -> StreamEvent | None:
        """The next event; None in place of all that were dropped."""
        await self._some.wait()
        if self._lost:
            self._lost, event = False, None
        else:
            event, size = self._waiting.popleft()
            self._bytes -= size
        if not self._waiting:
            self._some.clear()
        return event
