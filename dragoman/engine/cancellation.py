"""Cancellation as a way to stop a handler and not what runs it."""

import asyncio
import contextlib

from dragoman.engine.endings import Ending

__all__ = ["taken_back"]


async def taken_back(ending: Ending, *, expected: bool) -> None:
    """Takes back the cancellation that has stopped the handler, so that the end of its turn can be stored. One that is
    not expected came from outside, and is raised.
    """
    runner = asyncio.current_task()
    assert runner is not None
    if not runner.cancelling():
        return
    if not expected:
        raise asyncio.CancelledError
    if not isinstance(ending, asyncio.CancelledError):
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)  # it was asked for and has not come: here it comes
    while runner.uncancel():
        pass
