"""An open engine with a scripted agent."""

from collections.abc import AsyncIterator

import pytest

from dragoman.hosts.asgi import Application
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from tests.unit.engine.stage import Stage, staged
from tests.unit.hosts.grpc.hosting import application_of


@pytest.fixture
async def agent() -> ScriptedAgent:
    return ScriptedAgent()


@pytest.fixture
async def stage(agent: ScriptedAgent) -> AsyncIterator[Stage]:
    async with staged(MemoryStore(), agent) as open_stage:
        yield open_stage


@pytest.fixture
async def app(stage: Stage) -> Application:
    return application_of(stage)
