"""`push`: how push notifications stand in a store's file, what was given up, and how that is taken up again."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dragoman.ports.call import Scope
from dragoman.ports.push import DeadLetter, NewPush, PushMove, PushState
from dragoman.stores.sqlite import SqliteStore
from dragoman.testing.story import Narrator
from tests.cli.nursery import Nursery
from tests.cli.program import Program
from tests.cli.test_store import told

USED_WRONGLY = 2
AT = datetime(2030, 1, 1, 12, tzinfo=UTC)
ONE, OTHER = "https://one.example", "https://other.example:8443"


@pytest.fixture
def program(tmp_path: Path, nursery: Nursery) -> Program:
    return Program(tmp_path, {}, nursery)


@pytest.fixture
async def path(program: Program) -> Path:
    """A store with a task whose webhooks are in every condition."""
    path = program.cwd / "tasks.db"
    await told(path, tell_of_webhooks)
    return path


async def tell_of_webhooks(narrator: Narrator) -> None:
    task = await narrator.begun(worker="w")
    await narrator.store.commit(task.change(task.chunk("a")))
    store = narrator.store
    assert isinstance(store, SqliteStore)
    for config_id, origin in (("behind", ONE), ("dead", ONE), ("refused", OTHER)):
        push = await store.put_push(new(task.id, config_id, origin, task.scope))
        match config_id:
            case "behind":
                move = PushMove(n=push.n, epoch=1, cursor=0, attempts=2, failing_since=AT, trouble="HTTP 500")
            case "dead":
                move = PushMove(n=push.n, epoch=1, cursor=0, state=PushState.DEAD, attempts=9, trouble="no\nanswer")
            case _:
                letter = DeadLetter(seq=2, at=AT, trouble="HTTP 404")
                move = PushMove(n=push.n, epoch=1, cursor=2, letter=letter)
        await store.move_push(move)


def new(task_id: str, config_id: str, origin: str, scope: Scope) -> NewPush:
    return NewPush(
        task_id=task_id,
        id=config_id,
        scope=scope,
        dialect="1.0/JSONRPC",
        origin=origin,
        sealed=b"secret",
        worker="w",
        cursor=0,
    )


async def test_the_status_says_how_deliveries_stand_by_receiver(program: Program, path: Path) -> None:
    ran = await program.run("push", "status", path.name, "-o", "json")
    none = {
        "live": 0,
        "behind": 0,
        "events": 0,
        "failing": 0,
        "failingSince": None,
        "ended": 0,
        "dead": 0,
        "letters": 0,
    }
    failing = {"live": 1, "behind": 1, "events": 2, "failing": 1, "failingSince": "2030-01-01T12:00:00.000Z", "dead": 1}
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "origins": [
            {**none, "origin": ONE, **failing},
            {**none, "origin": OTHER, "live": 1, "letters": 1},
        ]
    }


async def test_in_text_each_receiver_has_a_block(program: Program, path: Path) -> None:
    ran = await program.run("push", "status", path.name)
    head, first, _ = ran.out.split("\n\n")
    assert head == "Origins: 2"
    assert first.splitlines()[:3] == [f"Origin: {ONE}", "Live: 1", "Behind: 1"]
    assert "Failing Since: 2030-01-01T12:00:00.000Z" in first.splitlines()


async def test_what_was_given_up_and_what_was_refused_is_shown_with_its_reason(program: Program, path: Path) -> None:
    shown = (await program.run("push", "dead", path.name, "-o", "json")).json
    (dead,), (letter,) = shown["dead"], shown["letters"]
    assert dead | {"taskId": ""} == {
        "origin": ONE,
        "taskId": "",
        "configId": "dead",
        "attempts": 9,
        "failingSince": None,
        "trouble": "no\nanswer",
    }
    assert letter == {
        "origin": OTHER,
        "taskId": dead["taskId"],
        "configId": "refused",
        "event": 2,
        "refusedAt": "2030-01-01T12:00:00.000Z",
        "trouble": "HTTP 404",
    }
    text = (await program.run("push", "dead", path.name)).out
    assert [text.count(f"{told}\n") for told in ("Dead: 1", "Config ID: dead", "Letters: 1")] == [1, 1, 1]
    assert "Trouble: no\\nanswer\n" in text
    assert "secret" not in text


async def test_what_was_given_up_is_taken_up_again_as_far_as_it_is_meant(program: Program, path: Path) -> None:
    assert (await program.run("push", "retry", path.name, "--origin", OTHER)).out == "Revived: 0\n"
    ran = await program.run("push", "retry", path.name, "--config-id", "dead", "--origin", ONE, "-o", "json")
    assert (ran.code, ran.json) == (0, {"revived": 1})
    assert (await program.run("push", "dead", path.name, "-o", "json")).json["dead"] == []


async def test_beside_a_server_one_may_look_and_change_nothing(program: Program, path: Path) -> None:
    store = SqliteStore(path, owner="echo", synchronous="off")
    await store.open()
    try:
        assert (await program.run("push", "status", path.name)).code == 0
        ran = await program.run("push", "retry", path.name)
        assert (ran.code, ran.out) == (USED_WRONGLY, "")
    finally:
        await store.close()


@pytest.mark.parametrize("command", ["status", "dead", "retry"])
async def test_what_is_not_there_is_not_made(program: Program, command: str) -> None:
    assert (await program.run("push", command, "other.db")).code == USED_WRONGLY
    assert not (program.cwd / "other.db").exists()
