"""The requirements of A2A as data, and the mark with which a test says which of them it shows.

The rows stand in `manifest.md`, for people to read; the tests that carry an id are found by reading the test files.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

__all__ = ["Citation", "Row", "citations", "requirement", "rows"]

TESTS = Path(__file__).parents[1]
LEVELS = ("MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY")
STATES = ("tested", "not-yet", "not-applicable")

requirement = pytest.mark.requirement
"""Marks a test with the ids of the rows that it shows."""


class Row(msgspec.Struct, frozen=True):
    """One requirement. `reason` says why a row has no test, and is empty if it has one."""

    id: str
    level: str
    who: str
    bindings: str
    status: str
    reason: str
    sentence: str

    @property
    def on_the_wire(self) -> bool:
        """Whether it binds a server or a client over one of the three bindings, the card included."""
        return self.who in {"server", "client", "both"} and self.bindings.split(",")[0].split(" ")[0] in {
            "all",
            "J",
            "R",
            "G",
            "card",
            "HTTP",
        }


class Citation(msgspec.Struct, frozen=True):
    """A test that carries an id: where it is, and the names of its arguments."""

    id: str
    test: str
    arguments: tuple[str, ...]
    skipped: bool


def rows() -> tuple[Row, ...]:
    """All rows, in the order of the specification."""
    lines = Path(__file__).with_name("manifest.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| R-")]
    return tuple(Row(*row) for row in cells)


def citations(folder: Path = TESTS) -> Iterator[Citation]:
    """Every id that a test under `folder` carries, as pytest would collect it."""
    for path in sorted(folder.rglob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield from _cited(node, path.relative_to(folder.parent).as_posix())


def _cited(test: ast.FunctionDef | ast.AsyncFunctionDef, path: str) -> Iterator[Citation]:
    names = tuple(argument.arg for argument in (*test.args.args, *test.args.kwonlyargs))
    marks = [ast.unparse(decorator) for decorator in test.decorator_list]
    skipped = any("mark.skip" in mark or "mark.xfail" in mark for mark in marks)
    for decorator in test.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "requirement":
            for value in decorator.args:
                yield Citation(str(ast.literal_eval(value)), f"{path}::{test.name}", names, skipped)
