"""Files that earlier releases wrote are upgraded with all they hold. They never change; later schemas add others."""

import gzip
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.push import NewPush
from dragoman.ports.tasks import Commit, Entry, Memo, Query, Stored, TurnStart
from dragoman.stores.sqlite import SqliteStore, schema, upkeep
from dragoman.types.events import TaskStatusUpdateEvent
from dragoman.types.task import TaskState, TaskStatus

FILES = Path(__file__).parent / "files"
PARKED = "81000000-0000-4000-8000-000000000002"
RUNNING = "d2000000-0000-4000-8000-000000000005"
ENDED = "e2000000-0000-4000-8000-000000000008"
FRESH = "ca000000-0000-4000-8000-00000000000b"
ANN = Scope("acme", "ann")


@pytest.fixture(params=range(1, len(schema.MIGRATIONS)))
def old(request: pytest.FixtureRequest) -> int:
    """A schema that is not written any more."""
    return int(request.param)


@pytest.fixture
def path(tmp_path: Path, old: int) -> Path:
    path = tmp_path / "tasks.db"
    path.write_bytes(gzip.decompress((FILES / f"schema_{old}.db.gz").read_bytes()))
    return path


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, owner="echo")
    await store.open()
    yield store
    await store.close()


def version(path: Path) -> int:
    look = sqlite3.connect(path)
    (found,) = look.execute("select value from meta where key = 'schema'").fetchone()
    look.close()
    return int(found)


async def located(store: SqliteStore, task_id: str) -> Stored:
    found = await store.locate(task_id)
    assert found is not None
    return found


def test_the_file_is_of_its_schema(path: Path, old: int) -> None:
    assert version(path) == old


async def test_every_task_is_as_it_was(store: SqliteStore, path: Path) -> None:
    assert version(path) == len(schema.MIGRATIONS)
    found = {task_id: await located(store, task_id) for task_id in (PARKED, RUNNING, ENDED, FRESH)}
    seen = {
        task_id: (one.task.state, one.task.text if one.task.artifacts else "", one.seq, one.epoch, one.turn)
        for task_id, one in found.items()
    }
    assert seen == {
        PARKED: (TaskState.INPUT_REQUIRED, "so far", 3, 2, 1),
        RUNNING: (TaskState.WORKING, "abü", 5, 1, 1),
        ENDED: (TaskState.COMPLETED, "done", 3, 1, 1),
        FRESH: (TaskState.SUBMITTED, "", 1, 1, 1),
    }
    start = TurnStart(metadata={"asked": "politely"}, output_modes=("text/plain",), trace="00-trace-01")
    assert {one.start for one in found.values() if one.start != start} == set()
    assert all([message.text for message in one.task.history] == ["hello"] for one in found.values())
    assert found[FRESH].scope == ANN


async def test_logs_inboxes_and_memos_are_there(store: SqliteStore) -> None:
    numbers = {
        task_id: [entry.seq for entry in await store.entries(task_id, Scope(), 0)]
        for task_id in (PARKED, RUNNING, ENDED)
    }
    assert numbers == {PARKED: [2, 3], RUNNING: [2, 3, 4, 5], ENDED: [2, 3]}
    (posted,) = await store.inbox(PARKED)
    assert (posted.n, posted.message.text, posted.start.index) == (1, "That one", 2)
    assert await store.memos(PARKED, 1) == (
        Memo(kind="ask", key="k", turn=1, value="Which?"),
        Memo(kind="step", key="reserve", turn=1, value={"code": 7}),
    )


async def test_lists_and_their_totals_are_right(store: SqliteStore) -> None:
    for scope, state, ids in (
        (Scope(), None, {PARKED, RUNNING, ENDED}),
        (Scope(), TaskState.COMPLETED, {ENDED}),
        (ANN, None, {FRESH}),
    ):
        page = await store.page(Query(limit=9, state=state), scope)
        assert ({task.id for task in page.tasks}, page.total) == (ids, len(ids))


async def test_tasks_under_way_can_be_claimed_and_ended(store: SqliteStore, path: Path, old: int) -> None:
    assert upkeep.check(path) == (4, ())
    claimable = await store.claimable(1000.0, 9)
    worker, queued = ("", 1) if old == 1 else ("lost", 0)
    assert {(one.task.id, one.worker, one.attempt) for one in claimable} == {(RUNNING, worker, 1), (FRESH, "", queued)}
    one = await located(store, RUNNING)
    status = TaskStatus(state=TaskState.COMPLETED, timestamp=one.task.status.timestamp)
    event = TaskStatusUpdateEvent(task_id=RUNNING, context_id=one.task.context_id, status=status)
    await store.commit(Commit(task_id=RUNNING, epoch=1, after=5, claim=True, worker="new", attempt=2))
    entries = (Entry(seq=6, event=event),)
    whole = msgspec.structs.replace(one.task, status=status)
    await store.commit(Commit(task_id=RUNNING, epoch=2, after=5, entries=entries, snapshot=whole))
    await store.close()
    await store.open()
    ended = await located(store, RUNNING)
    assert (ended.task, ended.seq, ended.epoch, ended.worker, ended.attempt) == (whole, 6, 2, "new", 2)


async def test_keys_are_known_again(store: SqliteStore, old: int) -> None:
    known = await store.known(Scope(), "m")
    assert (None if known is None else known.task_id) == (None if old == 1 else RUNNING)


async def test_tasks_can_be_given_configurations_of_push_notifications(store: SqliteStore, path: Path) -> None:
    for task_id in (RUNNING, ENDED):
        new = NewPush(
            task_id=task_id, id="c", scope=Scope(), dialect="1.0", origin="o", sealed=b"s", worker="new", cursor=None
        )
        assert (await store.put_push(new)).seq > 1
    due = await store.due_pushes("new", 1000.0, after=0, limit=9)
    assert [push.task_id for push in due] == [ENDED]
    assert upkeep.check(path) == (4, ())


async def test_an_upgrade_that_breaks_off_anywhere_leaves_the_old_file(
    path: Path, old: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, steps in enumerate(schema.MIGRATIONS[old:], old):
        for statement in range(len(steps)):
            broken = (*steps[: statement + 1], "insert into nowhere values (1)", *steps[statement + 1 :])
            with monkeypatch.context() as patched:
                patched.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS[:number], broken))
                with pytest.raises(StoreUnavailable, match="nowhere"):
                    await SqliteStore(path, owner="echo").open()
            assert version(path) == old
    again = SqliteStore(path, owner="echo")
    await again.open()
    assert (await located(again, ENDED)).task.text == "done"
    await again.close()
