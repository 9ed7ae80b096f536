"""`make sim`: plays schedules of the simulation, and its broken twins. Ends with 1 if a promise is broken or a twin is
not caught.

    python -m scripts.sim --schedules 5000      the schedules 0 to 4999, then the twins
    python -m scripts.sim --seed 17             one schedule alone
"""

import argparse
import os
import sys
from collections import Counter

from tests.simulation.schedule import Outcome, play
from tests.simulation.twins import TWINS

TWIN_SCHEDULES = 400
"""Within so many schedules each twin must be found out."""
COUNTED = Outcome._fields[2:]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.sim")
    parser.add_argument("--schedules", type=int, default=5000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    if options.seed is not None:
        outcome = play(options.seed)
        print(outcome)
        return bool(outcome.violations)
    good = schedules(range(options.first, options.first + options.schedules))
    caught = [twin(name, options.first) for name in TWINS]
    return not (good and all(caught))


def schedules(seeds: range) -> bool:
    """Whether these keep every promise, and meet what they are there for."""
    counts: Counter[str] = Counter()
    broken = 0
    for seed in seeds:
        outcome = play(seed)
        counts.update({name: getattr(outcome, name) for name in COUNTED})
        if outcome.violations:
            broken += 1
            print(f"Schedule {seed} (again: python -m scripts.sim --seed {seed}):", file=sys.stderr)
            for violation in outcome.violations[:3]:
                print(f"  {violation.invariant}: {violation.task_id} {violation.what[:500]}", file=sys.stderr)
    told = ", ".join(f"{counts[name]} {name}" for name in COUNTED)
    print(f"{len(seeds)} schedules: {told}; {broken} with violations", flush=True)
    met = all(counts[name] for name in COUNTED)
    if not met:
        print("Something that the schedules are there for has not happened.", file=sys.stderr)
    return met and not broken


def twin(name: str, first: int) -> bool:
    """Whether the checker sees what this twin lacks, by the invariant that is there for it."""
    spoil, telling = TWINS[name]
    for seed in range(first, first + TWIN_SCHEDULES):
        found = {violation.invariant for violation in play(seed, spoil).violations} & telling
        if found:
            print(f"Twin ({name}): caught at schedule {seed} by {', '.join(sorted(found))}", flush=True)
            return True
    print(f"Twin ({name}): NOT caught in {TWIN_SCHEDULES} schedules", file=sys.stderr)
    return False


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # what the schedules have left running must not be woken by an orderly end
