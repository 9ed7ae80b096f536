"""The load generators: wrk for HTTP/1.1, h2load for gRPC. Both send from one thread, and tell what came back."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.grpc_wire import HEADERS, GrpcWire, Question
from bench.wire import Template, Wire

__all__ = ["CONNECTIONS", "Load", "grpc_load", "load", "read_summary", "require_generators"]

CONNECTIONS = 64
CALLERS, CALLS = 4, 4
"""Sixteen gRPC calls at once: several callers, and each with several calls on its one connection, as gRPC has it."""
PACKAGES = {"wrk": "wrk", "h2load": "nghttp2-client"}
SCRIPT = Path(__file__).with_name("load.lua")
SUMMARY = re.compile(
    r"finished in (?P<seconds>[\d.]+)(?P<unit>m?s),.*"
    r"requests: .* (?P<done>\d+) done, .* (?P<failed>\d+) failed, (?P<errored>\d+) errored, (?P<timeout>\d+) timeout.*"
    r"status codes: \d+ 2xx, (?P<moved>\d+) 3xx, (?P<refused>\d+) 4xx, (?P<broken>\d+) 5xx.*"
    r"\((?P<data>\d+)\) data",
    re.DOTALL,
)


@dataclass(frozen=True)
class Load:
    """What a run came to: answers, seconds, and bytes of the answers' bodies where they are counted."""

    requests: int
    seconds: float
    data: int = 0


def require_generators() -> None:
    """Installs what is missing if it may; else the program ends and says what to install."""
    missing = [package for program, package in PACKAGES.items() if not shutil.which(program)]
    if not missing:
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"installing {' and '.join(missing)}", file=sys.stderr, flush=True)
        subprocess.run(["apt-get", "install", "--yes", "--quiet=2", *missing], check=True, stdout=sys.stderr)
        return
    sys.exit(f"A load generator is missing; on Debian: apt-get install {' '.join(missing)}")


def load(wire: Wire, template: Template, connections: int, seconds: float) -> Load:
    """A request over and over on HTTP/1.1, one at a time on each connection.

    Raises:
        RuntimeError: a request failed.
    """
    headers = ",".join(f"{name}={value}" for name, value in template.headers.items())
    argv = ["wrk", "-t1", f"-c{connections}", f"-d{_whole(seconds)}s", "--timeout", "30s", "-s", str(SCRIPT)]
    output = _output([*argv, wire.url, "--", template.method, template.path, headers, template.body], seconds)
    told = json.loads(output.splitlines()[-1])
    if told["bad"]:
        raise RuntimeError(f"{told['bad']} of {told['requests']} requests failed: {output}")
    return Load(told["requests"], told["microseconds"] / 1e6)


def grpc_load(wire: GrpcWire, question: Question, seconds: float) -> Load:
    """A gRPC call over and over, sixteen at once. h2load knows HTTP and no gRPC: the trailers are for others to check.

    Raises:
        RuntimeError: a call failed as far as HTTP tells.
    """
    with tempfile.NamedTemporaryFile() as body:
        body.write(question.body)
        body.flush()
        argv = ["h2load", "-t1", f"-c{CALLERS}", f"-m{CALLS}", f"-D{_whole(seconds)}", f"-d{body.name}"]
        for name, value in HEADERS.items():
            argv += ["-H", f"{name}: {value}"]
        output = _output([*argv, f"http://{wire.address}{question.path}"], seconds)
    return read_summary(output)


def read_summary(output: str) -> Load:
    """What h2load says at its end.

    Raises:
        RuntimeError: calls failed, or it says something else.
    """
    found = SUMMARY.search(output)
    if found is None:
        raise RuntimeError(f"h2load says something else than expected: {output}")
    if any(int(found[bad]) for bad in ("failed", "errored", "timeout", "moved", "refused", "broken")):
        raise RuntimeError(f"Calls failed: {output}")
    seconds = float(found["seconds"]) / (1000 if found["unit"] == "ms" else 1)
    return Load(int(found["done"]), seconds, int(found["data"]))


def _whole(seconds: float) -> int:
    return max(1, round(seconds))


def _output(argv: Sequence[str], seconds: float) -> str:
    return subprocess.run(argv, capture_output=True, text=True, timeout=seconds + 60, check=True).stdout
