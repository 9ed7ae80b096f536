"""Connections that fail when they are told to, and a caller that insists."""

import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

import pytest

from dragoman.errors import StoreUnavailable
from dragoman.stores.sqlite import schema

__all__ = ["Faults"]

T = TypeVar("T")


class Faults:
    """Makes the call of this number fail, counted over all connections; `lasting`, and all after it until `heal`."""

    def __init__(self, number: int, *, lasting: bool = False) -> None:
        self._number = number
        self._lasting = lasting
        self._calls = 0
        self._healed = False
        self.fired = 0
        self.refused = 0
        """How often a caller was told that the store is unavailable."""
        self.statements: list[str] = []

    def put_into(self, connect: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """From now on what `schema.<connect>` makes can fail."""
        make = cast("Callable[..., sqlite3.Connection]", vars(schema)[connect])

        def faulty(*args: object) -> _FaultyConnection:
            return _FaultyConnection(make(*args), self)

        monkeypatch.setattr(schema, connect, faulty)

    def strike(self, statement: str) -> None:
        """Fails, if it is time."""
        self._calls += 1
        self.statements.append(statement)
        if not self._healed and (self._calls == self._number or (self._lasting and self._calls > self._number)):
            self.fired += 1
            raise sqlite3.OperationalError("disk I/O error")

    def heal(self) -> None:
        """Nothing fails any more."""
        self._healed = True

    async def insist(self, call: Callable[[], Awaitable[T]]) -> T:
        """Calls; if the store is unavailable, twice while that lasts, and once more after the fault is gone."""
        for _ in range(1 + self._lasting):
            try:
                return await call()
            except StoreUnavailable:
                self.refused += 1
        self.heal()
        return await call()


class _FaultyConnection:
    """As much of a connection as the store uses."""

    def __init__(self, inner: sqlite3.Connection, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    @property
    def in_transaction(self) -> bool:
        return self._inner.in_transaction

    def execute(self, statement: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        if statement == "rollback":
            # The engine ends the transaction even if it cannot say so.
            self._inner.execute(statement)
        self._faults.strike(statement)
        return self._inner.execute(statement, values)

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> sqlite3.Cursor:
        self._faults.strike(statement)
        return self._inner.executemany(statement, rows)

    def close(self) -> None:
        self._inner.close()
