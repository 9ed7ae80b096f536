"""A short fault run of webhooks: `make faults` is the long one."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_everything_arrives_in_order_however_often_the_pusher_is_killed_and_receivers_fail() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "scripts.push_faults", "--kills", "5", "--away", "2", "--no-twins"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "; 0 violations" in run.stdout
