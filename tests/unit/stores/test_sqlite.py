"""The SQLite file beyond the common contract: restarts, locks, rows, memory."""

# ruff: noqa: ASYNC220 -- a test may hold up its own loop

import asyncio
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import ConfigurationError, Fenced, StoreInUse
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Memo, Query, Selector, TurnStart
from dragoman.stores.held import Held
from dragoman.stores.sqlite import SqliteStore, reading
from dragoman.testing.expect import refused
from dragoman.testing.story import Narrator, Story
from dragoman.types.content import Role
from dragoman.types.task import TaskState
from tests.behaviour.manifest import requirement
from tests.unit.stores.looking import PATIENCE, task_of


async def test_everything_is_there_after_a_restart(store: SqliteStore, path: Path) -> None:
    narrator = Narrator(store)
    parked, running, ended = await narrator.begun(), await narrator.begun(), await narrator.ended()
    memo = Memo(kind="ask", key="k", turn=1, value="Which?")
    question = narrator.message("Which?")
    waiting = parked.status(TaskState.INPUT_REQUIRED, question)
    await store.commit(parked.change(parked.chunk("a"), waiting, snapshot=True, memos=(memo,), claim=True))
    for number in range(10):
        await store.commit(running.change(running.chunk(str(number))))
    for text in ("one", "two"):
        await store.post(parked.id, parked.scope, narrator.message(text, role=Role.USER), TurnStart(index=2))
    await store.commit(parked.change(consumed=(1,), turn=2, start=TurnStart(index=9)))
    before = [await store.get(story.id, story.scope) for story in (parked, running, ended)]
    inbox = await store.inbox(parked.id)
    page = await store.page(Query(limit=10, artifacts=True), Scope())
    await store.close()

    again = SqliteStore(path, owner="echo")
    await again.open()
    assert [await again.get(story.id, story.scope) for story in (parked, running, ended)] == before
    assert await again.inbox(parked.id) == inbox
    assert await again.memos(parked.id, 1) == (memo,)
    assert await again.page(Query(limit=10, artifacts=True), Scope()) == page
    assert [one.task.id for one in await again.claimable(0, 1000)] == [running.id]
    for story in (parked, running, ended):
        assert await again.entries(story.id, story.scope, 0) == tuple(story.log)
    assert await again.post(parked.id, parked.scope, question, TurnStart()) == 3
    with refused(Fenced):
        await again.commit(Story(narrator, parked.new).change(claim=True))
    await again.commit(parked.change(parked.status(TaskState.COMPLETED), snapshot=True))
    assert await task_of(again, parked) == parked.expected
    await again.close()


async def test_a_store_can_be_opened_again(store: SqliteStore) -> None:
    story = await Narrator(store).ended()
    await store.close()
    await store.open()
    assert await task_of(store, story) == story.expected


async def test_a_second_opening_is_refused_and_says_who_is_there(store: SqliteStore, path: Path) -> None:
    other = SqliteStore(path, owner="echo")
    with pytest.raises(StoreInUse, match="in use by this same process"):
        await other.open()
    await store.close()
    await other.open()
    await other.close()


async def test_a_second_process_is_refused_and_told_the_first_ones_number(path: Path) -> None:
    holder = (
        "import os, sys; from pathlib import Path; from dragoman.stores.sqlite.lock import FileLock;"
        "lock = FileLock(Path(sys.argv[1])); print(os.getpid(), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        number = process.stdout.readline().strip()
        with pytest.raises(StoreInUse, match=f"in use by process {number}"):
            await SqliteStore(path, owner="echo").open()
        process.communicate()
    free = SqliteStore(path, owner="echo")
    await free.open()
    await free.close()


async def test_another_agent_is_refused_and_told_what_to_do(store: SqliteStore, path: Path) -> None:
    await store.close()
    with pytest.raises(StoreInUse, match=r"belongs to the agent 'echo', not to 'other'.*a store of its own"):
        await SqliteStore(path, owner="other").open()
    await store.open()


async def test_whoever_has_the_file_knows_that_all_former_workers_are_gone(store: SqliteStore) -> None:
    await store.beat("former")
    story = await Narrator(store).begun(worker="former")
    assert await store.claimable(1000.0, 10) == ()
    await store.close()
    await store.open()
    assert [found.task.id for found in await store.claimable(1000.0, 10)] == [story.id]


@pytest.mark.skipif(sys.platform == "win32", reason="file modes are POSIX")
async def test_only_the_owner_may_read_the_files(store: SqliteStore, path: Path) -> None:
    await Narrator(store).begun()
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


async def test_missing_folders_are_made(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "deep" / "er" / "tasks.db", owner="echo")
    await store.open()
    await store.close()
    assert (tmp_path / "deep" / "er" / "tasks.db").is_file()


async def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is a directory"):
        await SqliteStore(tmp_path, owner="echo").open()


async def test_erased_text_is_nowhere_in_the_files(store: SqliteStore, path: Path) -> None:
    narrator = Narrator(store)
    story, other = await narrator.begun(), await narrator.begun()
    secret = "s3cr3t-text"
    for _ in range(50):
        await store.commit(
            story.change(story.chunk(secret), snapshot=True, memos=(Memo(kind="k", key=secret, turn=1),))
        )
        await store.commit(other.change(other.chunk("plain"), snapshot=True))
    await store.post(story.id, story.scope, narrator.message(secret), TurnStart())
    assert any(secret.encode() in file.read_bytes() for file in path.parent.iterdir())
    await store.erase(Selector(task_id=story.id))
    assert not [file for file in path.parent.iterdir() if secret.encode() in file.read_bytes()]
    assert await task_of(store, other) == other.expected


async def test_a_chunk_does_not_rewrite_the_snapshot(store: SqliteStore, path: Path) -> None:
    story = await Narrator(store).begun()
    for number in range(100):
        await store.commit(story.change(story.chunk(str(number)), story.chunk(" ")))
    look = sqlite3.connect(path)
    assert look.execute("select seq from snapshot").fetchall() == [(1,)]
    assert look.execute("select count(*), min(first), max(last) from event").fetchone() == (100, 2, 201)
    look.close()


async def test_a_read_that_was_overtaken_by_a_write_is_not_kept(
    store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = await Narrator(store).begun()
    await store.close()
    cold = SqliteStore(path, owner="echo")
    await cold.open()
    has_read, may_return = threading.Event(), threading.Event()
    load = reading.load

    def slow(connection: sqlite3.Connection, *asked: Any) -> tuple[Held, int] | None:
        found = load(connection, *asked)
        has_read.set()
        assert may_return.wait(PATIENCE)
        return found

    monkeypatch.setattr(reading, "load", slow)
    reader = asyncio.ensure_future(cold.get(story.id, story.scope))
    assert await asyncio.to_thread(has_read.wait, PATIENCE)
    await cold.commit(story.change(story.chunk("new")))
    may_return.set()
    early = await reader
    assert early is not None
    assert early.seq == 1
    assert await task_of(cold, story) == story.expected
    await cold.close()


@requirement("R-13.1-08")
async def test_what_is_of_another_takes_the_way_of_what_is_not_there(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = await Narrator(store).begun(scope=Scope("acme", "ann"))
    assert await store.get(story.id, story.scope) is not None
    found: list[object] = []
    load = reading.load

    def told(connection: sqlite3.Connection, *asked: Any) -> tuple[Held, int] | None:
        found.append(load(connection, *asked))
        return None

    monkeypatch.setattr(reading, "load", told)
    await store.close()
    await store.open()
    others = (Scope("acme", "bob"), Scope("", "ann"), Scope())
    for task_id in (story.id, "missing"):  # not in memory
        assert [await store.get(task_id, scope) for scope in others] == [None] * 3
    assert found == [None] * 6
    monkeypatch.setattr(reading, "load", load)
    assert await task_of(store, story) == story.expected
    monkeypatch.setattr(reading, "load", told)
    for task_id in (story.id, "missing"):  # in memory
        assert [await store.get(task_id, scope) for scope in others] == [None] * 3
    assert found == [None] * 12


async def test_the_shard_and_the_trace_are_columns(store: SqliteStore, path: Path) -> None:
    narrator = Narrator(store)
    story = await narrator.begun(scope=Scope("acme", "ann"))
    look = sqlite3.connect(path)
    row = look.execute("select tenant, principal, skill, turn, trace, shard, state, epoch from task").fetchone()
    assert row == ("acme", "ann", "talk", 1, "00-trace-01", int(story.id[:2], 16), "submitted", 1)
    look.close()


async def test_a_large_context_and_a_small_one_are_paged_alike(store: SqliteStore) -> None:
    narrator = Narrator(store)
    stories = [await narrator.ended(context_id="large" if number % 8 else "small") for number in range(48)]
    for context_id, count in (("large", 42), ("small", 6)):
        newest = sorted((one.id for one in stories if one.new.task.context_id == context_id), reverse=True)
        for state in (None, TaskState.COMPLETED):
            page = await store.page(Query(limit=3, context_id=context_id, state=state), Scope())
            assert ([task.id for task in page.tasks], page.total) == (newest[:3], count)


def test_an_unknown_durability_is_refused(path: Path) -> None:
    with pytest.raises(ConfigurationError, match="full or normal or off"):
        SqliteStore(path, owner="echo", synchronous="perhaps")


async def test_a_read_of_the_log_brings_no_more_than_so_much_into_memory(store: SqliteStore) -> None:
    narrator = Narrator(store)
    story = await narrator.begun()
    for letter in "abcde":
        await store.commit(story.change(story.chunk(letter * 600_000)))
    read: list[int] = []
    at = 1
    while entries := await store.entries(story.id, story.scope, at):
        read.append(len(entries))
        at = entries[-1].seq
    assert read == [2, 2, 1]
