"""The store in a SQLite file: one thread writes, a few read, and hot tasks are in memory."""

import asyncio
import queue
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar, cast

from dragoman.errors import ConfigurationError, Duplicate, StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.push import DeadLetter, NewPush, Push, PushMove, PushState
from dragoman.ports.tasks import Commit, Entry, Key, Memo, NewTask, Page, Posted, Query, Selector, Stored, TurnStart
from dragoman.ports.world import Clock
from dragoman.stores.clock import WallClock
from dragoman.stores.held import Held
from dragoman.stores.sqlite import knowledge, push_changes, push_rows, reading, schema
from dragoman.stores.sqlite.cache import Cache
from dragoman.stores.sqlite.changes import Change, Create, Erase, Post, Update
from dragoman.stores.sqlite.heads import Heads
from dragoman.stores.sqlite.lock import FileLock
from dragoman.stores.sqlite.writer import Writer
from dragoman.types.content import Message

__all__ = ["SqliteStore"]

READERS = 3

P = ParamSpec("P")
T = TypeVar("T")


class SqliteStore:
    """Keeps tasks in the file at `path`, under the promises of `TaskStore` and `PushStore`.

    `owner` names the agent; the file is its alone. `synchronous` is `full` (nothing acknowledged is lost to a power
    cut), `normal` (the last moments may be) or `off` (for tests: the file may be).
    """

    def __init__(self, path: Path | str, *, owner: str, synchronous: str = "full", clock: Clock | None = None) -> None:
        if synchronous not in schema.SYNCHRONOUS:
            raise ConfigurationError(f"synchronous is {' or '.join(schema.SYNCHRONOUS)}, not {synchronous!r}")
        self._path = Path(path)
        self._owner = owner
        self._synchronous = synchronous
        self._clock = clock or WallClock()
        self._cache = Cache()
        self._lock: FileLock | None = None
        self._writer: Writer | None = None
        self._readers: ThreadPoolExecutor | None = None
        self._connections: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()

    @property
    def description(self) -> str:
        return str(self._path)

    async def open(self) -> None:
        if self._writer is not None:
            return
        # Others may have had the file since it was closed.
        self._cache = Cache()
        writer = Writer(self._cache, self._begin, self._end)
        await writer.open()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="dragoman-reader")
        self._writer = writer

    async def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            await writer.close()

    async def create(self, new: NewTask) -> None:
        await self._write(Create(new, self._clock.now()))

    async def commit(self, commit: Commit) -> None:
        await self._write(Update(commit, self._clock.now()))

    async def get(self, task_id: str, scope: Scope) -> Stored | None:
        held = await self._held(task_id, scope)
        return None if held is None else held.stored()

    async def entries(self, task_id: str, scope: Scope, after: int, limit: int = 256) -> tuple[Entry, ...]:
        held = self._cache.get(task_id)
        if held is not None and (held.scope != scope or held.seq <= after) and self._writer is not None:
            return ()
        return await self._read(reading.read_entries, task_id, scope, after, limit)

    async def page(self, query: Query, scope: Scope) -> Page:
        return await self._read(reading.read_page, query, scope)

    async def post(self, task_id: str, scope: Scope, message: Message, start: TurnStart, key: Key | None = None) -> int:
        guard = None if key is None else (key, self._clock.now())
        number = await self._write(Post(task_id, scope, message, start, guard))
        assert isinstance(number, int)
        return number

    async def inbox(self, task_id: str) -> tuple[Posted, ...]:
        held = await self._held(task_id)
        return () if held is None else held.waiting()

    async def memos(self, task_id: str, turn: int) -> tuple[Memo, ...]:
        held = await self._held(task_id)
        return () if held is None else held.remembered(turn)

    async def answered(self, scope: Scope, key: Key, answer: Message, push: NewPush | None = None) -> None:
        await self._write(knowledge.Answered(scope, key, answer, push, self._clock.now()))

    async def known(self, scope: Scope, message_id: str) -> Duplicate | None:
        return await self._read(knowledge.find, scope, message_id, self._clock.now())

    async def beat(self, worker: str) -> None:
        await self._write(knowledge.Beat(worker, self._clock.now()))

    async def retire(self, worker: str) -> None:
        await self._write(knowledge.Retire(worker))

    async def claimable(self, dead_after: float, limit: int) -> tuple[Stored, ...]:
        alive_since = self._clock.now() - timedelta(seconds=dead_after)
        return await self._read(reading.read_claimable, alive_since, limit)

    async def prune(self, *, logs_after: float | None, tasks_after: float | None, limit: int) -> int:
        change = knowledge.Prune(self._clock.now(), logs_after, tasks_after, limit)
        return cast("int", await self._write(change))

    async def locate(self, task_id: str) -> Stored | None:
        held = await self._held(task_id)
        return None if held is None else held.stored()

    async def erase(self, selector: Selector) -> tuple[str, ...]:
        erased = await self._write(Erase(selector))
        return cast("tuple[str, ...]", erased)

    # Configurations of push notifications.

    async def put_push(self, new: NewPush) -> Push:
        return cast("Push", await self._write(push_changes.Put(new, self._clock.now())))

    async def get_push(self, task_id: str, scope: Scope, config_id: str) -> Push | None:
        return await self._read(push_rows.read_one, task_id, scope, config_id)

    async def page_pushes(self, task_id: str, scope: Scope, *, after: int, limit: int) -> tuple[Push, ...]:
        return await self._read(push_rows.read_of_task, task_id, scope, after, limit)

    async def drop_push(self, task_id: str, scope: Scope, config_id: str) -> None:
        await self._write(push_changes.Drop(task_id, scope, config_id))

    async def due_pushes(self, worker: str, dead_after: float, *, after: int, limit: int) -> tuple[Push, ...]:
        alive_since = self._clock.now() - timedelta(seconds=dead_after)
        return await self._read(push_rows.read_due, worker, alive_since, after, limit)

    async def move_push(self, move: PushMove) -> None:
        await self._write(push_changes.Move(move))

    async def read_pushes(self, state: PushState, *, after: int, limit: int) -> tuple[Push, ...]:
        return await self._read(push_rows.read_in_state, state, after, limit)

    async def letters(self, n: int, limit: int) -> tuple[DeadLetter, ...]:
        return await self._read(push_rows.read_letters, n, limit)

    # Writing and reading.

    async def _write(self, change: Change) -> object:
        if self._writer is None:
            raise StoreUnavailable("The store is not open")
        return await self._writer.call(change)

    async def _read(
        self, read: Callable[Concatenate[sqlite3.Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        if self._writer is None or self._readers is None:
            raise StoreUnavailable("The store is not open")

        def run() -> T:
            connection = self._connections.get()
            try:
                with schema.translated(self._path):
                    return read(connection, *args, **kwargs)
            finally:
                self._connections.put(connection)

        return await asyncio.get_running_loop().run_in_executor(self._readers, run)

    async def _held(self, task_id: str, scope: Scope | None = None) -> Held | None:
        """The task from memory, or from the file and then kept in memory. With a scope only one of it: what is of
        another is looked for in the file as if it were not there, so that time tells nobody that it is.
        """
        if self._writer is None:
            raise StoreUnavailable("The store is not open")
        held = self._cache.get(task_id)
        if held is not None and scope in (None, held.scope):
            return held
        beginning = self._cache.begin(task_id)
        try:
            found = await self._read(reading.load, task_id, scope)
        finally:
            self._cache.end(task_id, beginning)
        if found is None:
            return None
        if not beginning.overtaken:
            self._cache.put(task_id, *found)
        return found[0]

    # In the writer's thread.

    def _begin(self) -> tuple[sqlite3.Connection, Heads]:
        """Makes the file ours and opens all connections."""
        with schema.translated(self._path):
            schema.create_file(self._path)
            self._lock = FileLock(self._path)
            try:
                return self._connect()
            except BaseException:
                self._lock.release()
                raise

    def _connect(self) -> tuple[sqlite3.Connection, Heads]:
        connection = schema.connect_writer(self._path, self._synchronous)
        try:
            schema.migrate(connection, self._path, self._owner)
            # The lock is ours, so whoever worked on the file before has gone, however lately they have beaten.
            connection.execute("delete from worker")
            for _ in range(READERS):
                self._connections.put(schema.connect_reader(self._path))
            return connection, Heads(connection)
        except BaseException:
            self._close_readers()
            connection.close()
            raise

    def _end(self, connection: sqlite3.Connection) -> None:
        """Lets the readers finish, moves everything into the file itself, and gives it back."""
        if self._readers is not None:
            self._readers.shutdown()
        self._close_readers()
        with suppress(sqlite3.Error):
            connection.execute("pragma wal_checkpoint(truncate)")
        with suppress(sqlite3.Error):
            connection.close()
        if self._lock is not None:
            self._lock.release()

    def _close_readers(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._connections.get_nowait().close()
