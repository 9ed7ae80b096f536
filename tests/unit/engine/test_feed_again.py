"""Readers who come back: what they have missed from the log, or the task if the log is gone."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from dragoman.engine.feed import TaskFeed
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Entry
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.types.events import StreamEvent
from dragoman.types.reliable import RELIABLE, number_of
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import ANYONE, QUICK, Stage, settle, staged
from tests.unit.engine.test_feed import TASK, BlinkingStore, Writer, asked, done, read


def again(
    stage: Stage, after: int | None, *, ends: Callable[[TaskState], bool] = done, numbers: bool = False
) -> TaskFeed:
    return TaskFeed(stage.world, TASK, ANYONE, ends, after=after, numbers=numbers, closed=lambda _: None)


async def told(
    stage: Stage, after: int | None, *, ends: Callable[[TaskState], bool] = done, numbers: bool = False
) -> list[tuple[int | None, StreamEvent]]:
    return await read(again(stage, after, ends=ends, numbers=numbers))


async def prune(stage: Stage) -> None:
    """Drops the logs of all tasks that have ended."""
    ahead = (stage.clock.now() - datetime.now(UTC)).total_seconds() + 1
    while await stage.store.inner.prune(logs_after=-ahead, tasks_after=None, limit=100):
        pass


def numbers(seen: list[tuple[int | None, StreamEvent]]) -> list[int | None]:
    return [seq for seq, _ in seen]


async def test_a_reader_who_comes_back_gets_what_came_after_and_then_what_comes(each_stage: Stage) -> None:
    writer = Writer(each_stage)
    await writer.create()
    await writer.chunks(300)
    feed = again(each_stage, 3)
    first = [entry for _ in range(2) for entry in await anext(feed)]
    assert numbers(first) == list(range(4, 302))
    await writer.status(TaskState.COMPLETED)
    assert numbers(await read(feed)) == [302]
    assert not feed.cut


async def test_a_reader_who_has_all_of_it_waits_for_the_next(stage: Stage) -> None:
    writer = Writer(stage)
    await writer.create()
    await writer.chunks(2)
    feed = again(stage, 3)
    await writer.chunks(1)
    assert numbers(list(await anext(feed))) == [4]
    feed.close()


@pytest.mark.parametrize("after", [None, 0, -1, 5, 10**17])
async def test_a_number_that_the_task_has_not_reached_says_nothing(stage: Stage, after: int | None) -> None:
    writer = Writer(stage)
    await writer.create()
    await writer.chunks(3)
    feed = again(stage, after)
    ((seq, event),) = await anext(feed)
    assert seq == 4
    assert isinstance(event, Task)
    feed.close()


async def test_the_end_of_a_task_is_there_for_who_missed_it(each_stage: Stage) -> None:
    writer = Writer(each_stage)
    await writer.create()
    await writer.chunks(3)
    await writer.status(TaskState.COMPLETED)
    assert numbers(await told(each_stage, 4)) == [5]
    assert numbers(await told(each_stage, 1)) == [2, 3, 4, 5]


async def test_a_reader_who_has_the_last_event_of_a_stream_gets_the_task(stage: Stage) -> None:
    writer = Writer(stage)
    await writer.create()
    await writer.status(TaskState.INPUT_REQUIRED)
    ((seq, event),) = await told(stage, 2, ends=asked)
    assert (seq, event) == (2, await stage.task(TASK))


async def test_the_task_stands_in_for_a_log_that_is_gone(each_stage: Stage) -> None:
    writer = Writer(each_stage)
    await writer.create()
    await writer.chunks(3)
    await writer.status(TaskState.COMPLETED)
    await prune(each_stage)
    ((seq, event),) = await told(each_stage, 2)
    assert (seq, event) == (5, await each_stage.task(TASK))


async def test_a_log_that_goes_while_it_is_read_is_made_up_for_by_the_task(each_stage: Stage) -> None:
    writer = Writer(each_stage)
    await writer.create()
    await writer.chunks(600)
    await writer.status(TaskState.COMPLETED)
    feed = again(each_stage, 1)
    assert numbers(list(await anext(feed))) == list(range(2, 258))
    await prune(each_stage)
    ((seq, event),) = await read(feed)
    assert (seq, event) == (602, await each_stage.task(TASK))
    assert not feed.cut


async def test_a_slow_reader_whose_log_is_gone_learns_the_end(stage: Stage) -> None:
    writer = Writer(stage)
    await writer.create()
    reading, waiting = again(stage, None), again(stage, None)
    await anext(reading)
    for _ in range(300):
        await writer.chunks(1)
    await writer.status(TaskState.COMPLETED)
    await prune(stage)
    assert (await read(reading))[-1] == (302, await stage.task(TASK))
    assert await waiting.settled() == await stage.task(TASK)
    waiting.close()


class EndingStore(MemoryStore):
    """Has something done between a read of a log that finds nothing and the next."""

    def __init__(self) -> None:
        super().__init__()
        self.between: Writer | None = None

    async def entries(self, task_id: str, scope: Scope, after: int, limit: int = 256) -> tuple[Entry, ...]:
        found = await super().entries(task_id, scope, after, limit)
        writer, self.between = self.between, None
        if writer is not None:
            await writer.chunks(1)
            await writer.status(TaskState.COMPLETED)
        return found


async def test_an_end_between_two_reads_is_no_log_that_is_gone(agent: ScriptedAgent) -> None:
    store = EndingStore()
    limits = msgspec.structs.replace(QUICK, keep_alive=60)
    async with staged(store, agent, limits=limits) as stage:
        writer = Writer(stage)
        await writer.create()
        feed = again(stage, None)
        await anext(feed)
        store.between = writer
        feed.look()
        assert numbers(await read(feed)) == [2, 3]


async def test_a_feed_that_has_looked_in_vain_waits_again(agent: ScriptedAgent) -> None:
    async with staged(BlinkingStore(), agent) as stage:
        await Writer(stage).create()
        feed = again(stage, None)
        await anext(feed)
        feed.look()
        assert list(await anext(feed)) == []
        waiting = asyncio.create_task(read(feed))
        reads = 0

        async def count() -> None:
            nonlocal reads
            reads += 1

        stage.store.before_get = count
        await settle()
        try:
            assert (waiting.done(), reads) == (False, 0)
        finally:
            feed.close()
            await waiting


async def test_a_look_that_is_asked_for_while_the_feed_reads_is_not_forgotten(stage: Stage) -> None:
    await Writer(stage).create()
    feed = again(stage, None)
    await anext(feed)
    looks = 0

    async def look_again() -> None:
        nonlocal looks
        looks += 1
        if looks == 1:
            feed.look()

    stage.store.before_get = look_again
    feed.look()
    assert list(await anext(feed)) == []
    assert list(await anext(feed)) == []
    assert looks == 2
    feed.close()


async def test_events_say_their_numbers_to_who_wants_them_and_are_stored_without(each_stage: Stage) -> None:
    writer = Writer(each_stage)
    await writer.create()
    await writer.chunks(2)
    plain, counted, back = (
        again(each_stage, after, numbers=n) for after, n in [(None, False), (None, True), (1, True)]
    )
    for feed in (plain, counted):
        await anext(feed)
    await writer.status(TaskState.COMPLETED)
    assert [event.metadata for _, event in await read(plain)] == [None]
    assert [event.metadata for _, event in await read(counted)] == [{RELIABLE: {"seq": 4}}]
    seen = await read(back)
    assert [number_of(event) for _, event in seen] == numbers(seen) == [2, 3, 4]
    ((seq, task),) = await told(each_stage, None, numbers=True)
    assert (seq, number_of(task)) == (4, 4)
    assert (await each_stage.task(TASK)).metadata is None
    assert [entry.event.metadata for entry in await each_stage.log(TASK)] == [None] * 3


@pytest.mark.parametrize("steps", range(6))
async def test_a_close_at_any_moment_ends_a_reader_who_came_back(stage: Stage, steps: int) -> None:
    writer = Writer(stage)
    await writer.create()
    await writer.chunks(1)
    feed = again(stage, 1)
    for _ in range(steps):
        await settle()
    feed.close()
    assert await read(feed) == []
