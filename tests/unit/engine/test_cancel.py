"""Cancellation: exactly one end, nothing after it, and a while to clean up."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.engine.world import Limits
from dragoman.errors import DragomanError, TaskNotCancelableError, TaskNotFoundError
from dragoman.operations import CANCEL_TASK
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent, ScriptedRun
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.types.requests import CancelTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import CALL, Stage, bounded, send, settle, staged, texts
from tests.unit.engine.takeover import taken_over


async def cancel(stage: Stage, task_id: str) -> Task:
    task = await stage.call(CANCEL_TASK, CancelTaskRequest(id=task_id))
    assert isinstance(task, Task)
    return task


async def ends(stage: Stage, task_id: str) -> list[TaskState]:
    """The terminal states in the log, which must be its last word."""
    log = await stage.log(task_id)
    states = [entry.event.status.state for entry in log if isinstance(entry.event, TaskStatusUpdateEvent)]
    assert isinstance(log[-1].event, TaskStatusUpdateEvent)
    return [state for state in states if state.terminal]


async def test_a_running_task_is_canceled_and_its_run_stopped(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("partial")
    canceled = await cancel(each_stage, task.id)
    assert (canceled.state, canceled.text) == (TaskState.CANCELED, "partial")
    assert run.cancelled.is_set()
    assert run.over.is_set()
    assert await ends(each_stage, task.id) == [TaskState.CANCELED]


async def test_a_parked_task_is_canceled_without_a_run(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    with pytest.raises(RunOver):
        await (await agent.run()).ask("Which?")
    await each_stage.ended(task.id)
    assert (await cancel(each_stage, task.id)).state is TaskState.CANCELED
    assert await ends(each_stage, task.id) == [TaskState.CANCELED]


async def test_what_a_handler_says_while_it_cleans_up_is_stored(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    run.survives = 1
    canceling = asyncio.create_task(cancel(each_stage, task.id))
    await run.cancelled.wait()
    await run.text("rolled back")
    await run.remember("clean", 1)
    await run.text(", tidied up")
    await run.end(TaskState.COMPLETED, "done after all")
    canceled = await canceling
    assert (canceled.state, canceled.text) == (TaskState.CANCELED, "rolled back, tidied up")
    assert await ends(each_stage, task.id) == [TaskState.CANCELED]


async def test_a_handler_that_ignores_the_cancellation_is_abandoned_after_its_grace(agent: ScriptedAgent) -> None:
    grace = 0.3
    async with staged(MemoryStore(), agent, limits=Limits(cancel_grace=grace, drain_grace=0.05)) as stage:
        task = await stage.begin()
        run = await agent.run()
        run.survives = 2
        loop = asyncio.get_running_loop()
        begun = loop.time()
        assert (await cancel(stage, task.id)).state is TaskState.CANCELED
        took = loop.time() - begun
        with pytest.raises(RunOver):
            await run.text("too late")
        assert grace <= took < 1.9 * grace
        assert await ends(stage, task.id) == [TaskState.CANCELED]


async def test_a_cancellation_is_done_even_if_who_asked_for_it_leaves(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    run.survives = 2
    leaving = asyncio.create_task(cancel(stage, task.id))
    await run.cancelled.wait()
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert (await stage.ended(task.id)).state is TaskState.CANCELED
    with pytest.raises(RunOver):
        await run.text("too late")
    assert await ends(stage, task.id) == [TaskState.CANCELED]


async def test_a_cancellation_during_a_commit_loses_nothing(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    stage.store.hold()
    await run.text("a")
    await stage.store.held()
    await run.text("b")
    canceling = asyncio.create_task(cancel(stage, task.id))
    await run.cancelled.wait()
    stage.store.release()
    assert (await canceling).text == "ab"
    assert await ends(stage, task.id) == [TaskState.CANCELED]


async def test_a_cancellation_while_the_end_is_being_stored_comes_too_late(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    each_stage.store.hold()
    await run.end()
    await each_stage.store.held()
    canceling = asyncio.create_task(cancel(each_stage, task.id))
    await settle()
    each_stage.store.release()
    with pytest.raises(TaskNotCancelableError):
        await canceling
    assert await ends(each_stage, task.id) == [TaskState.COMPLETED]


async def test_a_cancellation_that_beats_the_end_wins(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    results = await asyncio.gather(cancel(each_stage, task.id), run.end(), return_exceptions=True)
    state = (await each_stage.ended(task.id)).state
    assert await ends(each_stage, task.id) == [state]
    if isinstance(results[0], Task):
        assert results[0].state is state is TaskState.CANCELED


async def test_canceling_again_gives_the_same_task(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    await agent.run()
    first, second = await asyncio.gather(cancel(each_stage, task.id), cancel(each_stage, task.id))
    assert first == second == await cancel(each_stage, task.id)


async def test_a_cancellation_before_the_handler_has_begun_keeps_it_from_beginning(
    stage: Stage, agent: ScriptedAgent
) -> None:
    task = await stage.begin()
    assert (await cancel(stage, task.id)).state is TaskState.CANCELED
    await settle()
    assert agent.runs == []


async def test_a_cancellation_between_two_turns_ends_the_task(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await each_stage.service.send_message(send("two", immediately=True, task_id=task.id), CALL)
    each_stage.store.hold()
    await run.end()
    await each_stage.store.held()
    canceling = asyncio.create_task(cancel(each_stage, task.id))
    await settle()
    each_stage.store.release()
    assert (await canceling).state is TaskState.CANCELED
    assert await ends(each_stage, task.id) == [TaskState.CANCELED]


async def test_an_unknown_task_cannot_be_canceled(stage: Stage) -> None:
    with pytest.raises(TaskNotFoundError):
        await cancel(stage, "unknown")


STEPS = ["end", "cancel", "fail", "text", "post", "take", "remember", "hold", "release", "takeover", "pass"]


@given(steps=st.lists(st.sampled_from(STEPS), min_size=2, max_size=10))
@settings(max_examples=300, deadline=None)
def test_whatever_races_there_is_one_end_and_nothing_after_it(steps: list[str]) -> None:
    asyncio.run(race(steps))


@bounded
async def race(steps: list[str]) -> None:
    agent = ScriptedAgent()
    async with staged(MemoryStore(), agent) as stage:
        task = await stage.begin()
        run = await agent.run()
        started: list[asyncio.Future[Any]] = []
        for step in [*steps, "cancel"]:
            if step == "pass":
                await asyncio.sleep(0)
            elif step in ("hold", "release"):
                getattr(stage.store, step)()
            else:
                started.append(asyncio.ensure_future(done(step, stage, task.id, run)))
        stage.store.release()
        results = await asyncio.gather(*started, return_exceptions=True)
        ended = await stage.ended(task.id)
        log = await stage.log(task.id)
        assert await ends(stage, task.id) == [ended.state]
        await settle()
        assert await stage.log(task.id) == log
    assert all(not isinstance(one, Exception) or isinstance(one, DragomanError | RunOver) for one in results)
    assert {one.state for one in results if isinstance(one, Task) and one.state.terminal} <= {ended.state}
    said = "".join(artifact.text for artifact in ended.artifacts)
    assert said == "".join(texts([entry.event for entry in log if isinstance(entry.event, TaskArtifactUpdateEvent)]))


def done(step: str, stage: Stage, task_id: str, run: ScriptedRun) -> Coroutine[Any, Any, Any]:
    """The step as something to await; a run that was taken over has no part in it any more."""
    message = send("more", immediately=True, task_id=task_id)
    steps: dict[str, Callable[[], Coroutine[Any, Any, Any]]] = {
        "end": run.end,
        "fail": lambda: run.fail(RuntimeError("planned")),
        "text": lambda: run.text("x"),
        "take": lambda: run.do(lambda turn: turn.receive(wait=True)),
        "remember": lambda: run.remember("step", 1),
        "post": lambda: stage.service.send_message(message, CALL),
        "takeover": lambda: taken_over(stage, task_id),
        "cancel": lambda: cancel(stage, task_id),
    }
    return steps[step]()
