"""The working tree against another revision of it: SendMessage over HTTP/1.1, in paired rounds."""

import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from bench.measures import prove, send_message
from bench.servers import CONTENDERS, ROOT, Contender, started
from bench.table import Figures, Target

__all__ = ["ROUNDS", "compare"]

ROUNDS = 10
UNHARMED = 0.9
HERE, THERE = "tree", "revision"


def compare(revision: str, rounds: int, seconds: float, *, by_cpu: bool) -> None:
    """Prints both rates and the median of the ratios of the pairs. Which one goes first changes every round.

    Both servers keep their tasks in memory, and run in the same environment.

    Raises:
        SystemExit: there is no such revision, or none with a bench.
    """
    figures = Figures()
    ours = next(contender for contender in CONTENDERS if contender.store == "memory")
    with _checked_out(revision) as folder:
        pair = [(HERE, ROOT), (THERE, folder)]
        for turn in range(rounds):
            print(f"round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
            for column, root in pair if turn % 2 else reversed(pair):
                figures.add("SendMessage", column, _rate(ours, root, seconds, by_cpu=by_cpu))
    target = Target(
        f"SendMessage over that of {revision}, median of {rounds} pairs",
        "SendMessage",
        HERE,
        over=THERE,
        at_least=UNHARMED,
    )
    figures.print({"SendMessage": "tasks/s"}, [HERE, THERE], (target,))


def _rate(contender: Contender, root: Path, seconds: float, *, by_cpu: bool) -> float:
    with tempfile.TemporaryDirectory() as folder, started(contender, Path(folder), by_cpu=by_cpu, root=root) as server:
        prove(server)
        send_message(server, "JSONRPC", 1)
        return send_message(server, "JSONRPC", seconds)


@contextmanager
def _checked_out(revision: str) -> Generator[Path]:
    """The files of a revision in a folder of their own, from where they are imported instead of the working tree's."""
    archive = subprocess.run(
        ["git", "archive", revision, "dragoman", "bench", "scripts"], check=False, cwd=ROOT, capture_output=True
    )
    if archive.returncode:
        sys.exit(f"{revision} cannot be had: {archive.stderr.decode().strip()}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(folder, filter="data")
        argv = [sys.executable, "-c", "import dragoman; print(dragoman.__file__)"]
        found = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=True, timeout=30).stdout
        if not Path(found.strip()).is_relative_to(folder):
            raise RuntimeError(f"{revision} would run as {found.strip()}")
        yield folder
