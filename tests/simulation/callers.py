"""Callers of the simulated agent: they send, stream, ask again, answer, add to a task and cancel it, as chance has it,
and write down what they are told.
"""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import msgspec

from dragoman.engine.feed import Batch, TaskFeed
from dragoman.errors import (
    A2AError,
    StoreUnavailable,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnavailableError,
    UnsupportedOperationError,
)
from dragoman.operations import (
    CANCEL_TASK,
    GET_TASK,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
    Operation,
)
from dragoman.ports.call import CallContext, Principal
from dragoman.ports.tasks import Selector
from dragoman.types.content import Message, Part, Role
from dragoman.types.events import StreamEvent
from dragoman.types.reliable import RELIABLE, number_of
from dragoman.types.requests import (
    CancelTaskRequest,
    GetTaskRequest,
    SendMessageConfiguration,
    SendMessageRequest,
    ServiceParameters,
    SubscribeToTaskRequest,
)
from dragoman.types.task import Task, TaskState
from tests.faults.history import Acknowledged, Answered, Delivered, History, Reading
from tests.simulation.agents import random_plan
from tests.simulation.hosts import Host, Lost

__all__ = ["Caller"]

PATIENCE = 45.0
SILENCE = 4
"""Signs of life without an event, after which a caller looks elsewhere."""
LIFE = 300.0
"""How long a caller stays with its task."""


class Caller:
    """One caller with one task, and perhaps some messages for it."""

    def __init__(self, name: str, hosts: Sequence[Host], random: Random, history: History, *, calm: bool) -> None:
        self._name = name
        self._hosts = hosts
        self._random = random
        self._history = history
        self._calm = calm
        self._principal = Principal(random.choice(("", "alice")))
        self._extensions = random.choice(((), (RELIABLE,)))
        self._messages = 0
        self._seen = 0
        """The number of the last event of the task that has come here without a gap."""

    async def live(self) -> None:
        """Sends a plan, and stays until its task has ended, or for so long at most."""
        loop = asyncio.get_running_loop()
        until = loop.time() + LIFE
        if self._chance(0.1):
            await self._ask_directly(until)
        task_id = await self._send(random_plan(self._random), None, until)
        while task_id is not None and loop.time() < until:
            try:
                state = await self._look(task_id)
                if state.terminal:
                    return
                await self._interfere(task_id, state, until)
            except (Lost, UnavailableError):
                pass
            except TaskNotFoundError:
                assert task_id in self._history.erased
                return
            await asyncio.sleep(self._random.choice((0.01, 0.5, 3.0)))

    async def _interfere(self, task_id: str, state: TaskState, until: float) -> None:
        """Answers, adds to the task, ends it, or leaves it alone."""
        if state is TaskState.INPUT_REQUIRED:
            await self._send(f"answer-{self._messages}", task_id, until)
        elif self._chance(0.1):
            await self._send(random_plan(self._random), task_id, until)
        elif self._chance(0.05):
            await self._cancel(task_id)
        elif self._chance(0.03):
            await self._erase(task_id)

    # Messages.

    async def _send(self, text: str, task_id: str | None, until: float) -> str | None:
        """The task that the message went to, as far as it was told; None if it was refused, or nobody answered."""
        message = self._message(text, task_id)
        while asyncio.get_running_loop().time() < until:
            try:
                if self._known_again and self._chance(0.2):
                    answers = await asyncio.gather(
                        self._send_once(message), self._send_once(message), return_exceptions=True
                    )
                    found = [one for one in answers if isinstance(one, str)]
                    if found:
                        return found[0]
                    raise next(one for one in answers if isinstance(one, BaseException))
                return await self._send_once(message)
            except (Lost, UnavailableError):
                await asyncio.sleep(self._random.choice((0.05, 1.0, 6.0)))
                if not self._known_again:
                    message = self._message(text, task_id)
            except UnsupportedOperationError:
                return None
        return None

    def _message(self, text: str, task_id: str | None) -> Message:
        self._messages += 1
        name = f"{self._name}-{self._messages}"
        return Message(message_id=name, role=Role.USER, parts=(Part(text=text),), task_id=task_id)

    @property
    def _known_again(self) -> bool:
        return bool(self._principal.id or self._extensions)

    async def _send_once(self, message: Message) -> str:
        way = self._random.choice(("wait", "immediately", "stream"))
        configuration = SendMessageConfiguration(return_immediately=way == "immediately")
        request = SendMessageRequest(message=message, configuration=configuration)
        if way == "stream":
            reading = await self._stream(SEND_STREAMING_MESSAGE, request, None, message)
            if not reading.task_id:
                raise Lost
            return reading.task_id
        task = self._told(await self._call(SEND_MESSAGE, request))
        self._acknowledged(message, task.id)
        return task.id

    def _acknowledged(self, message: Message, task_id: str) -> None:
        scope = self._context().scope("")
        one = Acknowledged(scope, message.message_id, message.text, task_id, self._known_again)
        self._history.acknowledged.append(one)

    async def _ask_directly(self, until: float) -> None:
        """Asks something that needs no task, perhaps twice."""
        message = self._message("direct", None)
        configuration = SendMessageConfiguration()
        request = SendMessageRequest(message=message, configuration=configuration)
        while asyncio.get_running_loop().time() < until:
            try:
                answer = await self._call(SEND_MESSAGE, request)
            except (Lost, UnavailableError):
                await asyncio.sleep(self._random.choice((0.05, 1.0, 6.0)))
                continue
            scope = self._context().scope("")
            self._history.answered.append(Answered(scope, message.message_id, answer, self._known_again))
            if self._chance(0.5):
                return

    # The task.

    async def _look(self, task_id: str) -> TaskState:
        if self._chance(0.5):
            try:
                after = self._seen if self._seen and self._chance(0.5) else None
                await self._stream(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task_id), after, None)
            except UnsupportedOperationError:
                """It has ended."""
        return self._told(await self._call(GET_TASK, GetTaskRequest(id=task_id))).state

    async def _cancel(self, task_id: str) -> None:
        try:
            task = self._told(await self._call(CANCEL_TASK, CancelTaskRequest(id=task_id)))
        except TaskNotCancelableError:
            return
        assert task.state is TaskState.CANCELED

    async def _erase(self, task_id: str) -> None:
        host = await self._host()
        assert host.service is not None
        try:
            await host.within(host.service.erase(Selector(task_id=task_id)), self._patience)
        except StoreUnavailable as error:
            raise UnavailableError from error
        assert task_id in self._history.erased

    def _told(self, task: Task) -> Task:
        if task.state.terminal:
            self._history.ended.append(task)
        return task

    # How calls are made.

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability

    @property
    def _patience(self) -> float | None:
        """How long this caller waits this time."""
        return None if self._calm else self._random.choice((0.2, PATIENCE, PATIENCE))

    def _context(self, after: int | None = None) -> CallContext:
        parameters = ServiceParameters(extensions=self._extensions, last_event_id=after)
        return CallContext(principal=self._principal, parameters=parameters)

    async def _host(self) -> Host:
        while True:
            able = [host for host in self._hosts if host.service is not None]
            if able:
                return self._random.choice(able)
            await asyncio.sleep(0.5)

    async def _call(self, operation: Operation, request: Any) -> Any:
        host = await self._host()
        assert host.service is not None
        try:
            return await host.within(host.service.call(operation, request, self._context()), self._patience)
        except StoreUnavailable as error:
            raise UnavailableError from error

    async def _stream(self, operation: Operation, request: Any, after: int | None, sent: Message | None) -> Reading:
        host = await self._host()
        assert host.service is not None
        feed = await host.within(host.service.call(operation, request, self._context(after)), self._patience)
        reading = Reading("", began=asyncio.get_running_loop().time())
        leaves = 10_000 if self._calm or self._chance(0.5) else self._random.randint(1, 10)
        silence = 0
        try:
            while len(reading.events) < leaves and silence < SILENCE:
                batch = await host.within(_next(feed), PATIENCE)
                if batch is None:
                    reading.ended = not feed.cut
                    break
                silence = 0 if batch else silence + 1
                reading = self._take(reading, batch, after, sent)
                if reading.state.interrupted:
                    break
        except (A2AError, StoreUnavailable, Lost):
            """A stream that breaks off was told nothing more."""
        finally:
            asyncio.get_running_loop().call_soon(feed.close, context=host.context)
        return reading

    def _take(self, reading: Reading, batch: Batch, after: int | None, sent: Message | None) -> Reading:
        """Writes down what has come; where the task stands in for events that are gone, a reading begins anew."""
        now = asyncio.get_running_loop().time()
        for seq, numbered in batch:
            assert seq is not None
            event = self._bare(seq, numbered)
            first = not reading.task_id
            if isinstance(event, Task):
                if not first:
                    assert event.state.terminal, "a task in the middle of a stream"
                    reading, first = Reading("", began=now), True
                reading.task_id, reading.start, reading.snapshot = event.id, seq, event
            else:
                if first:
                    assert after is not None
                    reading.task_id, reading.start = event.task_id, after
                reading.events.append(Delivered(seq, event, now))
            if first:
                self._history.readings.append(reading)
                if sent is not None:
                    self._acknowledged(sent, reading.task_id)
            self._seen = seq
        return reading

    def _bare(self, seq: int, event: StreamEvent) -> Any:
        """The event as it is stored: without the number that it was given for this caller."""
        assert not isinstance(event, Message)
        if RELIABLE not in self._extensions:
            return event
        assert number_of(event) == seq
        metadata = {name: value for name, value in (event.metadata or {}).items() if name != RELIABLE}
        return msgspec.structs.replace(event, metadata=metadata or None)


async def _next(feed: TaskFeed) -> Batch | None:
    return await anext(feed, None)
