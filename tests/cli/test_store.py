"""`store`: the file that tasks are kept in is checked, made smaller, written out and read in."""

# ruff: noqa: ASYNC240 -- a test may hold up its own loop

import asyncio
import gzip
import json
import re
import signal
import sqlite3
import stat
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman.ports.call import Scope
from dragoman.ports.tasks import Key, Memo, Selector, TurnStart
from dragoman.stores.sqlite import SqliteStore
from dragoman.testing.story import Narrator
from dragoman.types.content import Message, Part, Role
from dragoman.types.task import TaskState
from tests.cli.nursery import ROOT, Nursery
from tests.cli.program import Program
from tests.cli.test_serve import ECHO

USED_WRONGLY = 2


@pytest.fixture
def program(tmp_path: Path, nursery: Nursery) -> Program:
    return Program(tmp_path, {}, nursery)


@pytest.fixture
async def path(program: Program) -> Path:
    """A store with a task in every condition."""
    path = program.cwd / "tasks.db"
    await told(path, tell_of_everything)
    return path


async def told(path: Path, tell: Callable[[Narrator], Awaitable[None]], owner: str = "echo") -> None:
    store = SqliteStore(path, owner=owner, synchronous="off")
    await store.open()
    await tell(Narrator(store))
    await store.close()


async def tell_of_everything(narrator: Narrator) -> None:
    store = narrator.store
    await narrator.ended()
    pruned = narrator.clock.advance(1)
    ahead = (pruned - datetime.now(UTC)).total_seconds()
    await store.prune(logs_after=-ahead, tasks_after=None, limit=9)
    narrator.clock.advance(1)
    key = Key("m", "d", narrator.clock.advance(3600))
    running = await narrator.begun(worker="one", key=key)
    await store.commit(running.change(running.status(TaskState.WORKING), claim=True, worker="two", attempt=2))
    for text in ("a", "ü", "\u2028\n"):
        await store.commit(running.change(running.chunk(text)))
    parked = await narrator.begun(scope=Scope("acme", "ann"))
    memo = Memo(kind="ask", key="k", turn=1, value={"which": None})
    waiting = parked.status(TaskState.INPUT_REQUIRED, narrator.message("Which?"))
    await store.commit(parked.change(parked.chunk("so far"), waiting, snapshot=True, memos=(memo,)))
    await store.post(parked.id, parked.scope, narrator.message("that one", role=Role.USER), TurnStart(index=2))
    answer = Message(message_id="a", role=Role.AGENT, parts=(Part(text="42"),))
    await store.answered(Scope(), Key("direct", "d", narrator.clock.advance(1)), answer)


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        assert connection.execute(statement).rowcount > 0, statement
    connection.commit()
    connection.close()


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
async def test_a_sound_store_has_no_problems(program: Program, path: Path, form: str) -> None:
    ran = await program.run("store", "check", form.format(path.name))
    assert (ran.code, ran.out, ran.err) == (0, "Tasks: 3\nProblems: 0\n", "")


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("delete from snapshot where n = 1", "has no snapshot"),
        ("update snapshot set seq = 9 where n = 1", "has a snapshot of 9, and stands at 3"),
        ("update snapshot set seq = 2 where n = 1", "has ended at 3, with a snapshot of 2"),
        ("delete from event where n = 2 and last = 3", "has 4 to 4 in its log after 2"),
        ("update event set first = 3 where n = 2 and last = 4", "has 3 to 4 in its log after 3"),
        ("delete from event where n = 2 and last = 5", "has a log up to 4, and stands at 5"),
        ("delete from event where n = 2", "stands at 5 and has no log"),
        ("update event set epoch = 1 where n = 2 and last = 4", "has epoch 1 in its log after 2"),
        ("update task set epoch = 1 where n = 2", "has epoch 2 in its log, and is in 1"),
        ("update task set posted = 0 where n = 3", "has message 1 in its inbox, of 0"),
        ("update memo set n = 9", "rows of memo belong to no task: 1"),
        ("update tally set tasks = 7 where state = 'completed'", "1 tasks are counted as 7 in state completed"),
        ("delete from tally where state = 'working'", "1 tasks are counted as 0 in state working"),
        ("update known set task = 'gone' where message_id = 'm'", "task gone is known by a key and is not there"),
        ("update known set answer = x'' where task = ''", "are known by one key, or neither"),
        ("update known set answer = cast('[1,' as blob) where task = ''", "answer to message direct: A stored record"),
        ("update snapshot set body = cast('[1,{}]' as blob) where n = 1", "A stored record is damaged"),
        ("update event set body = cast('{}' as blob) where n = 2 and last = 4", "A stored record is damaged"),
        ("update event set body = (select body from event where last = 3) where n = 2 and last = 4", "are others"),
        ("update task set start = cast('[2,{}]' as blob) where n = 1", "has form 2"),
        ("update memo set body = cast('[' as blob)", "A stored record is damaged"),
        ("update inbox set body = cast('[' as blob)", "A stored record is damaged"),
        ("update task set status_at = 5 where n = 1", "its columns and its records differ"),
        ("update task set context_id = 'other' where n = 1", "its columns and its records differ"),
    ],
)
async def test_every_kind_of_damage_is_found(program: Program, path: Path, statement: str, problem: str) -> None:
    change(path, statement)
    ran = await program.run("store", "check", "tasks.db")
    assert ran.code == 1
    assert any(problem in line for line in ran.fields["Problem"]), ran.out
    assert ran.fields["Problems"] == [str(len(ran.fields["Problem"]))]


async def test_damaged_pages_are_found(program: Program, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] + b"\xa5" * 4096 + content[len(content) // 2 + 4096 :])
    ran = await program.run("store", "check", "tasks.db")
    assert ran.code == 1
    assert "Problems: 0" not in ran.out


async def test_an_export_read_in_elsewhere_is_the_same_store(program: Program, path: Path) -> None:
    exported = await program.run("store", "export", "tasks.db")
    assert exported.code == 0, exported.err
    header, *tasks, end = [json.loads(line) for line in exported.out.split("\n")[:-1]]
    assert header == {"dragoman": "store", "form": 2, "owner": "echo"}
    assert [sorted(line) for line in tasks] == [["task"]] * 3 + [["key"]] * 2
    assert end == {"end": {"tasks": 3, "keys": 2, "answers": 0}}
    read = await program.run("store", "import", "new/place.db", stdin=exported.out.encode())
    assert (read.code, read.out) == (0, "Tasks: 3\nKeys: 2\n"), read.err
    assert (await program.run("store", "check", "new/place.db")).fields["Problems"] == ["0"]
    assert (await program.run("store", "export", "new/place.db")).out == exported.out
    before, after = SqliteStore(path, owner="echo"), SqliteStore(program.cwd / "new" / "place.db", owner="echo")
    for store in (before, after):
        await store.open()
    for line in tasks[:3]:
        task_id = line["task"]["id"]
        stored = await before.locate(task_id)
        assert stored is not None
        assert await after.locate(task_id) == stored
        assert await after.entries(task_id, stored.scope, 0) == await before.entries(task_id, stored.scope, 0)
        assert await after.inbox(task_id) == await before.inbox(task_id)
        assert await after.memos(task_id, 1) == await before.memos(task_id, 1)
    for store in (before, after):
        await store.close()


async def test_an_export_goes_to_a_new_file_for_its_owner_alone(program: Program, path: Path) -> None:
    first = await program.run("store", "export", path.name, "out.jsonl")
    assert (first.code, first.out) == (0, "")
    target = program.cwd / "out.jsonl"
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
    assert len(target.read_text().split("\n")) == 3 + 2 + 2 + 1
    again = await program.run("store", "export", "tasks.db", "out.jsonl")
    assert again.code == USED_WRONGLY
    assert "File exists" in again.err
    read = await program.run("store", "import", "new.db", "out.jsonl")
    assert read.code == 0, read.err


async def test_an_export_that_fails_leaves_no_file(program: Program, path: Path) -> None:
    change(path, "update memo set body = cast('[' as blob)")
    ran = await program.run("store", "export", "tasks.db", "out.jsonl")
    assert ran.code == 1
    assert "damaged" in ran.err
    assert not (program.cwd / "out.jsonl").exists()


async def test_a_store_that_is_not_empty_is_added_to_only_if_told(program: Program, path: Path) -> None:
    exported = (await program.run("store", "export", path.name)).out.encode()

    async def tell(narrator: Narrator) -> None:
        await narrator.ended(scope=Scope("", "one more"))

    other = program.cwd / "other.db"
    await told(other, tell)
    change(other, "update task set id = 'x'", "update snapshot set body = replace(body, '81000000-', 'x-')")
    change(other, "update task set id = (select json_extract(body, '$[1].id') from snapshot)")
    refused = await program.run("store", "import", "other.db", stdin=exported)
    assert (refused.code, "--merge" in refused.err) == (USED_WRONGLY, True)
    assert (await program.run("store", "check", "other.db")).fields["Tasks"] == ["1"]
    merged = await program.run("store", "import", "other.db", "--merge", stdin=exported)
    assert merged.code == 0, merged.err
    assert (await program.run("store", "check", "other.db")).out == "Tasks: 4\nProblems: 0\n"
    twice = await program.run("store", "import", "other.db", "--merge", stdin=exported)
    assert (twice.code, "is there already" in twice.err) == (USED_WRONGLY, True)


def cut(text: bytes) -> bytes:
    return b"".join(text.splitlines(keepends=True)[:-1])


def one_less(text: bytes) -> bytes:
    lines = text.splitlines(keepends=True)
    return b"".join([lines[0], *lines[2:]])


def with_a_gap(text: bytes) -> bytes:
    lines = text.splitlines(keepends=True)
    line = json.loads(lines[2])
    del line["task"]["log"][1]
    return b"".join([*lines[:2], json.dumps(line).encode() + b"\n", *lines[3:]])


def half(text: bytes) -> bytes:
    return text[:2000]


def something_else(_: bytes) -> bytes:
    return b"Dear diary\n"


def nothing(_: bytes) -> bytes:
    return b""


def later_form(text: bytes) -> bytes:
    return text.replace(b'"form":2', b'"form":3', 1)


def text_for_a_number(text: bytes) -> bytes:
    return text.replace(b'"seq":5', b'"seq":"5"', 1)


def endless_number(text: bytes) -> bytes:
    return text.replace(b'"created_at":1', b'"created_at":10000000000000000', 1)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (cut, "the last line is missing"),
        (one_less, "2 tasks and 2 keys came"),
        (with_a_gap, "would not be sound"),
        (half, "Line 3"),
        (something_else, "no export"),
        (nothing, "no export"),
        (later_form, "form 3"),
        (text_for_a_number, "Line 3"),
        (endless_number, "Line 2"),
    ],
)
async def test_an_export_that_is_not_whole_is_refused_and_nothing_is_kept(
    program: Program, path: Path, spoil: Callable[[bytes], bytes], told: str
) -> None:
    exported = (await program.run("store", "export", path.name)).out.encode()
    spoilt = spoil(exported)
    assert spoilt != exported
    (program.cwd / "spoilt.jsonl").write_bytes(spoilt)
    ran = await program.run("store", "import", "new.db", "spoilt.jsonl")
    assert (ran.code, told in ran.err) == (USED_WRONGLY, True), ran.err
    good = await program.run("store", "import", "new.db", stdin=exported)
    assert good.code == 0, good.err


async def test_what_is_read_in_can_be_given_another_owner(program: Program, path: Path) -> None:
    exported = (await program.run("store", "export", path.name)).out.encode()
    ran = await program.run("store", "import", "new.db", "--owner", "other", stdin=exported)
    assert ran.code == 0, ran.err
    assert '"owner":"other"' in (await program.run("store", "export", "new.db")).out.split("\n")[0]
    refused = await program.run("store", "import", "new.db", "--merge", stdin=exported)
    assert (refused.code, "belongs to the agent 'other'" in refused.err) == (1, True)


async def test_vacuum_gives_back_what_erased_tasks_took(program: Program, path: Path) -> None:
    async def tell(narrator: Narrator) -> None:
        for _ in range(50):
            story = await narrator.begun(scope=Scope("", "much"))
            await narrator.store.commit(story.change(story.chunk("x" * 20_000)))
        await narrator.store.erase(Selector(principal="much"))

    large = program.cwd / "large.db"
    await told(large, tell)
    before = large.stat().st_size
    ran = await program.run("store", "vacuum", "large.db")
    assert ran.code == 0, ran.err
    assert ran.fields["Bytes Before"] == [str(before)]
    assert ran.fields["Bytes"] == [str(large.stat().st_size)]
    assert large.stat().st_size < before / 5
    await program.run("store", "vacuum", path.name)
    assert (await program.run("store", "check", path.name)).fields["Tasks"] == ["3"]


async def test_a_store_is_looked_at_beside_its_server_and_not_changed(program: Program) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    options = ("--port", "0", "--store", "sqlite:///served.db")
    async with program.started("serve", "echo.py", *options) as serving:
        while not (found := re.search(r"http://[\d.]+:\d+", line := await serving.line())):
            assert line, await serving.complaint()
        exported = b""
        for number in range(3):
            sent = await program.run("send", "-a", found[0], f"hello {number}")
            assert sent.code == 0, sent.err
            checked, ran = await asyncio.gather(
                program.run("store", "check", "served.db"), program.run("store", "export", "served.db")
            )
            assert checked.out == f"Tasks: {number + 1}\nProblems: 0\n"
            assert ran.lines[-1]["end"]["tasks"] == number + 1
            exported = ran.out.encode()
        for words in (("vacuum", "served.db"), ("import", "served.db", "--merge")):
            refused = await program.run("store", *words, stdin=exported)
            assert (refused.code, "in use by process" in refused.err) == (1, True)
        serving.send(signal.SIGINT)
        assert (await serving.ended()).code == 0


async def test_a_file_of_an_earlier_version_is_upgraded_by_vacuum(program: Program) -> None:
    old = program.cwd / "old.db"
    old.write_bytes(gzip.decompress((ROOT / "tests" / "unit" / "stores" / "files" / "schema_1.db.gz").read_bytes()))
    for words in (("check", "old.db"), ("export", "old.db")):
        refused = await program.run("store", *words)
        assert (refused.code, "`dragoman store vacuum`" in refused.err) == (USED_WRONGLY, True)
    assert (await program.run("store", "vacuum", "old.db")).code == 0
    assert (await program.run("store", "check", "old.db")).out == "Tasks: 4\nProblems: 0\n"


async def test_an_agent_whose_store_is_damaged_says_so_and_ends(program: Program, path: Path) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    path.write_bytes(path.read_bytes()[:4096] + b"\xa5" * (path.stat().st_size - 4096))
    ran = await program.run("serve", "echo.py", "--port", "0", "--store", f"sqlite:///{path.name}")
    assert ran.code == 1
    assert f"{path.name}: database disk image is malformed" in ran.err
    assert "Traceback" not in ran.err


async def test_what_is_no_store_is_refused(program: Program) -> None:
    foreign = sqlite3.connect(program.cwd / "foreign.db")
    foreign.execute("create table task (id)")
    foreign.close()
    (program.cwd / "text.db").write_text("Dear diary, " * 1000)
    for words, code, told in (
        (("check", "nowhere.db"), USED_WRONGLY, "There is no file"),
        (("check", "memory:"), USED_WRONGLY, "There is no file"),
        (("export", "sqlite:nowhere"), USED_WRONGLY, "is no store"),
        (("check", "foreign.db"), USED_WRONGLY, "not a store"),
        (("vacuum", "foreign.db"), USED_WRONGLY, "not a store"),
        (("check", "text.db"), 1, "not a database"),
    ):
        ran = await program.run("store", *words)
        assert (ran.code, ran.out, told in ran.err) == (code, "", True), (words, ran.err)
    assert not (program.cwd / "nowhere.db").exists()
