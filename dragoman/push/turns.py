"""Turns of lines: begun one after the other as origins, pace and the number of those under way allow."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from dragoman.push.line import Line
from dragoman.push.origins import Origins
from dragoman.push.pace import Metered, Pace
from dragoman.push.processor import Processor

__all__ = ["Turns", "Work"]

SLOW = 1.0
"""Seconds after which a turn does not stand in the way of others any more."""
MOST_SLOW = 8
"""How many such turns there are at most, as a multiple of the others."""

Work = Callable[[Line, str], Coroutine[Any, Any, bool | None]]


class Turns:
    """Begins turns while it runs. `work` does one, for a line and the name of its origin as it was known then, and says
    whether the origin is in order, if that shows; `ended` is told of the end, with what was raised if anything was.
    """

    def __init__(
        self,
        origins: Origins,
        wake: asyncio.Event,
        in_flight: int,
        processor: Processor,
        *,
        work: Work,
        ended: Callable[[Line, BaseException | None], None],
        begun: Callable[[], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._pace = Pace(self._loop.time, processor)
        self._used = processor.used
        self._origins = origins
        self._wake = wake
        self._most = in_flight
        self._work = work
        self._told = ended
        self._begun = begun
        self._jobs: dict[asyncio.Task[bool | None], asyncio.TimerHandle] = {}
        self._slow: set[asyncio.Task[bool | None]] = set()

    def __len__(self) -> int:
        """How many are under way."""
        return len(self._jobs)

    @property
    def due(self) -> bool:
        """Whether something is under way, or could be."""
        return bool(self._jobs) or self._origins.ready

    async def live(self) -> None:
        """Begins turns until it is cancelled; what it has begun goes on. `begun` is called when all is begun that could
        be.
        """
        while True:
            self._wake.clear()
            while self._origins.ready and self._free:
                if (wait := self._pace.wait()) > 0:
                    await asyncio.sleep(wait)
                elif (line := self._origins.next()) is not None:
                    self._begin(line)
            self._begun()
            await self._wake.wait()

    async def quiet(self, until: float) -> None:
        """Waits until nothing is under way or due, or until that time of the event loop."""
        while self.due and (left := until - self._loop.time()) > 0:
            if self._jobs:
                await asyncio.wait(tuple(self._jobs), timeout=left, return_when=asyncio.FIRST_COMPLETED)
                await asyncio.sleep(0)
            else:
                await asyncio.sleep(min(left, 0.01))

    async def broken_off(self, seconds: float) -> None:
        """Waits for the end of turns that were cancelled, for so long."""
        if self._jobs:
            await asyncio.wait(tuple(self._jobs), timeout=seconds)

    @property
    def _free(self) -> bool:
        slow = len(self._slow)
        return len(self._jobs) - slow < self._most and slow < self._most * MOST_SLOW

    def _begin(self, line: Line) -> None:
        name = line.origin
        line.job = job = self._loop.create_task(self._metered(line, name))
        self._jobs[job] = self._loop.call_later(SLOW, self._slowed, job)
        job.add_done_callback(partial(self._ended, line, name))

    async def _metered(self, line: Line, name: str) -> bool | None:
        return await Metered(self._work(line, name), self._used, self._pace.spent)

    def _slowed(self, job: asyncio.Task[bool | None]) -> None:
        self._slow.add(job)
        self._wake.set()

    def _ended(self, line: Line, name: str, job: asyncio.Task[bool | None]) -> None:
        self._jobs.pop(job).cancel()
        self._slow.discard(job)
        line.job = None
        error = asyncio.CancelledError() if job.cancelled() else job.exception()
        self._origins.done(name, job.result() if error is None else None)
        self._told(line, error)
        self._wake.set()
