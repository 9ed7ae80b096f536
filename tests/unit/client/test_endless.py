"""Streams without an end: nothing is read ahead of the caller, and nothing piles up."""

import asyncio
import json
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing

import pytest

from dragoman import Client, TaskHandle, connect
from dragoman.types import StreamEvent
from tests.unit.client.scripted import Exchange, Script, chunk, result, task

LETTERS = 20_000
TAKEN = 500


class Endless:
    """Streams chunks for as long as somebody takes them."""

    def __init__(self) -> None:
        self.sent = 0

    async def __call__(self, exchange: Exchange) -> None:
        await exchange.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        await exchange.chunk(_framed({"task": task("WORKING")}))
        piece = _framed(chunk("x" * LETTERS))
        while True:
            await exchange.chunk(piece)
            self.sent += 1


def _framed(value: object) -> bytes:
    return b"data: %b\n\n" % json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}).encode()


@pytest.fixture
def endless(agent: Script) -> Endless:
    source = Endless()
    agent.answers["SendStreamingMessage"] = agent.answers["SubscribeToTask"] = [source]
    agent.answers["SendMessage"] = [result({"task": task("WORKING")})]
    return source


@pytest.fixture
async def client(agent: Script) -> AsyncIterator[Client]:
    async with connect(agent.url) as opened:
        yield opened


async def streamed(client: Client) -> AsyncGenerator[StreamEvent, None]:
    return client.stream("go")


async def followed(client: Client) -> AsyncGenerator[StreamEvent, None]:
    handle = await client.start("go")
    assert isinstance(handle, TaskHandle)
    return handle.events()


Begins = Callable[[Client], Awaitable[AsyncGenerator[StreamEvent, None]]]


@pytest.mark.parametrize("begin", [streamed, followed])
async def test_nothing_of_an_endless_stream_piles_up(endless: Endless, client: Client, begin: Begins) -> None:
    async with aclosing(await begin(client)) as stream:
        for _ in range(50):
            await anext(stream)
        tracemalloc.start()
        try:
            for _ in range(TAKEN):
                await anext(stream)
            grown, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert endless.sent > TAKEN
    assert grown < TAKEN * LETTERS / 5


@pytest.mark.parametrize("begin", [streamed, followed])
async def test_nothing_is_read_ahead_of_a_slow_caller(endless: Endless, client: Client, begin: Begins) -> None:
    async with aclosing(await begin(client)) as stream:
        await anext(stream)
        sent = -1
        async with asyncio.timeout(10):
            while endless.sent != sent:
                sent = endless.sent
                await asyncio.sleep(0.02)
        # What fits into the buffers of the two ends.
        assert sent * LETTERS < 16 * 1024 * 1024
        for _ in range(sent + 50):
            await anext(stream)
        assert endless.sent > sent
