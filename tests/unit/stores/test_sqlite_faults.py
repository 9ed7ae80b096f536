"""What a SQLite store does when things break: damage, a full disk, a killed process."""

# ruff: noqa: ASYNC220, ASYNC240 -- a test may hold up its own loop

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.errors import ConfigurationError, StoreInUse, StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Query
from dragoman.stores.sqlite import SqliteStore, schema
from dragoman.testing.story import Narrator
from dragoman.types.task import TaskState
from tests.unit.stores.looking import PATIENCE, task_of


async def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    content = b"Dear diary, " * 1000
    path.write_bytes(content)
    with pytest.raises(StoreUnavailable, match="not a database"):
        await SqliteStore(path, owner="echo").open()
    assert path.read_bytes() == content


async def test_another_applications_database_is_refused(path: Path) -> None:
    foreign = sqlite3.connect(path)
    foreign.execute("create table task (id)")
    foreign.close()
    with pytest.raises(ConfigurationError, match="not a store"):
        await SqliteStore(path, owner="echo").open()


async def test_a_later_schema_is_refused(store: SqliteStore, path: Path) -> None:
    await store.close()
    future = sqlite3.connect(path)
    future.execute("update meta set value = value + 1 where key = 'schema'")
    future.commit()
    future.close()
    with pytest.raises(ConfigurationError, match="later version"):
        await SqliteStore(path, owner="echo").open()


async def test_damage_is_reported_as_unavailable(store: SqliteStore, path: Path) -> None:
    narrator = Narrator(store)
    story = await narrator.begun()
    fine = await narrator.begun()
    await store.close()
    damaged = sqlite3.connect(path)
    damaged.execute("update snapshot set body = cast('[1,' as blob) where n = 1")
    damaged.execute("update snapshot set body = cast('[99,{}]' as blob) where n = 2")
    damaged.commit()
    damaged.close()
    await store.open()
    for broken in (story, fine):
        with pytest.raises(StoreUnavailable):
            await store.get(broken.id, broken.scope)
    new = await narrator.ended()
    assert await task_of(store, new) == new.expected


async def test_overwritten_pages_are_reported_as_unavailable(store: SqliteStore, path: Path) -> None:
    narrator = Narrator(store)
    for _ in range(50):
        await narrator.ended()
    await store.close()
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))
    with pytest.raises(StoreUnavailable):
        await store.open()
    path.write_bytes(content)
    await store.open()
    assert (await store.page(Query(limit=1), Scope())).total == 50


async def test_what_was_acknowledged_survives_a_killed_process(path: Path) -> None:
    program = """
import asyncio, sys
from dragoman.stores.sqlite import SqliteStore
from dragoman.testing.story import Narrator

async def main():
    store = SqliteStore(sys.argv[1], owner="echo")
    await store.open()
    narrator = Narrator(store)

    async def one():
        while True:
            print((await narrator.ended()).id, flush=True)

    await asyncio.gather(*(one() for _ in range(8)))

asyncio.run(main())
"""
    acknowledged: list[str] = []
    with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            acknowledged.append(line.strip())
            if len(acknowledged) == 200:
                process.kill()
                break
    store = SqliteStore(path, owner="echo")
    await store.open()
    for task_id in acknowledged:
        found = await store.get(task_id, Scope())
        assert found is not None
        assert (found.task.state, found.task.text) == (TaskState.COMPLETED, "done")
        assert [entry.seq for entry in await store.entries(task_id, Scope(), 0)] == [2, 3]
    await store.close()


async def test_an_opening_that_is_given_up_leaves_the_file_free(path: Path) -> None:
    store = SqliteStore(path, owner="echo")
    opening = asyncio.ensure_future(store.open())
    await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening], timeout=PATIENCE)
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await store.open()
                break
            except StoreInUse:
                await asyncio.sleep(0)
    await store.close()


async def test_a_full_disk_refuses_the_write_and_is_survived(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[sqlite3.Connection] = []
    connect = schema.connect_writer

    def watched(path: Path, synchronous: str) -> sqlite3.Connection:
        made.append(connect(path, synchronous))
        return made[-1]

    monkeypatch.setattr(schema, "connect_writer", watched)
    store = SqliteStore(path, owner="echo")
    await store.open()
    narrator = Narrator(store)
    kept, story = await narrator.ended(), await narrator.begun()
    (pages,) = made[0].execute("pragma page_count").fetchone()
    made[0].execute(f"pragma max_page_count = {pages + 8}")
    large = story.change(story.chunk("x" * 200_000))
    with pytest.raises(StoreUnavailable, match="full") as caught:
        await store.commit(large)
    assert isinstance(caught.value.__cause__, sqlite3.Error)
    assert await task_of(store, story) == story.new.task
    # In a batch with one that does not fit, those that do are stored.
    rest = [narrator.story() for _ in range(3)]
    outcomes = await asyncio.gather(
        *(store.create(one.new) for one in rest), store.commit(large), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes] == [type(None)] * 3 + [StoreUnavailable]
    made[0].execute("pragma max_page_count = 1000000")
    await store.commit(large)
    for one in (kept, story, *rest):
        assert await task_of(store, one) == one.expected
    assert (await store.page(Query(limit=9), Scope())).total == 5
    await store.close()


async def test_a_refused_change_does_not_spoil_its_batch(store: SqliteStore) -> None:
    narrator = Narrator(store)
    taken = await narrator.begun()
    fresh = [narrator.story() for _ in range(20)]
    calls = [store.create(one.new) for one in fresh]
    calls.insert(7, store.create(taken.new))
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert [index for index, outcome in enumerate(outcomes) if outcome is not None] == [7]
    assert isinstance(outcomes[7], ValueError)
    for one in fresh:
        assert await task_of(store, one) == one.expected
    assert (await store.page(Query(limit=1), Scope())).total == 21


async def test_a_store_that_cannot_be_made_says_why(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        (tmp_path / "file").write_text("in the way")
        place = tmp_path / "file" / "tasks.db"
    else:
        tmp_path.chmod(0o500)
        place = tmp_path / "deep" / "tasks.db"
    with pytest.raises(StoreUnavailable, match=str(place)):
        await SqliteStore(place, owner="echo").open()
