"""What a peer cannot do, with the line of its source that says so. A limit that no longer holds fails its test."""

from dataclasses import dataclass
from types import EllipsisType
from typing import Any

from tests.interop.columns import BINDINGS, Column
from tests.interop.scenarios import Facts

__all__ = ["LIMITS", "Limit", "limit_of"]


@dataclass(frozen=True)
class Limit:
    """Cells where a peer keeps the expectation from being met.

    `instead` is what is seen instead of the expected facts (`...` for anything else than these), or, where the
    scenario cannot be gone through, a piece of the error's text.
    """

    peers: tuple[str, ...]
    role: str
    versions: tuple[str, ...]
    scenarios: tuple[str, ...]
    instead: dict[str, Any | EllipsisType] | str
    reason: str
    bindings: tuple[str, ...] = BINDINGS

    def covers(self, column: Column, scenario: str) -> bool:
        return (
            column.peer in self.peers
            and column.role == self.role
            and column.version in self.versions
            and column.binding in self.bindings
            and scenario in self.scenarios
        )

    def shortfall(self, facts: Facts, wanted: Facts) -> str:
        """What is wrong with the limit, now that these facts were seen; empty if it holds."""
        if isinstance(self.instead, str):
            if self.instead in facts.get("broken", ""):
                return ""
            return f"expected an error that says {self.instead!r}, and saw {facts}"
        if "broken" in facts:
            return str(facts["broken"])
        seen = {name: facts.get(name) for name in wanted}
        for name, value in self.instead.items():
            if seen[name] == wanted[name] or (value is not ... and seen[name] != value):
                return f"{name} is {seen[name]!r}: the limit does not hold any more ({self.reason})"
        rest = {name: value for name, value in seen.items() if name not in self.instead}
        unmet = {name: value for name, value in rest.items() if value != wanted[name]}
        return f"beside the limit: {unmet}" if unmet else ""


LIMITS: tuple[Limit, ...] = ()


def limit_of(column: Column, scenario: str) -> int | None:
    """The number of the limit that covers a cell, from 1."""
    for number, limit in enumerate(LIMITS, 1):
        if limit.covers(column, scenario):
            return number
    return None
