"""Output that no store takes ends the task, and nothing that comes after it is stored."""

import asyncio
import contextlib

from dragoman.errors import TaskNotCancelableError
from dragoman.operations import CANCEL_TASK
from dragoman.ports.agent import Turn, TurnOutcome
from dragoman.ports.tasks import TaskStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.types.requests import CancelTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import CALL, Stage, bounded, send, settle, staged


async def test_nothing_is_stored_after_output_that_cannot_be(each_store: TaskStore) -> None:
    async def play(turn: Turn) -> TurnOutcome:
        turn.text("fine ")
        await turn.remember("point", 1)
        turn.text("half a pair: \ud800")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            turn.text("what comes after a gap")
            await settle()
            raise
        return TurnOutcome()

    async with staged(each_store, ScriptedAgent(play)) as stage:
        task = await stage.service.send_message(send(), CALL)
        assert isinstance(task, Task)
        assert task.state is TaskState.FAILED
        assert [artifact.text for artifact in task.artifacts] == ["fine "]


@bounded
async def test_a_handler_whose_output_cannot_be_stored_has_its_grace_and_no_more(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    run.survives = 1
    await run.text("half a pair: \ud800")
    assert (await each_stage.ended(task.id)).state is TaskState.FAILED
    await run.end()


@bounded
async def test_a_handler_that_cleans_up_is_not_disturbed_by_output_that_cannot_be_stored(
    stage: Stage, agent: ScriptedAgent
) -> None:
    task = await stage.begin()
    run = await agent.run()
    run.survives = 1
    canceling = asyncio.create_task(stage.call(CANCEL_TASK, CancelTaskRequest(id=task.id)))
    await run.cancelled.wait()
    await run.text("half a pair: \ud800")
    await settle()
    assert not run.over.is_set()
    await run.end()
    with contextlib.suppress(TaskNotCancelableError):
        await canceling
