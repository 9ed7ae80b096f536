"""The scripted agent."""

from collections.abc import AsyncIterator

import pytest

from tests.unit.client.scripted import Script, scripted


@pytest.fixture
async def agent() -> AsyncIterator[Script]:
    async with scripted() as script:
        yield script
