"""The scripted provider as a fixture."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman.client.login.oauth import TokenCache
from tests.unit.client.login.oauth.scripted import Scripted, providing


@pytest.fixture
async def provider() -> AsyncIterator[Scripted]:
    async with providing() as scripted:
        yield scripted


@pytest.fixture
def cache(tmp_path: Path) -> TokenCache:
    return TokenCache(tmp_path / "state" / "tokens")
