"""What is measured of one server. Each measure first proves that the answers are right."""

import json
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Any

from bench.servers import Server
from bench.wire import Template, Wire, text_of

__all__ = ["chunks_per_second", "get_task", "idle_stream", "list_seconds", "prove", "send_message", "stock"]

CONNECTIONS = 64
CHUNKS = 1000
IDLE_STREAMS = 500
LOAD = Path(__file__).with_name("load.lua")


def prove(server: Server) -> None:
    """The agent answers rightly over every binding: text echoed, task completed, and got again the same."""
    for wire in server.wires.values():
        task = wire.ask(wire.send("hello"))["task"]
        _check(task)
        if server.contender.tasks:
            _check(wire.ask(wire.get(task["id"])))


def _check(task: Any) -> None:
    if (task["status"]["state"], text_of([{"task": task}])) != ("TASK_STATE_COMPLETED", "hello"):
        raise RuntimeError(f"Wrong answer: {task}")


def send_message(server: Server, binding: str, seconds: float) -> float:
    """Finished tasks per second at 64 connections; afterwards the server must have stored them all."""
    wire = server.wires[binding]
    before = _total(server)
    load = _load(server, wire, wire.send("hello"), CONNECTIONS, seconds)
    if server.contender.tasks and _total(server) - before < load.requests:
        raise RuntimeError(f"{load.requests} answers, but fewer tasks are stored.")
    return load.rate


def get_task(server: Server, seconds: float) -> float:
    """Tasks got per second at 64 connections."""
    task = server.rpc.ask(server.rpc.send("hello"))["task"]
    return _load(server, server.rpc, server.rpc.get(task["id"]), CONNECTIONS, seconds).rate


def list_seconds(server: Server, seconds: float) -> float:
    """Seconds for one first page of fifty tasks, one call after the other."""
    page = server.rpc.ask(server.rpc.page())
    if len(page["tasks"]) != min(50, page["totalSize"]):
        raise RuntimeError(f"A page of {len(page['tasks'])} tasks out of {page['totalSize']}.")
    return 1 / _load(server, server.rpc, server.rpc.page(), 1, seconds).rate


def stock(server: Server, count: int) -> None:
    """Makes tasks until at least so many are stored; at most two minutes long."""
    deadline = monotonic() + 120
    while (missing := count - _total(server)) > 0:
        if monotonic() > deadline:
            raise RuntimeError(f"Still {missing} tasks short of {count}.")
        _load(server, server.rpc, server.rpc.send("hello"), CONNECTIONS, 1 if missing < 5000 else 2)


def chunks_per_second(server: Server, times: int) -> tuple[float, float]:
    """Chunks per second of a stream of 1,000 words, and seconds to its first event, both medians. The text is whole."""
    expected = "".join(f"word{number} " for number in range(CHUNKS))
    rates: list[float] = []
    firsts: list[float] = []
    for _ in range(times):
        busy = server.busy()
        stream = server.rpc.stream(f"chunks {CHUNKS}")
        busy = server.busy() - busy
        if text_of(stream.events) != expected:
            raise RuntimeError(f"The stream is not whole: {len(text_of(stream.events))} characters.")
        rates.append(CHUNKS / (busy if server.by_cpu else stream.total))
        firsts.append(stream.first)
    return median(rates), median(firsts)


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


def _total(server: Server) -> int:
    if not server.contender.tasks:
        return 0
    total: int = server.rpc.ask(server.rpc.page())["totalSize"]
    return total


@dataclass(frozen=True)
class _Load:
    """What a run of the load generator came to: requests, and how many of them a second."""

    requests: int
    rate: float


def _load(server: Server, wire: Wire, template: Template, connections: int, seconds: float) -> _Load:
    headers = ",".join(f"{name}={value}" for name, value in template.headers.items())
    argv = ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "30s", "-s", str(LOAD)]
    argv += [wire.url, "--", template.method, template.path, headers, template.body]
    busy = server.busy()
    run = subprocess.run(argv, capture_output=True, text=True, timeout=seconds + 60, check=True)
    busy = server.busy() - busy
    load = json.loads(run.stdout.splitlines()[-1])
    if load["bad"]:
        raise RuntimeError(f"{load['bad']} of {load['requests']} requests failed: {run.stdout}")
    return _Load(load["requests"], load["requests"] / (busy if server.by_cpu else load["microseconds"] / 1e6))
