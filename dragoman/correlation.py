"""Which call, and which task, code runs for: found through a context variable, so that what is logged anywhere below
says it.

A caller's `traceparent` (W3C Trace Context) names the call, else its `x-request-id`, else an id of our own.
"""

import os
import re
from contextvars import ContextVar

import msgspec

__all__ = ["Correlation", "correlate", "correlate_task", "correlation"]

_TRACE = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
_NAMED = re.compile(r"[A-Za-z0-9._:-]{1,128}")
"""What an id may look like that a caller made up: it is written into logs."""
_NO_TRACE = "0" * 32


class Correlation(msgspec.Struct):
    """What code runs for: by the `traceparent` and the `x-request-id` of a call, as sent, and the id of the task in
    whose run it is.
    """

    trace: str = ""
    named: str = ""
    task_id: str = ""
    made: str = ""
    """The id, once it was needed: most calls log nothing."""

    @property
    def id(self) -> str:
        """The id of the trace, else what the caller has named, else that of the task, else one of our own."""
        if not self.made:
            named = self.named if _NAMED.fullmatch(self.named) else ""
            self.made = _trace_id(self.trace) or named or self.task_id or os.urandom(16).hex()
        return self.made


_current: ContextVar[Correlation | None] = ContextVar("dragoman_correlation", default=None)


def correlation() -> Correlation | None:
    """That of the call or run which this code is part of."""
    return _current.get()


def correlate(trace: str, named: str) -> None:
    """Has what this asyncio task does from here on be for a call: its `traceparent` and `x-request-id`, as sent."""
    _current.set(Correlation(trace, named))


def correlate_task(task_id: str, trace: str) -> None:
    """Has what this asyncio task does from here on be for a run of a task, whose turn a call with this `traceparent`
    has begun. Runs are set off by whoever is at hand, so nothing is taken from the present one.
    """
    _current.set(Correlation(trace, task_id=task_id))


def _trace_id(trace: str) -> str:
    found = _TRACE.fullmatch(trace)
    return found[1] if found is not None and found[1] != _NO_TRACE else ""
