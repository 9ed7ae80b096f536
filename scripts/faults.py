"""`make faults`: real processes, killed, paused and cut off, and what callers saw checked against what is stored. Ends
with 1 if a promise is broken, or if too little has happened.

    python -m scripts.faults                    until 200 kills, 50 pauses and more than 10,000 events
    python -m scripts.faults --seconds 3600     for so long
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.faults.run import FaultRun, Report

KILLS, PAUSES, EVENTS = 200, 50, 10_000
LIMIT = 840.0
"""Seconds within which the whole has to happen."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.faults")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = FaultRun(Path(folder), options.seed, _until(options.seconds))
        report = asyncio.run(run.play())
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
    return bool(report.violations) or not enough


def _until(seconds: float | None) -> Callable[[Report, float], bool]:
    def over(report: Report, passed: float) -> bool:
        if seconds is not None:
            return passed >= seconds
        return passed >= LIMIT or (report.kills >= KILLS and report.pauses >= PAUSES and report.events > EVENTS)

    return over


if __name__ == "__main__":
    sys.exit(main())
