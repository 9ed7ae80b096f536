"""Errors of what streams over JSON-RPC: always a stream of one event, which official clients read by its data."""

import json

from dragoman.dialects.base import Call, HttpRequest
from dragoman.dialects.sse import EventReader
from dragoman.dialects.v0_3.jsonrpc import JsonRpc
from dragoman.errors import TaskNotFoundError


def test_an_error_of_a_stream_is_an_event_without_a_name_before_and_after_the_stream_has_begun() -> None:
    body = b'{"jsonrpc":"2.0","id":7,"method":"tasks/resubscribe","params":{"id":"t"}}'
    dialect = JsonRpc()
    call = dialect.decode_request(HttpRequest("POST", "/", "", {"content-type": "application/json"}, body))
    assert isinstance(call, Call)
    before = dialect.encode_error(TaskNotFoundError(), call.reply_to)
    assert before.headers["content-type"] == "text/event-stream"
    assert before.body == dialect.encode_stream_error(call, TaskNotFoundError())
    (event,) = EventReader().feed(before.body)
    assert event.event == "message"
    assert json.loads(event.data) == {
        "jsonrpc": "2.0",
        "id": 7,
        "error": {"code": -32001, "message": "Task not found"},
    }
