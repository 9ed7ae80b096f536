"""The store that all simulated processes share, and the way of each to it, on which much can happen."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from functools import partial
from random import Random
from typing import NamedTuple, TypeVar

from dragoman.errors import Duplicate, Fenced, StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.push import DeadLetter, NewPush, Push, PushMove, PushState
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
    TurnStart,
)
from dragoman.stores.memory import MemoryStore
from dragoman.types.content import Message
from dragoman.types.task import Task
from tests.faults.history import Kept
from tests.simulation.loop import PROCESS, SeededLoop
from tests.simulation.world import LoopClock

__all__ = ["SharedStore", "StoreView", "Trouble"]

T = TypeVar("T")


class Trouble(NamedTuple):
    """How likely what is, at each call of the store."""

    slow: float = 0.0
    unavailable: float = 0.0
    crash: float = 0.0
    """At each write: of the process that writes, before it or right after."""
    pause: float = 0.0
    """At each write: of the process that writes, right before it."""


class SharedStore:
    """A store in memory that remembers who wrote what, and when."""

    def __init__(self, loop: SeededLoop) -> None:
        self._loop = loop
        self.trouble = Trouble()
        self.inner = MemoryStore(LoopClock(loop))
        self.created: dict[str, Task] = {}
        self.epochs: dict[str, list[int]] = defaultdict(list)
        self.committed: dict[tuple[str, int], float] = {}
        self.fenced = 0
        """Writes of former owners that were refused."""
        self.logs: dict[str, list[Entry]] = defaultdict(list)
        """What was ever in the log of each task."""
        self.erased: set[str] = set()
        self.pruned = 0
        """Logs that are gone, and keys."""
        self.takeovers = 0
        """Running tasks that another process, or a later one, has claimed."""

    async def create(self, new: NewTask) -> None:
        await self.inner.create(new)
        self.created[new.task.id] = new.task

    async def commit(self, commit: Commit) -> None:
        before = await self.inner.locate(commit.task_id)
        try:
            entries = await self.write(commit)
        except Fenced:
            self.fenced += before is not None and commit.epoch < before.epoch
            raise
        assert before is not None
        if commit.claim and commit.worker is not None and not before.task.state.settled:
            self.takeovers += bool(before.worker) and before.worker != commit.worker
        self.epochs[commit.task_id] += [commit.epoch + commit.claim] * len(entries)
        self.logs[commit.task_id] += entries
        for entry in entries:
            self.committed[commit.task_id, entry.seq] = self._loop.time()

    async def write(self, commit: Commit) -> tuple[Entry, ...]:
        """Does the change; what it has added to the log."""
        await self.inner.commit(commit)
        return commit.entries

    async def erase(self, selector: Selector) -> tuple[str, ...]:
        erased = await self.inner.erase(selector)
        self.erased.update(erased)
        return erased

    async def prune(self, logs_after: float | None, tasks_after: float | None, limit: int) -> int:
        pruned = await self.inner.prune(logs_after=logs_after, tasks_after=tasks_after, limit=limit)
        self.pruned += pruned
        return pruned

    async def kept(self) -> dict[str, Kept]:
        """All tasks with their logs, for the checker."""
        found: dict[str, Kept] = {}
        for task_id, created in self.created.items():
            stored = await self.inner.locate(task_id)
            if stored is None:
                assert task_id in self.erased
                continue
            found[task_id] = Kept(
                stored.task,
                tuple(self.logs[task_id]),
                tuple(self.epochs[task_id]),
                tuple([posted.message for posted in await self.inner.inbox(task_id)]),
                created,
            )
        return found


class StoreView:
    """The shared store as one process reaches it, under the promises of `TaskStore` and `PushStore`."""

    def __init__(self, shared: SharedStore, loop: SeededLoop, random: Random) -> None:
        self._shared = shared
        self._inner = shared.inner
        self._loop = loop
        self._random = random
        self._rows: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.crash: Callable[[], None] = lambda: None
        """Ends this process; what called it never goes on."""
        self.pause: Callable[[], None] = lambda: None

    @property
    def description(self) -> str:
        return "shared"

    async def open(self) -> None:
        await self._read(self._inner.open)

    async def close(self) -> None:
        """The others still need what is shared."""

    # Writes.

    async def create(self, new: NewTask) -> None:
        await self._write(new.task.id, lambda: self._shared.create(new))

    async def commit(self, commit: Commit) -> None:
        await self._write(commit.task_id, lambda: self._shared.commit(commit))

    async def post(self, task_id: str, scope: Scope, message: Message, start: TurnStart, key: Key | None = None) -> int:
        return await self._write(task_id, lambda: self._inner.post(task_id, scope, message, start, key))

    async def answered(self, scope: Scope, key: Key, answer: Message, push: NewPush | None = None) -> None:
        await self._write(key.message_id, lambda: self._inner.answered(scope, key, answer, push))

    async def beat(self, worker: str) -> None:
        await self._write("", lambda: self._inner.beat(worker))

    async def retire(self, worker: str) -> None:
        await self._write("", lambda: self._inner.retire(worker))

    async def prune(self, *, logs_after: float | None, tasks_after: float | None, limit: int) -> int:
        return await self._write("", lambda: self._shared.prune(logs_after, tasks_after, limit))

    async def erase(self, selector: Selector) -> tuple[str, ...]:
        return await self._write("", lambda: self._shared.erase(selector))

    async def put_push(self, new: NewPush) -> Push:
        return await self._write(new.task_id, lambda: self._inner.put_push(new))

    async def drop_push(self, task_id: str, scope: Scope, config_id: str) -> None:
        await self._write(task_id, lambda: self._inner.drop_push(task_id, scope, config_id))

    async def move_push(self, move: PushMove) -> None:
        await self._write(f"push {move.n}", lambda: self._inner.move_push(move))

    # Reads.

    async def get(self, task_id: str, scope: Scope) -> Stored | None:
        return await self._read(lambda: self._inner.get(task_id, scope))

    async def entries(self, task_id: str, scope: Scope, after: int, limit: int = 256) -> tuple[Entry, ...]:
        return await self._read(lambda: self._inner.entries(task_id, scope, after, limit))

    async def page(self, query: Query, scope: Scope) -> Page:
        return await self._read(lambda: self._inner.page(query, scope))

    async def inbox(self, task_id: str) -> tuple[Posted, ...]:
        return await self._read(lambda: self._inner.inbox(task_id))

    async def memos(self, task_id: str, turn: int) -> tuple[Memo, ...]:
        return await self._read(lambda: self._inner.memos(task_id, turn))

    async def known(self, scope: Scope, message_id: str) -> Duplicate | None:
        return await self._read(lambda: self._inner.known(scope, message_id))

    async def claimable(self, dead_after: float, limit: int) -> tuple[Stored, ...]:
        return await self._read(lambda: self._inner.claimable(dead_after, limit))

    async def locate(self, task_id: str) -> Stored | None:
        return await self._read(lambda: self._inner.locate(task_id))

    async def get_push(self, task_id: str, scope: Scope, config_id: str) -> Push | None:
        return await self._read(lambda: self._inner.get_push(task_id, scope, config_id))

    async def page_pushes(self, task_id: str, scope: Scope, *, after: int, limit: int) -> tuple[Push, ...]:
        return await self._read(partial(self._inner.page_pushes, task_id, scope, after=after, limit=limit))

    async def due_pushes(self, worker: str, dead_after: float, *, after: int, limit: int) -> tuple[Push, ...]:
        return await self._read(partial(self._inner.due_pushes, worker, dead_after, after=after, limit=limit))

    async def read_pushes(self, state: PushState, *, after: int, limit: int) -> tuple[Push, ...]:
        return await self._read(partial(self._inner.read_pushes, state, after=after, limit=limit))

    async def letters(self, n: int, limit: int) -> tuple[DeadLetter, ...]:
        return await self._read(lambda: self._inner.letters(n, limit))

    # What happens on the way.

    async def _read(self, read: Callable[[], Awaitable[T]]) -> T:
        await self._delay()
        self._fail()
        result = await read()
        await self._delay()
        return result

    async def _write(self, row: str, write: Callable[[], Awaitable[T]]) -> T:
        """One at a time for each task, in the order of the calls."""
        async with self._rows[row]:
            try:
                await self._delay()
            except asyncio.CancelledError:
                if self._random.random() < 0.5:
                    await write()  # it was on its way already
                raise
            self._fail()
            await self._strike(self._shared.trouble.crash / 2, self._shared.trouble.pause)
            result = await write()
            await self._strike(self._shared.trouble.crash / 2, 0.0)
            await self._delay()
            return result

    async def _delay(self) -> None:
        chance = self._random.random()
        if chance < self._shared.trouble.slow:
            await asyncio.sleep(self._random.choice((0.0, 0.001, 0.005, 0.1)))

    def _fail(self) -> None:
        if self._shared.trouble.unavailable and self._random.random() < self._shared.trouble.unavailable:
            raise StoreUnavailable("out of order")

    async def _strike(self, crash: float, pause: float) -> None:
        if crash and self._random.random() < crash:
            self.crash()
            assert self._loop.dead(PROCESS.get())
            await self._loop.create_future()
        if pause and self._random.random() < pause:
            self.pause()
            await asyncio.sleep(0)
