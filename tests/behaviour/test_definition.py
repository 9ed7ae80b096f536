"""Putting an agent together wrongly says what to do."""

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from dragoman import Agent, ConfigurationError, Message, TaskContext


def one_skill() -> Agent:
    agent = Agent("Tested", "Under test.", store="memory")

    @agent.skill
    async def first(task: TaskContext) -> str:
        return task.text

    return agent


def test_an_agent_needs_a_skill() -> None:
    with pytest.raises(ConfigurationError, match=r"@agent\.skill"):
        Agent("Empty", "Nothing.", store="memory").asgi()


def test_an_agent_needs_a_name() -> None:
    with pytest.raises(ConfigurationError, match="name"):
        Agent(" ", "Nameless.")


def test_several_skills_need_a_router() -> None:
    agent = one_skill()

    @agent.skill
    async def second(task: TaskContext) -> str:
        return task.text

    with pytest.raises(ConfigurationError, match=r"first, second.*@agent\.router"):
        agent.asgi()


def test_a_skill_is_defined_once() -> None:
    agent = one_skill()
    with pytest.raises(ConfigurationError, match="twice"):

        @agent.skill(id="first")
        async def again(task: TaskContext) -> str:
            return task.text


def test_there_is_one_router() -> None:
    agent = one_skill()

    @agent.router
    def choose(text: str) -> str:
        return "first"

    with pytest.raises(ConfigurationError, match="router"):
        agent.router(choose)


def test_a_parameter_needs_an_annotation_that_can_be_filled() -> None:
    agent = Agent("Tested", "Under test.", store="memory")

    async def odd(what: int) -> str:
        return str(what)

    async def bare(what: object) -> str:
        return str(what)

    del bare.__annotations__["what"]
    wrongs: list[Callable[..., Any]] = [odd, bare]
    for wrong in wrongs:
        with pytest.raises(ConfigurationError, match=r"'what'.*TaskContext, Message, str"):
            agent.skill(wrong)


def test_a_direct_answer_cannot_be_streamed() -> None:
    agent = Agent("Tested", "Under test.", store="memory")

    async def streams(text: str) -> AsyncIterator[Any]:
        yield text

    streams.__annotations__["return"] = Message
    with pytest.raises(ConfigurationError, match="cannot yield"):
        agent.skill(streams)


def test_what_is_called_without_a_task_cannot_take_one() -> None:
    agent = one_skill()

    async def direct(task: TaskContext) -> Message:
        return task.message

    async def choose(task: TaskContext) -> str:
        return task.text

    with pytest.raises(ConfigurationError, match="direct is called without a task"):
        agent.skill(direct)
    with pytest.raises(ConfigurationError, match="choose is called without a task"):
        agent.router(choose)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"missing_version": "by_grammar"}, "strict, by-grammar"),
        ({"media_type": "xml"}, "accept, json"),
        ({"max_body_bytes": 0}, "max_body_bytes must be more than 0"),
        ({"keep_alive": 0}, "keep_alive must be more than 0"),
        ({"cancel_grace": -1}, "cancel_grace must not be negative"),
    ],
)
def test_options_that_cannot_be_are_refused(given: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigurationError, match=says):
        Agent("Tested", "Under test.", **given)


@pytest.mark.parametrize(
    ("store", "says"),
    [("postgres://x", "memory"), ("", "memory"), ("sqlite://", "sqlite")],
)
def test_a_store_that_cannot_be_is_refused(store: str, says: str) -> None:
    agent = one_skill()
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        agent.asgi(store=store or "?")


def test_proxies_are_addresses() -> None:
    agent = Agent("Tested", "Under test.", store="memory", trusted_proxies=["not an address"])

    @agent.skill
    async def first(task: TaskContext) -> str:
        return task.text

    with pytest.raises(ConfigurationError, match="trusted_proxies"):
        agent.asgi()


async def test_only_a_served_agent_can_authorize_and_delete() -> None:
    with pytest.raises(ConfigurationError, match="not being served"):
        await one_skill().authorize("task")
    with pytest.raises(ConfigurationError, match="not being served"):
        await one_skill().delete("task")
    with pytest.raises(ValueError, match="task_id, context_id, principal or group"):
        await one_skill().delete()


def test_the_summary_of_a_skill_comes_from_its_function() -> None:
    agent = Agent("Tested", "Under test.", store="memory")

    @agent.skill
    async def tell_the_time(task: TaskContext) -> str:
        """Says what
        time it is.

        And more, for the reader of the source.
        """
        return task.text

    skill = agent.card.skills[0]
    assert (skill.id, skill.name, skill.description) == ("tell_the_time", "Tell the time", "Says what time it is.")
