"""A run that starts again from the top: what it repeats is dropped, and from the last answer on it speaks."""

from typing import Any

import pytest

from dragoman.operations import CANCEL_TASK
from dragoman.testing.agent import RunOver, ScriptedAgent, ScriptedRun
from dragoman.types.requests import CancelTaskRequest
from dragoman.types.task import TaskState
from tests.unit.engine.stage import CALL, Stage, send, texts


async def parked(run: ScriptedRun, question: str, **how: Any) -> None:
    with pytest.raises(RunOver):
        await run.ask(question, **how)


async def answered(run: ScriptedRun, question: str, **how: Any) -> str:
    message, _ = await run.ask(question, **how)
    assert message is not None
    return message.text


async def reply(stage: Stage, task_id: str, text: str) -> None:
    assert (await stage.ended(task_id)).state.interrupted
    await stage.service.send_message(send(text, immediately=True, task_id=task_id), CALL)


async def said(stage: Stage, task_id: str) -> list[str]:
    return [word for word in texts([entry.event for entry in await stage.log(task_id)]) if word]


async def test_answered_questions_return_at_once_in_their_order(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    await parked(await agent.run(), "Name?")
    await reply(each_stage, task.id, "Ada")
    run = await agent.run()
    assert await answered(run, "Name?") == "Ada"
    await parked(run, "Age?")
    await reply(each_stage, task.id, "36")
    run = await agent.run()
    assert [await answered(run, "Name?"), await answered(run, "Age?")] == ["Ada", "36"]
    await run.end()
    done = await each_stage.ended(task.id)
    assert [told.text for told in done.history] == ["hello", "Name?", "Ada", "Age?", "36"]
    assert run.turn.message.text == "hello"


async def test_answers_are_found_by_key_in_any_order(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    await parked(await agent.run(), "Name?", key="name")
    await reply(each_stage, task.id, "Ada")
    run = await agent.run()
    await parked(run, "Age?", key="age")
    await reply(each_stage, task.id, "36")
    run = await agent.run()
    assert await answered(run, "Age?", key="age") == "36"
    assert await answered(run, "Name?", key="name") == "Ada"
    await run.end()
    await each_stage.ended(task.id)


async def test_keyed_questions_do_not_count_among_those_without_key(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    await parked(run, "First?")
    await reply(stage, task.id, "1")
    run = await agent.run()
    await parked(run, "Keyed?", key="k")
    await reply(stage, task.id, "k1")
    run = await agent.run()
    assert await answered(run, "Keyed?", key="k") == "k1"
    assert await answered(run, "First?") == "1"
    await run.end()


async def test_nothing_before_the_last_answer_is_said_again(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("before ")
    await run.status("note")
    await parked(run, "One?")
    await reply(each_stage, task.id, "1")
    run = await agent.run()
    await run.text("before ")
    await run.status("note")
    await answered(run, "One?")
    await run.text("between ")
    await parked(run, "Two?")
    await reply(each_stage, task.id, "2")
    run = await agent.run()
    await run.text("before ")
    await run.status("note")
    await answered(run, "One?")
    await run.text("between ")
    await answered(run, "Two?")
    await run.text("after")
    await run.end()
    done = await each_stage.ended(task.id)
    assert await said(each_stage, task.id) == [
        *("before ", "[note]", "[One?]", "working"),
        *("between ", "[Two?]", "working"),
        *("after", "completed"),
    ]
    assert done.text == "before between after"
    assert len({artifact.artifact_id for artifact in done.artifacts}) == 3


async def test_what_a_run_says_on_another_path_is_not_lost(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    await run.text("first path")
    await parked(run, "Which?")
    await reply(stage, task.id, "this")
    run = await agent.run()
    await run.text("second path")
    await run.end()
    done = await stage.ended(task.id)
    assert done.state is TaskState.COMPLETED
    assert "second path" in done.text


async def test_a_run_that_asks_something_else_says_what_it_held_back(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    await parked(run, "Which?", key="a")
    await reply(stage, task.id, "this")
    run = await agent.run()
    await run.text("elsewhere")
    await parked(run, "Other?", key="b")
    assert (await stage.ended(task.id)).text == "elsewhere"


@pytest.mark.parametrize("broken", ["exception", "cancel"])
async def test_a_repetition_that_breaks_off_takes_nothing_back(
    each_stage: Stage, agent: ScriptedAgent, broken: str
) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("all ")
    await run.text("of it")
    await run.status("note")
    await parked(run, "Which?")
    await reply(each_stage, task.id, "this")
    run = await agent.run()
    await run.text("all ")
    if broken == "exception":
        await run.fail(RuntimeError("unlucky"))
    else:
        await each_stage.call(CANCEL_TASK, CancelTaskRequest(id=task.id))
    ended = await each_stage.ended(task.id)
    assert ended.state in {TaskState.FAILED, TaskState.CANCELED}
    assert "".join(artifact.text for artifact in ended.artifacts) == "all of it"
    assert (await said(each_stage, task.id)).count("all ") <= 1


async def test_a_step_is_done_once_in_a_turn(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.remember("charge", [1, {"a": None}])
    await parked(run, "Sure?")
    await reply(each_stage, task.id, "yes")
    run = await agent.run()
    assert run.turn.step("charge") == (True, [1, {"a": None}])
    await answered(run, "Sure?")
    await run.remember("second", False)
    await run.end()
    await each_stage.ended(task.id)
    assert [(memo.kind, memo.key) for memo in await each_stage.store.memos(task.id, 1)] == [
        ("step", "charge"),
        ("ask", "#1"),
        ("step", "second"),
    ]


async def test_a_step_done_while_repeating_is_stored_without_what_is_held_back(
    stage: Stage, agent: ScriptedAgent
) -> None:
    task = await stage.begin()
    run = await agent.run()
    await run.text("before")
    await parked(run, "Sure?")
    await reply(stage, task.id, "yes")
    run = await agent.run()
    await run.text("before")
    await run.remember("late", 1)
    assert stage.store.commits[-1].entries == ()
    await answered(run, "Sure?")
    await run.end()
    assert (await stage.ended(task.id)).text == "before"


async def test_a_run_that_repeats_much_is_never_full(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    await parked(await agent.run(), "Sure?")
    await reply(stage, task.id, "yes")
    run = await agent.run()
    await run.text("x" * 100_000)
    assert not run.turn.full
    await run.room()
    await answered(run, "Sure?")
    await run.end()
    assert (await stage.ended(task.id)).text == ""


async def test_the_next_turn_asks_anew(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    await parked(await agent.run(), "Which?")
    await reply(each_stage, task.id, "this")
    run = await agent.run()
    await answered(run, "Which?")
    await each_stage.service.send_message(send("again", immediately=True, task_id=task.id), CALL)
    await run.end()
    run = await agent.run()
    await parked(run, "Which?")
    await reply(each_stage, task.id, "that")
    run = await agent.run()
    assert run.turn.message.text == "again"
    assert await answered(run, "Which?") == "that"
    await run.end()
    await each_stage.ended(task.id)


async def test_an_authorization_is_a_value_or_a_message(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    await parked(await agent.run(), "Sign in", state=TaskState.AUTH_REQUIRED)
    assert (await each_stage.ended(task.id)).state is TaskState.AUTH_REQUIRED
    await each_stage.service.authorize(task.id, {"token": "t"})
    run = await agent.run()
    assert await run.ask("Sign in", state=TaskState.AUTH_REQUIRED) == (None, {"token": "t"})
    await parked(run, "Again", state=TaskState.AUTH_REQUIRED)
    await reply(each_stage, task.id, "signed")
    run = await agent.run()
    assert await run.ask("Sign in", state=TaskState.AUTH_REQUIRED) == (None, {"token": "t"})
    assert await answered(run, "Again") == "signed"
    await run.end()
    await each_stage.ended(task.id)
