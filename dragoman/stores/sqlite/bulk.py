"""Statements that are run once over many rows, and a word that many share."""

import sqlite3
from itertools import chain

from dragoman.errors import Fenced
from dragoman.types.task import TaskState

__all__ = ["TERMINAL", "Bulk", "Row", "fenced"]

Row = tuple[int | str | bytes | None, ...]

TERMINAL = ", ".join(f"'{state.value}'" for state in TaskState if state.terminal)

_SIZES = (64, 32, 16, 8, 4, 2, 1)


class Bulk:
    """A statement over rows of so many columns; its text for every size is made once."""

    def __init__(self, before: str, columns: int, after: str = "") -> None:
        row = "(" + ", ".join("?" * columns) + ")"
        self._texts = {size: f"{before} {', '.join([row] * size)} {after}" for size in _SIZES}

    def run(self, connection: sqlite3.Connection, rows: list[Row]) -> int:
        """Runs over all rows; returns how many it changed."""
        start = changed = 0
        for size in _SIZES:
            while len(rows) - start >= size:
                values = list(chain.from_iterable(rows[start : start + size]))
                changed += connection.execute(self._texts[size], values).rowcount
                start += size
        return changed


def fenced(changed: int, rows: list[Row]) -> None:
    """Raises `Fenced` unless every row was changed."""
    if changed != len(rows):
        raise Fenced("It was changed by somebody else")
