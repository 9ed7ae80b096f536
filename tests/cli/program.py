"""Runs the program in processes of their own and keeps what they wrote, apart and with times."""

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.cli.nursery import ROOT, Child, Nursery

__all__ = ["Program", "Ran", "fields", "parsed_text"]

LIMIT = 30.0
"""Seconds within which every run must end, on a busy machine too."""
_COMPILED = Path(tempfile.gettempdir()) / "dragoman-tests-compiled"


class Ran(NamedTuple):
    """How a run ended. `arrivals` are the seconds after the start at which the lines of standard output came."""

    code: int
    out: str
    err: str
    seconds: float
    arrivals: tuple[float, ...]

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def error(self) -> dict[str, Any]:
        envelope: dict[str, Any] = self.lines[-1] if self.out.count("\n{") else self.json
        assert set(envelope) == {"error"}
        assert set(envelope["error"]) == {"code", "message", "hint", "a2aCode"}
        found: dict[str, Any] = envelope["error"]
        return found

    @property
    def fields(self) -> dict[str, list[str]]:
        return fields(self.out)


class Running:
    """A run that has not ended."""

    def __init__(self, child: Child) -> None:
        self._child = child
        self._began = time.monotonic()

    async def line(self) -> str:
        """The next line of standard output."""
        return (await self._child.stdout.readline()).decode().rstrip("\n")

    async def complaint(self) -> str:
        """The next line of standard error."""
        return (await self._child.stderr.readline()).decode().rstrip("\n")

    def send(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    async def code(self) -> int:
        """The exit code, once it has ended."""
        return await self._child.wait()

    async def ended(self) -> Ran:
        reading = asyncio.create_task(self._child.stderr.read())
        lines: list[bytes] = []
        arrivals: list[float] = []
        async for line in self._child.stdout:
            lines.append(line)
            arrivals.append(time.monotonic() - self._began)
        err = await reading
        code = await self._child.wait()
        seconds = time.monotonic() - self._began
        return Ran(code, b"".join(lines).decode(), err.decode(), seconds, tuple(arrivals))


class Program:
    """The command line with a home and working directory of its own."""

    def __init__(self, place: Path, variables: Mapping[str, str], nursery: Nursery) -> None:
        self.home = place / "home"
        self.cwd = place / "work"
        self.home.mkdir()
        self.cwd.mkdir()
        self.variables = dict(variables)
        self._nursery = nursery

    def environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
        return {
            **kept,
            "HOME": str(self.home),
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": str(_COMPILED),
            "PYTHONWARNINGS": "error",
            **self.variables,
            **extra,
        }

    @asynccontextmanager
    async def started(
        self, *args: str, env: Mapping[str, str] | None = None, stdin: bytes | None = None, out: int | None = None
    ) -> AsyncGenerator[Running, None]:
        """The program, forked; `out` is a descriptor in place of a pipe."""
        environment = self.environment(env or {})
        async with asyncio.timeout(LIMIT):
            child = await self._nursery.fork(args, cwd=self.cwd, env=environment, piped=stdin is not None, out=out)
            try:
                if stdin is not None:
                    child.feed(stdin)
                yield Running(child)
            finally:
                await child.end()

    async def run(self, *args: str, env: Mapping[str, str] | None = None, stdin: bytes | None = None) -> Ran:
        async with self.started(*args, env=env, stdin=stdin) as running:
            return await running.ended()

    async def run_afresh(self, *args: str, env: Mapping[str, str] | None = None, out: int | None = None) -> Ran:
        """Runs it with an interpreter of its own, as a user does."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "dragoman",
            *args,
            cwd=self.cwd,
            env=self.environment(env or {}),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE if out is None else out,
            stderr=asyncio.subprocess.PIPE,
        )
        began = time.monotonic()
        try:
            async with asyncio.timeout(LIMIT):
                shown, complaints = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return Ran(process.returncode, (shown or b"").decode(), complaints.decode(), time.monotonic() - began, ())


_FIELD = re.compile(r"([A-Z][A-Za-z ]*): (.*)")
_BLOCK = re.compile(r"([A-Z][A-Za-z ]*):")


def parsed_text(text: str) -> list[tuple[str, str]]:
    """Text output by the rules of the floor: fields on one line, blocks indented and ended by a blank line."""
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), "a control character"
    assert text == "" or text.endswith("\n")
    found: list[tuple[str, str]] = []
    lines = iter(text.split("\n")[:-1])
    for line in lines:
        if match := _FIELD.fullmatch(line):
            found.append((match[1], match[2]))
            continue
        match = _BLOCK.fullmatch(line)
        assert match, f"neither field nor block: {line!r}"
        content: list[str] = []
        for inner in lines:
            if inner == "":
                break
            assert inner.startswith("  "), f"not indented: {inner!r}"
            content.append(inner.removeprefix("  "))
        else:
            raise AssertionError("a block without its end")
        found.append((match[1], "\n".join(content)))
    return found


def fields(text: str) -> dict[str, list[str]]:
    """All values by label, in order."""
    result: dict[str, list[str]] = {}
    for label, value in parsed_text(text):
        result.setdefault(label, []).append(value)
    return result
