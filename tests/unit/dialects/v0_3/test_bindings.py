"""How 0.3 is called and answered: names, routes, headers, errors."""

import json

import pytest

from dragoman import errors, operations, types
from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.sse import EventReader
from dragoman.dialects.status import HTTP_0_3, TABLE
from dragoman.dialects.v0_3.jsonrpc import JsonRpc
from dragoman.dialects.v0_3.rest import Rest
from dragoman.errors import A2AError, FieldViolation, InvalidParamsError, MethodNotFoundError
from dragoman.operations import Operation
from tests.unit.dialects import samples

RPC, REST = JsonRpc(), Rest()
FIRST = [status.error for status in TABLE if status.error not in {errors.RequestTooLargeError, errors.UnavailableError}]
"""Errors that their code tells apart."""


def post(method: str, params: str = "{}", request_id: str = "7", **headers: str) -> Call | Refusal:
    body = f'{{"jsonrpc":"2.0","id":{request_id},"method":"{method}","params":{params}}}'
    return RPC.decode_request(HttpRequest("POST", "", "", headers, body.encode()))


@pytest.mark.parametrize(
    ("verb", "path", "operation"),
    [
        ("POST", "/v1/message:send", operations.SEND_MESSAGE),
        ("POST", "/v1/message:stream", operations.SEND_STREAMING_MESSAGE),
        ("GET", "/v1/tasks/t-1", operations.GET_TASK),
        ("GET", "/v1/tasks", operations.LIST_TASKS),
        ("POST", "/v1/tasks/t-1:cancel", operations.CANCEL_TASK),
        ("GET", "/v1/tasks/t-1:subscribe", operations.SUBSCRIBE_TO_TASK),
        ("POST", "/v1/tasks/t-1/pushNotificationConfigs", operations.CREATE_PUSH_CONFIG),
        ("GET", "/v1/tasks/t-1/pushNotificationConfigs/p-1", operations.GET_PUSH_CONFIG),
        ("GET", "/v1/tasks/t-1/pushNotificationConfigs", operations.LIST_PUSH_CONFIGS),
        ("DELETE", "/v1/tasks/t-1/pushNotificationConfigs/p-1", operations.DELETE_PUSH_CONFIG),
        ("GET", "/v1/card", operations.GET_EXTENDED_AGENT_CARD),
    ],
)
def test_a_client_calls_the_routes_of_the_proto(verb: str, path: str, operation: Operation) -> None:
    request = REST.encode_request(operation, samples.REQUESTS[operation], Target())
    assert (request.method, request.path) == (verb, path)


@pytest.mark.parametrize("verb", ["GET", "POST"])
@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"name":"tasks/other"}'])
def test_a_subscription_is_taken_with_either_verb_and_any_body(verb: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    outcome = REST.decode_request(HttpRequest(verb, "/v1/tasks/t:subscribe", "", headers, body))
    assert isinstance(outcome, Call)
    assert outcome.request == types.SubscribeToTaskRequest(id="t", turn=True)


@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"id":"t"}', b'{"name":"tasks/t"}'])
def test_a_cancellation_is_taken_with_any_body(body: bytes) -> None:
    outcome = REST.decode_request(HttpRequest("POST", "/v1/tasks/t:cancel", "", {}, body))
    assert isinstance(outcome, Call)
    assert outcome.request == types.CancelTaskRequest(id="t")


def test_a_client_cancels_in_the_words_of_the_proto() -> None:
    sent = REST.encode_request(operations.CANCEL_TASK, types.CancelTaskRequest(id="t"), Target())
    assert json.loads(sent.body) == {"name": "tasks/t"}


def test_a_tenant_stands_in_front_of_the_path_and_among_the_params() -> None:
    asked = types.GetTaskRequest(id="t")
    assert REST.encode_request(operations.GET_TASK, asked, Target(tenant="a/b")).path == "/a%2Fb/v1/tasks/t"
    sent = RPC.encode_request(operations.GET_TASK, asked, Target(tenant="a/b"))
    assert json.loads(sent.body)["params"] == {"tenant": "a/b", "id": "t"}


def test_the_method_of_a_list_is_not_found() -> None:
    for method in ("tasks/list", "ListTasks", "SendMessage"):
        outcome = post(method)
        assert isinstance(outcome, Refusal)
        assert (type(outcome.error), outcome.reply_to) == (MethodNotFoundError, 7)


def test_the_extended_card_needs_no_params() -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}'
    assert isinstance(RPC.decode_request(HttpRequest("POST", "", body=body)), Call)


@pytest.mark.parametrize("dialect", [RPC, REST], ids=lambda dialect: dialect.binding)
def test_extensions_have_both_names_and_the_version_is_said(dialect: JsonRpc | Rest) -> None:
    target = Target(parameters=types.ServiceParameters(extensions=("urn:a", "urn:b")))
    request = dialect.encode_request(operations.GET_TASK, types.GetTaskRequest(id="t"), target)
    assert request.headers["a2a-version"] == "0.3"
    assert request.headers["a2a-extensions"] == request.headers["x-a2a-extensions"] == "urn:a, urn:b"
    outcome = dialect.decode_request(request)
    assert isinstance(outcome, Call)
    assert outcome.parameters.extensions == ("urn:a", "urn:b")
    assert outcome.parameters.version == "0.3"


@pytest.mark.parametrize("name", ["a2a-extensions", "x-a2a-extensions"])
def test_extensions_are_read_under_either_name(name: str) -> None:
    outcome = post("tasks/get", '{"id":"t"}', **{name: "urn:a"})
    assert isinstance(outcome, Call)
    assert outcome.parameters.extensions == ("urn:a",)


@pytest.mark.parametrize("error", FIRST)
@pytest.mark.parametrize("dialect", [RPC, REST], ids=lambda dialect: dialect.binding)
def test_errors_come_back_as_what_they_were(dialect: JsonRpc | Rest, error: type[A2AError]) -> None:
    violation = FieldViolation("message.parts[0]", "must be something else")
    sent = error("told so", details={"taskId": "t", "number": 1}, violations=(violation,))
    reply = dialect.encode_error(sent, None)
    with pytest.raises(error) as caught:
        dialect.decode_result(operations.GET_TASK, reply)
    assert type(caught.value) is error
    assert (caught.value.message, caught.value.details) == ("told so", {"taskId": "t", "number": 1})
    assert caught.value.violations == (violation,)


def test_an_error_over_json_rpc_has_an_object_for_data_or_none() -> None:
    bare = json.loads(RPC.encode_error(errors.TaskNotFoundError(), "x").body)
    assert bare == {"jsonrpc": "2.0", "id": "x", "error": {"code": -32001, "message": "Task not found"}}
    told = json.loads(RPC.encode_error(errors.TaskNotFoundError(details={"taskId": "t"}), None).body)
    assert told["error"]["data"] == {"taskId": "t"}


def test_an_error_over_http_json_says_code_message_and_class() -> None:
    reply = REST.encode_error(errors.TaskNotCancelableError("too late"), None)
    assert (reply.status, reply.headers["content-type"]) == (409, "application/json")
    assert json.loads(reply.body) == {"code": -32002, "message": "too late", "type": "TaskNotCancelableError"}


def test_statuses_over_http_json_are_those_of_deployed_servers() -> None:
    statuses = {status.error: REST.encode_error(status.error(), None).status for status in TABLE}
    assert {error: statuses[error] for error in HTTP_0_3} == HTTP_0_3
    assert statuses[errors.TaskNotFoundError] == 404
    assert statuses[errors.ParseError] == statuses[errors.InvalidRequestError] == 400
    assert statuses[errors.InternalError] == 500


def test_a_wrong_verb_is_told_the_right_ones() -> None:
    outcome = REST.decode_request(HttpRequest("DELETE", "/v1/tasks/t"))
    assert isinstance(outcome, Refusal)
    reply = REST.encode_error(outcome.error, outcome.reply_to)
    assert (reply.status, reply.headers["allow"]) == (405, "GET")


@pytest.mark.parametrize("method", ["message/stream", "tasks/resubscribe"])
def test_who_asks_for_a_stream_is_refused_in_one(method: str) -> None:
    outcome = post(method, "{}", '"seven"')
    assert isinstance(outcome, Refusal)
    assert isinstance(outcome.error, InvalidParamsError)
    (event,) = EventReader().feed(streamed(RPC.encode_error(outcome.error, outcome.reply_to)))
    assert json.loads(event.data)["id"] == "seven"
    with pytest.raises(InvalidParamsError):
        RPC.decode_event(operations.SUBSCRIBE_TO_TASK, event.data)


def test_what_http_itself_says_is_no_stream() -> None:
    call = post("tasks/resubscribe", '{"id":"t"}')
    assert isinstance(call, Call)
    reply = RPC.encode_error(errors.UnauthenticatedError(), call.reply_to)
    assert (reply.status, reply.headers["content-type"]) == (401, "application/json")
    (event,) = EventReader().feed(RPC.encode_stream_error(call, errors.UnavailableError()))
    with pytest.raises(errors.InternalError):
        RPC.decode_event(operations.SUBSCRIBE_TO_TASK, event.data)


def streamed(reply: HttpReply) -> bytes:
    assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream")
    return reply.body


@pytest.mark.parametrize("method", ["message/send", "tasks/get"])
def test_who_asks_for_no_stream_is_refused_in_json(method: str) -> None:
    outcome = post(method)
    assert isinstance(outcome, Refusal)
    reply = RPC.encode_error(outcome.error, outcome.reply_to)
    assert reply.headers["content-type"] == "application/json"
    assert json.loads(reply.body)["id"] == 7


def test_events_repeat_the_id_of_the_request_with_its_type() -> None:
    for request_id, expected in (('"seven"', "seven"), ("7", 7), ("null", None)):
        call = post("tasks/resubscribe", '{"id":"t"}', request_id)
        assert isinstance(call, Call)
        (event,) = EventReader().feed(RPC.encode_event(call, samples.TASK, 3))
        assert json.loads(event.data)["id"] == expected
        assert event.id == "3"


def test_a_host_that_has_no_call_yet_can_refuse_it() -> None:
    assert json.loads(RPC.encode_error(errors.RequestTooLargeError(), None).body)["id"] is None
    assert RPC.encode_error(errors.RequestTooLargeError(), None).status == 413
