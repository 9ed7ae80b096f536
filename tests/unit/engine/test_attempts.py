"""A turn that is begun again after a crash: however often it broke off and wherever, the task ends as if it had not."""

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dragoman.core.lifecycle import fold
from dragoman.operations import CANCEL_TASK
from dragoman.ports.agent import OnCrash, Policy, Turn, TurnOutcome
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent, ScriptedRun
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.requests import CancelTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import CALL, Stage, bounded, send, settle, staged
from tests.unit.engine.takeover import taken_over


def own(artifact_id: str, text: str) -> Artifact:
    return Artifact(artifact_id=artifact_id, parts=(Part(text=text),))


async def again(stage: Stage, agent: ScriptedAgent, task: Task) -> ScriptedRun:
    """The run of the next attempt; what the last one has said is stored."""
    await agent.runs[-1].remember("here", True)
    await taken_over(stage, task.id)
    return await agent.run()


async def rebuilt(stage: Stage, task: Task) -> Task:
    """The task as a reader has it who has read every event of every attempt."""
    return fold(task, [(entry.event, entry.received) for entry in await stage.log(task.id)])


def held(task: Task) -> dict[str, str]:
    return {artifact.artifact_id: artifact.text for artifact in task.artifacts}


async def test_a_half_streamed_artifact_is_replaced(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    await (await agent.run()).text("one ", "tw")
    run = await again(each_stage, agent, task)
    await run.text("one ")
    await run.text("two")
    await run.end()
    done = await each_stage.ended(task.id)
    assert held(done) == {"1.0.1": "one two"}
    assert await rebuilt(each_stage, task) == done


async def test_what_was_whole_is_not_there_twice(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    first = await agent.run()
    await first.artifact(own("", "a"))
    await first.artifact(own("mine", "b"))
    await first.text("c")
    run = await again(each_stage, agent, task)
    await run.artifact(own("", "a"))
    await run.artifact(own("mine", "b"))
    await run.text("c")
    await run.end()
    done = await each_stage.ended(task.id)
    assert held(done) == {"1.0.1": "a", "mine": "b", "1.0.2": "c"}
    assert await rebuilt(each_stage, task) == done


async def test_an_artifact_that_an_earlier_part_of_the_turn_began_is_continued_once(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.artifact(own("mine", "before, "), last_chunk=False)
    with pytest.raises(RunOver):
        await run.ask("Well?")
    await each_stage.ended(task.id)
    await each_stage.service.send_message(send("yes", immediately=True, task_id=task.id), CALL)
    for attempt in (1, 2, 3):
        run = await agent.run() if attempt == 1 else await again(each_stage, agent, task)
        await run.artifact(own("mine", "before, "), last_chunk=False)
        await run.ask("Well?")
        await run.artifact(own("mine", "after, "), append=True)
    await run.artifact(own("mine", "at last"), append=True)
    await run.end()
    done = await each_stage.ended(task.id)
    assert held(done) == {"mine": "before, after, at last"}
    assert await rebuilt(each_stage, task) == done


async def test_what_is_not_said_again_is_taken_back(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.artifact(own("mine", "kept"))
    with pytest.raises(RunOver):
        await run.ask("Well?")
    await each_stage.ended(task.id)
    await each_stage.service.send_message(send("yes", immediately=True, task_id=task.id), CALL)
    run = await agent.run()
    await run.ask("Well?")
    await run.text("half a thou")
    await run.artifact(own("mine", ", and lost"), append=True)
    await run.artifact(own("other", "lost"))
    run = await again(each_stage, agent, task)
    await run.ask("Well?")
    await run.end()
    done = await each_stage.ended(task.id)
    assert held(done) == {"mine": "kept", "1.1.1": "", "other": ""}
    assert done.text == "kept"
    assert await rebuilt(each_stage, task) == done


@pytest.mark.parametrize("how", ["fail", "cancel"])
async def test_an_attempt_that_does_not_come_to_its_end_takes_nothing_back(
    each_stage: Stage, agent: ScriptedAgent, how: str
) -> None:
    task = await each_stage.begin()
    await (await agent.run()).text("so far")
    run = await again(each_stage, agent, task)
    if how == "fail":
        await run.fail(RuntimeError("planned"))
    else:
        await settle()
        await each_stage.call(CANCEL_TASK, CancelTaskRequest(id=task.id))
    done = await each_stage.ended(task.id)
    assert done.state.terminal
    assert done.text == "so far"


async def test_the_former_owner_says_nothing_more(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    former = await agent.run()
    run = await again(each_stage, agent, task)
    with pytest.raises(RunOver):
        await former.remember("late", 1)
    await run.text("mine")
    await run.end()
    assert (await each_stage.ended(task.id)).text == "mine"


@pytest.mark.parametrize(("on_crash", "known"), [("resume", (True, 7)), ("rerun", (False, None))])
async def test_steps_are_known_to_an_attempt_that_resumes_only(
    each_stage: Stage, agent: ScriptedAgent, on_crash: Any, known: Any
) -> None:
    agent.policies = Policy(on_crash=on_crash)
    task = await each_stage.begin()
    await (await agent.run()).remember("charge", 7)
    run = await again(each_stage, agent, task)
    assert run.turn.step("charge") == known
    await run.remember("charge", 8)
    with pytest.raises(RunOver):
        await run.ask("Well?")
    await each_stage.ended(task.id)
    await each_stage.service.send_message(send("yes", immediately=True, task_id=task.id), CALL)
    run = await agent.run()
    assert run.turn.step("charge") == (True, 8)
    assert run.turn.attempt == 2
    await run.ask("Well?")
    await run.end()
    await each_stage.ended(task.id)


@pytest.mark.parametrize("on_crash", ["resume", "rerun"])
async def test_nobody_is_asked_twice(each_stage: Stage, agent: ScriptedAgent, on_crash: Any) -> None:
    agent.policies = Policy(on_crash=on_crash)
    task = await each_stage.begin()
    with pytest.raises(RunOver):
        await (await agent.run()).ask("Well?")
    await each_stage.ended(task.id)
    await each_stage.service.send_message(send("yes", immediately=True, task_id=task.id), CALL)
    await (await agent.run()).ask("Well?")
    run = await again(each_stage, agent, task)
    message, _ = await run.ask("Well?")
    assert message is not None
    assert message.text == "yes"
    await run.end()
    assert (await each_stage.ended(task.id)).state is TaskState.COMPLETED


@pytest.mark.parametrize(("on_crash", "before"), [("resume", "price 1"), ("rerun", "price 2")])
async def test_an_attempt_that_runs_from_the_start_says_also_anew_what_came_before_the_question(
    each_stage: Stage, agent: ScriptedAgent, on_crash: Any, before: str
) -> None:
    agent.policies = Policy(on_crash=on_crash, max_attempts=9)
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("price 1")
    with pytest.raises(RunOver):
        await run.ask("Well?")
    await each_stage.ended(task.id)
    await each_stage.service.send_message(send("yes", immediately=True, task_id=task.id), CALL)
    run = await agent.run()
    await run.text("price 1")
    await run.ask("Well?")
    await run.text("booked at 1")
    run = await again(each_stage, agent, task)
    await run.text("pri")
    run = await again(each_stage, agent, task)
    await run.text("price 2")
    message, _ = await run.ask("Well?")
    assert message is not None
    assert message.text == "yes"
    await run.text("booked at 2")
    await run.end()
    done = await each_stage.ended(task.id)
    assert held(done) == {"1.0.1": before, "1.1.1": "booked at 2"}
    assert await rebuilt(each_stage, task) == done


async def test_an_attempt_from_the_start_that_asks_something_else_goes_on_with_that_answer(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    agent.policies = Policy(on_crash="rerun")
    task = await each_stage.begin()
    run = await agent.run()
    with pytest.raises(RunOver):
        await run.ask("Well?")
    await each_stage.ended(task.id)
    await each_stage.service.send_message(send("yes", immediately=True, task_id=task.id), CALL)
    await (await agent.run()).ask("Well?")
    run = await again(each_stage, agent, task)
    await run.text("a")
    await run.ask("Well?")
    await run.text("b")
    with pytest.raises(RunOver):
        await run.ask("Sure?")
    await each_stage.ended(task.id)
    await each_stage.service.send_message(send("sure", immediately=True, task_id=task.id), CALL)
    run = await agent.run()
    assert run.turn.attempt == 2
    for words, question in (("other", "Well?"), ("words", "Sure?")):
        await run.text(words)
        await run.ask(question)
    await run.text("c")
    await run.end()
    done = await each_stage.ended(task.id)
    assert held(done) == {"1.0.1": "a", "1.1.1": "b", "1.2.1": "c"}
    assert await rebuilt(each_stage, task) == done


async def test_attempts_are_counted_for_each_turn(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    assert (run.turn.number, run.turn.attempt) == (1, 1)
    run = await again(each_stage, agent, task)
    assert (run.turn.number, run.turn.attempt) == (1, 2)
    await each_stage.service.send_message(send("two", immediately=True, task_id=task.id), CALL)
    await run.end()
    run = await agent.run()
    assert (run.turn.number, run.turn.attempt) == (2, 1)
    run = await again(each_stage, agent, task)
    assert (run.turn.number, run.turn.attempt) == (2, 2)
    await run.end()
    await each_stage.ended(task.id)


# Any handler that does the same in every run, any crashes.

Step = tuple[str, ...]

STEPS: list[Step] = [
    ("text", "a"),
    ("text", "b"),
    ("data", "c"),
    ("own", "x", "d"),
    ("append", "x", "e"),
    ("append", "y", "f"),
    ("note",),
    ("which",),
    ("ask",),
    ("step", "s"),
    ("take",),
    ("pause",),
]


class Handler:
    """Does these steps in every run of the turn that follows the first few. A run that is to hang at one of them does
    so for as long as it lives.
    """

    def __init__(self, first: int, steps: Sequence[Step], hangs: Sequence[int]) -> None:
        self.first = first
        self.steps = steps
        self.hangs = list(hangs)
        self.hanging: asyncio.Event | None = None
        self.seen: list[str] = []

    async def __call__(self, turn: Turn) -> TurnOutcome:
        seen: list[str] = []
        if turn.number <= self.first:
            turn.artifact(own("x", f"of turn {turn.number}, "))
            return TurnOutcome()
        for count, step in enumerate(self.steps):
            if self.hangs and count == self.hangs[0]:
                await self.hang()
            await self.done(turn, step, seen)
        self.seen = seen
        return TurnOutcome()

    async def hang(self) -> None:
        del self.hangs[0]
        self.hanging = dead = asyncio.Event()
        await dead.wait()
        raise RuntimeError("it was given up long ago")

    async def done(self, turn: Turn, step: Step, seen: list[str]) -> None:
        match step:
            case ("ask",):
                answer, _ = await turn.ask(None, said("Well?"), TaskState.INPUT_REQUIRED)
                seen.append(answer.text if answer is not None else "")
            case ("take",):
                message = await turn.receive(wait=True)
                seen.append(message.text if message is not None else "")
            case ("step", name):
                known, _ = turn.step(name)
                if not known:
                    await turn.remember(name, name)
            case ("pause",):
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            case _:
                self.emitted(turn, step)

    def emitted(self, turn: Turn, step: Step) -> None:
        match step:
            case ("text", chunk):
                turn.text(chunk)
            case ("data", text):
                turn.artifact(own("", text))
            case ("own", name, text):
                turn.artifact(own(name, text), last_chunk=False)
            case ("append", name, text):
                turn.artifact(own(name, text), append=True)
            case ("which",):
                turn.text(f"<{turn.attempt}>")
            case _:
                turn.status(said("note"))


def said(text: str) -> Message:
    return Message(message_id="", role=Role.AGENT, parts=(Part(text=text),))


async def played(
    first: int, steps: Sequence[Step], hangs: Sequence[int], on_crash: OnCrash = "resume"
) -> tuple[Task, list[str], int]:
    """The task in the end, what its last run was told, and how often a run was given up on the way."""
    handler, given_up, answers = Handler(first, steps, hangs), 0, 0
    agent = ScriptedAgent(handler)
    agent.policies = Policy(on_crash=on_crash)
    async with staged(MemoryStore(), agent) as stage:
        begun = await stage.begin()
        for number in range(first + sum(step == ("take",) for step in steps)):
            await stage.service.send_message(send(f"more {number}", immediately=True, task_id=begun.id), CALL)
        while not (task := await stage.task(begun.id)).state.terminal:
            if task.state.interrupted:
                answers += 1
                await stage.service.send_message(send(f"{answers}", immediately=True, task_id=task.id), CALL)
            elif handler.hanging is not None:
                dead, handler.hanging = handler.hanging, None
                await taken_over(stage, task.id)
                dead.set()
                given_up += 1
            await settle()
        assert await rebuilt(stage, begun) == task
    return task, handler.seen, given_up


@given(
    first=st.integers(0, 2),
    steps=st.lists(st.sampled_from(STEPS), max_size=12),
    hangs=st.lists(st.integers(0, 12), max_size=4),
    on_crash=st.sampled_from(["resume", "rerun"]),
)
@example(
    first=0,
    steps=[("own", "x", "d"), ("ask",), ("append", "x", "e"), ("pause",), ("note",)],
    hangs=[4],
    on_crash="resume",
)
@example(first=1, steps=[("take",), ("append", "x", "e"), ("pause",), ("note",)], hangs=[3], on_crash="resume")
@example(first=0, steps=[("which",), ("ask",), ("which",)], hangs=[2], on_crash="rerun")
@settings(max_examples=300, deadline=None)
def test_a_turn_that_broke_off_ends_as_one_that_did_not(
    first: int, steps: list[Step], hangs: list[int], on_crash: OnCrash
) -> None:
    asyncio.run(compared(first, steps, hangs, on_crash))


@bounded
async def compared(first: int, steps: list[Step], hangs: list[int], on_crash: OnCrash) -> None:
    plain, heard, _ = await played(first, steps, [])
    task, heard_again, given_up = await played(first, steps, hangs, on_crash)
    assert plain.state is task.state is TaskState.COMPLETED
    assert given_up <= len(hangs)
    assert [artifact.artifact_id for artifact in task.artifacts] == [one.artifact_id for one in plain.artifacts]
    told = {artifact.artifact_id: re.sub(r"<\d>", "<1>", artifact.text) for artifact in task.artifacts}
    assert told == held(plain)
    if on_crash == "rerun":
        assert len(set(re.findall(r"<\d>", "".join(held(task).values())))) <= 1
    assert [one.text for one in task.history] == [one.text for one in plain.history]
    assert heard_again == heard
