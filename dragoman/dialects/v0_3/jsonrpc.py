"""A2A 0.3 over JSON-RPC: methods named as in the schema of 0.3.0, results that say in `kind` what they are.

Clients of 0.3 expect a stream from what streams, whatever comes: errors of it are events, even before it has begun.
"""

from typing import Any

import msgspec

from dragoman import operations
from dragoman.dialects.base import Call, HttpReply
from dragoman.dialects.envelope import Id, Opened
from dragoman.dialects.failures import object_of
from dragoman.dialects.jsonrpc import JsonRpcBinding
from dragoman.dialects.sse import frame
from dragoman.dialects.status import Status
from dragoman.dialects.v0_3.codecs import RPC_REQUESTS, RPC_RESULTS
from dragoman.errors import A2AError
from dragoman.operations import Operation
from dragoman.types.events import StreamEvent

__all__ = ["JsonRpc"]

_CONFIG = "tasks/pushNotificationConfig"


class _Streamed(msgspec.Struct, frozen=True):
    """The id of a request whose answer is a stream."""

    id: Id


class JsonRpc(JsonRpcBinding):
    """JSON-RPC, version 0.3."""

    key = "0.3/JSONRPC"
    version = "0.3"

    methods = {  # noqa: RUF012 -- declared as class variable above
        "message/send": operations.SEND_MESSAGE,
        "message/stream": operations.SEND_STREAMING_MESSAGE,
        "tasks/get": operations.GET_TASK,
        "tasks/cancel": operations.CANCEL_TASK,
        "tasks/resubscribe": operations.SUBSCRIBE_TO_TASK,
        f"{_CONFIG}/set": operations.CREATE_PUSH_CONFIG,
        f"{_CONFIG}/get": operations.GET_PUSH_CONFIG,
        f"{_CONFIG}/list": operations.LIST_PUSH_CONFIGS,
        f"{_CONFIG}/delete": operations.DELETE_PUSH_CONFIG,
        "agent/getAuthenticatedExtendedCard": operations.GET_EXTENDED_AGENT_CARD,
    }
    requests = RPC_REQUESTS
    results = RPC_RESULTS

    def error_data(self, error: A2AError, status: Status) -> Any:  # noqa: ARG002 -- the same for all
        return object_of(error) or []

    def reply_to(self, operation: Operation, opened: Opened) -> Any:
        return _Streamed(opened.id) if operation.streams else opened.id

    def encode_event(self, call: Call, event: StreamEvent, seq: int | None) -> bytes:
        plain = Call(call.operation, call.request, call.parameters, _id_in(call.reply_to))
        return super().encode_event(plain, event, seq)

    def encode_stream_error(self, call: Call, error: A2AError) -> bytes:
        # Without a name: of an event named `error` the official Python SDK 1.3.0 reads no code.
        return frame(super().encode_error(error, _id_in(call.reply_to)).body)

    def encode_error(self, error: A2AError, reply_to: Any) -> HttpReply:
        reply = super().encode_error(error, _id_in(reply_to))
        if not isinstance(reply_to, _Streamed) or reply.status != 200:  # noqa: PLR2004 -- else HTTP itself has said it
            return reply
        return HttpReply(200, {"content-type": "text/event-stream", "cache-control": "no-store"}, frame(reply.body))


def _id_in(reply_to: Any) -> Any:
    return reply_to.id if isinstance(reply_to, _Streamed) else reply_to
