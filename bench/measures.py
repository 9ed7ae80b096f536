"""What is measured of one server. Each measure first proves that the answers are right."""

from contextlib import ExitStack
from statistics import median
from time import monotonic
from typing import Any

from bench.grpc_wire import GrpcWire
from bench.load import CONNECTIONS, Load, grpc_load, load
from bench.servers import Server
from bench.wire import Stream, Template, Wire, text_of

__all__ = [
    "artifacts_per_second",
    "chunks_per_second",
    "get_task",
    "idle_stream",
    "list_seconds",
    "prove",
    "send_message",
    "send_message_over_grpc",
    "stock",
    "total",
]

WORDS = 1000
LONGEST = 5.0
"""Seconds after which a stream is not repeated, however few times it was measured."""
IDLE_STREAMS = 500
VARYING = 8
"""Bytes by which answers to the same gRPC call may differ: times are shorter when they end in zeros."""


def prove(server: Server) -> None:
    """The agent answers rightly over every binding: text echoed, task completed, and got again the same."""
    for wire in server.wires.values():
        task = wire.ask(wire.send("hello"))["task"]
        _check(task)
        if server.contender.tasks:
            _check(wire.ask(wire.get(task["id"])))
    if server.grpc:
        _check(server.grpc.ask(server.grpc.send("hello"))["task"])


def _check(task: Any) -> None:
    if (task["status"]["state"], text_of([{"task": task}])) != ("TASK_STATE_COMPLETED", "hello"):
        raise RuntimeError(f"Wrong answer: {task}")


def send_message(server: Server, binding: str, seconds: float, *, webhook: str = "") -> float:
    """Finished tasks per second at 64 connections; afterwards the server must have stored them all. Each has a webhook,
    if one is given.
    """
    wire = server.wires[binding]
    before = total(server)
    sent, rate = _load(server, wire, wire.send("hello", webhook=webhook), CONNECTIONS, seconds)
    _stored(server, before, sent)
    return rate


def send_message_over_grpc(server: Server, wire: GrpcWire, seconds: float) -> float:
    """Finished tasks per second, sixteen at once; the server must have stored them all, and answered with them.

    The load generator sees no trailers. An error has no message, so the length of all answers tells that they are
    tasks; one call before and one after are looked at whole.
    """
    question = wire.send("hello")
    _check(wire.ask(question)["task"])
    before, size, busy = total(server), wire.size(question), server.busy()
    sent = grpc_load(wire, question, seconds)
    rate = _rate(server, sent, server.busy() - busy)
    _check(wire.ask(question)["task"])
    _stored(server, before, sent)
    if sent.data < sent.requests * (size - VARYING):
        raise RuntimeError(f"{sent.requests} answers of {size} bytes came to {sent.data} bytes.")
    return rate


def _stored(server: Server, before: int, sent: Load) -> None:
    if server.contender.tasks and total(server) - before < sent.requests:
        raise RuntimeError(f"{sent.requests} answers, but fewer tasks are stored.")


def get_task(server: Server, seconds: float) -> float:
    """Tasks got per second at 64 connections."""
    task = server.rpc.ask(server.rpc.send("hello"))["task"]
    return _load(server, server.rpc, server.rpc.get(task["id"]), CONNECTIONS, seconds)[1]


def list_seconds(server: Server, seconds: float) -> float:
    """Seconds for one first page of fifty tasks, one call after the other."""
    page = server.rpc.ask(server.rpc.page())
    if len(page["tasks"]) != min(50, page["totalSize"]):
        raise RuntimeError(f"A page of {len(page['tasks'])} tasks out of {page['totalSize']}.")
    return 1 / _load(server, server.rpc, server.rpc.page(), 1, seconds)[1]


def stock(server: Server, count: int) -> None:
    """Makes tasks until at least so many are stored; at most two minutes long."""
    deadline = monotonic() + 120
    while (missing := count - total(server)) > 0:
        if monotonic() > deadline:
            raise RuntimeError(f"Still {missing} tasks short of {count}.")
        load(server.rpc, server.rpc.send("hello"), CONNECTIONS, 1 if missing < 5000 else 2)


def chunks_per_second(server: Server, wire: Wire | GrpcWire, times: int) -> tuple[float, float]:
    """Chunks per second of a text of 1,000 words, and seconds to its first event, both medians. The text is whole.

    Chunks that wait for the reader may reach it together.
    """
    return _streamed(server, wire, f"chunks {WORDS}", times)


def artifacts_per_second(server: Server, wire: Wire | GrpcWire, times: int) -> tuple[float, float]:
    """Messages per second of a stream of 1,000 artifacts, each a message of its own, and seconds to the first one."""
    return _streamed(server, wire, f"artifacts {WORDS}", times)


def _streamed(server: Server, wire: Wire | GrpcWire, text: str, times: int) -> tuple[float, float]:
    rates: list[float] = []
    firsts: list[float] = []
    deadline = monotonic() + LONGEST
    while len(rates) < times and (not rates or monotonic() < deadline):
        busy = server.busy()
        stream = wire.stream(text)
        busy = server.busy() - busy
        _check_words(stream, one_by_one=text.startswith("artifacts"))
        rates.append(WORDS / (busy if server.by_cpu else stream.total))
        firsts.append(stream.first)
    return median(rates), median(firsts)


def _check_words(stream: Stream, *, one_by_one: bool) -> None:
    words = [f"word{number} " for number in range(WORDS)]
    updates = [text_of([event]) for event in stream.events if "artifactUpdate" in event]
    found, expected = (updates, words) if one_by_one else ([text_of(stream.events)], ["".join(words)])
    if found != expected:
        raise RuntimeError(f"The stream is not whole: {len(updates)} artifact updates.")


def idle_stream(server: Server) -> float:
    """Bytes of memory for one open stream of a task that runs and is silent.

    Some streams are opened first, so that what is made once is not counted.
    """
    with ExitStack() as stack:
        for _ in range(IDLE_STREAMS // 10):
            _hold(server, stack)
        before = server.resident()
        for _ in range(IDLE_STREAMS):
            _hold(server, stack)
        return (server.resident() - before) / IDLE_STREAMS


def _hold(server: Server, stack: ExitStack) -> None:
    connection = stack.enter_context(server.rpc.connect(server.rpc.send("hold", stream=True)))
    received = b""
    while b"held" not in received:
        piece = connection.recv(1 << 16)
        if not piece:
            raise RuntimeError("An idle stream was closed.")
        received += piece


def total(server: Server) -> int:
    """How many tasks are stored."""
    if not server.contender.tasks:
        return 0
    stored: int = server.rpc.ask(server.rpc.page())["totalSize"]
    return stored


def _load(server: Server, wire: Wire, template: Template, connections: int, seconds: float) -> tuple[Load, float]:
    busy = server.busy()
    sent = load(wire, template, connections, seconds)
    return sent, _rate(server, sent, server.busy() - busy)


def _rate(server: Server, sent: Load, busy: float) -> float:
    return sent.requests / (busy if server.by_cpu else sent.seconds)
