"""`python -m bench`: rounds over all servers, then one table. Loopback only; bounded in count and time."""

import argparse
import sys
import tempfile
from pathlib import Path

from bench.against import ROUNDS, compare
from bench.grpc_wire import GrpcWire
from bench.load import require_generators
from bench.measures import (
    artifacts_per_second,
    chunks_per_second,
    get_task,
    idle_stream,
    list_seconds,
    prove,
    send_message,
    send_message_over_grpc,
    stock,
)
from bench.secured import compare_secured
from bench.servers import CONTENDERS, Contender, Server, started, use_load_core
from bench.table import Figures, Target
from bench.webhooks import PAIRS, compare_webhooks

ROWS = {
    "SendMessage": "tasks/s",
    "SendMessage over HTTP+JSON": "tasks/s",
    "GetTask": "calls/s",
    "One stream": "chunks/s",
    "First event of a stream": "ms",
    "SendMessage over gRPC": "tasks/s",
    "One stream over gRPC": "chunks/s",
    "First event of a stream over gRPC": "ms",
    "Artifacts of a stream over gRPC": "messages/s",
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
        Target(f"{measure} in memory, over the official {sdk} SDK's", measure, "memory", over=column, at_least=limit)
        for measure, sdk, column, limit in (
            ("SendMessage over gRPC", "Python", "official", 8),
            ("SendMessage over gRPC", "JavaScript", "javascript", 1),
            ("Artifacts of a stream over gRPC", "Python", "official", 10),
        )
    ),
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
    parser.add_argument("--rounds", type=int, help=f"default 3, with --against {ROUNDS}, of pairs {PAIRS}")
    parser.add_argument("--seconds", type=float, default=3, help="length of each load")
    parser.add_argument("--no-lists", action="store_true", help="leave out ListTasks, which needs 100,000 tasks")
    parser.add_argument("--cpu", action="store_true", help="rates per second of the server's computing: less disturbed")
    parser.add_argument("--against", metavar="REV", help="only SendMessage over HTTP/1.1, the working tree and REV")
    parser.add_argument("--webhooks", action="store_true", help="only SendMessage, with and without a webhook")
    parser.add_argument("--secured", action="store_true", help="only SendMessage, with JWT and limits and without")
    options = parser.parse_args()
    require_generators()
    use_load_core()
    if options.against:
        compare(options.against, options.rounds or ROUNDS, options.seconds, by_cpu=options.cpu)
        return
    alone = options.webhooks or options.secured
    if not alone:
        _compare_servers(options)
    pairs = (alone and options.rounds) or PAIRS
    if options.webhooks or not (alone or options.only):
        compare_webhooks(pairs, options.seconds, by_cpu=options.cpu)
    if options.secured or not (alone or options.only):
        compare_secured(pairs, options.seconds, by_cpu=options.cpu)


def _compare_servers(options: argparse.Namespace) -> None:
    rounds = options.rounds or 3
    chosen = [server for server in CONTENDERS if not options.only or server.name in options.only.split(",")]
    figures = Figures()
    for turn in range(rounds):
        for contender in chosen:
            _say(f"round {turn + 1} of {rounds}: {contender.name}")
            _measure(contender, figures, options.seconds, by_cpu=options.cpu)
    for contender in chosen:
        if contender.tasks:
            _say(f"idle streams: {contender.name}")
            _measure_idle(contender, figures)
        if contender.store and not options.no_lists:
            _say(f"lists: {contender.name}")
            _measure_lists(contender, figures)
    figures.print(ROWS, [contender.name for contender in chosen], TARGETS)


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
        if server.grpc is None:
            raise RuntimeError(f"{name} serves no gRPC.")
        _measure_grpc(server, server.grpc, figures, seconds)


def _measure_stream(server: Server, figures: Figures) -> None:
    rate, first = chunks_per_second(server, server.rpc, 5)
    figures.add("One stream", server.contender.name, rate)
    figures.add("First event of a stream", server.contender.name, first * KILO)


def _measure_grpc(server: Server, wire: GrpcWire, figures: Figures, seconds: float) -> None:
    name = server.contender.name
    send_message_over_grpc(server, wire, 1)
    figures.add("SendMessage over gRPC", name, send_message_over_grpc(server, wire, seconds))
    rate, first = chunks_per_second(server, wire, 5)
    figures.add("One stream over gRPC", name, rate)
    figures.add("First event of a stream over gRPC", name, first * KILO)
    figures.add("Artifacts of a stream over gRPC", name, artifacts_per_second(server, wire, 5)[0])


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
