"""Callers over real connections, which break: they send, stream, go on, answer, cancel and vanish, and write down what
they are told. They retry themselves, so that it is the server's promises that are seen, not the client's.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from random import Random
from typing import Any

import msgspec

from dragoman.client.channel import Channel
from dragoman.errors import (
    A2AError,
    TaskNotCancelableError,
    TransportError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.operations import CANCEL_TASK, GET_TASK, SEND_MESSAGE, SEND_STREAMING_MESSAGE, SUBSCRIBE_TO_TASK
from dragoman.ports.call import Scope
from dragoman.types.content import Message, Part, Role
from dragoman.types.events import StreamEvent
from dragoman.types.json import JsonObject
from dragoman.types.reliable import RELIABLE, number_of
from dragoman.types.requests import (
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.types.task import Task, TaskState
from tests.faults.history import Acknowledged, Delivered, History, Reading
from tests.simulation.agents import POLICIES, random_plan

__all__ = ["Caller"]

Broken = (TransportError, UnavailableError, TimeoutError)
"""After these the caller does not know what became of its call."""
PATIENCE = 4.0
SEND_LIMIT = 200
"""Attempts to have one message acknowledged."""


class Caller:
    """One task after the other, until `stopping`; each is followed to its end."""

    def __init__(
        self, name: str, channel: Channel, random: Random, history: History, stopping: Callable[[], bool]
    ) -> None:
        self._name = name
        self._channel = channel
        self._random = random
        self._history = history
        self._stopping = stopping
        self._messages = 0
        self._seen = 0

    async def live(self) -> None:
        """Returns when its last task has ended."""
        while not self._stopping():
            self._seen = 0
            task_id = await self._send(_longer(random_plan(self._random, POLICIES)), None)
            if task_id is not None:
                await self._follow(task_id)

    async def _follow(self, task_id: str) -> None:
        while True:
            try:
                state = await self._look(task_id)
                if state.terminal:
                    return
                if state is TaskState.INPUT_REQUIRED:
                    await self._send(f"answer-{self._messages}", task_id)
                elif self._chance(0.05) and not self._stopping():
                    await self._send(random_plan(self._random, POLICIES), task_id)
                elif self._chance(0.03):
                    await self._cancel(task_id)
            except Broken:
                pass
            await asyncio.sleep(self._random.choice((0.0, 0.05, 0.2)))

    # Messages.

    async def _send(self, text: str, task_id: str | None) -> str | None:
        self._messages += 1
        message = Message(
            message_id=f"{self._name}-{self._messages}", role=Role.USER, parts=(Part(text=text),), task_id=task_id
        )
        for _ in range(SEND_LIMIT):
            try:
                return await self._send_once(message)
            except Broken:
                await asyncio.sleep(self._random.choice((0.02, 0.1, 0.3)))
            except UnsupportedOperationError:
                return None
        raise AssertionError(f"message {message.message_id} was not taken in {SEND_LIMIT} attempts")

    async def _send_once(self, message: Message) -> str:
        way = self._random.choice(("wait", "immediately", "stream", "stream"))
        configuration = SendMessageConfiguration(return_immediately=way == "immediately")
        request = SendMessageRequest(message=message, configuration=configuration)
        if way == "stream":
            reading = await self._read(self._channel.stream(SEND_STREAMING_MESSAGE, request), None, message)
            if not reading.task_id:
                raise UnavailableError
            return reading.task_id
        async with asyncio.timeout(PATIENCE):
            task = self._told(await self._channel.call(SEND_MESSAGE, request))
        self._acknowledged(message, task.id)
        return task.id

    def _acknowledged(self, message: Message, task_id: str) -> None:
        one = Acknowledged(Scope(), message.message_id, message.text, task_id, known_again=True)
        self._history.acknowledged.append(one)

    # The task.

    async def _look(self, task_id: str) -> TaskState:
        if self._chance(0.8):
            after = self._seen if self._seen and self._chance(0.7) else None
            request = SubscribeToTaskRequest(id=task_id)
            try:
                await self._read(self._channel.stream(SUBSCRIBE_TO_TASK, request, after=after), after, None)
            except UnsupportedOperationError:
                """It has ended."""
        async with asyncio.timeout(PATIENCE):
            return self._told(await self._channel.call(GET_TASK, GetTaskRequest(id=task_id))).state

    async def _cancel(self, task_id: str) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                self._told(await self._channel.call(CANCEL_TASK, CancelTaskRequest(id=task_id)))
        except TaskNotCancelableError:
            return

    def _told(self, task: Task) -> Task:
        if task.state.terminal:
            self._history.ended.append(_bare(task))
        return task

    # Streams.

    async def _read(
        self, events: AsyncGenerator[StreamEvent, None], after: int | None, sent: Message | None
    ) -> Reading:
        """Reads until the end, a cut, or until this caller leaves. What breaks before the first event is raised."""
        reading = Reading("")
        leaves = self._random.randint(1, 30) if self._chance(0.2) else 1_000_000
        try:
            async with aclosing(events):
                async for event in _timely(events):
                    self._take(reading, event, after, sent)
                    if len(reading.events) >= leaves or reading.state.interrupted:
                        return reading
                reading.ended = reading.state.settled
        except (A2AError, *Broken):
            if not reading.task_id:
                raise
        return reading

    def _take(self, reading: Reading, numbered: StreamEvent, after: int | None, sent: Message | None) -> None:
        seq, event = number_of(numbered), _bare(numbered)
        assert seq is not None, "an event has no number"
        first = not reading.task_id
        if isinstance(event, Task):
            assert first, "a task in the middle of a stream"
            reading.task_id, reading.start, reading.snapshot = event.id, seq, event
        else:
            if first:
                assert after is not None, "a stream that begins without its task"
                reading.task_id, reading.start = event.task_id, after
            reading.events.append(Delivered(seq, event))
        if first:
            self._history.readings.append(reading)
            if sent is not None:
                self._acknowledged(sent, reading.task_id)
        self._seen = seq

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability


async def _timely(events: AsyncGenerator[StreamEvent, None]) -> AsyncGenerator[StreamEvent, None]:
    """The events, as long as there is one every few seconds."""
    while True:
        try:
            async with asyncio.timeout(PATIENCE):
                event = await anext(events)
        except StopAsyncIteration:
            return
        yield event


def _bare(event: Any) -> Any:
    """The event as it is stored: without the number that it was given for this caller."""
    stated: JsonObject = event.metadata or {}
    metadata = {name: value for name, value in stated.items() if name != RELIABLE}
    return msgspec.structs.replace(event, metadata=metadata or None)


def _longer(plan: str) -> str:
    """The plan with more to say, since real connections need time to break."""
    return plan + " say:40"
