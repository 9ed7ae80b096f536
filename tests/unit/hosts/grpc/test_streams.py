"""Streams and deadlines over gRPC: how calls that last come to their end."""

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from dragoman import operations
from dragoman.errors import UnavailableError
from dragoman.hosts.asgi import Application
from dragoman.ports.tasks import Selector
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.types.requests import SubscribeToTaskRequest
from dragoman.types.task import TaskState
from tests.unit.engine.stage import QUICK, Stage, send, settle, staged
from tests.unit.hosts.grpc.driver import framed, post
from tests.unit.hosts.grpc.hosting import (
    EXTENSION,
    PREFIX,
    application_of,
    body,
    line_to,
    result,
    states,
)

# Deadlines.


class Deadline:
    """A deadline of an hour, which comes when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self._call_later = loop.call_later
        self._due: list[Callable[[], Any]] = []
        monkeypatch.setattr(loop, "call_later", self._later)

    def _later(self, delay: float, callback: Callable[..., Any], *args: Any) -> asyncio.TimerHandle:
        if delay == 3600:
            self._due.append(functools.partial(callback, *args))
        return self._call_later(delay, callback, *args)

    def comes(self) -> None:
        [due] = self._due
        due()


@pytest.fixture
async def deadline(monkeypatch: pytest.MonkeyPatch) -> Deadline:
    return Deadline(monkeypatch)


async def test_a_deadline_ends_the_call_and_not_the_task(
    stage: Stage, agent: ScriptedAgent, app: Application, deadline: Deadline
) -> None:
    line = line_to(operations.SEND_MESSAGE, send(), grpc_timeout="1H")
    async with line.open(app):
        run = await agent.run()
        deadline.comes()
    assert (line.answer.code, line.answer.body) == (4, b"")
    assert not run.cancelled.is_set()
    await run.end()
    assert (await stage.ended(run.turn.task.id)).state is TaskState.COMPLETED


async def test_what_is_done_before_the_deadline_is_answered(agent: ScriptedAgent, app: Application) -> None:
    line = line_to(operations.SEND_MESSAGE, send(), grpc_timeout="20S")
    async with line.open(app):
        await (await agent.run()).end()
    assert line.answer.code == 0
    assert result(operations.SEND_MESSAGE, line.answer).state is TaskState.COMPLETED


async def test_a_deadline_ends_a_stream(
    stage: Stage, agent: ScriptedAgent, app: Application, deadline: Deadline
) -> None:
    line = line_to(operations.SEND_STREAMING_MESSAGE, send(), grpc_timeout="1H")
    async with line.open(app):
        run = await agent.run()
        await line.messages(1)
        deadline.comes()
    assert states(line.answer) == ["working"]
    assert line.answer.code == 4
    assert not run.cancelled.is_set()
    await run.end()
    assert (await stage.ended(run.turn.task.id)).state.terminal


async def test_a_timeout_that_is_none_is_refused(app: Application) -> None:
    assert (await post(app, PREFIX + "GetTask", framed(b""), headers={"grpc-timeout": "soon"})).code == 13


async def test_who_leaves_a_call_that_takes_long_ends_it_and_not_the_task(
    stage: Stage, agent: ScriptedAgent, app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.hosts.attending.LOOK_AFTER", 0)
    line = line_to(operations.SEND_MESSAGE, send())
    async with line.open(app):
        run = await agent.run()
        line.leave()
    assert line.body == b""
    assert not run.cancelled.is_set()
    await run.end()
    assert (await stage.ended(run.turn.task.id)).state is TaskState.COMPLETED


async def test_who_stays_is_answered_however_long_it_takes(
    agent: ScriptedAgent, app: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.hosts.attending.LOOK_AFTER", 0)
    line = line_to(operations.SEND_MESSAGE, send())
    async with line.open(app):
        run = await agent.run()
        await settle()
        await run.end()
    assert result(operations.SEND_MESSAGE, line.answer).state is TaskState.COMPLETED


# Streams.


async def test_a_stream_is_a_message_for_each_event_and_trailers(agent: ScriptedAgent, app: Application) -> None:
    line = line_to(operations.SEND_STREAMING_MESSAGE, send(), a2a_extensions=EXTENSION)
    async with line.open(app) as running:
        run = await agent.run()
        await line.messages(1)
        await run.text("hello")
        await line.messages(2)
        assert not running.done()
        await run.end()
    assert line.answer.code == 0
    assert line.answer.head["a2a-extensions"] == EXTENSION
    assert states(line.answer) == ["working", "completed"]
    assert b"hello" in line.answer.messages[1]


async def test_a_refused_stream_is_trailers_alone(app: Application) -> None:
    asked = body(operations.SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="none"))
    answer = await post(app, PREFIX + "SubscribeToTask", asked)
    assert (answer.code, answer.body) == (5, b"")


async def test_an_error_in_mid_stream_is_in_the_trailers(stage: Stage, agent: ScriptedAgent, app: Application) -> None:
    line = line_to(operations.SEND_STREAMING_MESSAGE, send())
    async with line.open(app):
        run = await agent.run()
        await line.messages(1)
        await stage.service.erase(Selector(task_id=run.turn.task.id))
    assert line.answer.code == 5


async def test_a_stream_that_the_server_ends_is_unavailable(
    stage: Stage, agent: ScriptedAgent, app: Application
) -> None:
    line = line_to(operations.SEND_STREAMING_MESSAGE, send())
    async with line.open(app):
        run = await agent.run()
        await line.messages(1)
        stage.service.end_streams()
    with pytest.raises(UnavailableError, match="subscribe again"):
        result(operations.GET_TASK, msgspec.structs.replace(line.answer, body=b""))
    await run.end()


async def test_a_reader_who_leaves_ends_the_stream_and_not_the_task(
    stage: Stage, agent: ScriptedAgent, app: Application
) -> None:
    line = line_to(operations.SEND_STREAMING_MESSAGE, send())
    async with line.open(app):
        run = await agent.run()
        await line.messages(1)
        line.leave()
    assert not run.cancelled.is_set()
    await run.end()
    assert (await stage.ended(run.turn.task.id)).state.terminal


async def test_a_reader_who_takes_nothing_is_left_behind(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent, limits=msgspec.structs.replace(QUICK, send_stall=0.01)) as stage:
        line = line_to(operations.SEND_STREAMING_MESSAGE, send())
        line.takes.clear()
        async with line.open(application_of(stage)):
            run = await agent.run()
        assert line.body == b""
        await run.end()
