"""How long a handler may take, and how long it may be silent."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from dragoman.engine.endings import Stop
from dragoman.ports.agent import Policy

__all__ = ["Watch"]


class Watch:
    """Stops a run whose handler takes longer than its policy allows, or emits nothing for longer than that; if it has
    not ended `grace` seconds later, the run is abandoned. By the clock of the event loop.
    """

    __slots__ = ("_abandon", "_deadline", "_grace", "_heard", "_idle", "_idle_seconds", "_leaving", "_loop", "_stop")

    def __init__(
        self,
        policy: Policy,
        grace: float,
        *,
        stop: Callable[[Stop], None],
        abandon: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._grace = grace
        self._stop = stop
        self._abandon = abandon
        self._leaving: asyncio.TimerHandle | asyncio.Task[None] | None = None
        self._deadline: asyncio.TimerHandle | None = None
        if policy.deadline is not None:
            self._deadline = self._loop.call_later(policy.deadline, self._overdue, Stop.DEADLINE)
        self._heard = self._loop.time()
        self._idle_seconds = policy.idle_timeout
        self._idle: asyncio.TimerHandle | None = None
        if self._idle_seconds is not None:
            self._idle = self._loop.call_later(self._idle_seconds, self._listen)

    def heard(self) -> None:
        """The handler has emitted something."""
        self._heard = self._loop.time()

    def close(self) -> None:
        """The handler has ended. May be called again."""
        for timer in (self._deadline, self._idle, self._leaving):
            if isinstance(timer, asyncio.TimerHandle):
                timer.cancel()

    def _listen(self) -> None:
        assert self._idle_seconds is not None
        due = self._heard + self._idle_seconds
        if self._loop.time() < due:
            self._idle = self._loop.call_at(due, self._listen)
        else:
            self._overdue(Stop.IDLE_TIMEOUT)

    def _overdue(self, reason: Stop) -> None:
        self.close()
        self._stop(reason)
        self._leaving = self._loop.call_later(self._grace, self._leave)

    def _leave(self) -> None:
        self._leaving = self._loop.create_task(self._abandon())
