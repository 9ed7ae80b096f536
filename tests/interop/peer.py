"""An official SDK's client in a process of its own, as a `Caller` of ours."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Any

from tests.interop.words import Event, Page, Say, Seen, Webhook

__all__ = ["PeerError", "PeerProgram", "running_program"]

PATIENCE = 20.0
"""Seconds for a program to end when its input has ended."""


class PeerError(Exception):
    """What the SDK raised. `name` is the specification's name of the agent's error, None for any other failure."""

    def __init__(self, name: str | None, trace: str) -> None:
        super().__init__(trace)
        self.name = name


class PeerProgram:
    """Speaks `peers/loop` with a client program; satisfies `Caller`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Queue[dict[str, Any]]] = {}

    async def open(self, url: str, version: str, binding: str) -> None:
        """From now on calls go to this agent over this version and binding."""
        await self._call("open", url=url, version=version, binding=binding)

    async def send(self, say: Say, *, wait: bool = True) -> Seen:
        return Seen(**await self._call("send", say=asdict(say), wait=wait))

    async def get(self, task_id: str, *, history: int | None = None, tenant: str = "") -> Seen:
        return Seen(**await self._call("get", task_id=task_id, history=history, tenant=tenant))

    async def page(self, context: str, size: int, token: str) -> Page:
        return Page(**await self._call("page", context=context, size=size, token=token))

    async def cancel(self, task_id: str) -> Seen:
        return Seen(**await self._call("cancel", task_id=task_id))

    async def extended_card(self) -> str:
        return str(await self._call("extended_card"))

    async def push(self, verb: str, webhook: Webhook) -> list[Webhook]:
        return [Webhook(**each) for each in await self._call("push", verb=verb, webhook=asdict(webhook))]

    async def read(self, body: dict[str, Any]) -> Event:
        return _event(await self._call("read", body=body))

    def stream(self, say: Say) -> AsyncGenerator[Event, None]:
        return self._events("stream", say=asdict(say))

    def subscribe(self, task_id: str) -> AsyncGenerator[Event, None]:
        return self._events("subscribe", task_id=task_id)

    def name_of(self, error: Exception) -> str | None:
        return error.name if isinstance(error, PeerError) else None

    async def _call(self, name: str, **given: object) -> Any:
        number = self._told(name, given)
        try:
            return _result(await self._answers[number].get())
        finally:
            del self._answers[number]

    async def _events(self, name: str, **given: object) -> AsyncGenerator[Event, None]:
        number = self._told(name, given)
        ended = False
        try:
            while "event" in (answer := await self._answers[number].get()):
                yield _event(answer["event"])
            ended = True
            _result(answer)
        finally:
            del self._answers[number]
            if not ended:
                self._write({"n": number, "call": "leave"})

    def _told(self, name: str, given: Mapping[str, object]) -> int:
        number = next(self._numbers)
        self._answers[number] = asyncio.Queue()
        self._write({"n": number, "call": name, "with": given})
        return number

    def _write(self, line: object) -> None:
        self._input.write(json.dumps(line).encode() + b"\n")

    async def listen(self) -> None:
        """Hands out what the program prints; when it prints no more, every call that waits breaks."""
        async for line in self._output:
            answer = json.loads(line)
            if answer["n"] in self._answers:  # else it was left
                self._answers[answer["n"]].put_nowait(answer)
        for waiting in self._answers.values():
            waiting.put_nowait({"error": None, "trace": "the peer's program has ended"})


def _event(told: dict[str, Any]) -> Event:
    seen = told.pop("seen", None)
    return Event(seen=Seen(**seen) if seen else None, **told)


def _result(answer: dict[str, Any]) -> Any:
    if "error" in answer:
        raise PeerError(answer["error"], answer["trace"])
    return answer["result"]


@asynccontextmanager
async def running_program(
    argv: Sequence[str], root: Path, log: Path, environment: Mapping[str, str]
) -> AsyncGenerator[PeerProgram]:
    """Runs a client program from `root` until the block ends. What it says besides goes to `log`."""
    with log.open("wb") as noise:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=pipe, stdout=pipe, stderr=noise, cwd=root, env=environment, limit=1 << 24
        )
        program = PeerProgram(process)
        listening = asyncio.create_task(program.listen())
        try:
            yield program
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), PATIENCE)
            except TimeoutError:
                process.kill()
                await process.wait()
            await listening
