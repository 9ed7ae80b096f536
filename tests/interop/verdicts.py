"""What the facts of a cell come to."""

from tests.interop.columns import Column
from tests.interop.expected import absent, expected
from tests.interop.limits import LIMITS, limit_of
from tests.interop.scenarios import SCENARIOS
from tests.interop.seeing import Facts

__all__ = ["ABSENT", "FAILED", "PASSED", "fault", "verdicts"]

PASSED, FAILED, ABSENT = "passed", "failed", "absent"


def fault(column: Column, scenario: str, facts: Facts) -> str:
    """What is wrong in a cell; empty if nothing is, or only what a limit says."""
    wanted = expected(column, scenario)
    number = limit_of(column, scenario)
    if number is not None:
        return LIMITS[number - 1].shortfall(facts, wanted)
    if "broken" in facts:
        return str(facts["broken"])
    unmet = [name for name in wanted if facts.get(name) != wanted[name]]
    return "; ".join(f"{name} is {facts.get(name)!r} instead of {wanted[name]!r}" for name in unmet)


def verdicts(column: Column, seen: dict[str, Facts]) -> dict[str, str]:
    """By scenario: `passed`, `failed`, `absent` from the version, or the number of the limit that explains the cell."""
    return {name: _verdict(column, name, seen) for name in SCENARIOS}


def _verdict(column: Column, scenario: str, seen: dict[str, Facts]) -> str:
    if absent(column, scenario):
        return ABSENT
    if fault(column, scenario, seen[scenario]):
        return FAILED
    number = limit_of(column, scenario)
    return PASSED if number is None else str(number)
