"""A worker that the store does not hear, and tasks of which it is not known what has become of them."""

import asyncio

import msgspec
import pytest

from dragoman.errors import StoreUnavailable, UnavailableError
from dragoman.operations import SEND_MESSAGE
from dragoman.ports.agent import Policy
from dragoman.ports.tasks import Commit, TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.testing.clock import FakeClock
from dragoman.types.task import TaskState
from tests.unit.engine.stage import send, settle, staged
from tests.unit.engine.workers import STILL, WATCHFUL, reason


async def test_a_worker_that_the_store_does_not_hear_stops_its_runs(agent: ScriptedAgent) -> None:
    limits = msgspec.structs.replace(WATCHFUL, fence_after=0.05)
    async with staged(MemoryStore(), agent, limits=limits) as stage:
        task = await stage.begin()
        run = await agent.run()
        stage.store.silent = True
        await run.over.wait()
        assert run.cancelled.is_set()
        assert await reason(stage, task.id) == "worker-lost"


async def test_what_a_worker_gave_up_is_taken_up_when_the_store_answers_again(agent: ScriptedAgent) -> None:
    agent.policies = Policy(on_crash="resume")
    limits = msgspec.structs.replace(WATCHFUL, fence_after=0.05)
    # By the clock of this store nobody ever dies: what is given up is free by being retired.
    async with staged(MemoryStore(FakeClock()), agent, limits=limits) as stage:
        task = await stage.begin()
        run, owner = await agent.run(), (await stage.stored(task.id)).worker
        stage.store.silent = True
        stage.store.failing = 1  # it cannot even hand the task back
        await run.over.wait()
        await settle()
        assert (await stage.stored(task.id)).worker == owner
        stage.store.silent = False
        again = await agent.run()
        taken = await stage.stored(task.id)
        assert (taken.attempt, taken.worker == owner) == (2, False)
        await again.end()
        assert (await stage.ended(task.id)).state is TaskState.COMPLETED


async def test_a_worker_that_is_not_heard_queues_what_comes(agent: ScriptedAgent) -> None:
    limits = msgspec.structs.replace(WATCHFUL, fence_after=0.05)
    async with staged(MemoryStore(), agent, limits=limits) as stage:
        await stage.begin("before")
        run = await agent.run()
        stage.store.silent = True
        await run.over.wait()
        task = await stage.begin("meanwhile")
        assert task.state is TaskState.SUBMITTED
        await settle()
        assert agent.idle
        stage.store.silent = False
        run = await agent.run()
        assert run.turn.message.text == "meanwhile"
        await run.end()
        assert (await stage.ended(task.id)).state is TaskState.COMPLETED


async def test_runs_go_on_without_the_store_where_nobody_else_can_have_it(agent: ScriptedAgent) -> None:
    limits = msgspec.structs.replace(WATCHFUL, fence_after=None)
    async with staged(MemoryStore(), agent, limits=limits) as stage:
        task = await stage.begin()
        run = await agent.run()
        beat, missed = stage.store.beat, asyncio.Semaphore(0)

        async def silent(_worker: str) -> None:
            missed.release()
            raise StoreUnavailable("out of order")

        stage.store.beat = silent  # type: ignore[method-assign, assignment]  # out of order for a while
        for _ in range(20):
            await missed.acquire()
        stage.store.beat = beat  # type: ignore[method-assign]  # as it was
        assert not run.cancelled.is_set()
        await run.end()
        assert (await stage.ended(task.id)).state is TaskState.COMPLETED


async def test_what_runs_here_is_not_lost_when_the_clock_of_the_store_leaps(agent: ScriptedAgent) -> None:
    clock = FakeClock()
    limits = msgspec.structs.replace(STILL, max_running=2)
    async with staged(MemoryStore(clock), agent, limits=limits) as stage:
        task = await stage.begin("runs")
        run = await agent.run()
        await stage.begin("ends")
        await stage.begin("waits")
        clock.advance(3600)
        await (await agent.run()).end()
        assert (await agent.run()).turn.message.text == "waits"
        await run.end()
        assert (await stage.ended(task.id)).state is TaskState.COMPLETED


async def test_a_task_that_was_stored_though_the_store_said_otherwise_is_not_left_behind(
    each_store: TaskStore, agent: ScriptedAgent
) -> None:
    agent.policies = Policy(on_crash="rerun")
    async with staged(each_store, agent, limits=STILL) as stage:

        async def lost() -> None:
            stage.store.after_create = None
            raise StoreUnavailable("the answer is lost")

        stage.store.after_create = lost
        with pytest.raises(UnavailableError):
            await stage.call(SEND_MESSAGE, send())
        run = await agent.run()
        await run.end()
        assert (await stage.ended(run.turn.task.id)).state is TaskState.COMPLETED


@pytest.mark.parametrize("unavailable", [0, 3])
async def test_a_run_that_broke_off_is_noticed(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch, unavailable: int
) -> None:
    async with staged(MemoryStore(), agent, limits=WATCHFUL if unavailable else STILL) as stage:
        task = await stage.begin()
        run = await agent.run()
        commit = stage.store.inner.commit
        calls = 0

        async def broken(change: Commit) -> None:
            nonlocal calls
            calls += 1
            if calls < 3:  # the end of the run, and the end of the run that says so
                raise LookupError("planned")
            if calls < 3 + unavailable:
                raise StoreUnavailable("out of order")
            await commit(change)

        monkeypatch.setattr(stage.store.inner, "commit", broken)
        await run.end()
        assert await reason(stage, task.id) == "worker-lost"
