"""One run after another: what the agent emits is stored in order, and in as few commits as may be."""

import asyncio
import logging

import pytest

from dragoman.ports.agent import Turn, TurnOutcome
from dragoman.ports.tasks import Entry, TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import ANYONE, CALL, Stage, message, send, settle, staged, texts


def said(entries: list[Entry]) -> list[str]:
    return texts([entry.event for entry in entries])


async def test_the_task_is_stored_before_the_agent_begins(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    assert (await each_stage.task(task.id)).state is TaskState.WORKING
    assert run.turn.message.text == "hello"
    await run.end()
    assert (await each_stage.ended(task.id)).state is TaskState.COMPLETED


async def test_what_is_emitted_becomes_the_log_in_order(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("one ")
    await run.status("going on")
    await run.text("two")
    await run.artifact(Artifact(artifact_id="table", parts=(Part(data=[1]),)))
    await run.end()
    done = await each_stage.ended(task.id)
    events = said(await each_stage.log(task.id))
    assert [word for word in events if word] == ["one ", "[going on]", "two", "completed"]
    assert [artifact.text for artifact in done.artifacts] == ["one two", ""]
    assert done.status.message is None


@pytest.mark.parametrize("word", ["answer", ""])
async def test_a_task_of_one_chunk_takes_two_sequential_commits(each_store: TaskStore, word: str) -> None:
    async def play(turn: Turn) -> TurnOutcome:
        turn.text(word)
        return TurnOutcome()

    async with staged(each_store, ScriptedAgent(play)) as stage:
        task = await stage.service.send_message(send(), CALL)
        assert isinstance(task, Task)
        assert task.text == word
        assert len(stage.store.created) + len(stage.store.commits) == 2


async def test_what_comes_while_a_commit_is_under_way_gathers_for_the_next(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    stage.store.hold()
    await run.text("a")
    await stage.store.held()
    for chunk in ("b", "c", "d"):
        await run.text(chunk)
    await run.status("note")
    stage.store.release()
    await run.remember("point", 1)
    assert [texts([entry.event for entry in commit.entries]) for commit in stage.store.commits[:2]] == [
        ["a"],
        ["bcd", "[note]"],
    ]
    await run.end()
    await stage.ended(task.id)


async def test_nobody_sees_an_event_before_it_is_stored(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    hints = stage.bus.subscribe(task.id)
    stage.store.hold()
    await run.text("a")
    await stage.store.held()
    await settle()
    assert hints.take() == ((), False)
    stage.store.release()
    await run.remember("point", 1)
    entries, _ = hints.take()
    assert texts([entry.event for entry in entries]) == ["a"]
    await run.end()


async def test_a_result_is_durable_when_remember_returns(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("before")
    await run.remember("charge", {"receipt": 7})
    (memo,) = await each_stage.store.memos(task.id, 1)
    assert (memo.kind, memo.key, memo.value) == ("step", "charge", {"receipt": 7})
    assert (await each_stage.task(task.id)).text == "before"
    assert run.turn.step("charge") == (True, {"receipt": 7})
    assert run.turn.step("other") == (False, None)
    await run.end()


async def test_a_fast_agent_waits_until_there_is_room(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    await run.room()
    stage.store.hold()
    await run.text("first")
    await stage.store.held()
    await run.text("x" * 70_000)
    waiting = asyncio.create_task(run.room())
    await settle()
    seen = [(run.turn.full, waiting.done())]
    stage.store.release()
    await waiting
    seen.append((run.turn.full, len(stage.store.commits) == 2))
    assert seen == [(True, False), (False, True)]
    await run.end()
    assert len((await stage.ended(task.id)).text) == 70_005


async def test_a_parked_task_shows_its_question_and_keeps_nothing_running(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("so far")
    with pytest.raises(RunOver):
        await run.ask("Which?")
    parked = await each_stage.ended(task.id)
    assert parked.state is TaskState.INPUT_REQUIRED
    assert parked.status.message is not None
    assert parked.status.message.text == "Which?"
    assert parked.status.message.task_id == task.id
    assert parked.text == "so far"
    assert run.over.is_set()
    (memo,) = await each_stage.store.memos(task.id, 1)
    assert (memo.kind, memo.value, memo.answered) == ("ask", "Which?", False)


async def test_a_parked_run_cannot_say_any_more(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()

    async def ask_and_go_on(turn: Turn) -> None:
        try:
            await turn.ask(None, message("Which?"), TaskState.INPUT_REQUIRED)
        finally:
            turn.text("too late")

    with pytest.raises(RunOver):
        await run.do(ask_and_go_on)
    parked = await stage.ended(task.id)
    assert (parked.state, parked.artifacts) == (TaskState.INPUT_REQUIRED, ())


async def test_an_exception_fails_the_task_and_tells_nothing_but_a_correlation_id(
    each_stage: Stage, agent: ScriptedAgent, caplog: pytest.LogCaptureFixture
) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("partial")
    with caplog.at_level(logging.ERROR):
        await run.fail(RuntimeError("the password is 1234"))
        failed = await each_stage.ended(task.id)
    assert failed.state is TaskState.FAILED
    assert failed.artifacts[0].text == "partial"
    assert failed.status.message is not None
    event = (await each_stage.log(task.id))[-1].event
    assert event.metadata is not None
    correlation = event.metadata["correlationId"]
    assert str(correlation) in failed.status.message.text
    assert str(correlation) in caplog.text
    assert "1234" in caplog.text
    assert "1234" not in repr(await each_stage.log(task.id))
    assert event.metadata["reason"] == "handler-error"


@pytest.mark.parametrize("state", [TaskState.REJECTED, TaskState.FAILED, TaskState.COMPLETED])
async def test_an_outcome_is_the_terminal_status_with_its_message(
    stage: Stage, agent: ScriptedAgent, state: TaskState
) -> None:
    task = await stage.begin()
    await (await agent.run()).end(state, "because")
    ended = await stage.ended(task.id)
    assert ended.state is state
    told = ended.status.message
    assert told is not None
    assert (told.text, told.role, told.task_id, told.context_id) == ("because", Role.AGENT, task.id, task.context_id)
    assert told.message_id


async def test_a_handler_that_cancels_itself_fails_the_task(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    await run.fail(asyncio.CancelledError())
    failed = await stage.ended(task.id)
    assert failed.state is TaskState.FAILED
    event = (await stage.log(task.id))[-1].event
    assert event.metadata == {"reason": "handler-cancelled"}


async def test_a_message_to_a_working_task_begins_the_next_turn(each_stage: Stage, agent: ScriptedAgent) -> None:
    other = await each_stage.begin("other")
    await (await agent.run()).end()
    await each_stage.ended(other.id)
    task = await each_stage.begin("one")
    first = await agent.run()
    await first.remember("step", 1)
    follow = send("two", immediately=True, task_id=task.id, reference_task_ids=(other.id, "unknown"))
    await each_stage.service.send_message(follow, CALL)
    assert agent.idle
    await first.text("1")
    await first.end()
    second = await agent.run()
    assert second.turn.message.text == "two"
    assert [reference.id for reference in second.turn.references] == [other.id]
    assert second.turn.step("step") == (False, None)
    assert [said.text for said in second.turn.task.history] == ["one", "two"]
    await second.text("2")
    await second.end()
    done = await each_stage.ended(task.id)
    assert [said.text for said in done.history] == ["one", "two"]
    assert [artifact.text for artifact in done.artifacts] == ["1", "2"]
    stored = await each_stage.stored(task.id)
    assert (stored.turn, stored.start.index) == (2, 1)
    assert await each_stage.store.inbox(task.id) == ()


async def test_messages_that_wait_are_taken_one_turn_each_in_order(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin("0")
    run = await agent.run()
    for text in ("1", "2", "3"):
        await stage.service.send_message(send(text, immediately=True, task_id=task.id), CALL)
    for number in range(4):
        assert run.turn.message.text == str(number)
        await run.end()
        if number < 3:
            run = await agent.run()
    done = await stage.ended(task.id)
    assert [told.text for told in done.history] == ["0", "1", "2", "3"]


async def test_a_message_that_comes_with_the_end_is_not_lost(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    first = await agent.run()
    each_stage.store.hold()
    await first.end()
    await each_stage.store.held()
    await each_stage.service.send_message(send("two", immediately=True, task_id=task.id), CALL)
    each_stage.store.release()
    second = await agent.run()
    assert second.turn.message.text == "two"
    await second.end()
    assert (await each_stage.ended(task.id)).state is TaskState.COMPLETED


async def test_a_message_to_a_failing_task_does_not_keep_it_alive(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin("one")
    run = await agent.run()
    await stage.service.send_message(send("two", immediately=True, task_id=task.id), CALL)
    await run.end(TaskState.FAILED, "no")
    assert (await stage.ended(task.id)).state is TaskState.FAILED
    await settle()
    assert agent.idle


async def test_a_question_leaves_messages_for_later_turns(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await each_stage.service.send_message(send("two", immediately=True, task_id=task.id), CALL)
    with pytest.raises(RunOver):
        await run.ask("Which?")
    assert (await each_stage.ended(task.id)).state is TaskState.INPUT_REQUIRED
    await each_stage.service.send_message(send("this", immediately=True, task_id=task.id), CALL)
    run = await agent.run()
    assert (await run.ask("Which?"))[0] == message("this", task_id=task.id, context_id=task.context_id)
    await run.end()
    run = await agent.run()
    assert run.turn.message.text == "two"
    await run.end()
    await each_stage.ended(task.id)


async def test_a_long_stream_is_folded_into_snapshots_now_and_then(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent) as stage:
        task = await stage.begin()
        run = await agent.run()
        for number in range(60):
            await run.text("x" * 8_000)
            await run.remember(f"{number}", None)
        await run.end()
        done = await stage.ended(task.id)
    assert len(done.text) == 480_000
    snapshots = [commit for commit in stage.store.commits if commit.snapshot is not None]
    assert 2 < len(snapshots) < 10


async def test_a_snapshot_is_the_log_folded(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    for number in range(20):
        await run.text(f"{number}:" + "x" * 9_000)
        await run.remember(str(number), None)
        assert (await each_stage.task(task.id)).text.count("x") == 9_000 * (number + 1)
    await run.end()
    done = await each_stage.ended(task.id)
    assert "".join(texts([entry.event for entry in await each_stage.log(task.id)][:-1])) == done.text


async def test_a_turn_knows_what_its_request_said(stage: Stage, agent: ScriptedAgent) -> None:
    await stage.begin("hello")
    turn = (await agent.run()).turn
    assert (turn.skill, turn.caller, turn.request_metadata, turn.output_modes) == ("script", "", {}, ())
    assert turn.message == Message(
        message_id="m-hello",
        role=Role.USER,
        parts=(Part(text="hello"),),
        task_id=turn.task.id,
        context_id=turn.task.context_id,
    )
    stored = await stage.store.get(turn.task.id, ANYONE)
    assert stored is not None
    await agent.runs[0].end()
