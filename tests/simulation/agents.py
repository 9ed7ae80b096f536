"""An agent whose handlers do what the message says, and what its tasks should come to.

A message is a list of words: `say:3` three chunks, `wait:2` two seconds, `step:a` a step that is to be done once,
`ask:q` a question, `note` a word on the way, `break` the end. Its first word names the skill, which is the policy.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator, Sequence
from itertools import count
from random import Random
from typing import get_args

from dragoman.agent.context import Fail, TaskContext
from dragoman.agent.executor import SkillExecutor
from dragoman.agent.skill import Skill
from dragoman.ports.agent import OnCrash, Policy
from dragoman.types.card import AgentSkill
from dragoman.types.content import Message, Role
from dragoman.types.json import Json

__all__ = ["Effects", "executor", "expected", "random_plan", "words"]

ATTEMPTS = 4


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

    async def route(text: str) -> str:
        return text.partition(" ")[0]

    skills = {
        name: Skill.of(
            play,
            AgentSkill(id=name, name=name, description=name, tags=()),
            policy=Policy(on_crash=name, max_attempts=ATTEMPTS),
        )
        for name in get_args(OnCrash)
    }
    router = Skill.of(route, AgentSkill(id="route", name="route", description="", tags=()), tasks=False)
    return SkillExecutor(skills, router, None)


async def _play(task: TaskContext, word: str, value: str, effects: Effects) -> AsyncGenerator[str, None]:
    match word:
        case "say":
            for number in range(int(value)):
                yield f"{number} "
                await asyncio.sleep(0)
        case "wait":
            await asyncio.sleep(float(value))
        case "step":
            yield f"{value}={await task.step(value, effects.do)} "
        case "ask":
            yield f"({await task.ask(value)}) "
        case "note":
            await task.status("note")
        case "break":
            raise Fail("as was asked for")
        case _:
            """The name of the skill, or an answer that came too late and begins a turn of its own."""


def expected(history: Sequence[Message], steps: dict[tuple[int, str], list[Json]]) -> str:
    """What the text of a task with this history matches, once completed, whatever went on meanwhile. `steps` are the
    results that it remembers of each turn's steps: more than one only where attempts begin from the start.
    """
    said: list[str] = []
    received = iter([message.text for message in history if message.role is Role.USER])
    for turn, plan in enumerate(received, 1):
        for word, value in words(plan):
            match word:
                case "say":
                    said += [f"{number} " for number in range(int(value))]
                case "step":
                    said.append(f"{value}=({'|'.join(map(str, steps.get((turn, value), ())))}) ")
                case "ask":
                    said.append(re.escape(f"({next(received, '')}) "))
                case _:
                    """Says nothing."""
    return "".join(said)


def random_plan(random: Random) -> str:
    """A plan; longer waits outlast pauses and the lives of workers."""
    words = [random.choice(["fail", "resume", "resume", "rerun"])]
    words += [_random_word(random, number) for number in range(random.randint(1, 5))]
    if random.random() < 0.05:
        words.append("break")
    return " ".join(words)


def _random_word(random: Random, number: int) -> str:
    word = random.choice(["say", "say", "wait", "step", "ask", "note"])
    match word:
        case "say":
            return f"say:{random.randint(1, 6)}"
        case "wait":
            return f"wait:{random.choice((0, 0.05, 1, 7))}"
        case "note":
            return word
        case _:
            return f"{word}:{word[0]}{number}"


def words(plan: str) -> Iterator[tuple[str, str]]:
    """The words of a plan, each with its value."""
    for word in plan.split():
        name, _, value = word.partition(":")
        yield name, value
