"""Following one task to where there is nothing more to wait for, whatever happens to the connection."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from dragoman.client.channel import Channel
from dragoman.client.view import TaskView
from dragoman.errors import (
    DragomanError,
    InvalidParamsError,
    MethodNotFoundError,
    ReplyMalformed,
    TransportError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.operations import GET_TASK, SUBSCRIBE_TO_TASK
from dragoman.types.events import StreamEvent
from dragoman.types.requests import GetTaskRequest, SubscribeToTaskRequest
from dragoman.types.task import Task

__all__ = ["Events", "followed", "settled"]

Events = AsyncGenerator[StreamEvent, None]

ATTEMPTS = 6
"""How often in a row the agent may be out of reach before the caller is told."""
SLOWEST = 10
"""The longest pause is this many times the shortest."""
GRACE_SECONDS = 1.0
"""How long a stream whose task has ended may take to close, so that its connection can be used again."""

# What agents answer to a subscription that cannot be: the task has ended meanwhile, or there are no subscriptions.
_NO_SUBSCRIPTION = (UnsupportedOperationError, InvalidParamsError, MethodNotFoundError)


async def followed(
    channel: Channel, view: TaskView, first: Events | None, *, streaming: bool, interval: float, patience: float
) -> Events:
    """The events of `first`, and after a cut those of new subscriptions, or what polling finds; all added to `view`.

    Ends after the event that ends the task, or when a stream ends in a settled state. After a cut the next event is
    the Task, which replaces what came before. Pauses between attempts grow from `interval` seconds to ten times that.
    A question that was answered is taken for the agent's word again after `patience` seconds without news.

    Raises:
        A2AError: the agent's word.
        TransportError: cut before the task was known, or out of reach six times in a row.
    """
    pauses = _Pauses(interval)
    source = first
    while True:
        try:
            async with aclosing(_news(view, source or _resumed(channel, view, streaming))) as events:
                async for event in events:
                    pauses.reset()
                    yield event
            pauses.failures = 0
        except (TransportError, UnavailableError):
            pauses.failures += 1
            if view.task_id is None or pauses.failures >= ATTEMPTS:
                raise
        if view.settled or (view.overtaken and pauses.quiet_seconds >= patience):
            return
        if view.task_id is None:
            raise ReplyMalformed("The stream ended before it said anything")
        await pauses.wait()
        source = None


async def settled(view: TaskView, events: Events) -> None:
    """Reads until the view is settled: to the end if that comes by itself, so that its connection is given back."""
    async with aclosing(events):
        async for _ in events:
            if view.settled and not view.ended:
                return


async def _news(view: TaskView, source: Events) -> Events:
    """The events that the view does not know yet, each added to it; ends with the one that ends the task."""
    async with aclosing(source):
        async for event in source:
            if isinstance(event, Task) and event == view.task:
                continue
            view.add(event)
            yield event
            if view.ended:
                await _drained(source)
                return


async def _resumed(channel: Channel, view: TaskView, streaming: bool) -> Events:
    """One more attempt: a subscription where there are streams, else one look."""
    task_id = view.task_id or ""
    if streaming:
        with suppress(*_NO_SUBSCRIPTION):
            async with aclosing(channel.stream(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task_id))) as events:
                async for event in events:
                    yield event
                return
    yield await channel.call(GET_TASK, GetTaskRequest(id=task_id))


async def _drained(events: Events) -> None:
    with suppress(TimeoutError, DragomanError):
        async with asyncio.timeout(GRACE_SECONDS):
            async for _ in events:
                pass


class _Pauses:
    """None before the first attempt, then longer ones; reset by every piece of news."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._clock = asyncio.get_running_loop().time
        self.reset()

    def reset(self) -> None:
        self._next = 0.0
        self._heard = self._clock()
        self.failures = 0

    @property
    def quiet_seconds(self) -> float:
        """How long there has been no news."""
        return self._clock() - self._heard

    async def wait(self) -> None:
        await asyncio.sleep(self._next)
        self._next = min(max(self._interval, self._next * 2), self._interval * SLOWEST)
