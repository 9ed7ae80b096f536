"""Following one task to where there is nothing more to wait for, whatever happens to the connection."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress

import msgspec

from dragoman.client.channel import Channel
from dragoman.client.outcome import TaskUnfinished
from dragoman.client.pacing import Pauses
from dragoman.client.view import TaskView
from dragoman.errors import (
    DragomanError,
    InternalError,
    InvalidParamsError,
    MethodNotFoundError,
    ReplyMalformed,
    TaskNotFoundError,
    TransportError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.operations import GET_TASK, SUBSCRIBE_TO_TASK
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.types.reliable import number_of, unnumbered
from dragoman.types.requests import GetTaskRequest, SubscribeToTaskRequest
from dragoman.types.task import Task

__all__ = ["Events", "First", "Way", "followed", "settled", "timely"]

log = logging.getLogger("dragoman.client")

Events = AsyncGenerator[StreamEvent, None]
First = Callable[[], Events]
"""Sends the request and gives what comes of it; called again only where the agent knows the message again."""

ATTEMPTS = 6
"""How often in a row a message may go unanswered, or the agent say what makes no sense, before the caller is told."""
GRACE_SECONDS = 1.0
"""How long a stream whose task has ended may take to close, so that its connection can be used again."""

# What agents answer to a subscription that cannot be: the task has ended meanwhile, nobody runs it, or there are none.
_NO_SUBSCRIPTION = (UnsupportedOperationError, InvalidParamsError, MethodNotFoundError, TaskNotFoundError)
_AGAIN = (TransportError, UnavailableError, InternalError)
_CHUNKS = (TaskArtifactUpdateEvent,)
_UPDATES = (TaskStatusUpdateEvent, TaskArtifactUpdateEvent)


class Way(msgspec.Struct, frozen=True):
    """How an agent is reached, and what it can do. Times are in seconds."""

    channel: Channel
    streaming: bool
    repeatable: bool
    """Whether the agent knows a message again that it is sent twice."""
    interval: float
    patience: float


async def followed(way: Way, view: TaskView, first: First | None, *, patient: bool = False) -> Events:
    """The events of `first`, and after a cut what came since, or what looking finds; all added to `view`.

    Ends after the event that ends the task, or when a stream ends in a settled state. After a cut the events go on by
    number where the agent numbers them; else the next one is the Task, which replaces what came before, and so is the
    last one if updates came in between. Once the task is known there are attempts for as long as it takes; before, a
    repeatable message is sent up to six times, if not `patient`. A question that was answered is taken for the agent's
    word again after the way's patience without news.

    Raises:
        A2AError: the agent's word.
        TransportError: cut before the task was known; or nothing that makes sense came six times in a row.
    """
    following = _Following(way, view, first, patient=patient)
    async with aclosing(following.events()) as events:
        async for event in events:
            yield event


async def settled(view: TaskView, events: Events) -> None:
    """Reads until the view is settled: to the end if that comes by itself, so that its connection is given back."""
    async with aclosing(events):
        async for _ in events:
            if view.settled and not view.ended and not view.unsure:
                return


async def timely(events: Events, view: TaskView, seconds: float) -> Events:
    """The events, for so many seconds.

    Raises:
        TaskUnfinished: then there are still some to come.
    """
    end = asyncio.get_running_loop().time() + seconds
    async with aclosing(events):
        while True:
            scope = asyncio.timeout_at(end)
            try:
                async with scope:
                    event = await anext(events)
            except StopAsyncIteration:
                return
            except TimeoutError:
                if not scope.expired():
                    raise
                raise TaskUnfinished(view.task_id, seconds, view.trouble) from view.trouble
            yield event


class _Following:
    def __init__(self, way: Way, view: TaskView, first: First | None, *, patient: bool) -> None:
        self._way = way
        self._view = view
        self._first = first
        self._patient = patient
        self._pauses = Pauses(way.interval)
        self._failures = 0
        self._looked = False
        self._suspect: tuple[type[object], ...] = ()

    async def events(self) -> Events:
        try:
            while True:
                wish: float | None = None
                try:
                    async with aclosing(self._news()) as news:
                        async for event in news:
                            yield event
                    self._failures, self._view.trouble = 0, None
                except _AGAIN as error:
                    self._failed(error)
                    wish = getattr(error, "retry_after", None)
                if self._over():
                    return
                await self._pause(wish)
        except asyncio.CancelledError as error:
            if self._view.task_id is not None:
                error.add_note(f"The task {self._view.task_id} may go on; client.task(...) picks it up")
            raise

    def _over(self) -> bool:
        view = self._view
        if view.unsure:
            return False
        if view.settled or (view.overtaken and self._pauses.quiet_seconds >= self._way.patience):
            return True
        if view.task_id is None and not self._failures:
            raise ReplyMalformed("The stream ended before it said anything")
        return False

    async def _pause(self, wish: float | None) -> None:
        if self._view.settled and not self._failures:
            return
        await (self._pauses.after_look() if self._looked and not self._failures else self._pauses.after_cut(wish))

    def _failed(self, error: DragomanError) -> None:
        """Takes note of a failed attempt; raises if it was the last."""
        self._failures += 1
        self._view.trouble = error
        if self._is_final(error):
            if isinstance(error, TransportError):
                error.task_id = self._view.task_id
            raise error
        if self._failures == ATTEMPTS:
            log.warning("task %s is out of reach; attempts go on: %s", self._view.task_id, error)

    def _is_final(self, error: DragomanError) -> bool:
        known, often = self._view.task_id is not None, self._failures >= ATTEMPTS
        if isinstance(error, ReplyMalformed | InternalError):
            # The agent's word on a message, or in its own stream. Of a task that it has it may say more.
            spoken = not known or (isinstance(error, InternalError) and self._first is not None)
            return spoken or often
        return not known and (not self._way.repeatable or (often and not self._patient))

    def _attempt(self) -> Events:
        self._looked, self._suspect = False, ()
        if self._view.task_id is None and self._first is not None:
            return self._first()
        self._first = None
        return self._look() if self._view.unsure or not self._way.streaming else self._subscribed()

    async def _subscribed(self) -> Events:
        """What comes after the last number; else the task and what comes after it; a look where that cannot be."""
        if self._view.number is None:
            self._suspect = _UPDATES
        request = SubscribeToTaskRequest(id=self._view.task_id or "")
        with suppress(*_NO_SUBSCRIPTION):
            stream = self._way.channel.stream(SUBSCRIBE_TO_TASK, request, after=self._view.number)
            async with aclosing(stream) as events:
                async for event in events:
                    yield event
                return
        async with aclosing(self._look()) as events:
            async for event in events:
                yield event

    async def _look(self) -> Events:
        self._looked = True
        yield await self._way.channel.call(GET_TASK, GetTaskRequest(id=self._view.task_id or ""))

    async def _news(self) -> Events:
        """The events that the view does not know yet, each added to it; ends with the one that ends the task."""
        view = self._view
        async with aclosing(self._attempt()) as source:
            async for received in source:
                number = number_of(received)
                if view.has(number) and not isinstance(received, Task):
                    continue
                event: StreamEvent = unnumbered(received)
                known = isinstance(event, Task) and view.shows(event)
                view.add(event, number)
                self._doubt(event, number)
                if not known:
                    self._pauses.news()
                    self._failures, view.trouble = 0, None
                    yield event
                if view.ended:
                    await _drained(source)
                    return

    def _doubt(self, event: StreamEvent, number: int | None) -> None:
        """Tells whether the view may have missed or doubled something. Agents that do not number their events can say
        one both in the task and after it, or nothing of what came between two streams.
        """
        if isinstance(event, Task):
            self._suspect = _CHUNKS if self._suspect else ()
            self._view.unsure = False
        elif number is None and isinstance(event, self._suspect):
            self._view.unsure = True


async def _drained(events: Events) -> None:
    with suppress(TimeoutError, DragomanError):
        async with asyncio.timeout(GRACE_SECONDS):
            async for _ in events:
                pass
