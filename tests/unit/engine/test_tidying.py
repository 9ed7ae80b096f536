"""What has been kept long enough goes, with the beats of the worker."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from dragoman.engine import tidying
from dragoman.engine.tidying import AT_A_TIME, CHANGES, Tidying
from dragoman.engine.world import Keeping
from dragoman.errors import TaskNotFoundError
from dragoman.operations import GET_TASK, SEND_MESSAGE
from dragoman.ports.agent import Turn, TurnOutcome
from dragoman.ports.tasks import TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.testing.clock import FakeClock
from dragoman.types.requests import GetTaskRequest
from dragoman.types.task import Task
from tests.behaviour.manifest import requirement
from tests.unit.engine.stage import QUICK, Stage, new_store, send, staged


async def end_at_once(_turn: Turn) -> TurnOutcome:
    return TurnOutcome()


async def ended(stage: Stage) -> Task:
    task = await stage.call(SEND_MESSAGE, send())
    assert isinstance(task, Task)
    return task


@pytest.fixture
def clock() -> FakeClock:
    """That of the store."""
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
def timed_store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> TaskStore:
    return new_store(request.param, tmp_path, clock)


@requirement("R-13.4-16")
async def test_logs_go_before_their_tasks(timed_store: TaskStore, clock: FakeClock) -> None:
    async with staged(timed_store, ScriptedAgent(end_at_once), keeping=Keeping(logs=60, tasks=600)) as stage:
        task = await ended(stage)
        await Tidying(stage.world).work()
        assert len(await stage.log(task.id)) == 1
        clock.advance(61)
        await Tidying(stage.world).work()
        assert await stage.log(task.id) == []
        assert await stage.call(GET_TASK, GetTaskRequest(id=task.id)) == task
        clock.advance(600)
        await Tidying(stage.world).work()
        with pytest.raises(TaskNotFoundError):
            await stage.call(GET_TASK, GetTaskRequest(id=task.id))


async def test_what_is_kept_for_good_stays(timed_store: TaskStore, clock: FakeClock) -> None:
    async with staged(timed_store, ScriptedAgent(end_at_once), keeping=Keeping(logs=None)) as stage:
        task = await ended(stage)
        clock.advance(50 * 366 * 86_400)
        await Tidying(stage.world).work()
        assert len(await stage.log(task.id)) == 1


async def test_a_worker_whose_clock_is_ahead_removes_nothing_before_its_time(timed_store: TaskStore) -> None:
    async with staged(timed_store, ScriptedAgent(end_at_once), keeping=Keeping(logs=60, tasks=600)) as stage:
        task = await ended(stage)
        stage.clock.advance(86_400)
        await Tidying(stage.world).work()
        assert len(await stage.log(task.id)) == 1
        assert await stage.call(GET_TASK, GetTaskRequest(id=task.id)) == task


class CountingStore(MemoryStore):
    """Has so much to remove, and counts the changes that do it."""

    def __init__(self, backlog: int) -> None:
        super().__init__()
        self.backlog = backlog
        self.changes = 0
        self.slow = 0.0
        """Seconds that a change takes."""
        self.changed = asyncio.Event()

    async def prune(self, *, logs_after: float | None, tasks_after: float | None, limit: int) -> int:  # noqa: ARG002 -- as the port has it
        self.changes += 1
        self.changed.set()
        if self.slow:
            await asyncio.sleep(self.slow)
        removed = min(self.backlog, limit)
        self.backlog -= removed
        return removed


async def test_it_is_looked_only_now_and_then_but_until_nothing_is_left(agent: ScriptedAgent) -> None:
    store = CountingStore(backlog=(CHANGES + 3) * AT_A_TIME)
    async with staged(store, agent, keeping=Keeping(logs=1e6)) as stage:
        work = Tidying(stage.world).work
        await work()
        assert store.changes == CHANGES
        await work()
        assert (store.backlog, store.changes) == (0, CHANGES + 4)
        for _ in range(10):
            await work()
        assert store.changes == CHANGES + 4


async def test_much_that_is_to_go_does_not_keep_the_worker_from_its_beats(
    agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = CountingStore(backlog=CHANGES * AT_A_TIME)
    async with staged(store, agent, keeping=Keeping(logs=1e6)) as stage:
        store.slow = 0.01
        monkeypatch.setattr(tidying, "SPELL", 0.005)
        work = Tidying(stage.world).work
        await work()
        assert store.changes == 1
        await work()
        assert store.changes == 2


async def test_the_worker_does_it(agent: ScriptedAgent) -> None:
    store = CountingStore(backlog=0)
    limits = msgspec.structs.replace(QUICK, beat=0.001)
    async with staged(store, agent, limits=limits):
        async with asyncio.timeout(10):
            await store.changed.wait()
