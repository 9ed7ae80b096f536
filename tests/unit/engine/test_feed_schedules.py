"""Whatever the order in which writers and readers get to work, and whatever becomes of the hints: nothing is missed."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.engine.feed import TaskFeed
from dragoman.ports.tasks import Stored
from dragoman.testing.agent import ScriptedAgent
from dragoman.types.events import StreamEvent
from dragoman.types.task import TaskState
from tests.unit.engine.stage import staged
from tests.unit.engine.test_feed import TASK, BlinkingStore, LossyBus, Writer, check_whole, feed_of, read

STEPS = 600
"""More steps of the event loop than any reader here needs for all there is to read."""
LOOK = 100


class SnapshotFirst(TaskFeed):
    """The broken twin: reads the snapshot before it subscribes, so what happens in between is nobody's."""

    async def _snapshot(self) -> Stored:
        self._hints.close()
        stored = await super()._snapshot()
        self._hints = self._world.bus.subscribe(self.task_id)
        return stored


async def play(kind: type[TaskFeed], loss: int, seed: int, writes: list[int], readers: list[tuple[int, int]]) -> None:
    """Writes while readers come (after so many steps) and read (with so many steps between batches).

    What a reader's timer does when hints are lost is done here now and then after the last write: no clock runs.
    """
    async with staged(BlinkingStore(), ScriptedAgent(), bus=LossyBus(loss, seed)) as stage:
        writer = Writer(stage)
        await writer.create()
        feeds: list[TaskFeed] = []

        async def follow(start: int, pauses: int) -> list[tuple[int | None, StreamEvent]]:
            for _ in range(start):
                await asyncio.sleep(0)
            feeds.append(feed_of(stage, kind=kind))
            return await read(feeds[-1], pauses)

        following = [asyncio.create_task(follow(*reader)) for reader in readers]
        for count in writes:
            await writer.chunks(count) if count else await asyncio.sleep(0)
        await writer.status(TaskState.COMPLETED)
        for step in range(STEPS):
            await asyncio.sleep(0)
            for feed in feeds if loss and step % LOOK == LOOK - 1 else ():
                feed.look()
        stuck = [task for task in following if not task.done()]
        for feed in feeds:
            feed.close()
        seen = await asyncio.gather(*following)
        final = await stage.task(TASK)
    assert not stuck, "a reader waits for what has happened long ago"
    for events in seen:
        check_whole(events, final)


Schedule = tuple[int, int, list[int], list[tuple[int, int]]]

schedules = st.tuples(
    st.sampled_from([0, 10, 50, 90, 100]),
    st.integers(0, 99),
    st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 5, 100, 200]), max_size=25),
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0, 1, 3, 40])), min_size=1, max_size=4),
)


@given(schedule=schedules)
@settings(max_examples=150, deadline=None)
def test_every_reader_gets_every_event_once(schedule: Schedule) -> None:
    asyncio.run(play(TaskFeed, *schedule))


def test_a_feed_that_subscribes_too_late_is_found_out() -> None:
    @given(schedule=schedules)
    @settings(max_examples=300, deadline=None, database=None, report_multiple_bugs=False)
    def attempt(schedule: Schedule) -> None:
        _, seed, writes, readers = schedule
        asyncio.run(play(SnapshotFirst, 0, seed, writes, readers))

    with pytest.raises(AssertionError):
        attempt()
