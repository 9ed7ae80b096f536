"""Agents in this process, custom bindings, and HTTP clients of the user's own."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from typing import Any

import pytest

from dragoman import AgentInterface, Message, Part, Role, Task, connect
from dragoman.client import AiohttpTransport, ChannelOptions, HttpResponse, InProcess, LocalService, TaskFailed
from dragoman.errors import ConfigurationError, TaskNotFoundError, UnsupportedOperationError
from dragoman.operations import SEND_MESSAGE, SEND_STREAMING_MESSAGE, Operation
from dragoman.types import (
    AgentCapabilities,
    AgentCard,
    GetTaskRequest,
    SendMessageRequest,
    ServiceParameters,
    StreamEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from tests.unit.client.scripted import Script, message, result

CARD = AgentCard(
    name="Near",
    description="",
    version="1",
    supported_interfaces=(),
    capabilities=AgentCapabilities(streaming=True),
    default_input_modes=(),
    default_output_modes=(),
    skills=(),
)
HI = Message(message_id="m", role=Role.AGENT, parts=(Part(text="hi"),))
WORKING = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING))


class Near:
    """An agent in this process that says what it is told to say."""

    def __init__(self, *events: StreamEvent) -> None:
        self.events = events
        self.log: list[str] = []
        self.calls: list[tuple[Operation, Any, ServiceParameters]] = []

    @asynccontextmanager
    async def local(self) -> AsyncGenerator[LocalService, None]:
        self.log.append("up")
        yield self
        self.log.append("down")

    def card(self) -> AgentCard:
        return CARD

    async def call(self, operation: Operation, request: Any, parameters: ServiceParameters) -> Any:
        self.calls.append((operation, request, parameters))
        if operation is SEND_MESSAGE:
            return self.events[0]
        raise TaskNotFoundError

    async def stream(
        self, operation: Operation, request: Any, parameters: ServiceParameters
    ) -> AsyncIterator[StreamEvent]:
        self.calls.append((operation, request, parameters))
        try:
            for event in self.events:
                yield event
        finally:
            self.log.append("closed")


async def test_an_agent_in_this_process_runs_while_its_client_is_open() -> None:
    near = Near(HI)
    client = connect(near, extensions=["urn:x"])
    assert near.log == []
    async with client:
        assert near.log == ["up"]
        assert await client.ask("go") == "hi"
        assert await client.card() is CARD
    assert near.log == ["up", "closed", "down"]
    operation, request, parameters = near.calls[0]
    assert operation is SEND_STREAMING_MESSAGE
    assert isinstance(request, SendMessageRequest)
    assert parameters == ServiceParameters(version="1.0", extensions=("urn:x",))


async def test_values_and_errors_pass_as_they_are() -> None:
    async with connect(Near(HI)) as client:
        assert await client.start("go") is HI
        with pytest.raises(TaskNotFoundError):
            await client.get_task(GetTaskRequest(id="x"))
        with pytest.raises(UnsupportedOperationError):
            await client.get_extended_agent_card()


async def test_a_stream_in_this_process_ends_when_its_reader_stops() -> None:
    near = Near(WORKING, WORKING)
    async with connect(near) as client:
        async with aclosing(client.stream("go")) as events:
            await anext(events)
        assert near.log == ["up", "closed"]


async def test_an_agent_in_this_process_has_to_be_opened() -> None:
    with pytest.raises(ConfigurationError, match="async with"):
        await connect(Near(HI)).ask("go")


def test_a_near_agent_is_one() -> None:
    agent: InProcess = Near()
    assert isinstance(agent, InProcess)


class Pigeon:
    """A channel of a custom binding."""

    def __init__(self, interface: AgentInterface, options: ChannelOptions) -> None:
        self.interface = interface
        self.options = options
        self.requests: list[tuple[str, str]] = []
        self.closed = False

    async def call(self, operation: Operation, request: Any) -> Any:
        self.requests.append((operation.name, request.tenant))
        return WORKING

    async def stream(
        self, operation: Operation, request: Any, *, after: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        assert after is None
        self.requests.append((operation.name, request.tenant))
        yield TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=TaskState.FAILED))

    async def aclose(self) -> None:
        self.closed = True


async def test_a_custom_binding_gets_a_channel_of_its_own(agent: Script) -> None:
    pigeons: list[Pigeon] = []

    def bred(interface: AgentInterface, options: ChannelOptions) -> Pigeon:
        pigeons.append(Pigeon(interface, options))
        return pigeons[-1]

    loft = {"url": "pigeon:7", "protocolBinding": "urn:pigeon", "protocolVersion": "1.0", "tenant": "north"}
    agent.offer(supportedInterfaces=[loft])
    async with connect(
        agent.url, channels={"urn:pigeon": bred}, headers={"X-Own": "y"}, extensions=["urn:x"]
    ) as client:
        assert await client.get_task(GetTaskRequest(id="t")) is WORKING
        with pytest.raises(TaskFailed):
            await client.ask("go")
    (pigeon,) = pigeons
    assert pigeon.interface.url == "pigeon:7"
    assert (dict(pigeon.options.headers), pigeon.options.extensions) == ({"x-own": "y"}, ("urn:x",))
    assert pigeon.requests == [("GetTask", "north"), ("SendStreamingMessage", "north")]
    assert pigeon.closed


class Counting:
    """A transport of the user's own: here one that hands on to another."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.urls: list[str] = []
        self.closed = False

    def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> AbstractAsyncContextManager[HttpResponse]:
        self.urls.append(url)
        opened: AbstractAsyncContextManager[HttpResponse] = self.inner.open(method, url, headers, body)
        return opened

    async def aclose(self) -> None:
        self.closed = True


async def test_a_transport_of_the_users_own_stays_the_users(agent: Script) -> None:
    agent.answers["SendMessage"] = [result({"message": message("hi")})]
    inner = AiohttpTransport()
    mine = Counting(inner)
    async with connect(agent.url, http=mine) as client:
        await client.start("go")
    assert mine.urls == [f"{agent.url}/.well-known/agent-card.json", f"{agent.url}/rpc"]
    assert not mine.closed
    await inner.aclose()
