"""Canonical values as the JSON of A2A 1.0, for programs that show or store what a client received."""

from typing import Any

import msgspec

from dragoman import operations
from dragoman.dialects.status import status_of
from dragoman.dialects.v1_0.codecs import RESULTS
from dragoman.errors import A2AError
from dragoman.types.card import AgentCard
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.requests import ListTaskPushNotificationConfigsResponse, ListTasksResponse
from dragoman.types.task import Task

__all__ = ["Whole", "code_of", "encode", "encode_event"]

Whole = (
    Task
    | Message
    | ListTasksResponse
    | AgentCard
    | TaskPushNotificationConfig
    | ListTaskPushNotificationConfigsResponse
)
"""What has a JSON object of its own."""

_WHOLE = {
    Task: RESULTS[operations.GET_TASK],
    ListTasksResponse: RESULTS[operations.LIST_TASKS],
    AgentCard: RESULTS[operations.GET_EXTENDED_AGENT_CARD],
    TaskPushNotificationConfig: RESULTS[operations.CREATE_PUSH_CONFIG],
    ListTaskPushNotificationConfigsResponse: RESULTS[operations.LIST_PUSH_CONFIGS],
}
_EVENT = RESULTS[operations.SEND_STREAMING_MESSAGE]


def encode(value: Whole) -> bytes:
    """The value as a JSON object of its own, without white space."""
    if isinstance(value, Message):
        wrapped: Any = _written(_EVENT, value)
        return msgspec.json.encode(wrapped.message)
    return msgspec.json.encode(_written(_WHOLE[type(value)], value))


def encode_event(event: StreamEvent) -> bytes:
    """The event as StreamResponse, which for a Task or a Message is SendMessageResponse too (section 3.2.3)."""
    return msgspec.json.encode(_written(_EVENT, event))


def code_of(error: A2AError, binding: str) -> int | str:
    """The code that the binding has for an error: of JSON-RPC, of HTTP, or of gRPC (section 5.4)."""
    status = status_of(error)
    return {"JSONRPC": status.code, "HTTP+JSON": status.http}.get(binding, status.grpc)


def _written(codec: Any, value: Any) -> Any:
    return codec.write(value)
