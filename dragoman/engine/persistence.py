"""Calls of a store that outlast its being unavailable."""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from dragoman.errors import StoreUnavailable

__all__ = ["until_available"]

log = logging.getLogger("dragoman.engine")

RETRY_SECONDS = (0.1, 0.3, 1.0, 3.0, 5.0)
"""Between one attempt and the next; the last for all that follow."""

T = TypeVar("T")


async def until_available(call: Callable[[], Awaitable[T]], task_id: str, *, given_up: Callable[[], bool]) -> T:
    """The result of a call for this task, made again while the store is unavailable.

    Raises:
        StoreUnavailable: still, and `given_up` says that there is no time left.
    """
    for delay in itertools.chain(RETRY_SECONDS, itertools.repeat(RETRY_SECONDS[-1])):
        try:
            return await call()
        except StoreUnavailable as error:
            if given_up():
                raise
            log.error("the store does not answer for task %s, trying again in %s s: %s", task_id, delay, error)  # noqa: TRY400 -- the message says it all, again and again
        await asyncio.sleep(delay)
    raise AssertionError("the attempts are endless")
