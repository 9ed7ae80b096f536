"""`make faults`: real processes, killed, paused and cut off, and what callers saw checked against what is stored. Ends
with 1 if a promise is broken, or if too little has happened.

    python -m scripts.faults                    until 200 kills, 50 pauses and more than 10,000 events
    python -m scripts.faults --seconds 3600     for so long; --no-twins leaves out the broken stores
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.faults.run import FaultRun, Report

KILLS, PAUSES, EVENTS = 200, 50, 10_000
TWINS = {"rash": {"seen is stored", "ended for good"}, "forgetful": {"known again"}}
"""Broken stores, each with the invariants of which one must be found violated."""
TWIN_KILLS, TWIN_RUNS = 6, 8
LIMIT = 780.0
"""Seconds within which the whole has to happen."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.faults")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--twins", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    report = _played(options.seed, _until(options.seconds))
    print(
        f"{report.kills} kills ({report.at_points} at points of a commit), {report.pauses} pauses, {report.cuts} "
        f"connections cut; {report.tasks} tasks, {report.taken_up} taken up after a kill; {report.events} events "
        f"checked; {len(report.violations)} violations"
    )
    for violation in report.violations[:20]:
        print(f"  {violation.invariant}: {violation.task_id} {violation.what[:500]}", file=sys.stderr)
    enough = options.seconds is not None or (
        report.kills >= KILLS and report.pauses >= PAUSES and report.events > EVENTS
    )
    if not enough:
        print("Too little has happened.", file=sys.stderr)
    caught = [_caught(twin, telling, options.seed) for twin, telling in TWINS.items() if options.twins]
    return bool(report.violations) or not enough or not all(caught)


def _played(seed: int, until: Callable[[Report, float], bool], twin: str = "") -> Report:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(FaultRun(Path(folder), seed, until, twin).play())


def _caught(twin: str, telling: set[str], seed: int) -> bool:
    """Whether the checker sees what a broken twin lacks; in one of a few short runs, as chance has a part in it."""
    for attempt in range(TWIN_RUNS):
        report = _played(seed + attempt, lambda report, _: report.kills >= TWIN_KILLS, twin)
        found = {violation.invariant for violation in report.violations} & telling
        if found:
            print(f"Twin ({twin}): caught after {(attempt + 1) * TWIN_KILLS} kills by {', '.join(sorted(found))}")
            return True
    print(f"Twin ({twin}): NOT caught", file=sys.stderr)
    return False


def _until(seconds: float | None) -> Callable[[Report, float], bool]:
    def over(report: Report, passed: float) -> bool:
        if seconds is not None:
            return passed >= seconds
        return passed >= LIMIT or (report.kills >= KILLS and report.pauses >= PAUSES and report.events > EVENTS)

    return over


if __name__ == "__main__":
    sys.exit(main())
