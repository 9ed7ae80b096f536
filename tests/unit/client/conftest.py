"""The scripted agent, and a bound on every wait."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.unit.client.scripted import Script, scripted


@pytest.fixture
async def agent() -> AsyncIterator[Script]:
    async with scripted() as script:
        yield script


@pytest.fixture(autouse=True)
async def bounded() -> AsyncIterator[None]:
    """Ends a test that hangs."""
    waiting = asyncio.current_task()
    assert waiting is not None
    alarm = asyncio.get_running_loop().call_later(20, waiting.cancel)
    yield
    alarm.cancel()
