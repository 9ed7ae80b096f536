"""What becomes of tasks whose worker is lost or stops; several workers on one store."""

import asyncio

import pytest

from dragoman.engine.world import Limits
from dragoman.ports.agent import OnCrash, Policy
from dragoman.ports.tasks import Commit, Stored, TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.types.task import TaskState
from tests.unit.engine.stage import CALL, send, settle, staged
from tests.unit.engine.workers import crash, looked, pair, reason

# Several workers.


async def test_a_task_whose_worker_is_dead_is_failed_by_another() -> None:
    agent, heir = ScriptedAgent(), ScriptedAgent()
    async with pair(agent, heir) as (first, second, expire):
        task = await first.begin()
        run = await agent.run()
        await run.text("so far")
        await settle()
        expire()
        assert await reason(second, task.id) == "worker-lost"
        length = len(await second.log(task.id))
        await run.text("late")
        await run.over.wait()  # it hears that it is fenced off
        assert len(await second.log(task.id)) == length
        assert heir.idle


@pytest.mark.parametrize("on_crash", ["resume", "rerun"])
async def test_a_task_whose_worker_is_dead_is_run_again_by_another(on_crash: OnCrash) -> None:
    agent, heir = ScriptedAgent(), ScriptedAgent()
    heir.policies = Policy(on_crash=on_crash)
    async with pair(agent, heir) as (first, second, expire):
        task = await first.begin()
        run = await agent.run()
        before = await first.stored(task.id)
        expire()
        again = await heir.run()
        taken = await second.stored(task.id)
        assert (taken.attempt, taken.epoch, taken.task.state) == (2, before.epoch + 1, TaskState.WORKING)
        assert taken.worker not in ("", before.worker)
        await run.end(text="the first")
        await settle()
        await again.end(text="the second")
        done = await second.ended(task.id)
        assert done.status.message is not None
        assert (done.state, done.status.message.text) == (TaskState.COMPLETED, "the second")


async def test_what_a_living_worker_runs_is_left_alone() -> None:
    agent, heir = ScriptedAgent(), ScriptedAgent()
    heir.policies = Policy(on_crash="rerun")
    async with pair(agent, heir) as (first, second, _):
        task = await first.begin()
        await agent.run()
        await looked(second)
        assert heir.idle
        assert (await first.stored(task.id)).epoch == 1


async def test_a_task_that_another_was_faster_to_take_is_left_to_it(caplog: pytest.LogCaptureFixture) -> None:
    agent, heir = ScriptedAgent(), ScriptedAgent()
    heir.policies = Policy(on_crash="rerun")
    async with pair(agent, heir) as (first, second, expire):
        await first.begin()
        await agent.run()
        stale = await second.store.inner.claimable(0, 10)
        expire()
        run = await heir.run()

        async def late(_dead_after: float, _limit: int) -> tuple[Stored, ...]:
            return stale

        second.store.claimable = late  # type: ignore[method-assign, assignment]  # read before the claim
        await looked(second)
        assert heir.idle
        assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
        await run.end()


async def test_messages_that_wait_go_with_the_task() -> None:
    agent, heir = ScriptedAgent(), ScriptedAgent()
    heir.policies = Policy(on_crash="resume")
    async with pair(agent, heir) as (first, second, expire):
        task = await first.begin("one")
        await agent.run()
        await first.service.send_message(send("two", immediately=True, task_id=task.id), CALL)
        expire()
        await (await heir.run()).end()
        run = await heir.run()
        assert run.turn.message.text == "two"
        await run.end()
        assert (await second.ended(task.id)).state is TaskState.COMPLETED


# One worker, started again and again.


async def test_a_task_that_is_never_survived_ends(each_store: TaskStore, agent: ScriptedAgent) -> None:
    agent.policies = Policy(on_crash="rerun", max_attempts=3)
    async with staged(each_store, agent) as stage:
        task = await stage.begin()
        for attempt in (1, 2, 3):
            await agent.run()
            assert (await stage.stored(task.id)).attempt == attempt
            await crash(stage)
            await stage.service.open()
        assert await reason(stage, task.id) == "attempts-exhausted"
        assert agent.idle


async def test_what_can_be_resumed_is_handed_back_at_once_and_goes_on_at_the_next_start(
    each_store: TaskStore, agent: ScriptedAgent
) -> None:
    agent.policies = Policy(on_crash="resume", max_attempts=1)
    async with staged(each_store, agent, limits=Limits(drain_grace=1000, cancel_grace=1000)) as stage:
        task = await stage.begin()
        for attempt in (1, 2, 3):
            run = await agent.run()
            assert (await stage.stored(task.id)).attempt == attempt
            await stage.service.close()
            assert run.cancelled.is_set()
            await stage.store.inner.open()
            left = await stage.stored(task.id)
            assert (left.task.state, left.worker) == (TaskState.WORKING, "")
            await stage.service.open()
        await (await agent.run()).end()
        assert (await stage.ended(task.id)).state is TaskState.COMPLETED


async def test_what_would_run_from_the_start_has_the_grace_to_end(agent: ScriptedAgent) -> None:
    agent.policies = Policy(on_crash="rerun")
    async with staged(MemoryStore(), agent) as stage:
        task = await stage.begin("in time")
        run = await agent.run()
        late = await stage.begin("late")
        stuck = await agent.run()
        closing = asyncio.create_task(stage.service.close())
        await settle()
        assert not stuck.cancelled.is_set()
        await run.end()
        await closing
        await stage.store.inner.open()
        assert (await stage.task(task.id)).state is TaskState.COMPLETED
        left = await stage.stored(late.id)
        assert (left.task.state, left.worker) == (TaskState.WORKING, "")


async def test_a_handler_that_does_not_stop_does_not_keep_its_task(agent: ScriptedAgent) -> None:
    agent.policies = Policy(on_crash="resume")
    async with staged(MemoryStore(), agent) as stage:
        task = await stage.begin()
        run = await agent.run()
        run.survives = 1000
        await stage.service.close()
        await stage.store.inner.open()
        assert (await stage.stored(task.id)).worker == ""
        await stage.service.open()
        await (await agent.run()).end()
        assert (await stage.ended(task.id)).state is TaskState.COMPLETED
        run.survives = 0


async def test_a_handler_that_does_not_stop_keeps_its_task_no_longer_than_its_own_grace(agent: ScriptedAgent) -> None:
    agent.policies = Policy(on_crash="resume")
    async with staged(MemoryStore(), agent, limits=Limits(drain_grace=1000, cancel_grace=0.01)) as stage:
        task = await stage.begin()
        run = await agent.run()
        run.survives = 1000
        handed_back = asyncio.Event()

        async def seen(commit: Commit) -> None:
            if commit.worker == "":
                handed_back.set()

        stage.store.before_commit = seen
        stage.service.end_streams()
        await handed_back.wait()
        await settle()
        assert (await stage.stored(task.id)).worker == ""
        run.survives = 0


async def test_a_task_beyond_help_does_not_keep_the_others_waiting(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with staged(MemoryStore(), agent) as stage:
        tasks = [await stage.begin(text) for text in ("one", "two", "three")]
        for _ in tasks:
            await agent.run()
        await crash(stage)
        inbox = stage.store.inbox

        async def broken(task_id: str) -> object:
            if task_id == tasks[1].id:
                raise LookupError("planned")
            return await inbox(task_id)

        monkeypatch.setattr(stage.store, "inbox", broken)
        await stage.service.open()
        states = [(await stage.task(task.id)).state for task in tasks]
        assert states == [TaskState.FAILED, TaskState.WORKING, TaskState.FAILED]


async def test_an_orderly_stop_is_no_crash(each_store: TaskStore, agent: ScriptedAgent) -> None:
    agent.policies = Policy(on_crash="resume", max_attempts=2)
    async with staged(each_store, agent) as stage:
        task = await stage.begin()
        for _ in range(3):
            await agent.run()
            await stage.service.close()
            await stage.service.open()
        await agent.run()
        await crash(stage)
        await stage.service.open()
        run = await agent.run()
        assert run.turn.attempt == 5
        await crash(stage)
        await stage.service.open()
        assert await reason(stage, task.id) == "attempts-exhausted"
        message = (await stage.task(task.id)).status.message
        assert message is not None
        assert "2 attempts" in message.text
