"""`make faults`, the second part: an agent that is killed while it delivers to webhooks, whose receivers fail in every
way there is, and what has arrived checked against what is stored. Ends with 1 if a promise is broken, or if too little
has happened.

    python -m scripts.push_faults               120 kills, one receiver away for a minute, and the broken pushers
    python -m scripts.push_faults --kills 5 --away 2 --no-twins
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.faults.push.run import PushFaultRun, PushReport

KILLS, AWAY = 120, 60.0
EVENTS_A_KILL = 20
"""With fewer to deliver on average, kills would meet nothing that is under way."""
TWINS = {"rash": {"arrived"}, "double": {"order"}}
"""Broken pushers, each with the invariants of which one must be found violated."""
TWIN_KILLS, TWIN_AWAY, TWIN_RUNS = 4, 1.0, 8


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.push_faults")
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--away", type=float, default=AWAY)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--twins", action=argparse.BooleanOptionalAction, default=True)
    options = parser.parse_args()
    report = _played(options.seed, _after(options.kills, options.away), options.away)
    print(
        f"{report.kills} kills ({report.at_points} at points of a delivery or a commit), {report.pauses} pauses, a "
        f"receiver away for {report.away:.1f} s; {report.configurations} configurations, {report.deleted} deleted; "
        f"{report.events} events to deliver, {report.deliveries} deliveries accepted in {report.attempts} attempts; "
        f"{len(report.violations)} violations"
    )
    for violation in report.violations[:20]:
        print(f"  {violation.invariant}: {violation.task_id} {violation.what[:500]}", file=sys.stderr)
    enough = report.events >= EVENTS_A_KILL * report.kills
    if not enough:
        print("Too little has happened.", file=sys.stderr)
    caught = [_caught(twin, telling, options.seed) for twin, telling in TWINS.items() if options.twins]
    return bool(report.violations) or not enough or not all(caught)


def _played(seed: int, until: Callable[[PushReport, float], bool], away: float, twin: str = "") -> PushReport:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(PushFaultRun(Path(folder), seed, until, away=away, twin=twin).play())


def _after(kills: int, away: float) -> Callable[[PushReport, float], bool]:
    """Until so many kills, and until the receiver that was away is back."""
    return lambda report, _: report.kills >= kills and report.away >= away


def _caught(twin: str, telling: set[str], seed: int) -> bool:
    """Whether the checker sees what a broken twin lacks; in one of a few short runs, as chance has a part in it."""
    for attempt in range(TWIN_RUNS):
        report = _played(seed + attempt, _after(TWIN_KILLS, TWIN_AWAY), TWIN_AWAY, twin)
        found = {violation.invariant for violation in report.violations} & telling
        if found:
            kills = (attempt + 1) * TWIN_KILLS
            print(f"Twin of the pusher ({twin}): caught after {kills} kills by {', '.join(sorted(found))}")
            return True
    print(f"Twin of the pusher ({twin}): NOT caught", file=sys.stderr)
    return False


if __name__ == "__main__":
    sys.exit(main())
