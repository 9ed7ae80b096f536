"""The one thread that writes: it takes what has been called, commits it together, and repeats.

A caller alone never waits for others. Those that call while a batch is being committed make up the next one.
"""

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress

from dragoman.errors import DragomanError, StoreUnavailable
from dragoman.stores.sqlite.cache import Cache
from dragoman.stores.sqlite.changes import Change
from dragoman.stores.sqlite.heads import Heads
from dragoman.stores.sqlite.schema import emptied, transaction
from dragoman.stores.sqlite.wave import Wave

__all__ = ["Writer"]

BATCH = 128
"""How many changes are committed together at most."""

PATIENCE_MILLISECONDS = 50
"""How long all wait for readers after something was erased; then it is tried again without waiting."""

log = logging.getLogger("dragoman.stores")

Called = tuple[Change, "asyncio.Future[object]"]
Outcome = tuple[object, BaseException | None]


class Writer:
    """Writes through a connection that is made and closed in its own thread.

    `opening` makes the connection and what is known through it; `closing` ends it after the last change,
    and must not raise.
    """

    def __init__(
        self,
        cache: Cache,
        opening: Callable[[], tuple[sqlite3.Connection, Heads]],
        closing: Callable[[sqlite3.Connection], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._cache = cache
        self._opening = opening
        self._closing = closing
        self._called: queue.SimpleQueue[Called | None] = queue.SimpleQueue()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        # A store that nobody closed must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name="dragoman-writer", daemon=True)

    async def open(self) -> None:
        """Starts the thread; returns when the connection is made, or raises why it cannot be."""
        self._thread.start()
        try:
            await asyncio.shield(self._opened)
        except asyncio.CancelledError:
            self._called.put(None)
            raise

    async def close(self) -> None:
        """Returns when everything called before has been done, and the thread has ended."""
        self._called.put(None)
        await asyncio.shield(self._closed)
        self._thread.join()

    def call(self, change: Change) -> "asyncio.Future[object]":
        """Has a change written; the future gets its result once that is durable."""
        future: asyncio.Future[object] = self._loop.create_future()
        self._called.put((change, future))
        return future

    # In the writer's thread.

    def _run(self) -> None:
        try:
            connection, heads = self._opening()
        except BaseException as error:  # noqa: BLE001 -- raised where `open` waits
            self._tell(_settle, self._opened, error)
            return
        try:
            self._tell(_settle, self._opened, None)
            self._write_all(connection, heads)
        finally:
            self._closing(connection)
            self._tell(_settle, self._closed, None)

    def _write_all(self, connection: sqlite3.Connection, heads: Heads) -> None:
        clean = True
        while batch := self._next_batch():
            changes = [change for change, _ in batch]
            outcomes = _stored(connection, heads, changes)
            erased = any(change.task_id is None for change in changes)
            if erased or not clean:
                clean = emptied(connection, PATIENCE_MILLISECONDS if erased else 0)
            self._tell(self._answer, batch, outcomes)

    def _next_batch(self) -> list[Called]:
        """What has been called, at least one; nothing when the writer is to end."""
        batch: list[Called] = []
        called = self._called.get()
        with suppress(queue.Empty):
            while called is not None:
                batch.append(called)
                if len(batch) == BATCH:
                    return batch
                called = self._called.get_nowait()
        if called is None and batch:
            self._called.put(None)
        return batch

    def _tell(self, callback: Callable[..., None], *arguments: object) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody is there to be told
            self._loop.call_soon_threadsafe(callback, *arguments)

    # In the event loop's thread.

    def _answer(self, batch: Sequence[Called], outcomes: Sequence[Outcome]) -> None:
        for (change, future), (result, error) in zip(batch, outcomes, strict=True):
            if error is None:
                change.committed(self._cache, result)
            elif change.task_id is not None:
                self._cache.drop(change.task_id)
            if future.done():
                continue
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)


def _settle(future: "asyncio.Future[None]", error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)


def _stored(connection: sqlite3.Connection, heads: Heads, changes: Sequence[Change]) -> list[Outcome]:
    """Stores changes in one transaction; if that fails, each in its own, so that one cannot spoil the others.

    If somebody has locked the file they all fail: each alone would wait as long again as all of them together.
    """
    try:
        return _stored_together(connection, heads, changes)
    except Exception as error:  # noqa: BLE001 -- the thread must outlive whatever a change fails with
        heads.rollback()
        if len(changes) == 1 or _is_locked(error):
            if isinstance(error, sqlite3.Error) and not isinstance(error, sqlite3.IntegrityError):
                log.error("the store could not write: %s", error)  # noqa: TRY400 -- the callers get the rest
            return [(None, _meaning(error)) for _ in changes]
    return [outcome for change in changes for outcome in _stored(connection, heads, [change])]


def _stored_together(connection: sqlite3.Connection, heads: Heads, changes: Sequence[Change]) -> list[Outcome]:
    outcomes: list[Outcome] = []
    with transaction(connection, "begin immediate"):
        wave = Wave()
        touched: set[str] = set()
        for change in changes:
            if change.task_id is None or change.task_id in touched:
                wave.write(connection)
                wave = Wave()
                touched.clear()
            try:
                outcomes.append((change.plan(heads, wave), None))
            except (DragomanError, ValueError) as refusal:
                outcomes.append((None, refusal))
            if change.task_id is not None:
                touched.add(change.task_id)
        wave.write(connection)
    heads.commit()
    return outcomes


def _is_locked(error: Exception) -> bool:
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY


def _meaning(error: Exception) -> Exception:
    if isinstance(error, sqlite3.IntegrityError):
        # Ids are all that callers choose and the schema wants unique.
        return ValueError("The task id is taken")
    if isinstance(error, sqlite3.Error):
        unavailable = StoreUnavailable(f"The store cannot write: {error}")
        unavailable.__cause__ = error
        return unavailable
    return error
