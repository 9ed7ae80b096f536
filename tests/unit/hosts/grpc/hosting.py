"""The application that the tests of gRPC call: a scripted agent behind the dialects that are wanted."""

from collections.abc import Sequence
from typing import Any

from dragoman import operations
from dragoman.audit import AuditLog
from dragoman.core.capability import activated_extensions
from dragoman.dialects.base import Dialect, HttpReply, Target
from dragoman.dialects.card import encode_card
from dragoman.dialects.negotiate import Negotiator
from dragoman.dialects.v0_3.grpc import Grpc as OlderGrpc
from dragoman.dialects.v1_0.grpc import Grpc
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.engine.service import Service
from dragoman.hosts.account import Account
from dragoman.hosts.asgi import Application
from dragoman.hosts.cards import CardPublisher
from dragoman.hosts.gate import Gate
from dragoman.hosts.keys import KeyPublisher
from dragoman.hosts.origin import Proxies
from dragoman.operations import Operation
from dragoman.testing.clock import FakeClock
from dragoman.types.card import AgentCapabilities, AgentCard, AgentExtension
from dragoman.types.events import TaskStatusUpdateEvent
from dragoman.types.requests import ServiceParameters
from dragoman.types.task import Task
from tests.unit.engine.stage import Stage
from tests.unit.hosts.grpc.driver import Answer, Line, framed

__all__ = [
    "EXTENSION",
    "GRPC",
    "OLDER",
    "PREFIX",
    "TARGET",
    "application",
    "application_of",
    "body",
    "line_to",
    "result",
    "states",
]

EXTENSION = "https://example.org/extensions/traced"
GRPC = Grpc()
OLDER = OlderGrpc()
DIALECTS = (JsonRpc(), GRPC, OLDER)
SERVED = (Grpc.service, OlderGrpc.service)
PREFIX = f"/{Grpc.service}/"
TARGET = Target(parameters=ServiceParameters(version="1.0"))
CAPABILITIES = AgentCapabilities(streaming=True, extensions=(AgentExtension(uri=EXTENSION),))


def _card_at(_base: str) -> AgentCard:
    return AgentCard(
        name="Scripted",
        description="Does what it is told.",
        version="1",
        supported_interfaces=(),
        capabilities=CAPABILITIES,
        default_input_modes=("text/plain",),
        default_output_modes=("text/plain",),
        skills=(),
    )


def application(
    service: Service, dialects: Sequence[Dialect], services: Sequence[str], *, max_bytes: int = 100_000
) -> Application:
    async def nothing() -> None:
        pass

    return Application(
        service,
        Negotiator(dialects),
        CardPublisher(_card_at, encode_card, since=FakeClock().now()),
        keys=KeyPublisher(lambda: None),
        proxies=Proxies(()),
        bindings=(),
        grpc_services=services,
        max_body_bytes=max_bytes,
        activated=lambda requested: activated_extensions(requested, CAPABILITIES),
        first=nothing,
        open_=nothing,
        close=nothing,
        gate=Gate(),
        account=Account(AuditLog()),
    )


def application_of(stage: Stage, **options: Any) -> Application:
    return application(stage.service, DIALECTS, SERVED, **options)


def body(operation: Operation, request: Any) -> bytes:
    return framed(GRPC.encode_request(operation, request, TARGET).body)


def result(operation: Operation, answer: Answer) -> Any:
    """What a client makes of the answer."""
    return GRPC.decode_result(operation, HttpReply(200, answer.trailers, b"".join(answer.messages)))


def line_to(operation: Operation, request: Any, **headers: str) -> Line:
    line = Line(PREFIX + operation.name, {name.replace("_", "-"): value for name, value in headers.items()})
    line.say(body(operation, request))
    return line


def states(answer: Answer) -> list[str]:
    events = [GRPC.decode_event(operations.SEND_STREAMING_MESSAGE, message) for message in answer.messages]
    return [event.status.state.value for event in events if isinstance(event, Task | TaskStatusUpdateEvent)]
