"""The engine on each store, with an agent that is stepped by the test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman.ports.tasks import TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from tests.unit.engine.stage import Stage, new_store, staged


@pytest.fixture(params=["memory", "sqlite"])
def each_store(request: pytest.FixtureRequest, tmp_path: Path) -> TaskStore:
    """Each store in turn."""
    return new_store(request.param, tmp_path)


@pytest.fixture
def agent() -> ScriptedAgent:
    return ScriptedAgent()


@pytest.fixture
async def stage(agent: ScriptedAgent) -> AsyncIterator[Stage]:
    """The engine in memory."""
    async with staged(MemoryStore(), agent) as open_stage:
        yield open_stage


@pytest.fixture
async def each_stage(agent: ScriptedAgent, each_store: TaskStore) -> AsyncIterator[Stage]:
    """The engine on each store in turn."""
    async with staged(each_store, agent) as open_stage:
        yield open_stage
