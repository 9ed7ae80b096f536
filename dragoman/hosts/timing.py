"""Waits with an end, which cost next to nothing where there is nothing to wait for."""

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar, cast

__all__ = ["within"]

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
    waiter = asyncio.current_task()
    assert waiter is not None
    late = object()
    timer = asyncio.get_running_loop().call_later(seconds, waiter.cancel, late)
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
        if error.args != (late,) or waiter.uncancel():
            raise
        raise TimeoutError from error
    finally:
        timer.cancel()
