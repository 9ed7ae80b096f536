"""Messages to a task at work: each begins a turn of its own, or is part of what was said when the task ends."""

import pytest

from dragoman.errors import InboxPending
from dragoman.operations import CANCEL_TASK
from dragoman.ports.tasks import Commit, TaskStore, TurnStart
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent
from dragoman.types.requests import CancelTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import ANYONE, CALL, Stage, message, send, staged, texts


async def post(stage: Stage, task_id: str, *words: str) -> None:
    for word in words:
        await stage.service.send_message(send(word, immediately=True, task_id=task_id), CALL)


def said(task: Task) -> list[str]:
    return [one.text for one in task.history]


@pytest.mark.parametrize("state", [TaskState.FAILED, TaskState.REJECTED])
@pytest.mark.parametrize("words", [("two",), ("two", "three", "four")])
async def test_messages_that_wait_when_the_turn_does_not_complete_are_part_of_the_history(
    each_stage: Stage, agent: ScriptedAgent, state: TaskState, words: tuple[str, ...]
) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await run.text("so far")
    await post(each_stage, task.id, *words)
    await run.end(state, "no")
    done = await each_stage.ended(task.id)
    assert (done.state, done.text, said(done)) == (state, "so far", ["one", *words])
    assert done.status.message is not None
    assert await each_stage.store.inbox(task.id) == ()
    log = await each_stage.log(task.id)
    assert [entry.received.text for entry in log if entry.received is not None] == list(words)
    assert texts([entry.event for entry in log])[-1] == "[no]"


async def test_messages_that_wait_when_the_handler_breaks_or_the_task_is_canceled_are_part_of_the_history(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    broken, canceled = await each_stage.begin("one"), await each_stage.begin("one")
    runs = {run.turn.task.id: run for run in (await agent.run(), await agent.run())}
    for task in (broken, canceled):
        await post(each_stage, task.id, "two", "three")
    await runs[broken.id].fail(RuntimeError("planned"))
    await each_stage.call(CANCEL_TASK, CancelTaskRequest(id=canceled.id))
    for task, state in ((broken, TaskState.FAILED), (canceled, TaskState.CANCELED)):
        done = await each_stage.ended(task.id)
        assert (done.state, said(done)) == (state, ["one", "two", "three"])


async def test_a_message_that_comes_while_the_end_is_being_stored_is_not_lost(
    stage: Stage, agent: ScriptedAgent
) -> None:
    task = await stage.begin("one")
    run = await agent.run()
    await post(stage, task.id, "two")
    late = iter(["three", "four"])

    async def slip_in(commit: Commit) -> None:
        if commit.consumed and (word := next(late, None)):
            await stage.store.inner.post(task.id, ANYONE, message(word), TurnStart())

    stage.store.before_commit = slip_in
    await run.end(TaskState.FAILED, "no")
    done = await stage.ended(task.id)
    assert (done.state, said(done)) == (TaskState.FAILED, ["one", "two", "three", "four"])


async def test_messages_that_wait_for_a_parked_task_are_part_of_its_history_when_it_is_canceled(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await post(each_stage, task.id, "two", "three")
    with pytest.raises(RunOver):
        await run.ask("Which?")
    await each_stage.ended(task.id)
    await each_stage.call(CANCEL_TASK, CancelTaskRequest(id=task.id))
    done = await each_stage.task(task.id)
    assert (done.state, said(done)) == (TaskState.CANCELED, ["one", "Which?", "two", "three"])


async def test_messages_that_wait_when_the_process_dies_are_part_of_the_history(
    each_store: TaskStore, agent: ScriptedAgent
) -> None:
    async with staged(each_store, agent) as stage:
        task = await stage.begin("one")
        await agent.run()
        await post(stage, task.id, "two", "three")
        stage.store.failing = 1_000_000
        await stage.service.close()
        stage.store.failing = 0
        await stage.service.open()
        done = await stage.task(task.id)
        assert (done.state, said(done)) == (TaskState.FAILED, ["one", "two", "three"])
        assert (await stage.log(task.id))[-1].event.metadata == {"reason": "worker-lost"}


class TakenByAnother(MemoryStore):
    """A message waits when the end of a task is to be stored, and is gone when it is looked for."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = True

    async def commit(self, commit: Commit) -> None:
        if commit.unless_pending and self.waiting:
            self.waiting = False
            raise InboxPending(commit.task_id)
        await super().commit(commit)


async def test_a_message_that_another_has_taken_in_between_is_none_that_a_turn_begins_with(
    agent: ScriptedAgent,
) -> None:
    async with staged(TakenByAnother(), agent) as stage:
        task = await stage.begin("one")
        await (await agent.run()).end()
        assert (await stage.ended(task.id)).state is TaskState.COMPLETED
