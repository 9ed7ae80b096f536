"""A SQLite store among others: a file that is locked or full, a process that is killed, a machine that loses power."""

# ruff: noqa: ASYNC221, ASYNC240 -- a test may hold up its own loop

import asyncio
import json
import logging
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.errors import StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Query, Selector
from dragoman.stores.sqlite import SqliteStore, schema, upkeep
from dragoman.testing.story import Narrator
from dragoman.types.task import TaskState
from tests.unit.stores.faulty import Faults
from tests.unit.stores.looking import PATIENCE, task_of

WAITS = 20


async def test_a_locked_file_refuses_all_who_wait_at_once_and_is_survived(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "BUSY_SECONDS", 0.1)
    faults = Faults(0)
    faults.put_into("connect_writer", monkeypatch)
    store = SqliteStore(path, owner="echo", synchronous="off")
    await store.open()
    narrator = Narrator(store)
    kept = await narrator.ended()
    stranger = sqlite3.connect(path, isolation_level=None)
    stranger.execute("begin immediate")
    stories = [narrator.story() for _ in range(WAITS)]
    faults.statements.clear()
    outcomes = await asyncio.gather(*(store.create(story.new) for story in stories), return_exceptions=True)
    assert {str(outcome) for outcome in outcomes} == {"The store cannot write: database is locked"}
    assert {type(outcome) for outcome in outcomes} == {StoreUnavailable}
    # They do not wait one after the other.
    assert faults.statements.count("begin immediate") <= 2
    assert await task_of(store, kept) == kept.expected
    assert (await store.page(Query(limit=1), Scope())).total == 1
    stranger.execute("rollback")
    stranger.close()
    await asyncio.gather(*(store.create(story.new) for story in stories))
    assert (await store.page(Query(limit=1), Scope())).total == 1 + WAITS
    await store.close()


async def test_one_damaged_task_does_not_keep_the_others_from_being_taken_up(
    store: SqliteStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    narrator = Narrator(store)
    stories = [await narrator.begun(worker="lost") for _ in range(3)]
    await store.close()
    damaged = sqlite3.connect(path)
    damaged.execute("update snapshot set body = cast('[1,' as blob) where n = 2")
    damaged.commit()
    damaged.close()
    await store.open()
    whole = [stories[0].id, stories[2].id]
    with caplog.at_level(logging.ERROR, "dragoman.stores"):
        assert [found.task.id for found in await store.claimable(1.0, 9)] == whole
        assert sorted(found.task.id for found in await store.claimable(0, 1000)) == sorted(whole)
    assert stories[1].id in caplog.text
    with pytest.raises(StoreUnavailable, match=stories[1].id):
        await store.locate(stories[1].id)


async def test_what_is_erased_while_somebody_looks_is_gone_from_the_files_soon_after(
    store: SqliteStore, path: Path
) -> None:
    secret = "s3cr3t-text"
    narrator = Narrator(store)
    story = await narrator.begun()
    await store.commit(story.change(story.chunk(secret)))
    export = upkeep.export(path)
    assert b"dragoman" in next(export)
    await store.erase(Selector(task_id=story.id))
    assert secret.encode() in b"".join(export), "who looks sees one moment"
    await store.beat("anybody")
    assert not [file for file in path.parent.iterdir() if secret.encode() in file.read_bytes()]


FILLER = """
import asyncio, json, resource, signal, sys
from pathlib import Path
from dragoman.errors import StoreUnavailable
from dragoman.stores.sqlite import SqliteStore
from dragoman.testing.story import Narrator

SPARE = 400_000

async def main(path):
    store = SqliteStore(path, owner="echo")
    await store.open()
    narrator = Narrator(store)
    kept = [(await narrator.ended()).id for _ in range(5)]
    largest = max(file.stat().st_size for file in Path(path).parent.iterdir())
    resource.setrlimit(resource.RLIMIT_FSIZE, (largest + SPARE, resource.RLIM_INFINITY))
    refused = []
    story = await narrator.begun()
    for _ in range(3):
        try:
            await store.commit(story.change(story.chunk("x" * 3 * SPARE), claim=True))
        except StoreUnavailable as error:
            refused.append(str(error))
            story = await narrator.begun()
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    story = await narrator.begun()
    await store.commit(story.change(story.chunk("x" * 3 * SPARE)))
    kept.append(story.id)
    print(json.dumps({"kept": kept, "refused": refused}))
    await store.close()

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of resources are POSIX")
async def test_a_file_that_may_not_grow_refuses_and_works_again_when_it_may(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILLER, str(path)], stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True
    )
    told = json.loads(done.stdout)
    assert len(told["refused"]) == 3
    assert upkeep.check(path).problems == ()
    store = SqliteStore(path, owner="echo")
    await store.open()
    for task_id in told["kept"]:
        assert await store.locate(task_id) is not None
    await store.close()


KILLED = """
import asyncio, msgspec, os, signal, sys
from contextlib import contextmanager
from dragoman.ports.push import PushMove
from dragoman.stores.sqlite import SqliteStore, schema, writer
from dragoman.testing.store_pushes import configuration
from dragoman.testing.story import Narrator
from dragoman.types.task import TaskState

@contextmanager
def without_a_transaction(connection, begin):
    yield

if sys.argv[2] == "twin":
    writer.transaction = without_a_transaction

class Fatal:
    # A connection whose process is killed before or after the statement of this number.
    def __init__(self, inner, number, after):
        self.inner, self.number, self.after, self.calls = inner, number, after, 0

    def execute(self, statement, *values):
        self.calls += 1
        if self.calls == self.number and not self.after:
            os.kill(os.getpid(), signal.SIGKILL)
        found = self.inner.execute(statement, *values)
        if self.calls == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    def __getattr__(self, name):
        return getattr(self.inner, name)

async def work(path, number, after, told):
    connect = schema.connect_writer
    schema.connect_writer = lambda *given: Fatal(connect(*given), number, after)
    store = SqliteStore(path, owner="echo", synchronous="off")
    await store.open()
    narrator = Narrator(store)

    async def one():
        story = narrator.story()
        await store.create(msgspec.structs.replace(story.new, push=configuration(story)))
        os.write(told, (story.id + " 1 0\\n").encode())
        await store.commit(story.change(story.chunk("done"), story.status(TaskState.COMPLETED), snapshot=True))
        os.write(told, (story.id + " 3 0\\n").encode())
        push = await store.get_push(story.id, story.scope, "c")
        await store.move_push(PushMove(n=push.n, epoch=1, cursor=3))
        os.write(told, (story.id + " 3 3\\n").encode())

    await asyncio.gather(one(), one(), one())
    await store.close()
    os.write(told, b"end\\n")

for number in range(1, 1000):
    survived = 0
    for after in (False, True):
        with open(f"{sys.argv[1]}/{number}-{int(after)}.txt", "wb") as told:
            child = os.fork()
            if not child:
                asyncio.run(work(f"{sys.argv[1]}/{number}-{int(after)}.db", number, after, told.fileno()))
                os._exit(0)
            survived += os.waitpid(child, 0)[1] == 0
    if survived:
        break
"""


async def killed(folder: Path, which: str) -> tuple[int, list[str]]:
    """How many processes were killed, and what is wrong with what they left."""
    subprocess.run([sys.executable, "-c", KILLED, str(folder), which], timeout=PATIENCE, check=True)
    kills = 0
    wrong: list[str] = []
    for file in folder.glob("*.db"):
        told = file.with_suffix(".txt").read_text().splitlines()
        kills += "end" not in told
        store = SqliteStore(file, owner="echo", synchronous="off")
        await store.open()
        for task_id, seq, cursor in [line.split() for line in told if line != "end"]:
            found, push = await store.locate(task_id), await store.get_push(task_id, Scope(), "c")
            if found is None or found.seq not in {int(seq), 3}:
                wrong.append(f"{file.name}: {task_id} was at {seq}")
            if push is None or push.cursor not in {int(cursor), 3}:
                wrong.append(f"{file.name}: the configuration of {task_id} was at {cursor}")
        await store.close()
        wrong += upkeep.check(file).problems
    return kills, wrong


@pytest.mark.skipif(sys.platform == "win32", reason="fork is POSIX")
async def test_a_process_that_is_killed_around_any_statement_keeps_what_it_acknowledged(tmp_path: Path) -> None:
    kills, wrong = await killed(tmp_path, "right")
    assert kills > 60
    assert wrong == []


@pytest.mark.skipif(sys.platform == "win32", reason="fork is POSIX")
async def test_a_store_that_is_killed_without_a_transaction_is_found(tmp_path: Path) -> None:
    kills, wrong = await killed(tmp_path, "twin")
    assert kills > 40
    assert wrong


async def test_power_lost_at_any_moment_keeps_what_was_acknowledged_by_then(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    narrator = Narrator(store)
    journal = path.with_name(f"{path.name}-wal")
    acknowledged: list[tuple[int, str]] = []
    for _ in range(4):
        story = await narrator.begun()
        await store.commit(story.change(story.chunk("done"), story.status(TaskState.COMPLETED), snapshot=True))
        acknowledged.append((journal.stat().st_size, story.id))
    content = journal.read_bytes()
    assert len(content) == acknowledged[-1][0], "what is acknowledged is in the file"
    for size in range(0, len(content) + 1, 1031):
        lost = tmp_path / f"{size}" / "tasks.db"
        lost.parent.mkdir()
        shutil.copy(path, lost)
        lost.with_name("tasks.db-wal").write_bytes(content[:size] + b"\xa5" * (len(content) - size))
        again = SqliteStore(lost, owner="echo", synchronous="off")
        await again.open()
        for needed, task_id in acknowledged:
            found = await again.locate(task_id)
            assert needed > size or (found is not None and found.task.state is TaskState.COMPLETED), size
        await again.close()
        assert upkeep.check(lost).problems == (), size
