"""Callers who leave while what they have begun is on its way to the disk, and tasks and servers that are taken away."""

import asyncio
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from dragoman.engine.world import Limits
from dragoman.errors import StoreUnavailable
from dragoman.operations import CANCEL_TASK, SEND_MESSAGE, SUBSCRIBE_TO_TASK
from dragoman.ports.agent import Policy
from dragoman.ports.tasks import Selector, Stored
from dragoman.stores.memory import MemoryStore
from dragoman.stores.sqlite import SqliteStore
from dragoman.testing.agent import RunOver, ScriptedAgent, ScriptedRun
from dragoman.types.requests import CancelTaskRequest, SubscribeToTaskRequest
from dragoman.types.task import TaskState
from tests.unit.engine.stage import Stage, bounded, send, settle, staged
from tests.unit.engine.workers import crash


@contextmanager
def slow_disk(path: Path) -> Generator[None]:
    """No write is done in here; each is tried for some seconds."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("begin immediate")
        yield
        other.rollback()


async def left(stage: Stage, sending: "asyncio.Task[object]") -> None:
    """The caller leaves, and all that the engine does because of that is done."""
    await settle()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    for _ in range(10):
        await stage.store.claimable(0, 1)  # as long as a read of the file takes


@bounded
async def test_a_task_that_is_stored_after_its_caller_has_left_runs(tmp_path: Path, agent: ScriptedAgent) -> None:
    path = tmp_path / "tasks.db"
    async with staged(SqliteStore(path, owner="Tested", synchronous="off"), agent) as stage:
        with slow_disk(path):
            await left(stage, asyncio.create_task(stage.call(SEND_MESSAGE, send())))
        await (await agent.run()).end()


@bounded
async def test_an_answer_that_is_stored_after_its_caller_has_left_is_used(tmp_path: Path, agent: ScriptedAgent) -> None:
    path = tmp_path / "tasks.db"
    async with staged(SqliteStore(path, owner="Tested", synchronous="off"), agent) as stage:
        task = await stage.begin()
        with pytest.raises(RunOver):
            await (await agent.run()).ask("Which?")
        await stage.ended(task.id)
        with slow_disk(path):
            await left(stage, asyncio.create_task(stage.call(SEND_MESSAGE, send("this", task_id=task.id))))
        run = await agent.run()
        answer, _ = await run.ask("Which?")
        assert answer is not None
        assert answer.text == "this"
        await run.end()
        assert (await stage.ended(task.id)).state is TaskState.COMPLETED


@bounded
async def test_a_cancellation_that_is_stored_after_its_caller_has_left_holds(
    tmp_path: Path, agent: ScriptedAgent
) -> None:
    path = tmp_path / "tasks.db"
    async with staged(SqliteStore(path, owner="Tested", synchronous="off"), agent) as stage:
        task = await stage.begin()
        run = await agent.run()
        with slow_disk(path):
            await left(stage, asyncio.create_task(stage.call(CANCEL_TASK, CancelTaskRequest(id=task.id))))
        assert (await stage.ended(task.id)).state is TaskState.CANCELED
        assert run.cancelled.is_set()


@bounded
async def test_tasks_that_are_erased_together_have_one_grace_together(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent, limits=Limits(cancel_grace=0.3, drain_grace=0.05)) as stage:
        runs: list[ScriptedRun] = []
        for _ in range(5):
            await stage.begin(context_id="c")
            runs.append(await agent.run())
            runs[-1].survives = 1
        begun = asyncio.get_running_loop().time()
        assert len(await stage.service.erase(Selector(context_id="c"))) == 5
        assert asyncio.get_running_loop().time() - begun < 3 * 0.3
        for run in runs:
            await run.end()


@bounded
async def test_a_stream_that_begins_while_the_server_stops_ends_with_it(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent) as stage:
        task = await stage.begin()
        with pytest.raises(RunOver):
            await (await agent.run()).ask("Which?")
        await stage.ended(task.id)
        await stage.begin("holds the server up")
        held = await agent.run()
        closing = asyncio.create_task(stage.service.close())
        await settle()
        feed = await stage.call(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task.id))
        assert [seq for seq, _ in await anext(feed)] == [2]
        await held.end()
        await closing
        assert await anext(feed, None) is None
        assert feed.cut


@bounded
async def test_a_start_that_fails_half_way_leaves_nothing_running(agent: ScriptedAgent) -> None:
    agent.policies = Policy(on_crash="resume")
    async with staged(MemoryStore(), agent) as stage:
        task = await stage.begin()
        await agent.run()
        await crash(stage)
        claimable = stage.store.claimable

        async def once(dead_after: float, limit: int) -> tuple[Stored, ...]:
            stage.store.claimable = never  # type: ignore[method-assign]  # from the second look on
            return await claimable(dead_after, limit)

        async def never(dead_after: float, limit: int) -> tuple[Stored, ...]:
            raise StoreUnavailable(f"no {limit} tasks of those silent for {dead_after} s")

        stage.store.claimable = once  # type: ignore[method-assign]  # the start goes so far and no further
        with pytest.raises(StoreUnavailable):
            await stage.service.open()
        run = await agent.run()
        assert run.over.is_set()
        stage.store.claimable = claimable  # type: ignore[method-assign]  # as it was
        await stage.service.open()
        await (await agent.run()).end()
        assert (await stage.ended(task.id)).state is TaskState.COMPLETED
