"""A SQLite store in a file of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman.stores.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tasks.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, owner="echo")
    await store.open()
    yield store
    await store.close()
