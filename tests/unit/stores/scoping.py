"""The statements of a SQLite store: read as they are run, and run without the scope that they are bound to."""

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import pytest

from dragoman.stores.sqlite import heads, push_heads, schema
from dragoman.stores.sqlite import store as sqlite_store
from dragoman.stores.sqlite.cache import Cache

__all__ = ["BOUND", "Statements", "forgetful", "unbound"]

BOUND = re.compile(r"(?:\w+\.)?tenant = \? and (?:\w+\.)?principal = \?")
_TEST = re.compile(r"(?:\w+\.)?(?:tenant|principal) = \?")


def unbound(statement: str) -> str:
    """The statement for all scopes, with as many values as before. It may not find the index that it was meant for."""
    return _TEST.sub(r"(\g<0> or 1)", re.sub(r"indexed by \w+", "", statement))


class Statements:
    """What the connections run that are made from now on; one of the statements is run without its scope."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, twin: str | None = None) -> None:
        self.run: list[str] = []
        self.steps = 0
        """Instructions of SQLite's machine, of all that was asked until now."""
        self.twin = twin
        for connect in ("connect_reader", "connect_writer"):
            make = cast("Callable[..., sqlite3.Connection]", vars(schema)[connect])
            monkeypatch.setattr(schema, connect, self._made(make))

    def _made(self, make: Callable[..., sqlite3.Connection]) -> Callable[..., "_Listened"]:
        return lambda *args: _Listened(make(*args), self)

    def heard(self, statement: str) -> str:
        """What is run in its place."""
        self.run.append(statement)
        return unbound(statement) if statement == self.twin else statement

    def step(self) -> int:
        """Counts one instruction; which goes on."""
        self.steps += 1
        return 0


class _Listened:
    """As much of a connection as the store uses."""

    def __init__(self, inner: sqlite3.Connection, statements: Statements) -> None:
        self._inner = inner
        self._statements = statements
        inner.set_progress_handler(statements.step, 1)

    @property
    def in_transaction(self) -> bool:
        return self._inner.in_transaction

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._inner.execute(self._statements.heard(statement), values)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> sqlite3.Cursor:
        several = list(rows)
        return self._inner.executemany(self._statements.heard(statement) if several else statement, several)

    def close(self) -> None:
        self._inner.close()


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stores keep nothing in memory: all that they answer comes from the file."""
    monkeypatch.setattr(sqlite_store, "Cache", lambda: Cache(capacity=0))
    monkeypatch.setattr(heads, "CAPACITY", 0)
    monkeypatch.setattr(push_heads, "CAPACITY", 0)
