"""JSON-RPC 2.0: framing, ids, media types, statuses, and what a client makes of an agent's answer."""

from typing import Any

import msgspec
import pytest

from dragoman import errors, operations, types
from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.sse import EventReader
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.errors import A2AError
from dragoman.types import ServiceParameters
from tests.unit.dialects import samples

DIALECT = JsonRpc()
GET = b'"jsonrpc":"2.0","method":"GetTask","params":{"id":"t"}'


def decode(body: bytes, content_type: str | None = "application/json") -> Call | Refusal:
    headers = {} if content_type is None else {"content-type": content_type}
    return DIALECT.decode_request(HttpRequest("POST", "/", "", headers, body))


@pytest.mark.parametrize("given", [b'"a"', b'""', b"7", b"-1", b"0", b"1.5", b"1e2", b"123456789012345678901", b"null"])
def test_the_id_is_echoed_with_its_type(given: bytes) -> None:
    call = decode(b'{"id":' + given + b"," + GET + b"}")
    assert isinstance(call, Call)
    expected = msgspec.json.decode(given)
    for reply in (
        DIALECT.encode_result(call, samples.TASK),
        DIALECT.encode_error(errors.TaskNotFoundError(), call.reply_to),
    ):
        echoed = msgspec.json.decode(reply.body)["id"]
        assert echoed == expected
        assert type(echoed) is type(expected)


def test_a_notification_is_answered_with_a_null_id() -> None:
    call = decode(b"{" + GET + b"}")
    assert isinstance(call, Call)
    assert b'"id":null' in DIALECT.encode_result(call, samples.TASK).body


@pytest.mark.parametrize(
    ("body", "error", "echoed"),
    [
        (b"", errors.ParseError, None),
        (b"{", errors.ParseError, None),
        (b"\xff", errors.ParseError, None),
        (b'{"id":1,"jsonrpc":"2.0","method":"GetTask","params":{"id":"\xff"}}', errors.ParseError, 1),
        (b"[]", errors.InvalidRequestError, None),
        (b"[{" + GET + b"}]", errors.InvalidRequestError, None),
        (b'"x"', errors.InvalidRequestError, None),
        (b'{"id":{},' + GET + b"}", errors.InvalidRequestError, None),
        (b'{"id":[],' + GET + b"}", errors.InvalidRequestError, None),
        (b'{"id":true,' + GET + b"}", errors.InvalidRequestError, None),
        (b'{"id":1,"method":"GetTask","params":{"id":"t"}}', errors.InvalidRequestError, 1),
        (b'{"id":"x","jsonrpc":"1.0","method":"GetTask"}', errors.InvalidRequestError, "x"),
        (b'{"id":1,"jsonrpc":2.0,"method":"GetTask"}', errors.InvalidRequestError, 1),
        (b'{"id":1,"jsonrpc":"2.0"}', errors.InvalidRequestError, 1),
        (b'{"id":1,"jsonrpc":"2.0","method":5}', errors.InvalidRequestError, 1),
        (b'{"id":1,"jsonrpc":"2.0","method":"Nothing"}', errors.MethodNotFoundError, 1),
        (b'{"id":1,"jsonrpc":"2.0","method":"message/send"}', errors.MethodNotFoundError, 1),
        (b'{"id":1,"jsonrpc":"2.0","method":"GetTask"}', errors.InvalidParamsError, 1),
        (b'{"id":1,"jsonrpc":"2.0","method":"GetTask","params":["t"]}', errors.InvalidParamsError, 1),
        (b'{"id":1,"jsonrpc":"2.0","method":"GetTask","params":"t"}', errors.InvalidParamsError, 1),
    ],
)
def test_what_is_no_request_is_refused(body: bytes, error: type[A2AError], echoed: Any) -> None:
    refusal = decode(body)
    assert isinstance(refusal, Refusal)
    assert type(refusal.error) is error
    assert refusal.reply_to == echoed


@pytest.mark.parametrize("params", [b"", b',"params":{}', b',"params":null'])
def test_params_may_be_absent_where_nothing_is_required(params: bytes) -> None:
    call = decode(b'{"id":1,"jsonrpc":"2.0","method":"GetExtendedAgentCard"' + params + b"}")
    assert isinstance(call, Call)
    assert call.request == types.GetExtendedAgentCardRequest()


@pytest.mark.parametrize(
    "content_type",
    [None, "application/json", "Application/JSON; charset=utf-8", "application/a2a+json", "application/a2a+json;v=1"],
)
def test_both_media_types_are_taken(content_type: str | None) -> None:
    assert isinstance(decode(b'{"id":1,' + GET + b"}", content_type), Call)


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "application/xml", "json"])
def test_other_media_types_are_refused_with_the_id(content_type: str) -> None:
    refusal = decode(b'{"id":1,' + GET + b"}", content_type)
    assert isinstance(refusal, Refusal)
    assert isinstance(refusal.error, errors.ContentTypeNotSupportedError)
    assert refusal.reply_to == 1


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.TaskNotFoundError(), 200),
        (errors.InternalError(), 200),
        (errors.ParseError(), 200),
        (errors.RequestTooLargeError(), 413),
        (errors.UnauthenticatedError(), 401),
        (errors.PermissionDeniedError(), 403),
        (errors.UnavailableError(), 503),
    ],
)
def test_the_http_status_is_200_unless_http_has_a_say(error: A2AError, status: int) -> None:
    reply = DIALECT.encode_error(error, 1)
    assert reply.status == status
    assert reply.headers == {"content-type": "application/json"}


def test_an_error_carries_typed_details() -> None:
    violation = errors.FieldViolation("id", "is required")
    body = DIALECT.encode_error(
        errors.InvalidParamsError("no", details={"a": "b", "n": [1]}, violations=[violation]), "x"
    ).body
    assert msgspec.json.decode(body) == {
        "jsonrpc": "2.0",
        "id": "x",
        "error": {
            "code": -32602,
            "message": "no",
            "data": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "INVALID_PARAMS",
                    "domain": "a2a-protocol.org",
                    "metadata": {"a": "b", "n": "[1]"},
                },
                {
                    "@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [{"field": "id", "description": "is required"}],
                },
            ],
        },
    }


def test_people_read_what_a_message_is_before_its_content() -> None:
    call = Call(operations.DELETE_PUSH_CONFIG, None, ServiceParameters(), 1)
    result = DIALECT.encode_result(call, None)
    failure = DIALECT.encode_error(errors.TaskNotFoundError("gone"), "x")
    request = DIALECT.encode_request(operations.GET_TASK, types.GetTaskRequest(id="t"), Target())
    orders = [list(msgspec.json.decode(each.body)) for each in (result, failure, request)]
    assert orders == [["jsonrpc", "id", "result"], ["jsonrpc", "id", "error"], ["jsonrpc", "id", "method", "params"]]


def test_deleting_answers_null() -> None:
    call = Call(operations.DELETE_PUSH_CONFIG, None, ServiceParameters(), 1)
    assert msgspec.json.decode(DIALECT.encode_result(call, None).body) == {"jsonrpc": "2.0", "id": 1, "result": None}


@pytest.mark.parametrize(
    "body",
    [b'{"jsonrpc":"2.0","id":1,"result":null}', b'{"jsonrpc":"2.0","id":1,"result":{}}', b'{"jsonrpc":"2.0","id":1}'],
)
def test_deleting_is_over_whatever_the_result_is(body: bytes) -> None:
    assert DIALECT.decode_result(operations.DELETE_PUSH_CONFIG, HttpReply(200, {}, body)) is None


def test_a_stream_error_is_an_event_of_its_own() -> None:
    call = Call(operations.SUBSCRIBE_TO_TASK, None, ServiceParameters(), "s")
    (event,) = EventReader().feed(DIALECT.encode_stream_error(call, errors.TaskNotFoundError("gone")))
    assert event.event == "error"
    assert msgspec.json.decode(event.data)["id"] == "s"
    with pytest.raises(errors.TaskNotFoundError, match="gone"):
        DIALECT.decode_event(operations.SUBSCRIBE_TO_TASK, event.data)


def test_headers_say_version_extensions_and_trace() -> None:
    parameters = ServiceParameters(version="1.0", extensions=("urn:a", "urn:b"), trace="00-1-2-3")
    sent = DIALECT.encode_request(
        operations.SEND_STREAMING_MESSAGE, samples.REQUESTS[operations.SEND_MESSAGE], Target(parameters=parameters)
    )
    assert sent.headers == {
        "a2a-version": "1.0",
        "a2a-extensions": "urn:a, urn:b",
        "traceparent": "00-1-2-3",
        "content-type": "application/json",
        "accept": "text/event-stream, application/json",
    }
    received = DIALECT.decode_request(sent)
    assert isinstance(received, Call)
    assert received.parameters == parameters


def test_extensions_are_read_with_any_spacing_and_once() -> None:
    headers = {"a2a-extensions": " urn:a ,urn:b,,urn:a"}
    call = DIALECT.decode_request(HttpRequest("POST", "/", "", headers, b'{"id":1,' + GET + b"}"))
    assert isinstance(call, Call)
    assert call.parameters.extensions == ("urn:a", "urn:b")


@pytest.mark.parametrize(
    ("status", "body", "error", "message"),
    [
        (200, b'{"id":1,"error":{"code":-32001,"message":"gone"}}', errors.TaskNotFoundError, "gone"),
        (200, b'{"error":{"code":-32603,"message":"m","data":{"taskId":"t"}}}', errors.InternalError, "m"),
        (200, b'{"error":{"code":-32000,"message":"m","data":[{"reason":"UNSUPPORTED_OPERATION"}]}}',
         errors.UnsupportedOperationError, "m"),
        (400, b'{"error":{"code":-32700,"message":"bad"}}', errors.ParseError, "bad"),
        (500, b'{"code":-32603,"message":"oh"}', errors.InternalError, "oh"),
        (404, b'{"message":"Task not found"}', errors.TaskNotFoundError, "Task not found"),
        (409, b'{"type":"https://a2a-protocol.org/errors/task-not-cancelable","title":"T","detail":"D","status":409}',
         errors.TaskNotCancelableError, "D"),
        (401, b"", errors.UnauthenticatedError, "Authentication required"),
        (403, b"<html>", errors.PermissionDeniedError, "Permission denied"),
        (413, b"too big", errors.RequestTooLargeError, "The request is too large"),
        (503, b"", errors.UnavailableError, "The service is temporarily unavailable"),
        (404, b'{"detail":"Not Found"}', errors.MethodNotFoundError, "Nothing at this address speaks A2A (HTTP 404)"),
    ],
)  # fmt: skip
def test_errors_of_every_family_are_recognised(status: int, body: bytes, error: type[A2AError], message: str) -> None:
    with pytest.raises(error) as caught:
        DIALECT.decode_result(operations.GET_TASK, HttpReply(status, {}, body))
    assert type(caught.value) is error
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("status", "body"),
    [(200, b""), (200, b"<html>hello"), (200, b"[]"), (200, b'{"id":1}'), (200, b'{"result":{}}'),
     (200, b'{"error":5}'),
     (200, b'{"result":{"id":"t","status":5}}'), (204, b""), (302, b"moved"), (500, b"Internal Server Error")],
)  # fmt: skip
def test_what_is_no_answer_is_malformed(status: int, body: bytes) -> None:
    with pytest.raises(errors.ReplyMalformed) as caught:
        DIALECT.decode_result(operations.GET_TASK, HttpReply(status, {}, body))
    assert caught.value.excerpt in body.decode()
    assert caught.value.excerpt or not body


@pytest.mark.parametrize(
    "result",
    [
        b'{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"hi"}]}',
        b'{"message":{"message_id":"m","role":"agent","parts":[{"text":"hi"}]}}',
        b'{"messageId":"m","parts":[{"text":"hi"}]}',
    ],
)
def test_answers_in_older_spelling_are_understood(result: bytes) -> None:
    reply = HttpReply(200, {}, b'{"jsonrpc":"2.0","id":1,"result":' + result + b"}")
    assert DIALECT.decode_result(operations.SEND_MESSAGE, reply) == types.Message(
        message_id="m", role=types.Role.AGENT, parts=(types.Part(text="hi"),)
    )


def test_an_incomplete_task_is_still_a_task() -> None:
    body = b'{"result":{"id":"t","status":{"state":"dreaming"},"artifacts":[{"parts":[]}],"history":null}}'
    assert DIALECT.decode_result(operations.GET_TASK, HttpReply(200, {}, body)) == types.Task(
        id="t",
        context_id="",
        status=types.TaskStatus(state=types.TaskState.UNSPECIFIED),
        artifacts=(types.Artifact(artifact_id="", parts=()),),
    )
