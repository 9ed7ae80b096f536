"""SendMessage with a webhook on every task against the same without one, in paired rounds."""

import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

from bench.measures import prove, send_message, total
from bench.servers import CONTENDERS, Contender, started
from bench.table import Figures, Target
from scripts.programs import free_port, running

__all__ = ["PAIRS", "compare_webhooks"]

PAIRS = 10
KEPT = 0.8
WITH, WITHOUT = "webhook", "none"
DELIVERIES = 3
"""Of an echoed task: the task, its artifact, its end."""
PATIENCE = 120.0
"""Seconds for all deliveries of a round to arrive once the load is over."""


def compare_webhooks(rounds: int, seconds: float, *, by_cpu: bool) -> None:
    """Prints both rates for each store, and the median of the ratios of the pairs. Which one goes first changes every
    round; each has a server of its own, whose deliveries must all have arrived before the next begins.
    """
    figures = Figures()
    ours = [contender for contender in CONTENDERS if contender.store]
    for turn in range(rounds):
        print(f"webhooks, round {turn + 1} of {rounds}", file=sys.stderr, flush=True)
        for contender in ours:
            for column in (WITH, WITHOUT) if turn % 2 else (WITHOUT, WITH):
                figures.add(contender.name, column, _rate(contender, column, seconds, by_cpu=by_cpu))
    targets = tuple(
        Target(f"SendMessage with a webhook over that without, {one.name}", one.name, WITH, over=WITHOUT, at_least=KEPT)
        for one in ours
    )
    figures.print({one.name: "tasks/s" for one in ours}, [WITH, WITHOUT], targets)


def _rate(contender: Contender, column: str, seconds: float, *, by_cpu: bool) -> float:
    with tempfile.TemporaryDirectory() as name, _receiver(Path(name)) as port:
        contender = replace(contender, options=["--receiver", str(port)])
        webhook = f"http://127.0.0.1:{port}/hook" if column == WITH else ""
        with started(contender, Path(name), by_cpu=by_cpu) as server:
            prove(server)
            before = total(server)
            send_message(server, "JSONRPC", 1, webhook=webhook)
            rate = send_message(server, "JSONRPC", seconds, webhook=webhook)
            if webhook:
                _delivered(port, total(server) - before)
            return rate


def _delivered(port: int, tasks: int) -> None:
    """Waits for all deliveries of these tasks.

    Raises:
        RuntimeError: some are missing.
    """
    end = monotonic() + PATIENCE
    while (came := _came(port)) < tasks * DELIVERIES:
        if monotonic() > end:
            raise RuntimeError(f"{came} of {tasks * DELIVERIES} deliveries have arrived.")
        sleep(0.1)


def _came(port: int) -> int:
    with urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as reply:
        return int(reply.read())


@contextmanager
def _receiver(folder: Path) -> Generator[int]:
    port = free_port()
    argv = [sys.executable, "-m", "bench.receiver", str(port)]
    with running(argv, f"http://127.0.0.1:{port}/", folder / "receiver.log"):
        yield port
