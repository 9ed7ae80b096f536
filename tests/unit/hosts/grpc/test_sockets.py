"""gRPC over real connections, as a stock client speaks it, and with our own client at the other end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from dragoman import operations
from dragoman._proto import message, parse
from dragoman.client.channel import Channel, ChannelOptions
from dragoman.client.dialing import grpcio
from dragoman.client.grpc import open_grpc
from dragoman.dialects.base import Dialect, HttpReply
from dragoman.errors import RequestTooLargeError, TaskNotFoundError, TimedOut, TransportError, UnavailableError
from dragoman.hosts.opening import Opening
from dragoman.hosts.site import ConnectionLimits, Site
from dragoman.testing.agent import ScriptedAgent
from dragoman.types.card import AgentInterface
from dragoman.types.events import TaskArtifactUpdateEvent
from dragoman.types.requests import GetTaskRequest, SubscribeToTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import Stage, send, texts
from tests.unit.hosts.grpc.hosting import GRPC, OLDER, PREFIX, TARGET, application_of

LARGE = 1_000_000
grpc: Any = grpcio()


@pytest.fixture
async def site(stage: Stage) -> Site:
    application = application_of(stage, max_bytes=3 * LARGE)
    return Site(application, asyncio.get_running_loop(), limits=ConnectionLimits(), state={})


@pytest.fixture
async def address(site: Site) -> AsyncIterator[str]:
    """Where the application is served, on one port as always."""
    server = await site.loop.create_server(lambda: Opening(site), "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    yield f"{host}:{port}"
    server.close()
    for connection in list(site.connections):
        connection.abort()
    if site.tasks:
        await asyncio.wait(site.tasks, timeout=5)


@pytest.fixture
async def stock(address: str) -> AsyncIterator[Any]:
    """A channel of grpcio, as it comes."""
    async with grpc.aio.insecure_channel(address) as channel:
        yield channel


@pytest.fixture
async def ours(address: str) -> AsyncIterator[Channel]:
    async with aclosing(channel_to(address, GRPC)) as channel:
        yield channel


def channel_to(address: str, dialect: Dialect, **options: Any) -> Channel:
    interface = AgentInterface(url=address, protocol_binding="GRPC", protocol_version=dialect.version)
    return open_grpc(interface, dialect, ChannelOptions(**options), secure=False)


def encoded(operation: operations.Operation, request: Any) -> bytes:
    return GRPC.encode_request(operation, request, TARGET).body


@pytest.mark.parametrize("dialect", [GRPC, OLDER], ids=lambda dialect: dialect.key)
async def test_both_packages_are_served(agent: ScriptedAgent, address: str, dialect: Dialect) -> None:
    async with aclosing(channel_to(address, dialect)) as channel:
        calling = asyncio.create_task(channel.call(operations.SEND_MESSAGE, send()))
        run = await agent.run()
        await run.text("hello")
        await run.end()
        task: Task = await calling
        assert task.state is TaskState.COMPLETED
        assert task.artifacts[0].text == "hello"
        with pytest.raises(TaskNotFoundError):
            await channel.call(operations.GET_TASK, GetTaskRequest(id="none"))


async def test_events_come_as_they_happen(agent: ScriptedAgent, ours: Channel) -> None:
    async with aclosing(ours.stream(operations.SEND_STREAMING_MESSAGE, send())) as events:
        assert isinstance(await anext(events), Task)
        run = await agent.run()
        for number in range(3):
            await run.text(f"{number}")
            event = await anext(events)
            assert isinstance(event, TaskArtifactUpdateEvent)
            assert event.artifact.text == f"{number}"
        await run.end()
        assert texts([event async for event in events])[-1] == "completed"


async def test_a_stream_of_many_events_keeps_their_order(agent: ScriptedAgent, ours: Channel) -> None:
    async with aclosing(ours.stream(operations.SEND_STREAMING_MESSAGE, send())) as events:
        assert isinstance(await anext(events), Task)
        run = await agent.run()
        await run.text(*(f"{number} " for number in range(2000)))
        await run.end()
        said = texts([event async for event in events])
    assert said[-1] == "completed"
    assert "".join(said[:-1]).split() == [str(number) for number in range(2000)]


async def test_who_leaves_a_stream_leaves_the_task_alone(stage: Stage, agent: ScriptedAgent, ours: Channel) -> None:
    async with aclosing(ours.stream(operations.SEND_STREAMING_MESSAGE, send())) as events:
        task = await anext(events)
        assert isinstance(task, Task)
    run = await agent.run()
    async with aclosing(ours.stream(operations.SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task.id))) as events:
        assert await anext(events) == task
        assert not run.cancelled.is_set()
        await run.end()
        assert texts([event async for event in events]) == ["completed"]
    assert (await stage.task(task.id)).state is TaskState.COMPLETED


async def test_a_deadline_is_told_once_and_the_task_goes_on(stage: Stage, agent: ScriptedAgent, stock: Any) -> None:
    call = stock.unary_unary(PREFIX + "SendMessage")(encoded(operations.SEND_MESSAGE, send()), timeout=0.5)
    run = await agent.run()
    assert await call.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert not run.cancelled.is_set()
    await run.end()
    assert (await stage.ended(run.turn.task.id)).state is TaskState.COMPLETED


async def test_a_cancelled_call_is_let_go_and_the_task_goes_on(
    stage: Stage, agent: ScriptedAgent, site: Site, stock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.hosts.attending.LOOK_AFTER", 0)
    call = stock.unary_unary(PREFIX + "SendMessage")(encoded(operations.SEND_MESSAGE, send()))
    run = await agent.run()
    [answering] = site.tasks
    call.cancel()
    await asyncio.wait([answering], timeout=5)
    assert answering.done()
    assert not run.cancelled.is_set()
    await run.end()
    assert (await stage.ended(run.turn.task.id)).state is TaskState.COMPLETED


async def test_our_client_says_that_it_timed_out(agent: ScriptedAgent, address: str) -> None:
    async with aclosing(channel_to(address, GRPC, idle_timeout=0.5)) as channel:
        with pytest.raises(TimedOut):
            await channel.call(operations.SEND_MESSAGE, send())
    await (await agent.run()).end()


async def test_a_server_that_stops_ends_its_streams_and_says_so(
    stage: Stage, agent: ScriptedAgent, ours: Channel
) -> None:
    async with aclosing(ours.stream(operations.SEND_STREAMING_MESSAGE, send())) as events:
        assert isinstance(await anext(events), Task)
        run = await agent.run()
        stage.service.end_streams()
        with pytest.raises(UnavailableError, match="subscribe again"):
            await anext(events)
    await run.end()


@pytest.mark.parametrize("compression", ["NoCompression", "Gzip"])
async def test_large_messages_go_both_ways(agent: ScriptedAgent, address: str, compression: str) -> None:
    wanted = getattr(grpc.Compression, compression)
    async with grpc.aio.insecure_channel(address, compression=wanted) as channel:
        request = encoded(operations.SEND_MESSAGE, send("x" * LARGE))
        call = channel.unary_unary(PREFIX + "SendMessage")(request)
        run = await agent.run()
        await run.text("y" * LARGE)
        await run.end()
        answer = await call
    task: Task = GRPC.decode_result(operations.SEND_MESSAGE, HttpReply(200, {"grpc-status": "0"}, answer))
    assert task.history[0].parts[0].text == "x" * LARGE
    assert task.artifacts[0].text == "y" * LARGE


async def test_a_message_beyond_the_limit_is_refused_and_the_connection_lives(address: str, ours: Channel) -> None:
    for _ in range(3):
        with pytest.raises(RequestTooLargeError):
            await ours.call(operations.SEND_MESSAGE, send("x" * 3 * LARGE))
    with pytest.raises(TaskNotFoundError):
        await ours.call(operations.GET_TASK, GetTaskRequest(id="none"))


async def test_many_calls_share_a_connection(stage: Stage, ours: Channel) -> None:
    task = await stage.begin()
    asked = GetTaskRequest(id=task.id)
    answers = await asyncio.gather(*(ours.call(operations.GET_TASK, asked) for _ in range(500)))
    assert {answer.id for answer in answers} == {task.id}


async def test_health_and_reflection_answer_stock_clients(stock: Any) -> None:
    health = await stock.unary_unary("/grpc.health.v1.Health/Check")(b"")
    assert parse("grpc.health.v1.HealthCheckResponse", health).status == 1
    asking = stock.stream_stream("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")()
    question = message("grpc.reflection.v1.ServerReflectionRequest")
    for symbol in ("lf.a2a.v1.A2AService", "a2a.v1.A2AService"):
        await asking.write(question(file_containing_symbol=symbol).SerializeToString())
        answer = parse("grpc.reflection.v1.ServerReflectionResponse", await asking.read())
        assert len(answer.file_descriptor_response.file_descriptor_proto) > 1
    await asking.done_writing()
    assert await asking.code() is grpc.StatusCode.OK


async def test_what_is_not_served_is_unimplemented_for_a_stock_client(stock: Any) -> None:
    call = stock.unary_unary("/some.other.Service/Method")(b"")
    assert await call.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_the_trailers_have_the_details(stock: Any) -> None:
    call = stock.unary_unary(PREFIX + "GetTask")(encoded(operations.GET_TASK, GetTaskRequest(id="none")))
    assert await call.code() is grpc.StatusCode.NOT_FOUND
    [details] = [value for name, value in await call.trailing_metadata() if name == "grpc-status-details-bin"]
    status = parse("google.rpc.Status", details)
    info = parse("google.rpc.ErrorInfo", status.details[0].value)
    assert (info.reason, info.domain) == ("TASK_NOT_FOUND", "a2a-protocol.org")


async def test_a_connection_that_breaks_is_no_word_of_the_agent(
    agent: ScriptedAgent, site: Site, ours: Channel
) -> None:
    calling = asyncio.create_task(ours.call(operations.SEND_MESSAGE, send()))
    run = await agent.run()
    for connection in list(site.connections):
        connection.abort()
    with pytest.raises(TransportError):
        await calling
    await run.end()
