"""Waits with an end, which cost next to nothing where there is nothing to wait for."""

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar, cast

__all__ = ["Stopped", "driven", "waiting_task", "within"]

T = TypeVar("T")


@types.coroutine
def within(seconds: float, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Awaits `work`, which is cancelled when it takes longer.

    As `asyncio.timeout` would do, but a timer is set only if the work does not end at once. What hosts wait for (a
    body, room to write) is nearly always there, and this is on the path of every request.

    Raises:
        TimeoutError: it took longer, and ended because of that.
    """
    try:
        awaited = work.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    waiter = waiting_task()
    mark = object()
    timer = asyncio.get_running_loop().call_later(seconds, waiter.cancel, mark)
    try:
        return (yield from driven(work, awaited, waiter, mark))
    except Stopped as error:
        raise TimeoutError from error
    finally:
        timer.cancel()


class Stopped(Exception):
    """The waiting task was cancelled with the mark of this wait."""


def waiting_task() -> asyncio.Task[Any]:
    """The task that waits."""
    waiter = asyncio.current_task()
    assert waiter is not None
    return waiter


def driven(
    work: Coroutine[Any, Any, T], awaited: Any, waiter: asyncio.Task[Any], mark: object
) -> Generator[Any, Any, T]:
    """Goes on with work that waits for `awaited`.

    Raises:
        Stopped: its task was cancelled with this mark, and for no other reason; the task is not cancelled then.
    """
    try:
        while True:
            try:
                sent = yield awaited
            except BaseException as error:  # noqa: BLE001 -- whatever it is, it is for the work
                awaited = work.throw(error)
            else:
                awaited = work.send(sent)
    except StopIteration as done:
        return cast("T", done.value)
    except asyncio.CancelledError as error:
        if error.args != (mark,) or waiter.uncancel():
            raise
        raise Stopped from error
