"""Every binding in every line of the protocol, and by name what some of these cells cannot say.

A body of a test runs in all cells but those that lose what it is about. What stands there instead is shown in
`test_losses.py`.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

__all__ = [
    "BINDINGS",
    "CELLS",
    "DATA_IS_AN_OBJECT",
    "FINAL_JSON",
    "LINES",
    "LISTS_SAY_LITTLE",
    "LOSSES",
    "MEDIA_TYPES_OF_FILES_ONLY",
    "NO_EMPTY_ARTIFACTS",
    "NO_HISTORY_LENGTH_OF_ZERO",
    "NO_LISTS",
    "NO_PAGES_OF_CONFIGURATIONS",
    "NO_REFERENCES",
    "NO_SERVER_SENT_EVENTS",
    "NO_TENANTS",
    "NO_VERSIONS",
    "OVER_GRPC",
    "OVER_HTTP",
    "SUBSCRIPTIONS_ARE_TURNS",
    "TYPED",
    "UNTOLD",
    "Cell",
    "Loss",
    "cells_of",
    "only",
    "without",
]


class Cell(msgspec.Struct, frozen=True):
    """One binding in one line of the protocol."""

    line: str
    binding: str

    @property
    def key(self) -> str:
        return f"{self.line}/{self.binding}"


LINES = ("1.0", "0.3", "draft")
BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")
CELLS = tuple(Cell(line, binding) for line in LINES for binding in BINDINGS)
FINAL_JSON = tuple(cell for cell in CELLS if cell.line == "1.0" and cell.binding != "GRPC")
"""1.0 over the bindings of JSON: enough where a test is about agents and stores, not about the wire."""

OVER_HTTP = tuple(cell for cell in CELLS if cell.binding != "GRPC")
"""What has bodies and statuses of HTTP."""
OVER_GRPC = tuple(cell for cell in CELLS if cell.binding == "GRPC")


class Loss(msgspec.Struct, frozen=True):
    """What some cells do not have."""

    cells: tuple[Cell, ...]
    why: str


def _in(lines: Iterable[str] = LINES, bindings: Iterable[str] = BINDINGS) -> tuple[Cell, ...]:
    return tuple(cell for cell in CELLS if cell.line in lines and cell.binding in bindings)


NO_LISTS = Loss(_in(["0.3"], ["JSONRPC", "GRPC"]), "0.3 has no operation that lists tasks")
LISTS_SAY_LITTLE = Loss(_in(["0.3"]), "the only list of 0.3, over HTTP+JSON, says no sizes")
NO_TENANTS = Loss(_in(["0.3", "draft"]), "tenants came with 1.0")
NO_HISTORY_LENGTH_OF_ZERO = Loss(_in(["0.3"]), "a history length of 0 is none that was set in 0.3")
NO_VERSIONS = Loss(
    _in(["0.3"], ["HTTP+JSON", "GRPC"]),
    "where 0.3 and the draft share addresses, a request with a version that is not served is answered as the draft",
)
SUBSCRIPTIONS_ARE_TURNS = Loss(
    _in(["0.3"]), "a subscription of 0.3 ends with the turn, and of an ended task gives the task"
)
MEDIA_TYPES_OF_FILES_ONLY = Loss(_in(["0.3", "draft"]), "before 1.0 only files have a media type and a name")
DATA_IS_AN_OBJECT = Loss(_in(["0.3", "draft"]), "before 1.0 the data of a part are an object")
NO_REFERENCES = Loss(_in(["0.3"], ["HTTP+JSON"]), "the proto of 0.3, whose JSON this is, has no references to tasks")
NO_SERVER_SENT_EVENTS = Loss(_in(bindings=["GRPC"]), "events have no ids, and no comments keep a stream alive")
NO_EMPTY_ARTIFACTS = Loss(_in(bindings=["GRPC"]), "protobuf does not tell an empty list from an absent one")
TYPED = Loss(_in(bindings=["GRPC"]), "protobuf has types: what is of another type, or unheard of, cannot be said")
NO_PAGES_OF_CONFIGURATIONS = Loss(_in(["0.3"], ["JSONRPC"]), "the list of configurations is a bare array in 0.3")
UNTOLD = Loss(
    _in(["draft"], ["JSONRPC"]),
    "`GetTask`, `CancelTask`, `SubscribeToTask` and `GetExtendedAgentCard` look as in 1.0, and are answered as there",
)
LOSSES = (
    NO_LISTS,
    LISTS_SAY_LITTLE,
    NO_TENANTS,
    NO_HISTORY_LENGTH_OF_ZERO,
    NO_VERSIONS,
    SUBSCRIPTIONS_ARE_TURNS,
    MEDIA_TYPES_OF_FILES_ONLY,
    DATA_IS_AN_OBJECT,
    NO_REFERENCES,
    NO_SERVER_SENT_EVENTS,
    NO_EMPTY_ARTIFACTS,
    TYPED,
    NO_PAGES_OF_CONFIGURATIONS,
    UNTOLD,
)


def without(*losses: Loss) -> pytest.MarkDecorator:
    """Leaves out the cells that lose what the test is about."""
    return pytest.mark.without(*losses)


def only(*cells: Cell) -> pytest.MarkDecorator:
    """These cells and no others: the test is about their own form."""
    return pytest.mark.only(*cells)


def cells_of(markers: Callable[[str], Iterable[Any]]) -> tuple[Cell, ...]:
    """The cells in which a test runs, given what marks it by name."""
    chosen = [set[Cell](marker.args) for marker in markers("only")]
    lost = {cell for marker in markers("without") for loss in marker.args for cell in loss.cells}
    return tuple(cell for cell in CELLS if cell not in lost and all(cell in those for those in chosen))
