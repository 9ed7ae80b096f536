"""Writes docs/operations.md: what each operation is called in every dialect, from the rows of the dialects."""

from collections.abc import Iterable
from pathlib import Path

from dragoman.dialects.base import Dialect
from dragoman.dialects.every import every_dialect
from dragoman.dialects.grpc import GrpcBinding
from dragoman.dialects.jsonrpc import JsonRpcBinding
from dragoman.dialects.rest import RestBinding
from dragoman.operations import OPERATIONS, Operation
from tests.behaviour.cells import CELLS, LOSSES, Cell, Loss

__all__ = ["PAGE", "names_in", "page"]

PAGE = Path(__file__).parents[1] / "docs" / "operations.md"

_HEAD = """\
# Operations in every dialect

Made by `make docs` from the rows of the dialects; a test holds it to them.

One agent speaks all of this on one port, and its client calls any of it. Where a name is left out, that version has no
such operation: the answer is method-not-found, UNIMPLEMENTED or 404. Of several names the first is the one that the
client uses. Paths of HTTP+JSON are relative to the URL of the interface; in 1.0 a segment for the tenant may stand in
front of them.
"""
_LINES = {
    "1.0": "Requests say `A2A-Version: 1.0`; over gRPC they need not.",
    "0.3": "Requests say `A2A-Version: 0.3` or nothing.",
    "draft": (
        "What was published as a draft of 1.0. Requests say `A2A-Version: 1.0`, as those of 1.0 do, and are told from "
        "them by address, method and spelling. It is answered, and not declared in the card."
    ),
}
_TITLES = {"1.0": "1.0", "0.3": "0.3", "draft": "The draft of 1.0"}
_BINDINGS = {"JSONRPC": "JSON-RPC", "HTTP+JSON": "HTTP+JSON", "GRPC": "gRPC"}
_ABSENT = "-"


def page() -> str:
    """The whole page."""
    parts = [_HEAD, f"## The operations\n\n{_table(('operation', 'gives', 'needs', 'may be repeated'), _facts())}"]
    dialects = {dialect.key: dialect for dialect in every_dialect()}
    for line, note in _LINES.items():
        mine = [dialects[cell.key] for cell in CELLS if cell.line == line]
        services = [dialect.service for dialect in mine if isinstance(dialect, GrpcBinding)]
        told = f"{note} The gRPC service is `{services[0]}`."
        parts.append(f"## {_TITLES[line]}\n\n{told}\n\n{_table(('operation', *_BINDINGS.values()), _names(mine))}")
    parts.append(f"## What not every dialect can say\n\n{_table(('where', 'what'), map(_lost, LOSSES))}")
    return "\n".join(parts)


def _facts() -> Iterable[tuple[str, ...]]:
    for operation in OPERATIONS:
        gives = "a stream of events" if operation.streams else _result(operation)
        needs = f"`{_camel(operation.needs)}`" if operation.needs else _ABSENT
        yield f"`{operation.name}`", gives, needs, "yes" if operation.safe else "no"


def _result(operation: Operation) -> str:
    if operation.result is None:
        return "nothing"
    names = [one.__name__ for one in getattr(operation.result, "__args__", (operation.result,))]
    return " or ".join(f"`{name}`" for name in names)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _names(dialects: Iterable[Dialect]) -> Iterable[tuple[str, ...]]:
    for operation in OPERATIONS:
        found = [names_in(dialect, operation) for dialect in dialects]
        yield (f"`{operation.name}`", *(", ".join(f"`{name}`" for name in names) or _ABSENT for names in found))


def names_in(dialect: Dialect, operation: Operation) -> list[str]:
    """All names of the operation in the dialect, those of HTTP+JSON with their verbs; none if it has no row there."""
    if isinstance(dialect, JsonRpcBinding | GrpcBinding):
        return [name for name, meant in dialect.methods.items() if meant is operation]
    assert isinstance(dialect, RestBinding)
    rows = [row for row in dialect.routes.rows if row.operation is operation]
    return [f"{verb} /{row.template}" for row in rows for verb in row.verbs]


def _lost(loss: Loss) -> tuple[str, str]:
    return _where(loss.cells), loss.why


def _where(cells: Iterable[Cell]) -> str:
    """The cells, by whole versions or bindings where it is all of one."""
    left = list(cells)
    found: list[str] = []
    groups = {line: [cell for cell in CELLS if cell.line == line] for line in _LINES}
    groups |= {title: [cell for cell in CELLS if cell.binding == name] for name, title in _BINDINGS.items()}
    for title, group in groups.items():
        if all(cell in left for cell in group):
            found.append(title)
            left = [cell for cell in left if cell not in group]
    return ", ".join([*found, *(f"{cell.line} {_BINDINGS[cell.binding]}" for cell in left)])


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *map(list, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"Wrote {PAGE}")
