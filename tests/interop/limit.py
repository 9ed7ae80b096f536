"""A limit of a peer, and the lines of its source that show it."""

from dataclasses import dataclass
from types import EllipsisType
from typing import Any, NamedTuple

from tests.interop.columns import BINDINGS, Column
from tests.interop.seeing import Facts

__all__ = ["Evidence", "Limit"]


class Evidence(NamedTuple):
    """A line of a peer's source, by the path in its package, and a piece of what stands there."""

    peer: str
    path: str
    line: int
    says: str


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Cells where a peer keeps the expectation from being met.

    `instead` is what is seen instead of the expected facts (`...` for anything else than these) in those of the
    scenarios that have them, or, where a scenario cannot be gone through, a piece of the error's text.
    """

    peers: tuple[str, ...]
    role: str
    versions: tuple[str, ...] = ("0.3",)
    bindings: tuple[str, ...] = BINDINGS
    scenarios: tuple[str, ...]
    instead: dict[str, Any | EllipsisType] | str
    reason: str
    evidence: tuple[Evidence, ...]

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
        for name, value in wanted.items():
            seen, instead = facts.get(name), self.instead.get(name, value)
            if name in self.instead and seen == value:
                return f"{name} is {seen!r}: the limit does not hold any more ({self.reason})"
            if instead is not ... and seen != instead:
                return f"beside the limit, {name} is {seen!r} instead of {instead!r}"
        return ""
