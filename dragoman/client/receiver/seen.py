"""Deliveries by their ids, so that each is worked on once however often it comes."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from functools import partial
from typing import Any

from dragoman.client.receiver.refusal import Refused

__all__ = ["Seen"]

PAUSE = 1.0
"""Seconds after which an agent is to come again that was told that there is no room."""


class Seen:
    """Remembers the last `most` deliveries that were taken, and has at most `in_flight` under way.

    The work on a delivery goes on when who sent it leaves; the same delivery, sent again, waits for the same outcome.
    """

    def __init__(self, most: int, in_flight: int) -> None:
        self._most = most
        self._in_flight = in_flight
        self._taken: dict[Hashable, None] = {}
        self._under_way: dict[Hashable, asyncio.Task[None]] = {}

    def has(self, key: Hashable) -> bool:
        """Whether this delivery was taken."""
        return key in self._taken

    async def once(self, key: Hashable | None, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Does the work, unless that was done under this key before; raises what it raises, and forgets it then.

        Raises:
            Refused: too much is under way, or everything was broken off.
        """
        if key in self._taken:
            return
        running = self._under_way.get(key) if key is not None else None
        if running is None:
            running = self._begin(object() if key is None else key, work)
        try:
            await asyncio.shield(running)
        except asyncio.CancelledError:
            if not running.cancelled():
                raise
            raise Refused(503, "closing", PAUSE) from None

    async def aclose(self) -> None:
        """Breaks off what is under way."""
        running = tuple(self._under_way.values())
        for work in running:
            work.cancel()
        if running:
            await asyncio.wait(running)

    def _begin(self, key: Hashable, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        if len(self._under_way) >= self._in_flight:
            raise Refused(503, "too much is under way", PAUSE)
        running = asyncio.get_running_loop().create_task(work())
        self._under_way[key] = running
        running.add_done_callback(partial(self._ended, key))
        return running

    def _ended(self, key: Hashable, work: "asyncio.Task[None]") -> None:
        del self._under_way[key]
        # Asked for here too: who would have heard of it may have left.
        if work.cancelled() or work.exception() is not None or type(key) is object:
            return
        self._taken[key] = None
        if len(self._taken) > self._most:
            del self._taken[next(iter(self._taken))]
