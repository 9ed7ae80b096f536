"""What a client does for tasks whose callers leave: it cancels them, if that is wanted, and nobody waits for it."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from dragoman.client.outcome import TaskUnfinished
from dragoman.client.view import TaskView
from dragoman.lineage import current_lineage

__all__ = ["Attendance", "Cancellation", "Farewells"]

log = logging.getLogger("dragoman.client")

FAREWELL_SECONDS = 5.0
"""How long a client that closes waits for cancellations under way."""

Cancellation = Callable[[], Coroutine[Any, Any, None]]


class Farewells:
    """The cancellations that one client has under way."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        running = asyncio.get_running_loop().create_task(work)
        self._running.add(running)
        running.add_done_callback(self._done)

    async def aclose(self) -> None:
        """Waits for them, but not for long."""
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=FAREWELL_SECONDS)
        for running in late:
            running.cancel()
        if late:
            await asyncio.wait(late)

    def _done(self, running: asyncio.Task[None]) -> None:
        self._running.discard(running)
        if not running.cancelled() and (error := running.exception()) is not None:
            log.warning("a task whose caller has left could not be canceled: %s", error)


class Attendance:
    """The time in which somebody waits for a task; a context manager around the waiting.

    Where an agent calls from within one of its own runs, the task is adopted by that run: it is canceled with it, also
    after the waiting, until `release` is called. With `cancel_remote` it is canceled when the waiting is broken off.
    """

    def __init__(
        self, view: TaskView, farewells: Farewells, cancel: Cancellation, *, cancel_remote: bool, adopt: bool
    ) -> None:
        self._view = view
        self._farewells = farewells
        self._cancel = cancel
        self._cancel_remote = cancel_remote
        self._canceled = False
        lineage = current_lineage() if adopt else None
        self._loop = asyncio.get_running_loop()
        self._forget = None if lineage is None else lineage.adopt(self._orphaned)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        left = isinstance(error, asyncio.CancelledError | GeneratorExit | TaskUnfinished)
        if left and self._cancel_remote:
            self._begin()
        if self._view.ended or (self._view.task_id is None and not left):
            self.release()

    def release(self) -> None:
        """The task has ended, or never began."""
        if self._forget:
            self._forget()
            self._forget = None

    def _orphaned(self) -> None:
        # Called in any thread.
        self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        if not self._canceled and not self._view.ended:
            self._canceled = True
            self._farewells.begin(self._cancel())
