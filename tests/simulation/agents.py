"""An agent whose handlers do what the message says, and what its tasks should come to.

A message is a list of words: `say:3` three chunks, `wait:2` two seconds, `step:a` a step that is to be done once,
`ask:q` a question, `note` a word on the way, `take` a message that has come meanwhile, `hear:2` one that comes within
two seconds, `break` the end. Its first word names the skill: a policy; `late`, which resumes and has a deadline; or
`direct`, which answers without a task.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import get_args

from dragoman.agent.context import Fail, TaskContext, answer
from dragoman.agent.executor import SkillExecutor
from dragoman.agent.skill import Skill
from dragoman.ports.agent import OnCrash, Policy
from dragoman.ports.tasks import Memo
from dragoman.types.card import AgentSkill
from dragoman.types.content import Artifact, Message, Role
from dragoman.types.json import Json
from dragoman.types.task import Task

__all__ = ["POLICIES", "Effects", "Remembered", "executor", "expected", "heard", "random_plan", "text_of", "words"]

ATTEMPTS = 4
DEADLINE = 5.0
"""Seconds that a run of the skill `late` has."""
POLICIES = ("fail", "resume", "resume", "rerun", "rerun")
SKILLS = (*POLICIES, "late")
"""What plans are made for, as often as they are named."""
LATE = "wait:7"
"""A run that does this does not come to an end in that time."""
NOTHING = "(?!)"
"""Matches no text at all."""


class Effects:
    """What handlers have done to the outside world: every call of a step has a number of its own."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.cleaned = 0
        """How often a handler that was cancelled has cleaned up."""

    async def do(self) -> int:
        await asyncio.sleep(0.01)
        return next(self._numbers)


def executor(effects: Effects) -> SkillExecutor:
    """The agent, with one skill for each policy."""

    async def play(task: TaskContext) -> AsyncGenerator[str, None]:
        try:
            for word, value in words(task.text):
                async for said in _play(task, word, value, effects):
                    yield said
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)
            effects.cleaned += 1
            raise

    async def reply(text: str) -> Message:
        return answer(f"{text} {await effects.do()}")

    async def route(text: str) -> str:
        return text.partition(" ")[0]

    policies = {name: Policy(on_crash=name, max_attempts=ATTEMPTS) for name in get_args(OnCrash)}
    policies["late"] = Policy(on_crash="resume", max_attempts=ATTEMPTS, deadline=DEADLINE)
    skills = {name: Skill.of(play, _card(name), policy=policy) for name, policy in policies.items()}
    skills["direct"] = Skill.of(reply, _card("direct"))
    return SkillExecutor(skills, Skill.of(route, _card("route"), tasks=False), None)


def _card(name: str) -> AgentSkill:
    return AgentSkill(id=name, name=name, description=name, tags=())


async def _play(task: TaskContext, word: str, value: str, effects: Effects) -> AsyncGenerator[str, None]:
    if word == "say":
        for number in range(int(value)):
            yield f"{number} "
            await asyncio.sleep(0)
    else:
        said = await _done(task, word, value, effects)
        if said:
            yield said


async def _done(task: TaskContext, word: str, value: str, effects: Effects) -> str:
    """What is to be said of it."""
    match word:
        case "wait":
            await asyncio.sleep(float(value))
        case "step":
            return f"{value}={await task.step(value, effects.do)} "
        case "ask":
            return f"({await task.ask(value)}) "
        case "note":
            await task.status("note")
        case "take" | "hear":
            return await heard(task, float(value or 0))
        case "break":
            raise Fail("as was asked for")
        case _:
            """The name of the skill, or an answer that came too late and begins a turn of its own."""
    return ""


async def heard(task: TaskContext, seconds: float) -> str:
    """What is to be said of a message that has come, or comes within so many seconds."""
    try:
        async with asyncio.timeout(seconds or None):
            message = await (anext(task.inbox) if seconds else task.inbox.take())
    except TimeoutError:
        return ""
    return "" if message is None else f"[{message.text}] "


class Remembered:
    """What one turn remembers: results of steps, by the kind of attempt that has done them; and messages taken."""

    def __init__(self) -> None:
        self.steps: dict[str, dict[str, Json]] = {"step": {}}
        self.taken: list[Message] = []

    def add(self, memo: Memo) -> None:
        if memo.kind.startswith("step"):
            self.steps.setdefault(memo.kind, {})[memo.key] = memo.value
        elif memo.kind == "inbox":
            assert memo.message is not None
            self.taken.append(memo.message)


def expected(history: Sequence[Message], turns: Mapping[int, Remembered]) -> str:
    """What the text of a task with this history matches, once completed, whatever went on meanwhile: in each turn the
    results of its steps are those of one attempt.
    """
    taken = {message.message_id for turn in turns.values() for message in turn.taken}
    told = [said for said in history if said.role is Role.USER and said.message_id not in taken]
    received = iter([message.text for message in told])
    matched: list[str] = []
    late = told[0].text.startswith("late ")
    for turn, plan in enumerate(received, 1):
        answers = [next(received, "") for word, _ in words(plan) if word == "ask"]
        remembered = turns.get(turn) or Remembered()
        ways = [_text(plan, answers, steps, remembered.taken) for steps in remembered.steps.values()]
        possible = [way for way in ways if way is not None and not (late and LATE in plan.split())]
        matched.append("|".join(possible) if possible else NOTHING)
    return "".join([f"(?:{ways})" for ways in matched])


def text_of(task: Task) -> str:
    """What the task says, in the order of a run: an attempt may come to say something for the first time."""

    def place(artifact: Artifact) -> list[int]:
        return [int(number) for number in artifact.artifact_id.split(".")]

    return "".join([artifact.text for artifact in sorted(task.artifacts, key=place)])


def _text(plan: str, answers: Sequence[str], steps: Mapping[str, Json], taken: Sequence[Message]) -> str | None:
    """What the text of a turn matches with these results; None if one is missing."""
    said: list[str] = []
    left = iter(answers)
    messages = "|".join([re.escape(f"[{message.text}] ") for message in taken])
    for word, value in words(plan):
        match word:
            case "say":
                said += [f"{number} " for number in range(int(value))]
            case "step" if value in steps:
                said.append(re.escape(f"{value}={steps[value]} "))
            case "step":
                return None
            case "ask":
                said.append(re.escape(f"({next(left)}) "))
            case "take" | "hear":
                said.append(f"(?:{messages})?")
            case _:
                """Says nothing."""
    return "".join(said)


def random_plan(random: Random, skills: Sequence[str] = SKILLS) -> str:
    """A plan; longer waits outlast pauses and the lives of workers."""
    words = [random.choice(skills)]
    words += [_random_word(random, number) for number in range(random.randint(1, 5))]
    if random.random() < 0.05:
        words.append("break")
    return " ".join(words)


def _random_word(random: Random, number: int) -> str:
    word = random.choice(["say", "say", "wait", "step", "ask", "note", "take", "hear"])
    match word:
        case "say":
            return f"say:{random.randint(1, 6)}"
        case "wait":
            return f"wait:{random.choice((0, 0.05, 1, 7))}"
        case "hear":
            return f"hear:{random.choice((0.5, 2))}"
        case "note" | "take":
            return word
        case _:
            return f"{word}:{word[0]}{number}"


def words(plan: str) -> Iterator[tuple[str, str]]:
    """The words of a plan, each with its value."""
    for word in plan.split():
        name, _, value = word.partition(":")
        yield name, value
