"""How the program waits for a task: by polls that grow apart, and by streams that fall back to polls."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator

from dragoman.errors import InternalError, TransportError, UnavailableError
from dragoman.types.task import Task

__all__ = ["delays", "until_settled"]

_GROWTH = 1.5
_CAP = 5.0
_JITTER = 0.1
_PATIENCE = 3


def delays(interval: float, chance: Callable[[], float] = random.random) -> Iterator[float]:
    """Seconds between polls: `interval` is the floor, growing by half each time up to five times of it, and up to a
    tenth more by chance, so that many waiting programs do not call at once.
    """
    gap = interval
    while True:
        yield gap * (1 + _JITTER * chance())
        gap = min(gap * _GROWTH, interval * _CAP)


async def until_settled(
    fetch: Callable[[], Awaitable[Task]],
    interval: float,
    seen: Callable[[Task], None],
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Task:
    """The task once it is terminal or interrupted, read by polls; each poll's task goes to `seen`.

    A state that is none of those, an unspecified one included, counts as in flight.

    Raises:
        A2AError: the agent refused the poll, or failed to answer three in a row.
        TransportError: three polls in a row failed.
    """
    failures = 0
    for gap in delays(interval):
        await sleep(gap)
        try:
            task = await fetch()
        except (TransportError, UnavailableError, InternalError):
            failures += 1
            if failures == _PATIENCE:
                raise
            continue
        failures = 0
        seen(task)
        if task.state.settled:
            return task
    raise AssertionError("the delays never end")
