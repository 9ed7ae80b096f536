"""What a store's URL may be."""

from pathlib import Path

import pytest

from dragoman.errors import ConfigurationError
from dragoman.stores import file_of, open_store
from dragoman.stores.memory import MemoryStore
from dragoman.stores.sqlite import SqliteStore


def test_memory_is_a_store() -> None:
    store = open_store("memory", owner="echo")
    assert isinstance(store, MemoryStore)
    assert store.description == "memory"


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///tasks.db", "tasks.db"),
        ("sqlite:///.dragoman/echo.db", ".dragoman/echo.db"),
        ("sqlite:////var/lib/tasks.db", "/var/lib/tasks.db"),
        ("sqlite:///with%20space.db?synchronous=normal", "with space.db"),
        ("sqlite:///x.db?synchronous=FULL", "x.db"),
    ],
)
def test_a_sqlite_url_names_a_file(url: str, path: str) -> None:
    store = open_store(url, owner="echo")
    assert isinstance(store, SqliteStore)
    assert store.description == str(Path(path))


@pytest.mark.parametrize(
    "url",
    [
        "",
        "memory:",
        "tasks.db",
        "sqlite:",
        "sqlite://",
        "sqlite:///",
        "sqlite:tasks.db",
        "sqlite:///folder/",
        "sqlite://tasks.db",
        "sqlite://host/tasks.db",
        "sqlite:///x.db#part",
        "sqlite:///x.db?synchronous=maybe",
        "sqlite:///x.db?synchronous=",
        "sqlite:///x.db?cache=shared",
        "sqlite://[",
        "postgres://host/db",
    ],
)
def test_other_urls_are_refused_with_what_is_possible(url: str) -> None:
    with pytest.raises(ConfigurationError):
        open_store(url, owner="echo")


@pytest.mark.parametrize("place", ["sqlite:///a%20b.db?synchronous=off", "a b.db"])
def test_a_file_is_named_by_a_url_or_by_its_path(place: str) -> None:
    assert file_of(place) == Path("a b.db")
