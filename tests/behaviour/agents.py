"""Small agents that several files of tests serve."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from dragoman import Agent, Fail, Message, Part, Reject, TaskContext
from dragoman.types import Role

__all__ = ["chatty", "direct", "echo", "gated", "obedient"]


def echo(*, store: str = "memory", **given: Any) -> Agent:
    """Answers with the text it hears, as one artifact."""
    agent = Agent("Echo", "Says back what it hears.", store=store, **given)

    @agent.skill(tags=["demo"])
    async def echo(task: TaskContext) -> AsyncIterator[str]:
        """Repeat the message."""
        yield task.text

    return agent


def direct(*, store: str = "memory", **given: Any) -> Agent:
    """Answers with a message, and makes no task."""
    agent = Agent("Direct", "Answers straight away.", store=store, **given)

    @agent.skill(tags=["demo"])
    async def answer(text: str) -> Message:
        """Answer."""
        return Message(message_id="from-the-agent", role=Role.AGENT, parts=(Part(text=f"you said {text}"),))

    return agent


def gated(*, store: str = "memory", **given: Any) -> tuple[Agent, asyncio.Semaphore]:
    """Streams the words it hears, one for each release of the semaphore, then ends at a last release."""
    agent = Agent("Gated", "Waits before each word.", store=store, **given)
    gate = asyncio.Semaphore(0)

    @agent.skill(tags=["demo"])
    async def words(task: TaskContext) -> AsyncIterator[str]:
        """Stream the words."""
        for word in task.text.split():
            await gate.acquire()
            yield word + " "
        await gate.acquire()

    return agent, gate


def obedient(*, store: str = "memory", **given: Any) -> Agent:
    """Ends as the first word says: done, ask, auth, reject, fail, boom; anything else is echoed."""
    agent = Agent("Obedient", "Ends as it is told.", store=store, **given)

    @agent.skill(tags=["demo"])
    async def obey(task: TaskContext) -> str:
        """Obey."""
        match task.text.split()[0]:
            case "ask":
                return f"got {await task.ask('What colour?')}"
            case "auth":
                return f"allowed {await task.require_auth('Please sign in at https://login.example')}"
            case "reject":
                raise Reject("Not that one")
            case "fail":
                raise Fail("It went wrong")
            case "boom":
                raise RuntimeError("secret of the house")
            case word:
                return word

    return agent


def chatty(count: int, *, store: str = "memory", **given: Any) -> Agent:
    """Streams so many numbered chunks."""
    agent = Agent("Chatty", "Counts.", store=store, **given)

    @agent.skill(tags=["demo"])
    async def count_up(task: TaskContext) -> AsyncIterator[str]:
        """Count."""
        for number in range(count):
            yield f"{number} "
            await asyncio.sleep(0)

    return agent
