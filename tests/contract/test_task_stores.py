"""Every store keeps every promise of the port."""

import ast
import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dragoman import testing
from dragoman.ports.push import PushStore
from dragoman.ports.store import Store
from dragoman.ports.tasks import TaskStore
from dragoman.stores import open_store
from dragoman.stores.sqlite import heads, push_heads
from dragoman.stores.sqlite import store as sqlite_store
from dragoman.stores.sqlite.cache import Cache
from dragoman.testing.store_contract import PushStoreContract, TaskStoreContract


class TestMemoryStore(TaskStoreContract, PushStoreContract):
    @pytest.fixture
    async def store(self) -> AsyncIterator[Store]:
        store = open_store("memory", owner="echo")
        await store.open()
        yield store
        await store.close()


class TestSqliteStore(TaskStoreContract, PushStoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        store = open_store(f"sqlite:///{tmp_path}/tasks.db?synchronous=normal", owner="echo")
        await store.open()
        yield store
        await store.close()


class TestSqliteStoreThatRemembersNothing(TaskStoreContract, PushStoreContract):
    """Without what it keeps in memory, everything comes from the file."""

    @pytest.fixture
    async def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
        monkeypatch.setattr(sqlite_store, "Cache", lambda: Cache(capacity=0))
        monkeypatch.setattr(heads, "CAPACITY", 0)
        monkeypatch.setattr(push_heads, "CAPACITY", 0)
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
    promised = {name for port in (TaskStore, PushStore) for name in vars(port) if not name.startswith("_")}
    assert {"create", "commit", "get", "description", "put_push"} <= promised
    assert promised - used == set()
