"""Which call, and which task, code runs for: found through a context variable, so that what is logged anywhere below
says it.

A caller's `traceparent` (W3C Trace Context) names the call, else its `x-request-id`, else an id of our own.
"""

import os
import re
from contextvars import ContextVar

__all__ = ["Correlation", "correlate", "correlate_task", "correlation"]

_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_NAMED = re.compile(r"[A-Za-z0-9._:-]{1,128}")
"""What an id may look like that a caller made up: it is written into logs."""
_NO_TRACE = "0" * 32


class Correlation:
    """What code runs for. `id` is made when it is first needed: most calls log nothing."""

    __slots__ = ("_id", "_named", "_trace", "task_id")

    def __init__(self, trace: str = "", named: str = "", task_id: str = "") -> None:
        self._trace = trace
        self._named = named
        self._id = ""
        self.task_id = task_id
        """Empty outside of a task's run."""

    @property
    def id(self) -> str:
        """The id of the trace, else what the caller has named, else that of the task, else one of our own."""
        if not self._id:
            self._id = _trace_id(self._trace) or self.named or self.task_id or os.urandom(16).hex()
        return self._id

    @property
    def named(self) -> str:
        """What the caller calls the request; empty if it does not, or not in a form that can be repeated."""
        return self._named if _NAMED.fullmatch(self._named) else ""


_current: ContextVar[Correlation | None] = ContextVar("dragoman_correlation", default=None)


def correlation() -> Correlation | None:
    """That of the call or run which this code is part of."""
    return _current.get()


def correlate(trace: str, named: str) -> Correlation:
    """Has what this asyncio task does from here on be for a call: its `traceparent` and `x-request-id`, as sent."""
    made = Correlation(trace, named)
    _current.set(made)
    return made


def correlate_task(task_id: str, trace: str) -> None:
    """Has what this asyncio task does from here on be for a run of a task, whose turn a call with this `traceparent`
    has begun. Runs are set off by whoever is at hand, so nothing is taken from the present one.
    """
    _current.set(Correlation(trace, task_id=task_id))


def _trace_id(trace: str) -> str:
    found = _TRACE.fullmatch(trace)
    return found[1] if found is not None and found[1] != _NO_TRACE else ""
