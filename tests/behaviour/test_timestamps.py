"""The extension "timestamp" over every cell: as its document has it on the wire, and between our own two sides."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dragoman import Agent, Client, Message, Part, PushOptions, Role, TaskContext, connect
from dragoman.client.receiver.hosting import hosted
from dragoman.client.transport import AiohttpTransport, HttpTransport
from dragoman.errors import TransportError
from dragoman.extensions import ExtendedCall, Extension, Request, Timestamps
from dragoman.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    Artifact,
    GetTaskRequest,
    Json,
    SendMessageRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)
from dragoman.types.reliable import RELIABLE
from tests.behaviour.cells import CELLS, Cell, only
from tests.behaviour.rpc import Bridge
from tests.behaviour.webhooks import receiving
from tests.behaviour.wire import Serve, message, refused

URI = "https://github.com/a2aproject/a2a-samples/extensions/timestamp/v1"
FIELD = "github.com/a2aproject/a2a-samples/extensions/timestamp/v1/timestamp"
NAMED = {"a2a-extensions": URI}
NOON = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)
STAMP = "2031-05-04T12:00:00.000+00:00"


def stamping(**given: Any) -> Agent:
    """Says how it goes, then two chunks, and an artifact that it has stamped itself."""
    agent = Agent("Stamping", store="memory", extensions=[Timestamps(now=lambda: NOON)], **given)

    @agent.skill
    async def tell(task: TaskContext) -> AsyncIterator[Any]:
        """Tell."""
        stamps = task.extension(URI)
        heard = None if stamps is None else stamps.of(task.message)
        await task.status("at it")
        yield f"heard {heard} "
        yield "and that"
        own: dict[str, Json] = {FIELD: "2001-01-01T00:00:00Z", "other": 1}
        yield Artifact(artifact_id="own", parts=(Part(text="x"),), metadata=own)

    return agent


def answering() -> Agent:
    agent = Agent("Answering", store="memory", extensions=[Timestamps(now=lambda: NOON)])

    @agent.skill
    async def answer(text: str) -> Message:
        """Answer."""
        return Message(message_id="", role=Role.AGENT, parts=(Part(text=text),))

    return agent


async def test_what_an_agent_says_is_stamped_where_that_is_asked_for(serve: Serve) -> None:
    wire = await serve(stamping())
    task = await wire.send(headers=NAMED)
    told, own = task["artifacts"]
    assert told["metadata"] == {FIELD: STAMP}
    assert told["extensions"] == [URI]
    assert told["parts"] == [{"text": "heard None and that"}]
    assert own["metadata"] == {FIELD: "2001-01-01T00:00:00Z", "other": 1}
    assert "metadata" not in task["history"][0]
    assert await wire.get(task["id"]) == task
    plain = await wire.send()
    assert "metadata" not in plain["artifacts"][0]
    assert "extensions" not in plain["artifacts"][0]


async def test_in_a_stream_each_message_and_each_artifact_is_stamped_once(serve: Serve) -> None:
    wire = await serve(stamping())
    async with wire.send_stream(headers=NAMED) as stream:
        payloads = await stream.payloads()
    said = [one["statusUpdate"]["status"].get("message") for one in payloads if "statusUpdate" in one]
    assert [one["metadata"] for one in said if one is not None] == [{FIELD: STAMP}]
    chunks = [one["artifactUpdate"] for one in payloads if "artifactUpdate" in one]
    firsts = [one["artifact"]["metadata"][FIELD] for one in chunks if not one.get("append", False)]
    assert firsts == [STAMP, "2001-01-01T00:00:00Z"]
    assert [one for one in chunks if one.get("append", False) and "metadata" in one["artifact"]] == []


async def test_a_direct_answer_is_stamped(serve: Serve) -> None:
    wire = await serve(answering())
    answer = (await wire.call("SendMessage", {"message": message()}, headers=NAMED))["message"]
    assert answer["metadata"] == {FIELD: STAMP}


@pytest.mark.parametrize(
    "stamp", ["yesterday", "2031-05-04", "2031-05-04T12:00:00", "2031-05-04T12:00:00+02:00", "2031-13-04T12:00:00Z", 7]
)
async def test_a_stamp_that_is_no_time_is_refused(serve: Serve, stamp: Any) -> None:
    wire = await serve(stamping())
    with refused("INVALID_PARAMS") as caught:
        await wire.send(message(metadata={FIELD: stamp}), headers=NAMED)
    assert FIELD in caught.value.told
    assert await wire.stored() == []
    await wire.send(message(metadata={FIELD: stamp}))


@pytest.mark.parametrize("stamp", ["2031-05-04T12:00:00Z", "2031-05-04t12:00:00.123456789z", STAMP])
async def test_a_stamp_that_is_a_time_is_read(serve: Serve, stamp: str) -> None:
    wire = await serve(stamping())
    task = await wire.send(message(metadata={FIELD: stamp}), headers=NAMED)
    assert task["artifacts"][0]["parts"][0]["text"].startswith("heard 2031-05-04 12:00:00")
    assert task["history"][0]["metadata"] == {FIELD: stamp}


@only(Cell("1.0", "JSONRPC"))
async def test_a_webhook_gets_what_was_stamped(serve: Serve) -> None:
    async with receiving() as hook:
        wire = await serve(stamping(push=PushOptions(allow=[hook.origin])))
        task = await wire.send(headers=NAMED, configuration={"taskPushNotificationConfig": {"url": hook.url}})
        await hook.until(lambda hook: any("COMPLETED" in str(body) for body in hook.bodies))
    pushed = [body["artifactUpdate"]["artifact"] for body in hook.bodies if "artifactUpdate" in body]
    assert pushed[0]["metadata"] == {FIELD: STAMP}
    assert [one["metadata"] for one in task["artifacts"]] == [pushed[0]["metadata"], pushed[-1]["metadata"]]


# Between our own two sides.

everywhere = pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.key)


class Counting(Timestamps):
    """A clock that says another time whenever it is asked."""

    def __init__(self) -> None:
        super().__init__(now=self.tick)
        self.asked = 0

    def tick(self) -> datetime:
        self.asked += 1
        return NOON + timedelta(seconds=self.asked)


@asynccontextmanager
async def client_in(
    cell: Cell,
    agent: Agent,
    *extensions: str | Extension,
    declared: tuple[str, ...] = (URI, RELIABLE),
    http: HttpTransport | None = None,
) -> AsyncGenerator[Client, None]:
    """A client that can speak nothing else, of an agent on a socket."""
    async with AsyncExitStack() as stack:
        application: Any = agent.asgi(http2=True)
        await stack.enter_async_context(Bridge(application))
        url = await stack.enter_async_context(hosted(application, "127.0.0.1", 0, None))
        url = url.removeprefix("http://") if cell.binding == "GRPC" else url
        version = "1.0-draft" if cell.line == "draft" else cell.line
        card = AgentCard(
            name="Stamping",
            description="",
            version="1",
            supported_interfaces=(AgentInterface(url=url, protocol_binding=cell.binding, protocol_version=version),),
            capabilities=AgentCapabilities(
                streaming=True, extensions=tuple(AgentExtension(uri=uri) for uri in declared)
            ),
            default_input_modes=(),
            default_output_modes=(),
            skills=(),
        )
        yield await stack.enter_async_context(connect(card, versions=[version], extensions=extensions, http=http))


@everywhere
async def test_a_client_stamps_what_it_sends_and_reads_what_comes(cell: Cell) -> None:
    stamps = Counting()
    async with client_in(cell, stamping(), stamps) as client:
        assert await client.ask("hello") == "heard 2031-05-04 12:00:01+00:00 and thatx"
        events = [event async for event in client.stream("hello")]
        asked = stamps.asked
    assert isinstance(events[0], Task)
    assert stamps.of(events[0].history[0]) == NOON + timedelta(seconds=2)
    said = [one.status.message for one in events if isinstance(one, TaskStatusUpdateEvent)]
    assert [stamps.of(one) for one in said if one is not None] == [NOON]
    chunks = [one.artifact for one in events if isinstance(one, TaskArtifactUpdateEvent) and not one.append]
    assert [stamps.of(one) for one in chunks] == [NOON, datetime(2001, 1, 1, tzinfo=UTC)]
    assert asked == 2


@everywhere
async def test_a_client_leaves_agents_alone_that_do_not_declare_it(cell: Cell) -> None:
    async with client_in(cell, stamping(), Counting(), declared=()) as client:
        assert (await client.ask("hello")).startswith("heard None")


class Recorded(Extension):
    """Writes down what passes, and shows messages under another name."""

    uri = URI

    def __init__(self) -> None:
        self.sent: list[tuple[str, str]] = []
        self.received: list[str] = []

    async def on_send(self, request: Request, call: ExtendedCall) -> Request:
        self.sent.append((call.operation, type(request).__name__))
        if isinstance(request, SendMessageRequest):
            metadata = {**(request.metadata or {}), "sent": len(self.sent)}
            return msgspec.structs.replace(request, metadata=metadata)
        return request

    def on_receive(self, received: Any, call: ExtendedCall) -> Any:
        del call
        self.received.append(type(received).__name__)
        if isinstance(received, Task):
            return msgspec.structs.replace(received, metadata={"received": len(self.received)})
        return received


@everywhere
async def test_hooks_of_a_client_see_all_that_passes(cell: Cell) -> None:
    recorded = Recorded()
    async with client_in(cell, stamping(), recorded) as client:
        sent = SendMessageRequest(message=Message(message_id="m", role=Role.USER, parts=(Part(text="hi"),)))
        task = await client.send_message(sent)
        assert isinstance(task, Task)
        assert task.metadata == {"received": 1}
        assert (await client.get_task(GetTaskRequest(id=task.id))).metadata == {"received": 2}
        streamed = SendMessageRequest(message=Message(message_id="n", role=Role.USER, parts=(Part(text="hi"),)))
        events = [event async for event in client.send_streaming_message(streamed)]
    assert recorded.sent == [
        ("SendMessage", "SendMessageRequest"),
        ("GetTask", "GetTaskRequest"),
        ("SendStreamingMessage", "SendMessageRequest"),
    ]
    assert recorded.received[2:] == [type(event).__name__ for event in events]


class Cutting:
    """A transport whose first answer is lost."""

    def __init__(self) -> None:
        self._transport = AiohttpTransport()
        self.cuts = 0

    @asynccontextmanager
    async def open(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> AsyncGenerator[Any, None]:
        async with self._transport.open(method, url, headers, body) as response:
            if not self.cuts:
                self.cuts += 1
                raise TransportError("cut")
            yield response

    async def aclose(self) -> None:
        await self._transport.aclose()


async def test_a_message_that_is_sent_again_has_the_stamp_that_it_had() -> None:
    stamps, cutting = Counting(), Cutting()
    async with client_in(Cell("1.0", "JSONRPC"), stamping(), stamps, http=cutting) as client:
        assert await client.ask("hello") == "heard 2031-05-04 12:00:01+00:00 and thatx"
        tasks = (await client.list_tasks()).tasks
    await cutting.aclose()
    assert cutting.cuts == 1
    assert [stamps.of(task.history[0]) for task in tasks] == [NOON + timedelta(seconds=1)]
