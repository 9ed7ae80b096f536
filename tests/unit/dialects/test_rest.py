"""HTTP+JSON: routes, tenants, queries, media types, and errors."""

from typing import Any

import msgspec
import pytest

from dragoman import errors, operations, types
from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.sse import EventReader
from dragoman.dialects.v1_0.rest import Rest
from dragoman.errors import A2AError
from dragoman.operations import Operation
from dragoman.types import ServiceParameters
from tests.unit.dialects import samples

DIALECT = Rest()
SEND = b'{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"hi"}]}}'


def decode(method: str, target: str, body: bytes = b"", **headers: str) -> Call | Refusal:
    path, _, query = target.partition("?")
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return DIALECT.decode_request(HttpRequest(method, path, query, names, body))


def read(method: str, target: str, body: bytes = b"") -> Any:
    outcome = decode(method, target, body)
    assert isinstance(outcome, Call), outcome
    return outcome.request


def refused(method: str, target: str, body: bytes = b"", **headers: str) -> A2AError:
    outcome = decode(method, target, body, **headers)
    assert isinstance(outcome, Refusal), outcome
    return outcome.error


@pytest.mark.parametrize("tenant", ["", "/acme", "/a%2Fb", "/message:send"])
@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [
        ("POST", "/message:send", operations.SEND_MESSAGE),
        ("POST", "/message:stream", operations.SEND_STREAMING_MESSAGE),
        ("POST", "/message%3Asend", operations.SEND_MESSAGE),
        ("GET", "/tasks/t", operations.GET_TASK),
        ("GET", "/tasks", operations.LIST_TASKS),
        ("POST", "/tasks/t:cancel", operations.CANCEL_TASK),
        ("POST", "/tasks/t:subscribe", operations.SUBSCRIBE_TO_TASK),
        ("GET", "/tasks/t:subscribe", operations.SUBSCRIBE_TO_TASK),
        ("POST", "/tasks/t/pushNotificationConfigs", operations.CREATE_PUSH_CONFIG),
        ("GET", "/tasks/t/pushNotificationConfigs", operations.LIST_PUSH_CONFIGS),
        ("GET", "/tasks/t/pushNotificationConfigs/c", operations.GET_PUSH_CONFIG),
        ("DELETE", "/tasks/t/pushNotificationConfigs/c", operations.DELETE_PUSH_CONFIG),
        ("GET", "/extendedAgentCard", operations.GET_EXTENDED_AGENT_CARD),
    ],
)
def test_every_route_leads_to_its_operation(tenant: str, method: str, path: str, operation: Operation) -> None:
    body = b'{"url":"http://x"}' if operation is operations.CREATE_PUSH_CONFIG else SEND if method == "POST" else b""
    call = decode(method, tenant + path, body)
    assert isinstance(call, Call), call
    assert call.operation is operation
    assert call.request.tenant == {"/a%2Fb": "a/b"}.get(tenant, tenant.removeprefix("/"))


def test_a_path_that_fits_as_it_is_has_no_tenant() -> None:
    assert read("GET", "/tasks/tasks") == types.GetTaskRequest(id="tasks")
    assert read("GET", "/tasks/tasks/t") == types.GetTaskRequest(id="t", tenant="tasks")


@pytest.mark.parametrize(
    ("path", "id_"),
    [("/tasks/a%20b", "a b"), ("/tasks/a%2Fb", "a/b"), ("/tasks/a%3Acancel", "a:cancel"), ("/tasks/%C3%A9", "é"),
     ("/tasks/a:b", "a:b"), ("/tasks/a+b", "a+b"), ("/tasks/100%", "100%")],
)  # fmt: skip
def test_ids_in_the_path_are_decoded(path: str, id_: str) -> None:
    assert read("GET", path).id == id_


def test_ids_in_the_path_must_be_text() -> None:
    assert isinstance(refused("GET", "/tasks/%ff"), errors.InvalidParamsError)
    assert [violation.field for violation in refused("GET", "/tasks/").violations] == ["id"]


@pytest.mark.parametrize("body", [b"", b" ", b"null", b"{}", b'{"id":"other"}', b'{"task_id":"x","metadata":null}'])
@pytest.mark.parametrize("verb", ["cancel", "subscribe"])
def test_cancel_and_subscribe_need_no_body(body: bytes, verb: str) -> None:
    assert read("POST", f"/tasks/t:{verb}", body).id == "t"


def test_the_body_of_a_cancel_may_hold_metadata() -> None:
    assert read("POST", "/tasks/t:cancel", b'{"metadata":{"why":1}}').metadata == {"why": 1}


@pytest.mark.parametrize(
    ("target", "body", "tenant"),
    [
        ("/acme/message:send?tenant=query", b'{"tenant":"body",' + SEND[1:], "acme"),
        ("/message:send?tenant=query", b'{"tenant":"body",' + SEND[1:], "body"),
        ("/message:send?tenant=query", SEND, "query"),
        ("/acme/tasks/t:cancel", b'{"tenant":"body"}', "acme"),
        ("/tasks/t:cancel?tenant=query", b'{"tenant":"body"}', "body"),
        ("/tasks/t:cancel?tenant=query", b"", "query"),
    ],
)
def test_the_tenant_of_the_path_wins(target: str, body: bytes, tenant: str) -> None:
    assert read("POST", target, body).tenant == tenant


def test_the_tenant_of_a_get_may_stand_in_the_query() -> None:
    assert read("GET", "/tasks/t?tenant=acme").tenant == "acme"
    assert read("GET", "/a/tasks/t?tenant=acme").tenant == "a"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", types.ListTasksRequest()),
        (
            "pageSize=2&pageToken=a%2Bb%3D&historyLength=0",
            types.ListTasksRequest(page_size=2, page_token="a+b=", history_length=0),
        ),
        ("page_size=2&context_id=c", types.ListTasksRequest(page_size=2, context_id="c")),
        ("includeArtifacts=true", types.ListTasksRequest(include_artifacts=True)),
        ("includeArtifacts=false&contextId=&unknown=1", types.ListTasksRequest()),
        ("status=working", types.ListTasksRequest(status=types.TaskState.WORKING)),
        ("lastUpdatedAfter=2026-01-31T12:00:00.25Z", types.ListTasksRequest(status_timestamp_after=samples.NOON)),
        (
            "statusTimestampAfter=2026-01-31T14:00:00.25%2B02:00",
            types.ListTasksRequest(status_timestamp_after=samples.NOON),
        ),
        ("contextId=a+b", types.ListTasksRequest(context_id="a b")),
    ],
)  # fmt: skip
def test_queries_are_read(query: str, expected: types.ListTasksRequest) -> None:
    assert read("GET", f"/tasks?{query}") == expected


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("pageSize=abc", "pageSize"), ("pageSize=0", "pageSize"), ("historyLength=-1", "historyLength"),
        ("includeArtifacts=yes", "includeArtifacts"), ("includeArtifacts=1", "includeArtifacts"),
        ("includeArtifacts=True", "includeArtifacts"), ("status=busy", "status"),
        ("statusTimestampAfter=now", "statusTimestampAfter"),
    ],
)  # fmt: skip
def test_wrong_queries_are_refused_by_name(query: str, field: str) -> None:
    error = refused("GET", f"/tasks?{query}")
    assert isinstance(error, errors.InvalidParamsError)
    assert [violation.field for violation in error.violations] == [field]


@pytest.mark.parametrize("query", ["a=%ff", "a=1&" * 200])
def test_a_query_that_cannot_be_read_is_refused(query: str) -> None:
    assert isinstance(refused("GET", f"/tasks?{query}"), errors.InvalidParamsError)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/nothing"),
        ("POST", "/message:other"),
        ("GET", "/a/b/c/d/e"),
        ("GET", "//tasks"),
        ("GET", ""),
    ],
)
def test_there_is_nothing_at_other_paths(method: str, path: str) -> None:
    outcome = decode(method, path)
    assert isinstance(outcome, Refusal)
    assert isinstance(outcome.error, errors.MethodNotFoundError)
    reply = DIALECT.encode_error(outcome.error, outcome.reply_to)
    assert reply.status == 404
    assert "allow" not in reply.headers


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/message:send", "POST"),
        ("DELETE", "/tasks/t", "GET"),
        ("PUT", "/acme/tasks/t:subscribe", "GET, POST"),
        ("PATCH", "/tasks/t/pushNotificationConfigs", "GET, POST"),
        ("POST", "/tasks/t/pushNotificationConfigs/c", "DELETE, GET"),
    ],
)
def test_a_wrong_verb_is_told_the_right_ones(method: str, path: str, allow: str) -> None:
    outcome = decode(method, path)
    assert isinstance(outcome, Refusal)
    reply = DIALECT.encode_error(outcome.error, outcome.reply_to)
    assert reply.status == 405
    assert reply.headers["allow"] == allow
    assert msgspec.json.decode(reply.body)["error"]["code"] == 405


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_of_another_media_type_is_refused(content_type: str) -> None:
    error = refused("POST", "/message:send", SEND, content_type=content_type)
    assert isinstance(error, errors.ContentTypeNotSupportedError)


def test_an_empty_body_needs_no_media_type() -> None:
    assert isinstance(decode("POST", "/tasks/t:cancel", content_type="text/plain"), Call)
    assert isinstance(decode("GET", "/tasks/t", content_type="text/plain"), Call)
    assert isinstance(decode("POST", "/message:send", SEND, content_type="application/a2a+json; charset=utf-8"), Call)


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        (None, "application/a2a+json"),
        ("*/*", "application/a2a+json"),
        ("application/json", "application/json"),
        ("text/html, application/json;q=0.9", "application/json"),
        ("application/a2a+json, application/json", "application/a2a+json"),
    ],
)
def test_the_media_type_follows_what_the_caller_accepts(accept: str | None, media_type: str) -> None:
    headers = {} if accept is None else {"accept": accept}
    for dialect, expected in ((DIALECT, media_type), (Rest(media_type="json"), "application/json")):
        call = dialect.decode_request(HttpRequest("GET", "/tasks/t", "", headers))
        assert isinstance(call, Call)
        assert dialect.encode_result(call, samples.TASK).headers == {"content-type": expected}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"{", errors.ParseError),
        (b"\xff", errors.ParseError),
        (b"[]", errors.InvalidParamsError),
        (b"", errors.InvalidParamsError),
    ],
)
@pytest.mark.parametrize("path", ["/message:send", "/tasks/t/pushNotificationConfigs"])
def test_bodies_that_cannot_be_read_are_refused(path: str, body: bytes, error: type[A2AError]) -> None:
    assert type(refused("POST", path, body)) is error


def test_an_error_is_a_google_rpc_status_in_plain_json() -> None:
    reply = DIALECT.encode_error(errors.TaskNotFoundError(details={"taskId": "t"}), None)
    assert reply.status == 404
    assert reply.headers == {"content-type": "application/json"}
    assert msgspec.json.decode(reply.body) == {
        "error": {
            "code": 404,
            "status": "NOT_FOUND",
            "message": "Task not found",
            "details": [
                {
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": "TASK_NOT_FOUND",
                    "domain": "a2a-protocol.org",
                    "metadata": {"taskId": "t"},
                }
            ],
        }
    }


def test_deleting_answers_an_empty_object_and_reads_any_success() -> None:
    call = Call(operations.DELETE_PUSH_CONFIG, None, ServiceParameters(), None)
    reply = DIALECT.encode_result(call, None)
    assert (reply.status, reply.body) == (200, b"{}")
    for answer in (reply, HttpReply(204, {}), HttpReply(200, {})):
        assert DIALECT.decode_result(operations.DELETE_PUSH_CONFIG, answer) is None


def test_a_created_config_may_be_answered_with_201() -> None:
    body = b'{"id":"c","taskId":"t","url":"http://x"}'
    config = DIALECT.decode_result(operations.CREATE_PUSH_CONFIG, HttpReply(201, {}, body))
    assert config == types.TaskPushNotificationConfig(url="http://x", id="c", task_id="t")


@pytest.mark.parametrize("event", ["error", "message"])
def test_an_error_in_a_stream_is_found_whatever_the_event_is_called(event: str) -> None:
    call = Call(operations.SUBSCRIBE_TO_TASK, None, ServiceParameters(), None)
    sent = DIALECT.encode_stream_error(call, errors.UnsupportedOperationError("over"))
    (received,) = EventReader().feed(sent.replace(b"event: error", f"event: {event}".encode()))
    assert received.event == event
    with pytest.raises(errors.UnsupportedOperationError, match="over"):
        DIALECT.decode_event(operations.SUBSCRIBE_TO_TASK, received.data)


@pytest.mark.parametrize("data", ["", "hello", "{}", '{"task":5}', '{"task":{"id":"t"},"message":{}}', "null"])
def test_an_event_that_is_none_is_malformed(data: str) -> None:
    with pytest.raises(errors.ReplyMalformed):
        DIALECT.decode_event(operations.SUBSCRIBE_TO_TASK, data)


def test_a_client_puts_everything_where_it_belongs() -> None:
    sent = DIALECT.encode_request(
        operations.CANCEL_TASK, types.CancelTaskRequest(id="a/b", metadata={"x": 1}), Target(tenant="my org")
    )
    assert (sent.method, sent.path, sent.query) == ("POST", "/my%20org/tasks/a%2Fb:cancel", "")
    assert msgspec.json.decode(sent.body)["metadata"] == {"x": 1}
    listed = DIALECT.encode_request(operations.LIST_TASKS, samples.REQUESTS[operations.LIST_TASKS], Target())
    assert listed.body == b""
    assert "contextId=c%201%2B%26%2F" in listed.query.split("&")
    assert "includeArtifacts=true" in listed.query.split("&")
    assert "content-type" not in listed.headers
    assert listed.headers["a2a-version"] == "1.0"
