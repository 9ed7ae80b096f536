"""An I/O error at every single statement that writes or reads configurations of push notifications."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import DragomanError
from dragoman.ports.push import DeadLetter, PushMove, PushState
from dragoman.ports.tasks import Selector
from dragoman.stores.sqlite import SqliteStore, push_heads
from dragoman.testing.store_pushes import configuration, direct
from dragoman.testing.story import Narrator, Story
from dragoman.types.task import TaskState
from tests.unit.stores.faulty import Faults
from tests.unit.stores.sweeping import SHARES, Holds, sweep, sweep_reads

COMPLETED = TaskState.COMPLETED
SINCE = datetime(2030, 1, 1, tzinfo=UTC)
LETTER = DeadLetter(seq=1, at=SINCE, trouble="404")

LEFT = [
    ("brought", 3, 2, PushState.LIVE, False, 0, "two", 1),
    ("dead", 1, 2, PushState.LIVE, True, 0, "one", 0),
    ("moved", 2, 1, PushState.LIVE, False, 3, "one", 1),
    ("parked", 3, 1, PushState.LIVE, False, 0, "one", 0),
    ("ended", 3, 1, PushState.ENDED, False, 0, "one", 0),
    ("answer", 0, 1, PushState.LIVE, False, 1, "one", 0),
]
"""Id, cursor, epoch, state, whole, attempts, worker and the number of dead letters of what is there in the end."""


async def write(store: SqliteStore, faults: Faults) -> Holds:
    """Every kind of write of configurations."""
    insist = faults.insist
    narrator = Narrator(store)
    story, gone, ended = narrator.story(), narrator.story(), narrator.story()
    news = [
        msgspec.structs.replace(one.new, push=configuration(one, name))
        for one, name in ((story, "brought"), (gone, "gone"), (ended, "kept"))
    ]
    await asyncio.gather(*(insist(partial(store.create, new)) for new in news))
    brought = await store.get_push(story.id, story.scope, "brought")
    kept = await store.get_push(ended.id, ended.scope, "kept")
    assert brought is not None
    assert kept is not None
    names = ("dead", "moved", "parked", "dropped")
    puts = [await insist(partial(store.put_push, configuration(story, name))) for name in names]
    assert [put.epoch for put in puts] == [1] * 4
    done, answer = [await insist(partial(store.put_push, direct(name))) for name in ("done", "answer")]
    change = story.change(story.chunk("a"), story.chunk("b"))
    moves = [
        PushMove(n=brought.n, epoch=1, cursor=3, claim=True, worker="two", letter=LETTER),
        PushMove(n=puts[0].n, epoch=1, cursor=1, state=PushState.DEAD, trouble="gone"),
        PushMove(n=puts[1].n, epoch=1, cursor=2, attempts=3, failing_since=SINCE, letter=LETTER),
        PushMove(n=puts[2].n, epoch=1, cursor=3),
        PushMove(n=puts[3].n, epoch=1, cursor=3, letter=LETTER),
        PushMove(n=done.n, epoch=1, cursor=0, state=PushState.ENDED),
        PushMove(n=answer.n, epoch=1, cursor=0, attempts=1),
    ]
    # Several at once share a transaction.
    await insist(lambda: store.commit(change))
    await asyncio.gather(*(insist(partial(store.move_push, move)) for move in moves))
    assert (await insist(lambda: store.put_push(configuration(story, "dead")))).whole
    await insist(lambda: store.drop_push(story.id, story.scope, "dropped"))
    await finish(store, faults, gone, ended, kept.n)
    return 2, partial(hold, stories=[story, ended])


async def finish(store: SqliteStore, faults: Faults, gone: Story, ended: Story, kept: int) -> None:
    """A task is erased, and another one's log is kept until it is delivered."""
    insist = faults.insist
    assert await insist(lambda: store.erase(Selector(task_id=gone.id))) == (gone.id,)
    end = ended.change(ended.chunk("done"), ended.status(COMPLETED), snapshot=True)
    await insist(lambda: store.commit(end))
    ahead = (SINCE.replace(year=2100) - datetime.now(UTC)).total_seconds()
    assert await insist(lambda: store.prune(logs_after=-ahead, tasks_after=None, limit=5)) == 1
    assert len(await store.entries(ended.id, ended.scope, 0)) == 2
    await insist(lambda: store.drop_push(ended.id, ended.scope, "kept"))
    assert await insist(lambda: store.prune(logs_after=-ahead, tasks_after=None, limit=5)) == 1
    last = await insist(lambda: store.put_push(configuration(ended, "ended", cursor=None)))
    assert last.n > kept
    await insist(lambda: store.move_push(PushMove(n=last.n, epoch=1, cursor=3, state=PushState.ENDED)))


async def hold(store: SqliteStore, stories: list[Story]) -> None:
    """The store holds these, and nothing else."""
    found: list[object] = []
    for push in [push for state in PushState for push in await store.read_pushes(state, after=0, limit=99)]:
        letters = len(await store.letters(push.n, 9))
        found.append((push.id, push.cursor, push.epoch, push.state, push.whole, push.attempts, push.worker, letters))
    assert sorted(map(str, found)) == sorted(map(str, LEFT))
    due = {push.id for push in await store.due_pushes("one", 1000, after=0, limit=99)}
    assert due == {"dead", "moved", "answer"}
    assert [len(await store.entries(story.id, story.scope, 0)) for story in stories] == [2, 0]


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("first", range(1, SHARES + 1))
async def test_a_fault_at_any_statement_that_writes_configurations_loses_nothing_and_is_survived(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, *, lasting: bool
) -> None:
    statements, refused = await sweep(tmp_path, write, monkeypatch, first, lasting=lasting)
    assert statements > 100
    assert refused > statements / SHARES / 2


def forgetful(_: push_heads.PushHeads) -> None:
    pass


async def test_a_store_that_believes_in_what_was_rolled_back_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push_heads.PushHeads, "forget", forgetful)
    with pytest.raises((AssertionError, DragomanError, ValueError)):
        await sweep(tmp_path, write, monkeypatch)


def readings(store: SqliteStore, story: Story) -> list[Callable[[], Awaitable[object]]]:
    """Every kind of read."""
    return [
        lambda: store.get_push(story.id, story.scope, "c"),
        lambda: store.get_push("", story.scope, "c"),
        lambda: store.page_pushes(story.id, story.scope, after=0, limit=9),
        lambda: store.due_pushes("one", 1000, after=0, limit=9),
        lambda: store.read_pushes(PushState.LIVE, after=0, limit=9),
        lambda: store.letters(1, 9),
    ]


async def test_a_fault_at_any_statement_that_reads_configurations_is_told_and_survived(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    store = SqliteStore(path, owner="echo", synchronous="off")
    await store.open()
    story = await Narrator(store).begun()
    put = await store.put_push(configuration(story))
    await store.put_push(direct())
    await store.move_push(PushMove(n=put.n, epoch=1, cursor=0, letter=LETTER))
    assert await sweep_reads(store, readings(store, story), monkeypatch) > 8
