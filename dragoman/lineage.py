"""What a run has set off elsewhere, so that a canceled task takes it along.

The engine opens a lineage for each run. It is found through a context variable, so it reaches whatever the run does in
coroutines, tasks and threads; a client registers there each task that it has begun and that has not ended.
"""

import logging
from collections.abc import Callable
from contextvars import ContextVar

__all__ = ["Lineage", "current_lineage", "open_lineage"]

log = logging.getLogger("dragoman.engine")


class Lineage:
    """The unfinished tasks elsewhere that one run has begun. Any thread may use it."""

    __slots__ = ("_canceled", "_children")

    def __init__(self) -> None:
        self._canceled = False
        self._children: dict[object, Callable[[], None]] = {}

    def adopt(self, cancel: Callable[[], None]) -> Callable[[], object]:
        """Has `cancel` called once if this run is canceled: at once if it was already. Calling what this returns takes
        that back, when the child has ended; it may be called again.

        `cancel` must not wait, and is called in any thread: what it sets off is its owner's to finish. What it raises
        is logged.
        """
        child = object()
        self._children[child] = cancel
        if self._canceled:
            self._call(child)
        return lambda: self._forget(child)

    @property
    def canceled(self) -> bool:
        return self._canceled

    def cancel(self) -> None:
        """Cancels every child, the last first, and from now on every new one."""
        self._canceled = True
        for child in reversed(list(self._children)):
            self._call(child)

    def _call(self, child: object) -> None:
        # Taking it out decides who calls, if two threads have come so far.
        cancel = self._forget(child)
        if cancel is not None:
            try:
                cancel()
            except Exception:
                log.exception("a task that was begun elsewhere could not be canceled")

    def _forget(self, child: object) -> Callable[[], None] | None:
        return self._children.pop(child, None)


_current: ContextVar[Lineage | None] = ContextVar("dragoman_lineage", default=None)


def current_lineage() -> Lineage | None:
    """That of the run that this code is part of."""
    return _current.get()


def open_lineage() -> Lineage:
    """A lineage for the current asyncio task, and for all that it begins from here on, in place of the one that it was
    begun under.
    """
    lineage = Lineage()
    _current.set(lineage)
    return lineage
