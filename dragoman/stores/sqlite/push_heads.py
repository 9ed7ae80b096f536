"""What the writer thread knows of configurations, so that it need not ask the database before each move."""

import sqlite3
from typing import NamedTuple

__all__ = ["PushHead", "PushHeads"]

CAPACITY = 20_000


class PushHead(NamedTuple):
    """The part of a configuration's row that a move is checked against."""

    epoch: int
    direct: bool
    """Whether it waits for a direct answer."""


class PushHeads:
    """Heads as they are committed, and on top of them what the open transaction makes of them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[int, PushHead] = {}
        self._staged: dict[int, PushHead | None] = {}
        (last,) = connection.execute("select coalesce(max(n), 0) from push").fetchone()
        self._last: int = last

    def next_number(self) -> int:
        """A number that no configuration has had since the store was opened."""
        self._last += 1
        return self._last

    def find(self, n: int) -> PushHead | None:
        if n in self._staged:
            return self._staged[n]
        head = self._known.get(n)
        if head is None:
            row = self._connection.execute("select epoch, task is null from push where n = ?", (n,)).fetchone()
            if row is not None:
                head = PushHead(row[0], bool(row[1]))
                self._keep(n, head)
        return head

    def stage(self, n: int, head: PushHead | None) -> None:
        """The configuration will stand like this, or be gone, if the transaction succeeds."""
        self._staged[n] = head

    def forget(self) -> None:
        """The transaction failed, or all of it is written and rows have been removed: ask the database again."""
        self._known.clear()
        self._staged.clear()

    def commit(self) -> None:
        """The transaction succeeded."""
        if self._staged:
            for n, head in self._staged.items():
                if head is None:
                    self._known.pop(n, None)
                else:
                    self._keep(n, head)
            self._staged.clear()

    def _keep(self, n: int, head: PushHead) -> None:
        self._known.pop(n, None)
        self._known[n] = head
        if len(self._known) > CAPACITY:
            del self._known[next(iter(self._known))]
