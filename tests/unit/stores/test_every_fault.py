"""An I/O error at every single statement that a store executes: nothing acknowledged is lost, nothing is there by
half, and the store works again when the fault is gone. Twins that lack one precaution are found by the same sweep.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from dragoman.errors import DragomanError, StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Key, Memo, Query, Selector, TurnStart
from dragoman.stores.sqlite import SqliteStore, heads, writer
from dragoman.stores.sqlite import store as sqlite_store
from dragoman.stores.sqlite.cache import Cache
from dragoman.stores.sqlite.changes import Change
from dragoman.testing.story import Narrator, Story
from dragoman.types.content import Role
from dragoman.types.task import TaskState
from tests.unit.stores.faulty import Faults
from tests.unit.stores.looking import task_of
from tests.unit.stores.sweeping import SHARES, Holds, sweep, sweep_reads

FUTURE = datetime(2200, 1, 1, tzinfo=UTC)

Outcome = tuple[object, BaseException | None]


async def write(store: SqliteStore, faults: Faults) -> Holds:
    """Every kind of write of tasks."""
    insist = faults.insist
    narrator = Narrator(store)
    asked, gone = narrator.story(worker="one", key=Key("m", "d", FUTURE)), narrator.story()
    await insist(lambda: store.beat("one"))
    await insist(lambda: store.create(asked.new))
    question = asked.status(TaskState.INPUT_REQUIRED, narrator.message("Which?"))
    memo = Memo(kind="ask", key="k", turn=1, value="Which?")
    first = asked.change(asked.chunk("so"), question, snapshot=True, memos=(memo,))
    await insist(lambda: store.commit(first))
    answer = narrator.message("That", role=Role.USER)
    assert await insist(lambda: store.post(asked.id, asked.scope, answer, TurnStart(), Key("n", "d", FUTURE))) == 1
    work = asked.status(TaskState.WORKING)
    second = asked.change(work, claim=True, worker="two", turn=2, start=TurnStart(index=1), attempt=1, consumed=(1,))
    await insist(lambda: store.commit(second))
    await insist(lambda: store.answered(Scope(), Key("o", "d", FUTURE), answer))
    # Several at once share a transaction.
    rest = [narrator.story() for _ in range(3)]
    third = asked.change(asked.chunk(" far"))
    calls = [insist(partial(store.create, one.new)) for one in (*rest, gone)]
    await asyncio.gather(*calls, insist(lambda: store.commit(third)))
    ends = [one.change(one.chunk("done"), one.status(TaskState.COMPLETED), snapshot=True) for one in rest[:2]]
    await asyncio.gather(*(insist(partial(store.commit, end)) for end in ends))
    assert await insist(lambda: store.erase(Selector(task_id=gone.id))) == (gone.id,)
    ahead = (narrator.clock.now() - datetime.now(UTC)).total_seconds() + 1
    assert await insist(lambda: store.prune(logs_after=-ahead, tasks_after=None, limit=5)) == len(ends)
    await insist(lambda: store.retire("one"))
    stories = [asked, *rest]
    return len(stories), partial(hold, stories=stories)


async def hold(store: SqliteStore, stories: Sequence[Story]) -> None:
    """The store holds these, and nothing else."""
    assert [await task_of(store, story) for story in stories] == [story.expected for story in stories]
    assert (await store.page(Query(limit=9), Scope())).total == len(stories)
    asked = await store.locate(stories[0].id)
    assert asked is not None
    assert (asked.seq, asked.epoch, asked.turn, asked.worker, asked.attempt) == (5, 2, 2, "two", 1)
    assert list(await store.entries(asked.task.id, Scope(), 0)) == stories[0].log
    assert await store.inbox(asked.task.id) == ()
    assert len(await store.memos(asked.task.id, 1)) == 1
    assert [await store.known(Scope(), name) is None for name in "mnox"] == [False, False, False, True]


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("first", range(1, SHARES + 1))
async def test_a_fault_at_any_statement_loses_nothing_and_is_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, *, lasting: bool
) -> None:
    statements, refused = await sweep(tmp_path, write, monkeypatch, first, lasting=lasting)
    assert statements > 80
    assert refused > statements / SHARES / 2


@contextmanager
def without_a_transaction(_connection: sqlite3.Connection, _begin: str) -> Generator[None]:
    yield


def forgetful(_: heads.Heads) -> None:
    pass


STORED = cast("Callable[..., list[Outcome]]", vars(writer)["_stored"])


def flattering(connection: sqlite3.Connection, known: heads.Heads, changes: Sequence[Change]) -> list[Outcome]:
    outcomes = STORED(connection, known, changes)
    return [(result, None if isinstance(error, StoreUnavailable) else error) for result, error in outcomes]


@pytest.mark.parametrize(
    ("place", "name", "twin"),
    [
        (writer, "transaction", without_a_transaction),
        (heads.Heads, "rollback", forgetful),
        (writer, "_stored", flattering),
    ],
)
async def test_a_store_without_one_precaution_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: object, name: str, twin: object
) -> None:
    monkeypatch.setattr(place, name, twin)
    with pytest.raises((AssertionError, DragomanError, ValueError)):
        await sweep(tmp_path, write, monkeypatch)


def readings(store: SqliteStore, story: Story) -> list[Callable[[], Awaitable[object]]]:
    """Every kind of read."""
    scope = story.scope
    return [
        lambda: store.get(story.id, scope),
        lambda: store.entries(story.id, scope, 0),
        lambda: store.page(Query(limit=5), scope),
        lambda: store.page(Query(limit=5, context_id=story.new.task.context_id, artifacts=True), scope),
        lambda: store.inbox(story.id),
        lambda: store.memos(story.id, 1),
        lambda: store.locate(story.id),
        lambda: store.claimable(0, 1000),
        lambda: store.claimable(1.0, 5),
    ]


async def test_a_fault_at_any_statement_of_a_read_is_told_and_survived(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "Cache", lambda: Cache(capacity=0))
    store = SqliteStore(path, owner="echo", synchronous="off")
    await store.open()
    narrator = Narrator(store)
    story = await narrator.begun(worker="lost")
    await store.commit(story.change(story.chunk("a"), memos=(Memo(kind="step", key="k", turn=1),)))
    await store.post(story.id, story.scope, narrator.message("b", role=Role.USER), TurnStart())
    assert await sweep_reads(store, readings(store, story), monkeypatch) > 40
