"""What the agents on the official Python SDKs' servers share: what they do, and how they are served."""

import asyncio
import json
import socket
import sys
from collections.abc import Callable
from typing import Protocol

import grpc
import uvicorn
from starlette.applications import Starlette

QUESTION = "Up or down?"
ENDS = {"fail": "It broke.", "reject": "Not this."}
SHOWN = {"parts": "give_back", "show": "show"}


class Work(Protocol):
    """One task, as the agent works on it."""

    async def give(self, text: str, *, append: bool = False, last: bool = True) -> None: ...
    async def give_back(self) -> None:
        """The parts of the message after the first, as an artifact."""

    async def show(self) -> None:
        """The message's metadata, as an artifact."""

    async def ask(self, question: str) -> None: ...
    async def require_auth(self, question: str) -> None: ...
    async def fail(self, reason: str) -> None: ...
    async def reject(self, reason: str) -> None: ...
    async def complete(self) -> None: ...


async def obey(work: Work, first: str, latest: str) -> None:
    """Does what the first word of the task's first message says; the latest message may answer a question."""
    verb, *words = first.split()
    if verb in ENDS:
        return await getattr(work, verb)(ENDS[verb])
    if verb == "say":
        await work.give(first.removeprefix("say "))
    if verb == "enter":
        return await work.require_auth("Who are you?")
    if verb in SHOWN:
        await getattr(work, SHOWN[verb])()
    if verb == "count":
        direction = words[2] if words[2:] else latest
        if direction not in {"up", "down"}:
            return await work.ask(QUESTION)
        await count(work, int(words[0]), float(words[1]), direction)
    return await work.complete()


async def count(work: Work, number: int, pause: float, direction: str) -> None:
    for n in range(1, number + 1):
        shown = n if direction == "up" else number + 1 - n
        await work.give(f"{shown} ", append=n > 1, last=n == number)
        await asyncio.sleep(pause)


Made = Callable[[str, grpc.aio.Server, str], Starlette]
"""Puts the agent together, given its HTTP URL, its gRPC server and that server's address."""


def serve(made: Made) -> None:
    """Serves until the input ends; prints where, as soon as it can be called."""
    asyncio.run(_serve(made))


async def _serve(made: Made) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        rpc = grpc.aio.server()
        address = f"127.0.0.1:{rpc.add_insecure_port('127.0.0.1:0')}"
        server = uvicorn.Server(uvicorn.Config(made(url, rpc, address), log_level="warning"))
        await rpc.start()
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:  # noqa: ASYNC110 -- it tells nobody when it has started
            await asyncio.sleep(0.01)
        print(json.dumps({"url": url}), flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await rpc.stop(0)
        server.should_exit = server.force_exit = True
        await serving
