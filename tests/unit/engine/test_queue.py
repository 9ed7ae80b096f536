"""How many tasks run at once, and in which order those begin that have to wait."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator

import msgspec
import pytest

from dragoman.engine.feed import DirectFeed, TaskFeed
from dragoman.engine.slots import Slots
from dragoman.errors import LimitExceededError
from dragoman.operations import CANCEL_TASK, SEND_MESSAGE
from dragoman.ports.agent import Turn, TurnOutcome
from dragoman.ports.limits import CallLimits
from dragoman.ports.tasks import TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent
from dragoman.types.events import StreamEvent, TaskStatusUpdateEvent
from dragoman.types.requests import CancelTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import CALL, QUICK, Stage, send, settle, staged

SUBMITTED, WORKING, COMPLETED = TaskState.SUBMITTED, TaskState.WORKING, TaskState.COMPLETED
LIMITS = msgspec.structs.replace(QUICK, max_running=2, beat=1000)
"""Two at once; who waits is not found by looking every now and then."""


@pytest.fixture
async def stage(agent: ScriptedAgent, each_store: TaskStore) -> AsyncIterator[Stage]:
    async with staged(each_store, agent, limits=LIMITS) as open_stage:
        yield open_stage


async def begun(stage: Stage, *texts: str) -> list[Task]:
    """Tasks that began one after the other, at times that differ."""
    tasks: list[Task] = []
    for text in texts:
        tasks.append(await stage.begin(text))
        stage.clock.advance(1)
    return tasks


async def states(stage: Stage, tasks: list[Task]) -> list[TaskState]:
    return [(await stage.task(task.id)).state for task in tasks]


async def test_what_finds_no_slot_waits_and_the_longest_waiting_goes_first(stage: Stage, agent: ScriptedAgent) -> None:
    tasks = await begun(stage, "1", "2", "3", "4", "5")
    assert [task.state for task in tasks] == [WORKING, WORKING, SUBMITTED, SUBMITTED, SUBMITTED]
    running = [await agent.run(), await agent.run()]
    for expected in ("3", "4", "5"):
        await running.pop(0).end()
        running.append(await agent.run())
        assert running[-1].turn.message.text == expected
    assert agent.idle
    for run in running:
        await run.end()
    for task in tasks:
        assert (await stage.ended(task.id)).state is COMPLETED
    assert [(await stage.stored(task.id)).attempt for task in tasks] == [1] * 5


async def test_a_newcomer_does_not_overtake_who_waits(stage: Stage, agent: ScriptedAgent) -> None:
    await begun(stage, "1", "2", "waits")
    first = await agent.run()
    await agent.run()
    ending = asyncio.create_task(first.end())
    await first.over.wait()
    newcomer = await stage.begin("newcomer")
    await ending
    assert newcomer.state is SUBMITTED
    assert (await agent.run()).turn.message.text == "waits"


async def test_no_more_run_at_once_than_may_however_many_come_at_once(each_store: TaskStore) -> None:
    running, most = 0, 0

    async def play(_turn: Turn) -> TurnOutcome:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return TurnOutcome()

    async with staged(each_store, ScriptedAgent(play), limits=LIMITS) as stage:
        tasks = await asyncio.gather(*(stage.call(SEND_MESSAGE, send(str(n))) for n in range(30)))
        assert [task.state for task in tasks] == [COMPLETED] * 30
    assert most == 2


async def test_a_caller_who_waits_sees_its_task_wait_begin_and_end(stage: Stage, agent: ScriptedAgent) -> None:
    await begun(stage, "1", "2")
    feed = await stage.service.send_streaming_message(send("3"), CALL)
    seen: list[StreamEvent] = []
    finished = asyncio.create_task(collect(feed, seen))
    await (await agent.run()).end()
    await agent.run()
    run = await agent.run()
    await run.text("done")
    await run.end()
    await finished
    assert isinstance(seen[0], Task)
    states = [seen[0].state, *(event.status.state for event in seen[1:] if isinstance(event, TaskStatusUpdateEvent))]
    assert states == [SUBMITTED, WORKING, COMPLETED]


async def collect(feed: TaskFeed | DirectFeed, seen: list[StreamEvent]) -> None:
    async for batch in feed:
        seen += [event for _, event in batch]


async def test_a_task_that_waits_can_be_canceled_and_never_runs(stage: Stage, agent: ScriptedAgent) -> None:
    tasks = await begun(stage, "1", "2", "3")
    canceled = await stage.call(CANCEL_TASK, CancelTaskRequest(id=tasks[2].id))
    assert canceled.state is TaskState.CANCELED
    for _ in range(2):
        await (await agent.run()).end()
    await settle()
    assert agent.idle
    assert (await stage.begin("4")).state in (WORKING, SUBMITTED)
    assert (await agent.run()).turn.message.text == "4"


async def test_a_message_to_a_task_that_waits_is_its_second_turn(stage: Stage, agent: ScriptedAgent) -> None:
    tasks = await begun(stage, "1", "2", "3")
    await stage.service.send_message(send("more", immediately=True, task_id=tasks[2].id), CALL)
    for expected in ("1", "2", "3", "more"):
        run = await agent.run()
        assert run.turn.message.text == expected
        await run.end()
    assert (await stage.ended(tasks[2].id)).state is COMPLETED


async def test_a_question_gives_its_slot_back_and_the_answer_waits_for_one(stage: Stage, agent: ScriptedAgent) -> None:
    (asking, _) = await begun(stage, "asks", "2")
    run, other = await agent.run(), await agent.run()
    with pytest.raises(RunOver):
        await run.ask("Which?")
    await stage.ended(asking.id)
    await begun(stage, "3")
    await agent.run()
    answered = await stage.service.send_message(send("this", immediately=True, task_id=asking.id), CALL)
    assert isinstance(answered, Task)
    assert answered.state is SUBMITTED
    assert agent.idle
    await other.end()
    again = await agent.run()
    assert (await again.ask("Which?"))[0] is not None
    stored = await stage.stored(asking.id)
    assert (stored.task.state, stored.attempt) == (WORKING, 1)
    await again.end()
    assert (await stage.ended(asking.id)).state is COMPLETED


async def test_who_waits_still_waits_after_a_restart(each_store: TaskStore, agent: ScriptedAgent) -> None:
    async with staged(each_store, agent, limits=LIMITS) as stage:
        tasks = await begun(stage, "1", "2", "3", "4", "5")
        await agent.run()
        await agent.run()
        await stage.service.close()
        await stage.service.open()
        failed = TaskState.FAILED
        assert await states(stage, tasks) == [failed, failed, WORKING, WORKING, SUBMITTED]
        for expected in ("3", "4", "5"):
            run = await agent.run()
            assert run.turn.message.text == expected
            await run.end()
        assert (await stage.ended(tasks[4].id)).state is COMPLETED


async def test_a_task_that_cannot_be_stored_gives_its_slot_back(stage: Stage, agent: ScriptedAgent) -> None:
    for _ in range(3):
        with pytest.raises(ValueError, match="surrogates"):
            await stage.call(SEND_MESSAGE, send("\ud800"))
    assert [task.state for task in await begun(stage, "1", "2", "3")] == [WORKING, WORKING, SUBMITTED]
    await (await agent.run()).end()


async def test_a_caller_who_leaves_before_its_task_is_stored_holds_no_slot(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent, limits=LIMITS) as stage:
        for number in range(3):
            reached = asyncio.Event()

            async def slow(reached: asyncio.Event = reached) -> None:
                reached.set()
                await asyncio.Event().wait()

            stage.store.after_create = slow
            sending = asyncio.create_task(stage.begin(str(number)))
            await reached.wait()
            sending.cancel()
            stage.store.after_create = None
            run = await agent.run()
            assert run.turn.message.text == str(number)
            await run.end()
            await stage.ended(run.turn.task.id)
        assert [task.state for task in await begun(stage, "1", "2", "3")] == [WORKING, WORKING, SUBMITTED]


def test_without_a_limit_every_slot_is_free() -> None:
    slots = Slots(None, CallLimits())
    assert all(slots.enter(f"t{n}", "") for n in range(100))
    assert slots.free
    assert not slots.queue


def test_callers_whose_tasks_have_ended_are_forgotten() -> None:
    slots = Slots(1, CallLimits(max_tasks_per_principal=2))
    tracemalloc.start()
    try:
        for number in range(3_000):
            caller = f"caller {number}"
            assert slots.enter("runs", caller)
            assert not slots.enter("waits", caller)
            with pytest.raises(LimitExceededError):
                slots.check(caller)
            slots.leave(caller)
            if number % 2:
                assert slots.advance("waits", caller)
                slots.leave(caller)
            slots.queue = False
            slots.check(caller)
        assert tracemalloc.get_traced_memory()[0] < 100_000
    finally:
        tracemalloc.stop()


def test_slots_are_as_many_as_there_are() -> None:
    slots = Slots(2, CallLimits())
    assert [slots.enter(task_id, "") for task_id in "abc"] == [True, True, False]
    assert not slots.advance("c", "")
    slots.leave("")
    assert [slots.enter("d", ""), slots.advance("c", ""), slots.free] == [False, True, False]
