"""Imports point one way: the table of the architecture, held against every file."""

from pathlib import Path

import pytest

from tests.arch.source import PACKAGE, imports, python_files, top

GROUND = {"types", "errors", "operations"}
EVERYTHING = {path.stem if path.is_file() else path.name for path in PACKAGE.iterdir()} - {"__pycache__"}

MAY_IMPORT: dict[str, set[str]] = {
    "types": set(),
    "errors": {"types"},
    "operations": {"types", "errors"},
    "threads": set(),
    "buckets": {"ports"},
    "lineage": set(),
    "correlation": set(),
    "logs": {"correlation"},
    "audit": GROUND | {"ports"},
    "core": GROUND,
    "ports": GROUND,
    "engine": GROUND | {"buckets", "core", "correlation", "ports", "lineage"},
    "extensions": GROUND | {"ports"},
    "push": GROUND | {"core", "ports", "signing"},
    "outbound": GROUND | {"ports", "threads"},
    "signing": GROUND,
    "auth": GROUND | {"outbound", "ports", "signing"},
    "stores": GROUND | {"core", "ports"},
    "buses": GROUND | {"core", "ports"},
    "dialects": GROUND | {"_proto"},
    "_proto": set(),
    "hosts": GROUND | {"buckets", "correlation", "engine", "ports", "dialects", "threads", "_proto"},
    "cards": GROUND | {"dialects", "outbound", "signing"},
    # A receiver of notifications can have a port of its own, which is the hosts' work.
    "publishing": GROUND | {"cards", "dialects", "hosts", "ports", "signing"},
    "client": GROUND | {"cards", "dialects", "extensions", "hosts", "lineage", "outbound", "ports", "signing"},
    "settings": GROUND | {"auth", "dialects", "hosts", "ports", "publishing", "push"},
    "sync": GROUND | {"cards", "client"},
    "agent": GROUND
    | {"cards", "client", "context", "extensions", "lineage", "outbound", "ports", "push", "serving"}
    | {"server", "signing", "threads"},
    "context": GROUND | {"ports"},
    "cli": GROUND | {"audit", "cards", "client", "agent", "logs", "stores", "push", "signing"},
    "testing": GROUND | {"ports", "client", "dialects"},
    "server": EVERYTHING,
    "serving": GROUND | {"hosts", "server"},
    "": EVERYTHING,
    "__main__": {"cli"},
}

FILES = python_files("dragoman")


def test_the_table_knows_every_part_of_the_package() -> None:
    assert {top(path) for path in FILES} - set(MAY_IMPORT) == set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_file_imports_only_what_its_part_may(path: Path) -> None:
    used = {name.split(".")[1] for name in imports(path) if name.startswith("dragoman.")}
    own = top(path)
    assert used - MAY_IMPORT[own] - {own, "__version__"} == set()


def test_no_file_of_the_package_imports_the_tests() -> None:
    for path in FILES:
        assert not [name for name in imports(path) if name.split(".")[0] in {"tests", "pytest", "hypothesis"}], path


def _reached(start: str) -> set[str]:
    """All parts that importing this part may bring in, by the table."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        part = waiting.pop()
        fresh = MAY_IMPORT[part] - found if part in MAY_IMPORT else set[str]()
        found |= fresh
        waiting.extend(fresh)
    return found


@pytest.mark.parametrize("part", sorted(set(MAY_IMPORT) - {"", "__main__", "server", "serving", "agent", "cli"}))
def test_the_table_has_no_circle(part: str) -> None:
    assert part not in _reached(part)
