"""What a reader of a task gets: the task, then every later event once, in order, whatever becomes of the hints."""

import asyncio
import random
from collections.abc import Callable, Sequence

import msgspec
import pytest

from dragoman.buses.memory import MAILBOX_ENTRIES, MemoryBus
from dragoman.core.lifecycle import fold
from dragoman.engine.feed import TaskFeed
from dragoman.errors import TaskNotFoundError
from dragoman.ports.bus import Hint
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Commit, Entry, NewTask, Selector, Stored, TaskStore, TurnStart
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.types.content import Artifact, Part
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent, TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.task import Task, TaskState, TaskStatus
from tests.unit.engine.stage import ANYONE, QUICK, Stage, message, settle, staged

TASK = "task"


class LossyBus(MemoryBus):
    """Loses as many hints as it is told to, in percent; which ones, the seed says."""

    def __init__(self, loss: int, seed: int = 0) -> None:
        super().__init__()
        self._loss = loss
        self._random = random.Random(seed)

    def publish(self, hint: Hint) -> None:
        if self._random.randrange(100) >= self._loss:
            super().publish(hint)


class BlinkingStore(MemoryStore):
    """Lets others go first before and after it reads, as a store with a thread does."""

    async def get(self, task_id: str, scope: Scope) -> Stored | None:
        await asyncio.sleep(0)
        found = await super().get(task_id, scope)
        await asyncio.sleep(0)
        return found


class Writer:
    """Writes a task of so many chunks: any agent."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._base = Task(
            id=TASK,
            context_id="c",
            status=TaskStatus(state=TaskState.WORKING, timestamp=stage.clock.now()),
            history=(message(),),
        )
        self._log: list[TaskUpdate] = []

    async def create(self) -> None:
        await self._stage.store.create(NewTask(task=self._base, scope=ANYONE, skill="s", start=TurnStart()))

    async def chunks(self, count: int) -> None:
        """One change with so many events."""
        seq = len(self._log) + 1
        events = [self._chunk(seq + number) for number in range(count)]
        await self._write(events, None)

    async def status(self, state: TaskState) -> None:
        status = TaskStatus(state=state, timestamp=self._stage.clock.now())
        event = TaskStatusUpdateEvent(task_id=TASK, context_id="c", status=status)
        await self._write([event], fold(self._base, [(each, None) for each in [*self._log, event]]))

    async def _write(self, events: Sequence[TaskUpdate], snapshot: Task | None) -> None:
        after = len(self._log) + 1
        entries = tuple(Entry(seq=after + 1 + number, event=event) for number, event in enumerate(events))
        self._log += events
        await self._stage.store.commit(Commit(task_id=TASK, epoch=1, after=after, entries=entries, snapshot=snapshot))
        self._stage.bus.publish(Hint(TASK, entries))

    def _chunk(self, number: int) -> TaskArtifactUpdateEvent:
        artifact = Artifact(artifact_id="a", parts=(Part(text=f"{number} "),))
        return TaskArtifactUpdateEvent(task_id=TASK, context_id="c", artifact=artifact, append=number > 1)


def done(state: TaskState) -> bool:
    return state.terminal


def asked(state: TaskState) -> bool:
    return state.terminal or state is TaskState.INPUT_REQUIRED


def feed_of(stage: Stage, ends: Callable[[TaskState], bool] = done, kind: type[TaskFeed] = TaskFeed) -> TaskFeed:
    return kind(stage.world, TASK, ANYONE, ends, closed=lambda _: None)


async def read(feed: TaskFeed, pauses: int = 0) -> list[tuple[int | None, StreamEvent]]:
    """Everything, to the end; with so many steps of others in between."""
    seen: list[tuple[int | None, StreamEvent]] = []
    async for batch in feed:
        seen += batch
        for _ in range(pauses):
            await asyncio.sleep(0)
    feed.close()
    return seen


def check_whole(seen: list[tuple[int | None, StreamEvent]], final: Task) -> None:
    """First the task, then one contiguous run of numbers that makes the task what it is in the end."""
    seq, first = seen[0]
    assert isinstance(first, Task)
    assert seq is not None
    numbers = [number for number, _ in seen]
    assert numbers == list(range(seq, seq + len(seen)))
    updates = [event for _, event in seen[1:] if isinstance(event, TaskArtifactUpdateEvent | TaskStatusUpdateEvent)]
    assert len(updates) == len(seen) - 1
    assert fold(first, [(update, None) for update in updates]) == final


async def test_a_hint_lost_in_the_middle_is_read_from_the_log(stage: Stage) -> None:
    writer = Writer(stage)
    await writer.create()
    feed = feed_of(stage)
    await anext(feed)
    publish = stage.bus.publish

    def lost(hint: Hint) -> None:
        assert hint.entries

    await writer.chunks(1)
    stage.bus.publish = lost  # type: ignore[method-assign]  # this hint goes nowhere
    await writer.chunks(1)
    stage.bus.publish = publish  # type: ignore[method-assign]  # and this one is not
    await writer.chunks(1)
    await writer.status(TaskState.COMPLETED)
    seen = [entry async for batch in feed for entry in batch]
    assert [number for number, _ in seen] == [2, 3, 4, 5]
    feed.close()


async def test_a_mailbox_that_overflowed_is_made_up_for_from_the_log(stage: Stage) -> None:
    writer = Writer(stage)
    await writer.create()
    feed = feed_of(stage)
    await anext(feed)
    for _ in range(MAILBOX_ENTRIES + 10):
        await writer.chunks(1)
    await writer.status(TaskState.COMPLETED)
    seen = [number for number, _ in await read(feed)]
    assert seen == list(range(2, MAILBOX_ENTRIES + 13))


async def test_a_reader_who_comes_late_begins_with_the_task_as_it_is(each_stage: Stage) -> None:
    writer = Writer(each_stage)
    await writer.create()
    await writer.chunks(3)
    feed = feed_of(each_stage)
    ((seq, first),) = await anext(feed)
    assert seq == 4
    assert isinstance(first, Task)
    assert first.text == "1 2 3 "
    await writer.status(TaskState.COMPLETED)
    check_whole([(seq, first), *await read(feed)], await each_stage.task(TASK))


async def test_a_feed_of_a_task_that_has_ended_is_the_task(stage: Stage) -> None:
    writer = Writer(stage)
    await writer.create()
    await writer.status(TaskState.COMPLETED)
    ((_, only),) = await read(feed_of(stage))
    assert only == await stage.task(TASK)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [(asked, [TaskState.WORKING, TaskState.INPUT_REQUIRED]), (done, ["all"])],
)
async def test_a_feed_ends_at_the_first_state_that_ends_it(
    stage: Stage, ends: Callable[[TaskState], bool], expected: list[object]
) -> None:
    writer = Writer(stage)
    await writer.create()
    feed = feed_of(stage, ends)
    await anext(feed)
    states = [TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.WORKING, TaskState.COMPLETED]
    for state in states:
        await writer.status(state)
    told = [event.status.state for _, event in await read(feed) if isinstance(event, TaskStatusUpdateEvent)]
    assert told == (states if expected == ["all"] else expected)
    assert not feed.cut


async def test_closing_wakes_the_reader_and_says_that_it_was_cut(stage: Stage) -> None:
    writer = Writer(stage)
    await writer.create()
    feed = feed_of(stage)
    reading = asyncio.create_task(read(feed))
    await settle()
    assert not reading.done()
    feed.close()
    assert [event for _, event in await reading] == [await stage.task(TASK)]
    assert feed.cut
    feed.close()


async def test_a_feed_that_has_ended_is_not_cut(stage: Stage) -> None:
    writer = Writer(stage)
    await writer.create()
    await writer.status(TaskState.COMPLETED)
    feed = feed_of(stage)
    await read(feed)
    assert not feed.cut


async def test_an_idle_feed_gives_signs_of_life(agent: ScriptedAgent) -> None:
    limits = msgspec.structs.replace(QUICK, keep_alive=0.001)
    async with staged(MemoryStore(), agent, limits=limits) as stage:
        await Writer(stage).create()
        feed = feed_of(stage)
        await anext(feed)
        assert [list(await anext(feed)) for _ in range(3)] == [[], [], []]
        feed.close()


async def test_the_end_is_found_even_if_its_hint_was_lost(agent: ScriptedAgent) -> None:
    limits = msgspec.structs.replace(QUICK, keep_alive=0.001)
    async with staged(MemoryStore(), agent, bus=LossyBus(100), limits=limits) as stage:
        writer = Writer(stage)
        await writer.create()
        feed = feed_of(stage)
        waiting = asyncio.create_task(feed.settled())
        await settle()
        await writer.chunks(2)
        await writer.status(TaskState.COMPLETED)
        assert (await waiting) == await stage.task(TASK)
        feed.close()


async def test_settled_waits_for_the_state_and_gives_the_task_then(each_stage: Stage) -> None:
    writer = Writer(each_stage)
    await writer.create()
    feed = feed_of(each_stage, asked)
    waiting = asyncio.create_task(feed.settled())
    await settle()
    await writer.chunks(2)
    assert not waiting.done()
    await writer.status(TaskState.INPUT_REQUIRED)
    settled = await waiting
    assert (settled.state, settled.text) == (TaskState.INPUT_REQUIRED, "1 2 ")
    feed.close()


@pytest.mark.parametrize("steps", range(6))
async def test_a_close_at_any_moment_ends_the_wait(steps: int) -> None:
    async with staged(BlinkingStore(), ScriptedAgent()) as stage:
        await Writer(stage).create()
        for wait in (TaskFeed.settled, read):
            feed = feed_of(stage)
            waiting = asyncio.create_task(wait(feed))
            for _ in range(steps):
                await asyncio.sleep(0)
            feed.close()
            rounds = 0
            while not waiting.done() and rounds < 50:
                await asyncio.sleep(0)
                rounds += 1
            assert waiting.done()
            assert feed.cut


async def test_the_feed_of_a_task_that_is_removed_ends_with_not_found(agent: ScriptedAgent) -> None:
    limits = msgspec.structs.replace(QUICK, keep_alive=0.001)
    async with staged(MemoryStore(), agent, limits=limits) as stage:
        await Writer(stage).create()
        feed = feed_of(stage)
        await anext(feed)
        await stage.store.erase(Selector(task_id=TASK))
        with pytest.raises(TaskNotFoundError):
            await read(feed)
        feed.close()


async def test_a_feed_of_an_unknown_task_is_not_found(each_store: TaskStore, agent: ScriptedAgent) -> None:
    async with staged(each_store, agent) as stage:
        for wait in (TaskFeed.settled, read):
            feed = feed_of(stage)
            with pytest.raises(TaskNotFoundError):
                await wait(feed)
            feed.close()
