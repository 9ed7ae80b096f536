"""What users say of tasks in trouble: for the agent, for a skill, and what is no answer."""

from typing import Any

import pytest

from dragoman import Agent
from dragoman.agent.executor import SkillExecutor
from dragoman.agent.policy import PolicyOptions, policy_of
from dragoman.agent.skill import Skill
from dragoman.errors import ConfigurationError
from dragoman.ports.agent import Policy
from dragoman.types.card import AgentSkill


def said(options: dict[str, Any], base: Policy | None = None) -> Policy:
    return policy_of(base or Policy(), PolicyOptions(**options))  # type: ignore[typeddict-item]  # what users may say


def test_by_default_a_lost_task_fails_and_has_no_limits_in_time() -> None:
    assert said({}) == Policy(on_crash="fail", max_attempts=3, deadline=None, idle_timeout=None)


def test_a_skill_differs_from_its_agent_in_what_it_says() -> None:
    base = said({"on_crash": "resume", "deadline": 60})
    assert said({"max_attempts": 5, "deadline": None}, base) == Policy(on_crash="resume", max_attempts=5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on_crash": "retry"}, "on_crash is one of fail, resume, rerun, not 'retry'"),
        ({"max_attempts": 0}, "max_attempts must be 1 or more"),
        ({"deadline": 0}, "deadline must be more than 0 seconds"),
        ({"deadline": float("inf")}, "deadline must be more than 0 seconds"),
        ({"idle_timeout": -1}, "idle_timeout must be more than 0 seconds"),
        ({"idle_timeout": float("nan")}, "idle_timeout must be more than 0 seconds"),
    ],
)
def test_what_makes_no_sense_is_refused_where_it_is_said(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        said(options)
    with pytest.raises(ConfigurationError, match=words):
        Agent("Odd", **options)

    async def echo(text: str) -> str:
        return text

    with pytest.raises(ConfigurationError, match=words):
        Agent("Odd").skill(**options)(echo)


def test_an_option_that_there_is_not_is_an_error() -> None:
    with pytest.raises(TypeError, match="on_fire"):
        said({"on_fire": "run"})


@pytest.mark.parametrize("most", [0, -1])
def test_a_limit_that_lets_nothing_run_is_refused(most: int) -> None:
    with pytest.raises(ConfigurationError, match="max_running"):
        Agent("Odd", max_running=most)


def test_the_executor_knows_the_policy_of_each_skill_and_of_those_that_are_gone() -> None:
    def echo(text: str) -> str:
        return text

    policy = Policy(on_crash="rerun")
    skills = {"echo": Skill.of(echo, AgentSkill(id="echo", name="Echo", description="Echo."), policy=policy)}
    executor = SkillExecutor(skills, None, None)
    assert executor.policy("echo") == policy
    assert executor.policy("gone") == Policy()
