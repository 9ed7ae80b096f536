"""A peer's client program: a line of JSON on standard input is a call, a line of output its answer or one event.

The calls are those of `Caller`, and `open`; each has a number `n`, which its answers repeat. Many may run at a time.
"""

import asyncio
import json
import sys
import traceback
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing
from dataclasses import asdict
from typing import Any, cast

import grpc

from tests.interop.words import Caller, Say, Seen, Webhook

STREAMS = ("stream", "subscribe")

Opened = Callable[[str, str, str], AbstractAsyncContextManager[Caller]]
"""Gives a client for an agent's URL, a protocol version and a binding."""


class Program:
    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._stack = AsyncExitStack()
        self._caller: Caller | None = None

    async def run(self) -> None:
        """Answers until the input ends."""
        loop = asyncio.get_running_loop()
        running: dict[int, asyncio.Task[None]] = {}
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            call = json.loads(line)
            number, name = call["n"], call["call"]
            if name == "leave":
                running[number].cancel()
            else:
                running[number] = asyncio.create_task(self._answer(number, name, call["with"]))
        for task in running.values():
            task.cancel()
        await self._stack.aclose()

    async def _answer(self, number: int, name: str, given: dict[str, Any]) -> None:
        try:
            if "say" in given:
                task, webhook = given["say"]["task"], given["say"]["webhook"]
                said = {"task": Seen(**task) if task else None, "webhook": Webhook(**webhook) if webhook else None}
                given["say"] = Say(**{**given["say"], **said})
            if "webhook" in given:
                given["webhook"] = Webhook(**given["webhook"])
            if name in STREAMS:
                async with aclosing(getattr(self._caller, name)(**given)) as events:
                    async for event in events:
                        tell(n=number, event=asdict(event))
                tell(n=number, result=None)
            elif name == "open":
                await self._stack.aclose()
                self._caller = await self._stack.enter_async_context(self._opened(**given))
                tell(n=number, result=None)
            else:
                result = await getattr(self._caller, name)(**given)
                tell(n=number, result=plain(result))
        except Exception as error:  # noqa: BLE001 -- whatever broke is what the scenario is told
            known = self._caller.name_of(error) if self._caller else None
            tell(n=number, error=known, trace=traceback.format_exc())


def channels(url: str) -> Callable[[str], grpc.aio.Channel]:
    """What makes gRPC channels to an agent whose card is at this URL: with TLS if that has it."""
    if url.startswith("https:"):
        return lambda address: grpc.aio.secure_channel(address, grpc.ssl_channel_credentials())
    return grpc.aio.insecure_channel


def plain(result: Any) -> Any:
    """What a call gives, as JSON has it."""
    if isinstance(result, list):
        return [plain(each) for each in cast("list[Any]", result)]
    return result if isinstance(result, str) else asdict(result)


def tell(**line: object) -> None:
    print(json.dumps(line), flush=True)


def serve(opened: Opened) -> None:
    asyncio.run(Program(opened).run())
