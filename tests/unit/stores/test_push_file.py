"""Configurations of push notifications in a SQLite file: restarts, checks, exports, and what is done by hand."""

import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import ConfigurationError, StoreInUse
from dragoman.ports.call import Scope
from dragoman.ports.push import DeadLetter, Push, PushMove, PushState
from dragoman.ports.tasks import Selector
from dragoman.stores.sqlite import SqliteStore, upkeep
from dragoman.stores.sqlite.deliveries import Standing, configurations, dead_letters, retry, standings
from dragoman.stores.sqlite.transfer import Count
from dragoman.testing.store_pushes import ANSWER, configuration, direct, pushed
from dragoman.testing.story import Narrator, Story
from dragoman.types.task import TaskState, TaskStatus

SINCE = datetime(2030, 1, 1, tzinfo=UTC)
HERE, THERE = "https://here.example:443", "https://there.example:443"
LETTER = DeadLetter(seq=1, at=SINCE, trouble="404")


@pytest.fixture
async def story(store: SqliteStore) -> Story:
    """A task with configurations in every condition, and two direct answers. The store is closed by then."""
    narrator = Narrator(store)
    story = narrator.story(scope=Scope("t", "p"))
    opened = TaskStatus(state=TaskState.SUBMITTED, timestamp=SINCE)
    brought = msgspec.structs.replace(configuration(story, "behind"), opened=opened)
    await store.create(msgspec.structs.replace(story.new, push=brought))
    puts = {name: await store.put_push(configuration(story, name)) for name in ("failing", "parked", "whole", "dead")}
    ended = await narrator.ended()
    puts["ended"] = await store.put_push(configuration(ended, "ended", cursor=None))
    late = await store.put_push(msgspec.structs.replace(configuration(ended, "late", cursor=None), origin=HERE))
    answer, lost = [await store.put_push(direct(name)) for name in ("answer", "lost")]
    await store.commit(story.change(story.chunk("a"), story.chunk("b")))
    for push, move in (
        (puts["failing"], PushMove(n=0, epoch=1, cursor=1, attempts=2, failing_since=SINCE, not_before=SINCE)),
        (puts["parked"], PushMove(n=0, epoch=1, cursor=3, letter=LETTER)),
        (puts["whole"], PushMove(n=0, epoch=1, cursor=3, whole=True)),
        (puts["dead"], PushMove(n=0, epoch=1, cursor=1, state=PushState.DEAD, attempts=9, trouble="gone")),
        (puts["ended"], PushMove(n=0, epoch=1, cursor=3, state=PushState.ENDED)),
        (lost, PushMove(n=0, epoch=1, cursor=0, state=PushState.DEAD, trouble="410", letter=LETTER)),
    ):
        await store.move_push(msgspec.structs.replace(move, n=push.n))
    assert late.n < answer.n
    await store.close()
    return story


def edited(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        assert connection.execute(statement).rowcount > 0, statement
    connection.commit()
    connection.close()


async def reopened(path: Path) -> SqliteStore:
    store = SqliteStore(path, owner="echo", synchronous="off")
    await store.open()
    return store


async def everything(path: Path) -> list[object]:
    """All configurations, without their numbers, with their dead letters."""
    store = await reopened(path)
    pushes = [push for state in PushState for push in await store.read_pushes(state, after=0, limit=99)]
    letters = [await store.letters(push.n, 9) for push in pushes]
    due = [push.id for push in await store.due_pushes("", 1000, after=0, limit=99)]
    await store.close()
    return [*(msgspec.structs.replace(push, n=0) for push in pushes), *letters, due]


async def test_configurations_are_there_after_a_restart(path: Path, story: Story) -> None:
    store = await reopened(path)
    found = {push.id: push for push in await store.page_pushes(story.id, story.scope, after=0, limit=9)}
    assert sorted(found) == ["behind", "dead", "failing", "parked", "whole"]
    assert (found["behind"].opened, found["behind"].sealed) == (
        TaskStatus(state=TaskState.SUBMITTED, timestamp=SINCE), b"\x00\xff behind",
    )  # fmt: skip
    due = await store.due_pushes("new", 1000, after=0, limit=9)
    assert [push.id for push in due] == ["behind", "failing", "whole", "late", "answer"], "nobody of before is alive"
    last = max(push.n for push in due) + 1
    assert (await store.put_push(configuration(story, "new"))).n > last
    await store.commit(story.change(story.chunk("c")))
    assert "parked" in [push.id for push in await store.due_pushes("new", 1000, after=0, limit=9)]
    await store.move_push(PushMove(n=found["behind"].n, epoch=1, cursor=4, claim=True, worker="new"))
    assert (await pushed(store, story, "behind")).epoch == 2
    await store.close()
    assert upkeep.check(path).problems == ()


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("update push set task = 99 where id = 'parked'", "configuration parked belongs to no task"),
        ("update push_letter set push = 99", "dead letters of no configuration: 2"),
        ("insert into spared values (99)", "rows of spared belong to no task: 1"),
        ("insert into spared values (1)", "has not ended, and its log is spared"),
        ("update push set answer = x'' where id = 'lost'", "configuration lost has no task, and no answer"),
        ("update push set answer = x'31' where id = 'dead'", "and an answer are of one configuration, dead"),
        ("update push set principal = 'q' where id = 'dead'", "is not in the scope of its configuration dead"),
        ("update push set cursor = 4 where id = 'dead'", "stands at 3, and its configuration dead at 4"),
        ("update push set due = 0 where id = 'behind'", "configuration behind is counted among what is not due"),
        ("update push set due = 0 where id = 'late'", "configuration late is counted among what is not due"),
        ("update push set due = 0 where id = 'answer'", "configuration answer is counted among what is not due"),
        ("update push set due = 1 where id = 'parked'", "configuration parked is counted among what is due"),
        ("update push set opened = x'31' where id = 'behind'", "configuration behind: A stored record is damaged"),
        ("update push set answer = x'31' where id = 'lost'", "configuration lost: A stored record is damaged"),
        ("update push set state = 'odd' where id = 'dead'", "configuration dead: 'odd' is not a valid PushState"),
    ],
)
async def test_a_check_finds_what_does_not_hold_of_configurations(
    path: Path, story: Story, statement: str, problem: str
) -> None:
    assert upkeep.check(path).problems == ()
    assert story.seq == 3
    edited(path, statement)
    assert any(problem in line for line in upkeep.check(path).problems), upkeep.check(path).problems


async def test_a_damaged_configuration_does_not_keep_others_from_being_delivered_to(
    path: Path, story: Story, caplog: pytest.LogCaptureFixture
) -> None:
    edited(path, "update push set opened = x'31' where id = 'behind'")
    store = await reopened(path)
    due = [push.id for push in await store.due_pushes("new", 1000, after=0, limit=9)]
    assert due == ["failing", "whole", "late", "answer"]
    assert f"configuration behind of task {story.id}" in caplog.text
    await store.close()


async def test_an_export_takes_configurations_along(path: Path, tmp_path: Path, story: Story) -> None:
    lines = list(upkeep.export(path))
    assert b'"sealed":"AP8gYmVoaW5k"' in lines[1]
    assert [sorted(json.loads(line)) for line in lines[1:]] == [["task"]] * 2 + [["answer"]] * 2 + [["end"]]
    new = tmp_path / "new.db"
    assert upkeep.read_in(new, lines) == Count(tasks=2, keys=0, answers=2)
    assert await everything(new) == await everything(path)
    assert list(upkeep.export(new)) == lines
    assert upkeep.check(new).problems == ()
    assert story.id.encode() in lines[1]


def without_an_answer(lines: list[bytes]) -> list[bytes]:
    return [line for line in lines if b'"id":"lost"' not in line]


def without_a_scope(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"id":"dead","tenant":"t"', b'"id":"dead","tenant":"u"') for line in lines]


def with_one_twice(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"id":"dead","tenant"', b'"id":"parked","tenant"') for line in lines]


def with_an_endless_number(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b'"attempts":9', b'"attempts":99999999999999999999') for line in lines]


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (without_an_answer, "came, not"),
        (without_a_scope, "is not in the scope of its configuration"),
        (with_one_twice, "Line 2: UNIQUE"),
        (with_an_endless_number, "Line 2: "),
    ],
)
async def test_an_export_that_is_not_whole_is_refused(
    path: Path, tmp_path: Path, story: Story, spoil: Callable[[list[bytes]], list[bytes]], told: str
) -> None:
    lines = list(upkeep.export(path))
    assert spoil(lines) != lines
    with pytest.raises(ConfigurationError, match=told):
        upkeep.read_in(tmp_path / "new.db", spoil(lines))
    assert story.seq == 3


async def test_an_export_of_the_first_form_is_read_in(path: Path, tmp_path: Path) -> None:
    store = await reopened(path)
    await Narrator(store).ended()
    await store.close()
    header, task, end = upkeep.export(path)
    old = [
        header.replace(b'"form":2', b'"form":1'),
        task.replace(b',"pushes":[]', b""),
        end.replace(b',"answers":0', b""),
    ]
    assert all(one != two for one, two in zip(old, (header, task, end), strict=True))
    assert upkeep.read_in(tmp_path / "new.db", old).tasks == 1


async def test_erased_configurations_and_answers_are_nowhere_in_the_files(path: Path, story: Story) -> None:
    store = await reopened(path)
    secrets = (configuration(story, "failing").sealed, ANSWER.text.encode() + b'"')
    for secret, selector in zip(secrets, (Selector(task_id=story.id), Selector(principal="")), strict=True):
        assert any(secret in file.read_bytes() for file in path.parent.iterdir())
        await store.erase(selector)
        assert not [file for file in path.parent.iterdir() if secret in file.read_bytes()]
    await store.close()


async def test_a_vacuum_keeps_configurations(path: Path, story: Story) -> None:
    before = await everything(path)
    upkeep.vacuum(path)
    assert await everything(path) == before
    assert story.seq == 3


async def test_the_owner_sees_how_deliveries_stand(path: Path, story: Story) -> None:
    assert standings(path) == (
        Standing(HERE, 1, 0, 0, 0, None, 0, 0, 0),
        Standing(THERE, 4, 3, 3 + 2 + 1, 1, SINCE, 1, 1, 1),
        Standing("o", 1, 1, 1, 0, None, 0, 1, 1),
    )
    store = await reopened(path)
    assert len(standings(path)) == 3, "beside a server, too"
    assert [push.id for push in configurations(path, PushState.DEAD)] == ["dead", "lost"]
    assert [push.id for push in configurations(path, PushState.ENDED)] == ["ended"]
    assert tuple(configurations(path, PushState.LIVE)) == await store.read_pushes(PushState.LIVE, after=0, limit=99)
    assert [(push.id, letter) for push, letter in dead_letters(path)] == [("parked", LETTER), ("lost", LETTER)]
    with pytest.raises(StoreInUse):
        retry(path)
    await store.close()
    assert story.seq == 3


@pytest.mark.parametrize(
    ("chosen", "ids"),
    [
        ({}, {"dead", "lost"}),
        ({"origin": THERE}, {"dead"}),
        ({"config_id": "lost"}, {"lost"}),
        ({"config_id": "parked"}, set[str]()),
        ({"task_id": "?", "config_id": "dead"}, {"dead"}),
        ({"task_id": "?", "origin": HERE}, set[str]()),
    ],
)
async def test_what_was_given_up_is_taken_up_again_by_hand(
    path: Path, story: Story, chosen: dict[str, str], ids: set[str]
) -> None:
    before = {push.id: push for push in configurations(path, PushState.DEAD)}
    chosen = {name: story.id if value == "?" else value for name, value in chosen.items()}
    assert retry(path, **chosen) == len(ids)
    live = {push.id: push for push in configurations(path, PushState.LIVE) if push.id in before}
    assert live == {name: revived(before[name]) for name in ids}
    assert upkeep.check(path).problems == ()
    store = await reopened(path)
    due = {push.id for push in await store.due_pushes("", 1000, after=0, limit=99)}
    assert due & set(before) == ids
    await store.close()


def revived(push: Push) -> Push:
    return msgspec.structs.replace(
        push, state=PushState.LIVE, whole=bool(push.task_id), epoch=2, attempts=0, failing_since=None, trouble=""
    )


async def test_there_is_no_standing_in_what_is_no_store(tmp_path: Path) -> None:
    for look in (standings, retry):
        with pytest.raises(ConfigurationError, match="There is no file"):
            look(tmp_path / "nowhere.db")
