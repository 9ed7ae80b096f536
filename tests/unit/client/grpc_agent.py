"""An agent over gRPC that answers by a script: raw messages, any status, silence. It keeps what it was asked."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pybase64

from dragoman.client.channel import Channel, ChannelOptions
from dragoman.client.dialing import grpcio
from dragoman.client.grpc import open_grpc
from dragoman.dialects.base import Call, HttpReply
from dragoman.dialects.v1_0.grpc import Grpc
from dragoman.errors import A2AError
from dragoman.operations import GET_TASK, OPERATIONS
from dragoman.types.card import AgentInterface
from dragoman.types.content import Message, Part, Role
from dragoman.types.events import StreamEvent
from dragoman.types.requests import GetTaskRequest, SendMessageRequest, ServiceParameters
from dragoman.types.task import Task, TaskState, TaskStatus

Answer = Callable[["Asked"], Awaitable[bytes]]
grpc: Any = grpcio()
GRPC = Grpc()
GET = GetTaskRequest(id="t-1")
TASK = Task(id="t-1", context_id="c-1", status=TaskStatus(state=TaskState.WORKING))
HELLO = Message(message_id="m-1", role=Role.USER, parts=(Part(text="hello"),))
SEND = SendMessageRequest(message=HELLO)
BY_NAME = {operation.name: operation for operation in OPERATIONS}


@dataclass(frozen=True)
class Asked:
    """One call as it came."""

    method: str
    metadata: Mapping[str, str | bytes]
    message: bytes
    context: Any

    @property
    def call(self) -> Call:
        return Call(BY_NAME[self.method], None, ServiceParameters(version="1.0"))


@dataclass
class GrpcAgent:
    """Answers by the name of the method. A stream's answers are given one after another; then it ends."""

    port: int = 0
    answers: dict[str, Sequence[Answer]] = field(default_factory=dict[str, Sequence[Answer]])
    asked: list[Asked] = field(default_factory=list[Asked])
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a caller has ended a call before its end."""
    server: Any = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def service(self, details: Any) -> Any:
        name = details.method.rpartition("/")[2]
        if name not in self.answers:
            return None

        async def stream(message: bytes, context: Any) -> AsyncGenerator[bytes, None]:
            asked = Asked(name, dict(context.invocation_metadata()), message, context)
            self.asked.append(asked)
            try:
                for answer in self.answers[name]:
                    yield await answer(asked)
            except asyncio.CancelledError:
                self.left.set()
                raise

        async def one(message: bytes, context: Any) -> bytes:
            return await anext(stream(message, context))

        if BY_NAME[name].streams:
            return grpc.unary_stream_rpc_method_handler(stream)
        return grpc.unary_unary_rpc_method_handler(one)


def result(value: Any) -> Answer:
    async def answer(asked: Asked) -> bytes:
        return GRPC.encode_result(asked.call, value).body

    return answer


def event(value: StreamEvent) -> Answer:
    async def answer(asked: Asked) -> bytes:
        return GRPC.encode_event(asked.call, value, None)

    return answer


def raw(message: bytes) -> Answer:
    async def answer(_asked: Asked) -> bytes:
        return message

    return answer


def error(failure: A2AError, *metadata: tuple[str, str]) -> Answer:
    """The error as an agent of A2A 1.0 says it, with further metadata."""

    async def answer(asked: Asked) -> bytes:
        reply: HttpReply = GRPC.encode_error(failure, None)
        details = reply.headers["grpc-status-details-bin"]
        binary = pybase64.b64decode(details + "=" * (-len(details) % 4))
        asked.context.set_trailing_metadata((("grpc-status-details-bin", binary), *metadata))
        await status(int(reply.headers["grpc-status"]), failure.message)(asked)
        return b""

    return answer


def status(code: int, text: str) -> Answer:
    """A bare status."""

    async def answer(asked: Asked) -> bytes:
        [found] = [known for known in grpc.StatusCode if known.value[0] == code]
        await asked.context.abort(found, text)
        return b""

    return answer


async def silent(_asked: Asked) -> bytes:
    """Says nothing for as long as the caller stays."""
    await asyncio.Event().wait()
    return b""


@asynccontextmanager
async def grpc_agent(credentials: Any = None, port: int = 0) -> AsyncGenerator[GrpcAgent, None]:
    """On a port of its own unless one is given, with TLS if there are credentials."""
    agent = GrpcAgent()
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((agent,))
    if credentials is None:
        agent.port = server.add_insecure_port(f"127.0.0.1:{port}")
    else:
        agent.port = server.add_secure_port(f"127.0.0.1:{port}", credentials)
    agent.server = server
    await server.start()
    try:
        yield agent
    finally:
        await server.stop(None)


def channel_to(url: str, *, tenant: str = "", secure: bool = False, verify: Any = True, **options: Any) -> Channel:
    interface = AgentInterface(url=url, protocol_binding="GRPC", protocol_version="1.0", tenant=tenant)
    return open_grpc(interface, GRPC, ChannelOptions(**options), verify=verify, secure=secure)


async def got(url: str, **options: Any) -> Any:
    """What GetTask gives, over a channel of its own."""
    async with aclosing(channel_to(url, **options)) as channel:
        return await channel.call(GET_TASK, GET)
