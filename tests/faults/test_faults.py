"""A short fault run: `make faults` is the long one."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 15


def test_nothing_acknowledged_is_lost_however_often_the_server_is_killed_paused_and_cut_off() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "scripts.faults", "--seconds", str(SECONDS), "--no-twins"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    kills, _, rest = run.stdout.partition(" kills")
    assert int(kills) > 0
    assert "; 0 violations" in rest
