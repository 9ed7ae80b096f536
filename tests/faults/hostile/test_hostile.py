"""Each hostile input gets the refusal that it is to get, and the server goes on as before."""

import itertools
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec
import pytest

from tests.behaviour.manifest import requirement
from tests.faults.hostile.cases import Case, Cases, sent
from tests.faults.hostile.fields import FIELDS
from tests.faults.hostile.heavy import DEEP, OVERSIZED
from tests.faults.hostile.keys import KEYS
from tests.faults.hostile.malformed import MALFORMED
from tests.faults.hostile.methods import METHODS
from tests.faults.hostile.mutated import mutated
from tests.faults.hostile.operations import OPERATIONS
from tests.faults.hostile.slow import SLOW
from tests.faults.hostile.smuggling import SMUGGLING
from tests.faults.hostile.tokens import TOKENS
from tests.faults.hostile.twins import BROKEN

NUMBERS = itertools.count()
ROOT = Path(__file__).parents[3]
GROUPS: dict[str, Cases] = {
    "oversized": OVERSIZED,
    "deep": DEEP,
    "slow": SLOW,
    "malformed": MALFORMED,
    "fields": FIELDS,
    "smuggling": SMUGGLING,
    "tokens": TOKENS,
    "keys": KEYS,
    "operations": OPERATIONS,
    "methods": METHODS,
}
MUTATED = 600
LONG = 20_000
"""Bytes of an input that is left as it is."""
DEFECT = re.compile(r"^500|INTERNAL|^grpc 2$|left open|nonsense")
MOST_MEMORY = 80 * 1024
"""Kilobytes that all of it together may add to what the server has at its start."""


class Attacked(msgspec.Struct):
    """The server, and how much memory it had when it began to listen."""

    process: subprocess.Popen[str]
    port: int
    before: "State | None" = None


class State(msgspec.Struct, frozen=True):
    """What the server holds between calls."""

    memory: int
    """Kilobytes: the most so far."""
    tasks: str
    sockets: int


def state(server: Attacked) -> State:
    """As a good call finds it, over a connection of its own."""
    body = good(server)
    process = Path(f"/proc/{server.process.pid}")
    sockets = [one for one in process.joinpath("fd").iterdir() if _target(one).startswith("socket:")]
    peak = process.joinpath("status").read_text().partition("VmHWM:")[2].split()[0]
    return State(int(peak), body.partition(" tasks")[0], len(sockets))


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except FileNotFoundError:
        return ""


def good(server: Attacked) -> str:
    """What the agent answers to a caller who has done nothing wrong."""
    message = sent(messageId=f"good-{next(NUMBERS)}")
    with socket.create_connection(("127.0.0.1", server.port), 10) as line:
        line.sendall(message)
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200"), answer
    (artifact,) = json.loads(answer.partition(b"\r\n\r\n")[2])["task"]["artifacts"]
    text: str = artifact["parts"][0]["text"]
    assert text.endswith("5 characters")
    return text


@contextmanager
def attacked(twin: str = "") -> Generator[Attacked]:
    program = [sys.executable, "-m", "tests.faults.hostile.server", twin]
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            port = int(process.stdout.readline().rpartition(":")[2])
            yield Attacked(process, port)
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
    assert twin or "Traceback" not in errors, errors


@pytest.fixture(scope="module")
def server() -> Iterator[Attacked]:
    with attacked() as one:
        one.before = state(one)
        yield one


CASES = [pytest.param(case, id=f"{group}, {name}") for group, cases in GROUPS.items() for name, case in cases.items()]


@requirement("R-13.4-05", "R-13.4-06")
@pytest.mark.parametrize("case", CASES)
def test_a_hostile_input_is_refused_as_it_should_be(server: Attacked, case: Case) -> None:
    assert case.outcome(server.port) == case.expected


@pytest.mark.parametrize("group", GROUPS)
def test_after_all_of_them_at_once_the_server_answers_as_before(server: Attacked, group: str) -> None:
    cases = GROUPS[group]

    def outcome(name: str) -> str:
        return cases[name].outcome(server.port)

    with ThreadPoolExecutor(8) as callers:
        assert dict(zip(cases, callers.map(outcome, cases), strict=True)) == {
            name: case.expected for name, case in cases.items()
        }
    assert good(server)


def test_no_input_that_is_a_little_different_finds_a_defect(server: Attacked) -> None:
    chance = Random(7)
    short = [case for cases in GROUPS.values() for case in cases.values() if 0 < sum(map(len, case.pieces)) < LONG]
    several = [mutated(chance.choice(short), chance) for _ in range(MUTATED)]

    def outcome(case: Case) -> str:
        return case.outcome(server.port)

    with ThreadPoolExecutor(12) as callers:
        outcomes = dict(zip(several, callers.map(outcome, several), strict=True))
    assert {case: found for case, found in outcomes.items() if DEFECT.search(found)} == {}
    assert good(server)


def test_in_the_end_nothing_is_left_of_them(server: Attacked) -> None:
    before = server.before
    assert before is not None
    end = time.monotonic() + 10
    while (now := state(server)).sockets > before.sockets or now.tasks != before.tasks:
        assert time.monotonic() < end, (before, now)
    assert now.memory - before.memory < MOST_MEMORY


@pytest.mark.parametrize("group", GROUPS)
def test_without_a_defence_something_else_comes_of_it(group: str) -> None:
    case = GROUPS[group][BROKEN[group]]
    with attacked(group) as twin:
        assert case.outcome(twin.port) != case.expected
