"""An engine on a stage: a scripted agent, a clock that stands still, a store and a bus that can be disturbed."""

import asyncio
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dragoman.buses.memory import MemoryBus
from dragoman.engine.feed import TaskFeed
from dragoman.engine.service import Service
from dragoman.engine.world import Keeping, Limits, World
from dragoman.errors import Duplicate, StoreUnavailable
from dragoman.operations import Operation
from dragoman.ports.agent import AgentExecutor
from dragoman.ports.bus import EventBus
from dragoman.ports.call import CallContext, Scope
from dragoman.ports.push import NewPush
from dragoman.ports.tasks import (
    Commit,
    Entry,
    Key,
    Memo,
    NewTask,
    Page,
    Posted,
    Query,
    Selector,
    Stored,
    TaskStore,
    TurnStart,
)
from dragoman.ports.world import Clock
from dragoman.stores.memory import MemoryStore
from dragoman.stores.sqlite import SqliteStore
from dragoman.testing.clock import FakeClock, FakeIds
from dragoman.types.card import AgentCapabilities, AgentExtension
from dragoman.types.content import Message, Part, Role
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.types.reliable import RELIABLE
from dragoman.types.requests import SendMessageConfiguration, SendMessageRequest
from dragoman.types.task import Task, TaskState

__all__ = [
    "ANYONE",
    "CALL",
    "QUICK",
    "Stage",
    "WatchedStore",
    "bounded",
    "message",
    "new_store",
    "send",
    "settle",
    "staged",
    "texts",
]

ANYONE = Scope()
CALL = CallContext()
KEPT = Keeping()
QUICK = Limits(cancel_grace=0.05, drain_grace=0.05, keep_alive=60)


class WatchedStore:
    """A store that counts what is written, can hold commits back, and can be out of order for a while."""

    def __init__(self, inner: TaskStore) -> None:
        self.inner = inner
        self.created: list[NewTask] = []
        self.commits: list[Commit] = []
        self.failing = 0
        """How many of the next commits find the store unavailable."""
        self.silent = False
        """Whether beats find the store unavailable."""
        self.before_commit: Callable[[Commit], Awaitable[None]] | None = None
        self.after_create: Callable[[], Awaitable[None]] | None = None
        self.before_get: Callable[[], Awaitable[None]] | None = None
        self._gate: asyncio.Event | None = None
        self._waiting = asyncio.Semaphore(0)

    def hold(self) -> None:
        """Commits wait from now on."""
        self._gate = self._gate or asyncio.Event()

    async def held(self) -> None:
        """Returns when a commit waits; each time for another one."""
        await self._waiting.acquire()

    def release(self) -> None:
        """Lets commits pass again."""
        if self._gate is not None:
            self._gate.set()
            self._gate = None

    @property
    def description(self) -> str:
        return self.inner.description

    async def open(self) -> None:
        await self.inner.open()

    async def close(self) -> None:
        await self.inner.close()

    async def create(self, new: NewTask) -> None:
        await self.inner.create(new)
        self.created.append(new)
        if self.after_create is not None:
            await self.after_create()

    async def commit(self, commit: Commit) -> None:
        if self.before_commit is not None:
            await self.before_commit(commit)
        if self._gate is not None:
            gate = self._gate
            self._waiting.release()
            await gate.wait()
        if self.failing:
            self.failing -= 1
            raise StoreUnavailable("out of order")
        await self.inner.commit(commit)
        self.commits.append(commit)

    async def get(self, task_id: str, scope: Scope) -> Stored | None:
        if self.before_get is not None:
            await self.before_get()
        return await self.inner.get(task_id, scope)

    async def entries(self, task_id: str, scope: Scope, after: int, limit: int = 256) -> tuple[Entry, ...]:
        return await self.inner.entries(task_id, scope, after, limit)

    async def page(self, query: Query, scope: Scope) -> Page:
        return await self.inner.page(query, scope)

    async def post(self, task_id: str, scope: Scope, message: Message, start: TurnStart, key: Key | None = None) -> int:
        return await self.inner.post(task_id, scope, message, start, key)

    async def answered(self, scope: Scope, key: Key, answer: Message, push: NewPush | None = None) -> None:
        await self.inner.answered(scope, key, answer, push)

    async def known(self, scope: Scope, message_id: str) -> Duplicate | None:
        return await self.inner.known(scope, message_id)

    async def beat(self, worker: str) -> None:
        if self.silent:
            raise StoreUnavailable("out of order")
        await self.inner.beat(worker)

    async def retire(self, worker: str) -> None:
        await self.inner.retire(worker)

    async def claimable(self, dead_after: float, limit: int) -> tuple[Stored, ...]:
        return await self.inner.claimable(dead_after, limit)

    async def prune(self, *, logs_after: float | None, tasks_after: float | None, limit: int) -> int:
        return await self.inner.prune(logs_after=logs_after, tasks_after=tasks_after, limit=limit)

    async def inbox(self, task_id: str) -> tuple[Posted, ...]:
        return await self.inner.inbox(task_id)

    async def memos(self, task_id: str, turn: int) -> tuple[Memo, ...]:
        return await self.inner.memos(task_id, turn)

    async def locate(self, task_id: str) -> Stored | None:
        return await self.inner.locate(task_id)

    async def erase(self, selector: Selector) -> tuple[str, ...]:
        return await self.inner.erase(selector)


class Stage:
    """The engine of one agent, and what a test wants to do with it."""

    def __init__(
        self, store: TaskStore, agent: AgentExecutor, bus: EventBus, limits: Limits, keeping: Keeping = KEPT
    ) -> None:
        self.store = WatchedStore(store)
        self.clock = FakeClock()
        self.bus = bus
        self.world = World(
            store=self.store,
            bus=self.bus,
            agent=agent,
            clock=self.clock,
            ids=FakeIds(),
            limits=limits,
            keeping=keeping,
        )
        extensions = (AgentExtension(uri=RELIABLE),)
        self.service = Service(self.world, AgentCapabilities(streaming=True, extensions=extensions))

    async def call(self, operation: Operation, request: Any, context: CallContext = CALL) -> Any:
        return await self.service.call(operation, request, context)

    async def begin(self, text: str = "hello", **members: Any) -> Task:
        """A new task, as `return_immediately` gives it."""
        task = await self.service.send_message(send(text, immediately=True, **members), CALL)
        assert isinstance(task, Task)
        return task

    async def stored(self, task_id: str) -> Stored:
        stored = await self.store.inner.locate(task_id)
        assert stored is not None
        return stored

    async def task(self, task_id: str) -> Task:
        return (await self.stored(task_id)).task

    async def log(self, task_id: str) -> list[Entry]:
        """The whole log, with its numbers checked."""
        entries = list(await self.store.inner.entries(task_id, ANYONE, 1, 100_000))
        assert [entry.seq for entry in entries] == list(range(2, len(entries) + 2))
        return entries

    async def ended(self, task_id: str) -> Task:
        """The task once it has settled."""
        feed = self.feed(task_id, ends=lambda state: state.settled)
        try:
            return await feed.settled()
        finally:
            feed.close()

    def feed(self, task_id: str, *, ends: Callable[[TaskState], bool] = lambda state: state.terminal) -> TaskFeed:
        return TaskFeed(self.world, task_id, ANYONE, ends, closed=lambda _: None)


@asynccontextmanager
async def staged(
    store: TaskStore,
    agent: AgentExecutor,
    *,
    bus: EventBus | None = None,
    limits: Limits = QUICK,
    keeping: Keeping = KEPT,
) -> AsyncGenerator[Stage]:
    """An open engine, closed in the end."""
    stage = Stage(store, agent, bus or MemoryBus(), limits, keeping)
    await stage.service.open()
    try:
        yield stage
    finally:
        stage.store.release()
        await stage.service.close()


def new_store(kind: str, folder: Path, clock: Clock | None = None) -> TaskStore:
    if kind == "memory":
        return MemoryStore(clock)
    return SqliteStore(folder / "tasks.db", owner="Tested", synchronous="off", clock=clock)


def message(text: str = "hello", **members: Any) -> Message:
    return Message(message_id=f"m-{text:.100}", role=Role.USER, parts=(Part(text=text),), **members)


def send(
    text: str = "hello", *, immediately: bool = False, length: int | None = None, **members: Any
) -> SendMessageRequest:
    configuration = SendMessageConfiguration(return_immediately=immediately, history_length=length)
    return SendMessageRequest(message=message(text, **members), configuration=configuration)


def texts(events: Sequence[StreamEvent]) -> list[str]:
    """What the events say, in order: text of chunks, `[text]` of notes, `state` of statuses without a word."""
    said: list[str] = []
    for event in events:
        if isinstance(event, TaskArtifactUpdateEvent):
            said.append(event.artifact.text)
        elif isinstance(event, TaskStatusUpdateEvent):
            status = event.status
            said.append(status.state.value if status.message is None else f"[{status.message.text}]")
    return said


def bounded(test: Callable[..., Awaitable[None]]) -> Callable[..., Coroutine[Any, Any, None]]:
    """A test that ends in time, whatever it waits for."""

    @functools.wraps(test)
    async def ended(*args: Any, **kwargs: Any) -> None:
        async with asyncio.timeout(20):
            await test(*args, **kwargs)

    return ended


async def settle() -> None:
    """Lets everything that can go on without waiting go on."""
    for _ in range(20):
        await asyncio.sleep(0)
