"""Streams to ASGI: until the end, until the reader leaves, stalls, or the server stops."""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from typing import Any

import msgspec
import pytest

from dragoman.dialects.base import Call
from dragoman.dialects.v1_0.rest import Rest
from dragoman.engine.feed import TaskFeed
from dragoman.errors import A2AError, InternalError, UnavailableError
from dragoman.hosts.calls import Stream
from dragoman.hosts.streaming import write_stream
from dragoman.operations import SEND_STREAMING_MESSAGE, SUBSCRIBE_TO_TASK
from dragoman.ports.tasks import Selector
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent, ScriptedRun
from dragoman.types.requests import ServiceParameters, SubscribeToTaskRequest
from tests.unit.engine.stage import CALL, QUICK, Stage, send, settle, staged

REST = Rest()


class Line:
    """The connection of one reader, who may leave, or take nothing."""

    def __init__(self) -> None:
        self.events: list[MutableMapping[str, Any]] = []
        self.left = asyncio.Event()
        self.sent = asyncio.Event()
        self.takes = asyncio.Event()
        self.takes.set()
        self.broken = False

    async def receive(self) -> MutableMapping[str, Any]:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: MutableMapping[str, Any]) -> None:
        if event["type"] == "http.response.body":
            await self.takes.wait()
        if self.broken:
            raise OSError("the reader has gone")
        self.events.append(event)
        self.sent.set()

    @property
    def text(self) -> str:
        return b"".join(event.get("body", b"") for event in self.events).decode()

    @property
    def complete(self) -> bool:
        last = self.events[-1] if self.events else {"type": ""}
        return last["type"] == "http.response.body" and not last.get("more_body", False)

    async def until(self, text: str) -> None:
        """Waits until this has been written."""
        while text not in self.text:
            self.sent.clear()
            await self.sent.wait()


def public(error: Exception) -> A2AError:
    return error if isinstance(error, A2AError) else InternalError()


@pytest.fixture
async def agent() -> ScriptedAgent:
    return ScriptedAgent()


@pytest.fixture
async def stage(agent: ScriptedAgent) -> AsyncIterator[Stage]:
    async with staged(MemoryStore(), agent) as open_stage:
        yield open_stage


async def opened(
    stage: Stage, agent: ScriptedAgent, line: Line, stall: float = 5.0
) -> tuple[TaskFeed, ScriptedRun, asyncio.Task[None]]:
    """A stream on its way, its feed and the agent's run."""
    request = send()
    feed: TaskFeed = await stage.call(SEND_STREAMING_MESSAGE, request)
    call = Call(SEND_STREAMING_MESSAGE, request, ServiceParameters(version="1.0"))
    stream = Stream(REST, call, feed, {}, leave=lambda: None)
    writing = asyncio.create_task(
        write_stream(stream, public=public, stall=stall, receive=line.receive, send=line.send)
    )
    return feed, await agent.run(), writing


async def test_a_stream_is_written_to_its_end(stage: Stage, agent: ScriptedAgent) -> None:
    line = Line()
    _, run, writing = await opened(stage, agent, line)
    await run.text("hello")
    await line.until("hello")
    assert not writing.done()
    await run.end()
    await writing
    assert line.complete
    assert "COMPLETED" in line.text
    assert "retry:" not in line.text
    assert line.events[0]["status"] == 200
    assert (b"content-type", b"text/event-stream") in line.events[0]["headers"]


async def test_a_reader_who_leaves_closes_the_feed_and_not_the_task(stage: Stage, agent: ScriptedAgent) -> None:
    line = Line()
    feed, run, writing = await opened(stage, agent, line)
    await line.until("WORKING")
    line.left.set()
    await writing
    assert feed.cut
    assert not run.cancelled.is_set()
    await run.end()
    assert (await stage.ended(run.turn.task.id)).state.terminal


@pytest.mark.parametrize("when", ["at once", "later"])
async def test_a_server_that_raises_for_a_reader_who_has_gone_is_understood(
    stage: Stage, agent: ScriptedAgent, when: str
) -> None:
    line = Line()
    line.broken = when == "at once"
    feed, run, writing = await opened(stage, agent, line)
    if when == "later":
        await line.until("WORKING")
        line.broken = True
        await run.text("into the void")
    await writing
    assert feed.cut
    await run.end()


async def test_a_reader_who_takes_nothing_is_left_behind(stage: Stage, agent: ScriptedAgent) -> None:
    line = Line()
    line.takes.clear()
    feed, run, writing = await opened(stage, agent, line, stall=0.01)
    await writing
    assert feed.cut
    assert not line.complete
    await run.end()


async def test_a_server_that_stops_does_not_wait_for_a_reader_who_takes_nothing(
    stage: Stage, agent: ScriptedAgent
) -> None:
    line = Line()
    _, run, writing = await opened(stage, agent, line, stall=0.01)
    await line.until("WORKING")
    line.takes.clear()
    stage.service.end_streams()
    async with asyncio.timeout(2):
        await writing
    await run.end()


async def test_a_stream_that_is_cut_says_when_to_come_back(stage: Stage, agent: ScriptedAgent) -> None:
    line = Line()
    _, run, writing = await opened(stage, agent, line)
    await line.until("WORKING")
    stage.service.end_streams()
    await writing
    assert line.text.endswith("retry: 1000\n\n")
    assert line.complete
    await run.end()


async def test_an_idle_stream_carries_comments(agent: ScriptedAgent) -> None:
    limits = msgspec.structs.replace(QUICK, keep_alive=0.001)
    async with staged(MemoryStore(), agent, limits=limits) as stage:
        line = Line()
        _, run, writing = await opened(stage, agent, line)
        await line.until(": keep-alive\n\n: keep-alive\n\n")
        await run.end()
        await writing


async def test_an_error_in_mid_stream_is_told_in_the_stream(stage: Stage, agent: ScriptedAgent) -> None:
    line = Line()
    feed, run, writing = await opened(stage, agent, line)
    await line.until("WORKING")
    await stage.store.erase(Selector(task_id=run.turn.task.id))
    feed.look()
    await writing
    assert "TASK_NOT_FOUND" in line.text
    assert line.complete
    await run.end()


async def test_a_stream_is_not_begun_for_what_cannot_be_had(stage: Stage) -> None:
    await stage.store.inner.close()
    with pytest.raises(UnavailableError):
        await stage.call(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="any"), CALL)
    await stage.store.inner.open()
    await settle()
