"""Every store keeps every promise of the port."""

import ast
import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman import testing
from dragoman.ports.tasks import TaskStore
from dragoman.stores import open_store
from dragoman.stores.sqlite import heads
from dragoman.stores.sqlite import store as sqlite_store
from dragoman.stores.sqlite.cache import Cache
from dragoman.testing.store_contract import TaskStoreContract


class TestMemoryStore(TaskStoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[TaskStore]:
        store = open_store("memory", owner="echo")
        await store.open()
        yield store
        await store.close()


class TestSqliteStore(TaskStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[TaskStore]:
        store = open_store(f"sqlite:///{tmp_path}/tasks.db?synchronous=normal", owner="echo")
        await store.open()
        yield store
        await store.close()


class TestSqliteStoreThatRemembersNothing(TaskStoreContract):
    """Without what it keeps in memory, everything comes from the file."""

    @pytest.fixture
    async def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TaskStore]:
        monkeypatch.setattr(sqlite_store, "Cache", lambda: Cache(capacity=0))
        monkeypatch.setattr(heads, "CAPACITY", 0)
        store = open_store(f"sqlite:///{tmp_path}/tasks.db?synchronous=off", owner="echo")
        await store.open()
        yield store
        await store.close()


def test_every_method_of_the_port_is_in_the_contract() -> None:
    folder = Path(inspect.getfile(testing)).parent
    used = {
        node.attr
        for path in folder.glob("store_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "store"
    }
    promised = {name for name in vars(TaskStore) if not name.startswith("_")}
    assert {"create", "commit", "get", "description"} <= promised
    assert promised - used == set()
