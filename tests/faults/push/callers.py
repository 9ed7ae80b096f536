"""Callers that have their tasks pushed: inline and later, in several dialects, to several receivers; some change their
mind. They retry themselves, so that it is the server's promises that are seen, not the client's.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple, Protocol

import msgspec

from dragoman.errors import TaskNotCancelableError, TransportError, UnavailableError, UnsupportedOperationError
from dragoman.operations import (
    CANCEL_TASK,
    CREATE_PUSH_CONFIG,
    DELETE_PUSH_CONFIG,
    GET_TASK,
    SEND_MESSAGE,
    Operation,
)
from dragoman.types.content import Message, Part, Role
from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig
from dragoman.types.requests import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskRequest,
    SendMessageConfiguration,
    SendMessageRequest,
)
from dragoman.types.task import Task, TaskState
from tests.faults.push.history import History, Registration
from tests.simulation.agents import POLICIES, random_plan

__all__ = ["Calls", "Place", "Subscriber"]

Broken = (TransportError, UnavailableError, TimeoutError)
"""After these the caller does not know what became of its call."""
PATIENCE = 8.0
CALL_LIMIT = 2_000
"""Attempts to have one call answered."""
TALK = 40
"""How much each task says at least."""
MOST = 5
"""Configurations of one task."""
PAUSES = (0.0, 0.05, 0.15)


class Calls(Protocol):
    """The way to the agent, as far as it is used here."""

    async def call(self, operation: Operation, request: Any) -> Any: ...


class Place(NamedTuple):
    """Where something can be posted to: scheme, host and port, and whose paths begin with which name."""

    name: str
    origin: str


class Subscriber:
    """One task after the other, until `stopping`. `seq` says how far the log of a task is, `free` waits until there is
    not too much to deliver; `pauses` are those between two looks at a task.
    """

    def __init__(
        self,
        name: str,
        channels: Mapping[str, Calls],
        places: Sequence[Place],
        random: Random,
        history: History,
        *,
        seq: Callable[[str], Awaitable[int]],
        free: Callable[[], Awaitable[None]],
        stopping: Callable[[], bool],
        talk: int = TALK,
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self._name = name
        self._channels = channels
        self._dialects = sorted(channels)
        self._places = places
        self._random = random
        self._history = history
        self._seq = seq
        self._free = free
        self._stopping = stopping
        self._talk = talk
        self._pauses = pauses
        self._count = 0

    async def live(self) -> None:
        """Returns when its last task has ended."""
        while not self._stopping():
            await self._free()
            task_id, first = await self._send(f"{random_plan(self._random, POLICIES)} say:{self._talk}", None)
            assert task_id is not None
            await self._follow(task_id, [] if first is None else [first])

    async def _follow(self, task_id: str, mine: list[Registration]) -> None:
        while True:
            state = await self._state(task_id)
            if self._chance(0.2) and len(mine) < MOST:
                mine.append(await self._register(task_id))
            if self._chance(0.06) and mine:
                await self._set_again(self._random.choice(mine))
            if self._chance(0.06) and mine:
                await self._remove(mine.pop(self._random.randrange(len(mine))))
            if state.terminal:
                return
            if state is TaskState.INPUT_REQUIRED or self._chance(0.03):
                _, more = await self._send("answer", task_id)
                mine += [] if more is None else [more]
            elif self._chance(0.02):
                await self._cancel(task_id)
            await asyncio.sleep(self._random.choice(self._pauses))

    # Calls.

    async def _send(self, text: str, task_id: str | None) -> tuple[str | None, Registration | None]:
        """The task that has the message, or None if its task has ended; and what was registered with it."""
        message = Message(message_id=self._fresh("message"), role=Role.USER, parts=(Part(text=text),), task_id=task_id)
        dialect = self._random.choice(self._dialects)
        new = self._wanted(dialect) if self._chance(0.7) else None
        configuration = SendMessageConfiguration(
            return_immediately=True, task_push_notification_config=None if new is None else new.config
        )
        if new is not None and task_id is not None:
            new.after = await self._seq(task_id)
        try:
            sent = SendMessageRequest(message=message, configuration=configuration)
            task: Task = await self._insist(dialect, SEND_MESSAGE, sent)
        except UnsupportedOperationError:
            return None, None
        if new is not None:
            new.by = 0 if task_id is None else await self._seq(task.id)
            self._registered(new, task.id)
        return task.id, new

    async def _register(self, task_id: str) -> Registration:
        new = self._wanted(self._random.choice(self._dialects))
        new.after = await self._seq(task_id)
        await self._insist(new.dialect, CREATE_PUSH_CONFIG, msgspec.structs.replace(new.config, task_id=task_id))
        new.by = await self._seq(task_id)
        self._registered(new, task_id)
        return new

    async def _set_again(self, one: Registration) -> None:
        """As it is, which changes nothing for who has it."""
        await self._insist(one.dialect, CREATE_PUSH_CONFIG, one.config)

    async def _remove(self, one: Registration) -> None:
        one.removed = True
        request = DeleteTaskPushNotificationConfigRequest(task_id=one.config.task_id, id=one.config.id)
        await self._insist(one.dialect, DELETE_PUSH_CONFIG, request)
        one.removed_at = time.time()

    async def _state(self, task_id: str) -> TaskState:
        task: Task = await self._insist(self._random.choice(self._dialects), GET_TASK, GetTaskRequest(id=task_id))
        return task.state

    async def _cancel(self, task_id: str) -> None:
        try:
            await self._insist(self._dialects[0], CANCEL_TASK, CancelTaskRequest(id=task_id))
        except TaskNotCancelableError:
            return

    async def _insist(self, dialect: str, operation: Operation, request: Any) -> Any:
        """The answer, by as many attempts as it takes."""
        for _ in range(CALL_LIMIT):
            try:
                async with asyncio.timeout(PATIENCE):
                    return await self._channels[dialect].call(operation, request)
            except Broken:
                await asyncio.sleep(self._random.choice((0.02, 0.1, 0.3)))
        raise AssertionError(f"{operation.name} was not answered in {CALL_LIMIT} attempts")

    # Configurations.

    def _wanted(self, dialect: str) -> Registration:
        """A configuration that is still to be registered."""
        place = self._random.choice(self._places)
        name = self._fresh("config")
        path = f"/{place.name}/{name}"
        self._history.asked.add(path)
        config = TaskPushNotificationConfig(
            id=name,
            url=place.origin + path,
            token=f"token-of-{name}",
            authentication=AuthenticationInfo(scheme="Bearer", credentials=f"secret-of-{name}"),
        )
        return Registration(config, dialect)

    def _registered(self, new: Registration, task_id: str) -> None:
        new.config = msgspec.structs.replace(new.config, task_id=task_id)
        self._history.registrations[f"/{new.config.url.split('/', 3)[3]}"] = new

    def _fresh(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-{self._name}-{self._count}"

    def _chance(self, probability: float) -> bool:
        return self._random.random() < probability
