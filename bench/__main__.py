"""`python -m bench`: rounds over all servers, then one table. Loopback only; bounded in count and time."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.measures import chunks_per_second, get_task, idle_stream, list_seconds, prove, send_message, stock
from bench.servers import CONTENDERS, Contender, Server, started, use_load_core
from bench.table import Figures, Target

ROWS = {
    "SendMessage": "tasks/s",
    "SendMessage over HTTP+JSON": "tasks/s",
    "GetTask": "calls/s",
    "One stream": "chunks/s",
    "First event of a stream": "ms",
    "ListTasks of 1,000": "ms",
    "ListTasks of 10,000": "ms",
    "ListTasks of 100,000": "ms",
    "Idle stream": "KB",
    "Cold start": "ms",
}
TARGETS = (
    Target("SendMessage in memory, over the official SDK's", "SendMessage", "memory", over="official", at_least=20),
    Target("SendMessage on SQLite, over the official SDK's", "SendMessage", "sqlite", over="official", at_least=8),
    Target("GetTask in memory, over the bare application", "GetTask", "memory", over="bare", at_least=0.4),
    Target("One stream in memory, over the official SDK's", "One stream", "memory", over="official", at_least=10),
    Target("One stream on SQLite, over the official SDK's", "One stream", "sqlite", over="official", at_least=5),
    *(
        Target(
            f"ListTasks of 100,000 over 1,000, {store}",
            "ListTasks of 100,000",
            store,
            over=f"ListTasks of 1,000/{store}",
            below=1.5,
        )
        for store in ("memory", "sqlite")
    ),
    *(Target(f"Idle stream in KB, {store}", "Idle stream", store, below=40) for store in ("memory", "sqlite")),
    *(
        Target(f"Cold start over the official SDK's, {store}", "Cold start", store, over="official", below=0.5)
        for store in ("memory", "sqlite")
    ),
)
KILO = 1000


def main() -> None:
    """Measures, prints the table, and ends with 0 if every answer was right; a missed target does not change that."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", default="", help="names of servers, joined by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3, help="length of each load")
    parser.add_argument("--no-lists", action="store_true", help="leave out ListTasks, which needs 100,000 tasks")
    parser.add_argument("--cpu", action="store_true", help="rates per second of the server's computing: less disturbed")
    options = parser.parse_args()
    _require_wrk()
    chosen = [server for server in CONTENDERS if not options.only or server.name in options.only.split(",")]
    figures = Figures()
    use_load_core()
    for turn in range(options.rounds):
        for contender in chosen:
            _say(f"round {turn + 1} of {options.rounds}: {contender.name}")
            _measure(contender, figures, options.seconds, by_cpu=options.cpu)
    for contender in chosen:
        if contender.tasks:
            _say(f"idle streams: {contender.name}")
            _measure_idle(contender, figures)
        if contender.store and not options.no_lists:
            _say(f"lists: {contender.name}")
            _measure_lists(contender, figures)
    figures.print(ROWS, [contender.name for contender in chosen], TARGETS)


def _require_wrk() -> None:
    if shutil.which("wrk"):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        _say("installing the package wrk")
        subprocess.run(["apt-get", "install", "--yes", "--quiet=2", "wrk"], check=True, stdout=sys.stderr)
        return
    sys.exit("The load generator wrk is missing; on Debian: apt-get install wrk")


def _measure(contender: Contender, figures: Figures, seconds: float, *, by_cpu: bool) -> None:
    with tempfile.TemporaryDirectory() as folder, started(contender, Path(folder), by_cpu=by_cpu) as server:
        name = contender.name
        figures.add("Cold start", name, server.cold_start * KILO)
        prove(server)
        send_message(server, "JSONRPC", 1)
        figures.add("SendMessage", name, send_message(server, "JSONRPC", seconds))
        figures.add("GetTask", name, get_task(server, seconds))
        if not contender.tasks:
            return
        _measure_stream(server, figures)
        figures.add("SendMessage over HTTP+JSON", name, send_message(server, "HTTP+JSON", seconds))


def _measure_stream(server: Server, figures: Figures) -> None:
    rate, first = chunks_per_second(server, 5)
    figures.add("One stream", server.contender.name, rate)
    figures.add("First event of a stream", server.contender.name, first * KILO)


def _measure_idle(contender: Contender, figures: Figures) -> None:
    with tempfile.TemporaryDirectory() as folder, started(contender, Path(folder)) as server:
        figures.add("Idle stream", contender.name, idle_stream(server) / KILO)


def _measure_lists(contender: Contender, figures: Figures) -> None:
    with tempfile.TemporaryDirectory() as folder, started(contender, Path(folder)) as server:
        for count in (1_000, 10_000, 100_000):
            stock(server, count)
            figures.add(f"ListTasks of {count:,}", contender.name, list_seconds(server, 2) * KILO)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
