"""The program as people run it: a process of its own, an empty home, no terminal."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.cli.nursery import Nursery
from tests.cli.program import Program
from tests.cli.scripted import BINDINGS, ScriptedAgent
from tests.cli.serving import serving


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "row(id): the requirement of the command line specification that the test shows")


@pytest.fixture
async def agent() -> AsyncIterator[ScriptedAgent]:
    async with serving() as scripted:
        yield scripted


@pytest.fixture(params=BINDINGS)
def bound(request: pytest.FixtureRequest, agent: ScriptedAgent) -> ScriptedAgent:
    """The agent, offering one binding; the test runs for each."""
    agent.bindings = ((request.param, "1.0"),)
    return agent


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    with Nursery() as opened:
        yield opened


@pytest.fixture
def program(tmp_path: Path, agent: ScriptedAgent, nursery: Nursery) -> Program:
    """The program, which finds the agent through its variable."""
    return Program(tmp_path, {"A2ACLI_AGENT_CARD": agent.base}, nursery)
