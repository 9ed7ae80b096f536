"""The draft in both of its JSON bindings, for the tests of it."""

from typing import Any

import msgspec

from dragoman import operations, types
from dragoman.dialects.base import Call, HttpRequest
from dragoman.dialects.draft.jsonrpc import JsonRpc
from dragoman.dialects.draft.rest import Rest
from dragoman.operations import Operation

__all__ = ["REST", "RPC", "WEATHER", "call", "decoded", "event_of", "post", "sent", "written"]

RPC, REST = JsonRpc(), Rest()
WEATHER: dict[str, Any] = {"role": "user", "parts": [{"text": "What is the weather today?"}], "messageId": "msg-uuid"}


def decoded(request: HttpRequest) -> Any:
    outcome = REST.decode_request(request)
    assert isinstance(outcome, Call), outcome
    return outcome.request


def post(path: str, body: Any) -> HttpRequest:
    return HttpRequest("POST", path, "", {"content-type": "application/a2a+json"}, msgspec.json.encode(body))


def sent(message: dict[str, Any], **more: Any) -> types.SendMessageRequest:
    request: types.SendMessageRequest = decoded(post("/v1/message:send", {"message": message, **more}))
    return request


def call(operation: Operation, reply_to: Any = None) -> Call:
    return Call(operation, None, types.ServiceParameters(), reply_to)


def written(operation: Operation, result: Any) -> Any:
    """The result as JSON, the same in both bindings."""
    over_rest = msgspec.json.decode(REST.encode_result(call(operation), result).body)
    assert msgspec.json.decode(RPC.encode_result(call(operation, 1), result).body)["result"] == over_rest
    return over_rest


def event_of(event: types.StreamEvent) -> Any:
    framed = REST.encode_event(call(operations.SUBSCRIBE_TO_TASK), event, 3)
    return msgspec.json.decode(framed.partition(b"data: ")[2])
