"""Whether the caller is still there."""

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from typing import Any, TypeVar, cast

from dragoman.hosts.binding import Receive
from dragoman.hosts.reading import Disconnected
from dragoman.hosts.timing import Stopped, driven, waiting_task

__all__ = ["unless_gone", "until_gone"]

T = TypeVar("T")

LOOK_AFTER = 1.0
"""Seconds of waiting after which it is looked whether there is still somebody to wait for."""


async def until_gone(receive: Receive, then: Callable[[], object]) -> None:
    """Calls `then` when the caller leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass
    then()


@types.coroutine
def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
    """Awaits `work`, which is cancelled if it takes long and the caller leaves. Short work costs a timer at most.

    The request must have been read to its end.

    Raises:
        Disconnected: the caller left.
    """
    try:
        awaited = work.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    loop, waiter, mark = asyncio.get_running_loop(), waiting_task(), object()
    looking: list[asyncio.Task[None]] = []

    def look() -> None:
        looking.append(loop.create_task(until_gone(receive, partial(waiter.cancel, mark))))

    timer = loop.call_later(LOOK_AFTER, look)
    try:
        return (yield from driven(work, awaited, waiter, mark))
    except Stopped as error:
        raise Disconnected from error
    finally:
        timer.cancel()
        for task in looking:
            task.cancel()
