"""How the program waits for a task where there is no stream: by polls that grow apart."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator

from dragoman.errors import InternalError, ReplyMalformed, TransportError, UnavailableError
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

    A state that is none of those, an unspecified one included, counts as in flight. An agent that cannot be reached, or
    is not available, is tried for as long as it takes, and not before it wants to be; how long that may be is the
    caller's to say.

    Raises:
        A2AError: the agent refused the poll, or broke over three in a row.
        ReplyMalformed: three answers in a row made no sense.
    """
    failures, wish = 0, 0.0
    for gap in delays(interval):
        await sleep(max(gap, wish))
        wish = 0.0
        try:
            task = await fetch()
        except (InternalError, ReplyMalformed):
            failures += 1
            if failures == _PATIENCE:
                raise
            continue
        except UnavailableError as error:
            wish = error.retry_after or 0.0
            continue
        except TransportError:
            continue
        failures = 0
        seen(task)
        if task.state.settled:
            return task
    raise AssertionError("the delays never end")
