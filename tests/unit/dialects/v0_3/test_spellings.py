"""A2A 0.3 as it stands on the wire: what is read as the same, and what exactly is written."""

import base64
import json
from typing import Any

import msgspec
import pytest

from dragoman import operations, types
from dragoman.dialects.base import Call, HttpRequest, Refusal, Target
from dragoman.dialects.v0_3.jsonrpc import JsonRpc
from dragoman.dialects.v0_3.rest import Rest
from dragoman.operations import Operation
from dragoman.types import TaskState
from tests.unit.dialects import samples

RPC, REST = JsonRpc(), Rest()
TWICE = base64.b64encode(base64.b64encode(b"\x00\xff")).decode()


def rpc(method: str, params: Any = None, **headers: str) -> Call | Refusal:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return RPC.decode_request(HttpRequest("POST", "", "", named, json.dumps(body).encode()))


def rest(method: str, path: str, body: Any = None, query: str = "") -> Call | Refusal:
    raw = b"" if body is None else json.dumps(body).encode()
    return REST.decode_request(HttpRequest(method, path, query, {"content-type": "application/json"}, raw))


def request_in(outcome: Call | Refusal) -> Any:
    assert isinstance(outcome, Call), outcome
    return outcome.request


def fields_of(outcome: Call | Refusal) -> list[str]:
    assert isinstance(outcome, Refusal), outcome
    return [f"{violation.field} {violation.description}" for violation in outcome.error.violations]


def sent(message: dict[str, Any], name: str = "message", **beside: Any) -> dict[str, Any]:
    return {name: {"messageId": "m", "role": "user", **message}, **beside}


def written(dialect: JsonRpc | Rest, operation: Operation, result: Any) -> Any:
    body = json.loads(dialect.encode_result(Call(operation, None, types.ServiceParameters(), 1), result).body)
    return body["result"] if dialect is RPC else body


HELLO = types.Message(message_id="m", role=types.Role.USER, parts=(types.Part(text="hello"),))
SPELLED: dict[str, dict[str, Any]] = {
    "as in JSON-RPC": sent({"kind": "message", "parts": [{"kind": "text", "text": "hello"}]}),
    "as in the proto": {"message": {"messageId": "m", "role": "ROLE_USER", "content": [{"text": "hello"}]}},
    "with names of the proto": {"request": {"message_id": "m", "role": "ROLE_USER", "content": [{"text": "hello"}]}},
    "with a number for the role": sent({"role": 1, "content": [{"text": "hello"}]}),
    "with members that nobody knows": sent({"parts": [{"text": "hello", "new": 1}], "future": {}}, other=[]),
    "with nulls": sent({"parts": [{"text": "hello", "file": None, "data": None}], "taskId": None, "metadata": None}),
}


@pytest.mark.parametrize("params", SPELLED.values(), ids=SPELLED)
def test_either_binding_reads_a_message_in_any_spelling(params: dict[str, Any]) -> None:
    assert request_in(rpc("message/send", params)).message == HELLO
    assert request_in(rest("POST", "/v1/message:send", params)).message == HELLO


PARTS: dict[str, tuple[dict[str, Any], types.Part]] = {
    "bytes": ({"kind": "file", "file": {"bytes": "AP8="}}, types.Part(base64="AP8=")),
    "bytes of the URL-safe alphabet": ({"kind": "file", "file": {"bytes": "AP8"}}, types.Part(base64="AP8=")),
    "bytes that are base64 text": ({"file": {"fileWithBytes": TWICE}}, types.Part(base64="AP8=")),
    "bytes that are not": ({"file": {"fileWithBytes": "AP8="}}, types.Part(base64="AP8=")),
    "no bytes": ({"file": {"fileWithBytes": "", "name": "f"}}, types.Part(base64="", filename="f")),
    "bytes with a name of the proto": ({"file": {"file_with_bytes": TWICE}}, types.Part(base64="AP8=")),
    "address": (
        {"kind": "file", "file": {"uri": "u", "mimeType": "t", "name": "n"}, "metadata": {"a": 1}},
        types.Part(url="u", media_type="t", filename="n", metadata={"a": 1}),
    ),
    "address in the proto": ({"file": {"fileWithUri": "u", "mime_type": "t"}}, types.Part(url="u", media_type="t")),
    "address with the media type of 1.0": (
        {"file": {"uri": "u", "mediaType": "t"}},
        types.Part(url="u", media_type="t"),
    ),
    "data": ({"kind": "data", "data": {"data": {"a": 1}}}, types.Part(data={"data": {"a": 1}})),
    "data in the proto": ({"data": {"data": {"a": 1}}}, types.Part(data={"a": 1})),
    "data without a kind": ({"data": {"a": 1}}, types.Part(data={"a": 1})),
    "data that hold a value": (
        {"kind": "data", "data": {"value": [1]}, "metadata": {"data_part_compat": True, "b": 2}},
        types.Part(data=[1], metadata={"b": 2}),
    ),
}


@pytest.mark.parametrize(("part", "expected"), PARTS.values(), ids=PARTS)
def test_either_binding_reads_a_part_in_any_spelling(part: dict[str, Any], expected: types.Part) -> None:
    assert request_in(rpc("message/send", sent({"parts": [part]}))).message.parts == (expected,)
    assert request_in(rest("POST", "/v1/message:send", sent({"content": [part]}))).message.parts == (expected,)


WRONG: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no message": ({}, ["message is required"]),
    "no parts": (sent({}), ["message.parts is required"]),
    "empty parts": (sent({"parts": []}), ["message.parts must not be empty"]),
    "empty content": (sent({"content": []}), ["message.parts must not be empty"]),
    "no message id": (sent({"messageId": "", "parts": [{"text": ""}]}), ["message.messageId must not be empty"]),
    "no role": (sent({"role": "", "parts": [{"text": ""}]}), ["message.role must be one of ROLE_USER, ROLE_AGENT"]),
    "an empty part": (sent({"parts": [{}]}), ["message.parts[0] must have exactly one of text, file, data"]),
    "two contents": (
        sent({"parts": [{"text": "", "data": {}}]}),
        ["message.parts[0] must have exactly one of text, file, data"],
    ),
    "an empty file": (
        sent({"parts": [{"file": {}}]}),
        ["message.parts[0].file must have exactly one of bytes, uri, fileWithBytes, fileWithUri"],
    ),
    "no base64": (sent({"parts": [{"file": {"bytes": "?"}}]}), ["message.parts[0].file.bytes must be base64"]),
    "data that are no object": (sent({"parts": [{"data": [1]}]}), ["message.parts[0].data must be an object"]),
    "a negative length": (
        sent({"parts": [{"text": ""}]}, configuration={"historyLength": -1}),
        ["configuration.historyLength must not be negative"],
    ),
    "no schemes": (
        sent(
            {"parts": [{"text": ""}]},
            configuration={"pushNotificationConfig": {"url": "u", "authentication": {"schemes": []}}},
        ),
        ["configuration.pushNotificationConfig.authentication.schemes must not be empty"],
    ),
}


@pytest.mark.parametrize(("params", "fields"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_a_message_is_named(params: dict[str, Any], fields: list[str]) -> None:
    assert fields_of(rpc("message/send", params)) == fields
    assert fields_of(rest("POST", "/v1/message:send", params)) == fields


@pytest.mark.parametrize(
    ("configuration", "over_rpc", "over_rest"),
    [
        (None, False, False),
        ({}, False, True),
        ({"blocking": True}, False, False),
        ({"blocking": False}, True, True),
        ({"acceptedOutputModes": ["text/plain"]}, False, True),
    ],
)
def test_who_does_not_say_whether_to_wait_waits_unless_a_proto_says_otherwise(
    configuration: dict[str, Any] | None, *, over_rpc: bool, over_rest: bool
) -> None:
    params = sent({"parts": [{"kind": "text", "text": ""}]}, configuration=configuration)
    assert request_in(rpc("message/send", params)).configuration.return_immediately is over_rpc
    assert request_in(rest("POST", "/v1/message:send", params)).configuration.return_immediately is over_rest


@pytest.mark.parametrize("dialect", [RPC, REST], ids=lambda dialect: dialect.binding)
@pytest.mark.parametrize("at_once", [True, False])
def test_a_client_always_says_whether_to_wait(dialect: JsonRpc | Rest, *, at_once: bool) -> None:
    asked = types.SendMessageConfiguration(return_immediately=at_once)
    request = types.SendMessageRequest(message=HELLO, configuration=asked)
    body = json.loads(dialect.encode_request(operations.SEND_MESSAGE, request, Target()).body)
    assert (body["params"] if dialect is RPC else body)["configuration"] == {"blocking": not at_once}


def test_a_history_length_of_0_sets_no_limit_and_none_can_be_asked_for() -> None:
    assert request_in(rpc("tasks/get", {"id": "t", "historyLength": 0})).history_length is None
    assert request_in(rest("GET", "/v1/tasks/t", query="historyLength=0")).history_length is None
    assert request_in(rest("GET", "/v1/tasks/t", query="history_length=2")).history_length == 2
    asked = RPC.encode_request(operations.GET_TASK, types.GetTaskRequest(id="t", history_length=0), Target())
    assert json.loads(asked.body)["params"] == {"id": "t", "historyLength": 1}


def test_push_configurations_inside_a_message_have_their_name_in_each_binding() -> None:
    request = types.SendMessageRequest(
        message=HELLO, configuration=types.SendMessageConfiguration(task_push_notification_config=samples.CONFIG)
    )
    expected = {
        "id": "p-1",
        "url": "https://example.com/hook",
        "token": "secret",
        "authentication": {"schemes": ["Bearer"], "credentials": "c"},
    }
    over_rpc = json.loads(RPC.encode_request(operations.SEND_MESSAGE, request, Target()).body)["params"]
    assert over_rpc["configuration"] == {"blocking": True, "pushNotificationConfig": expected}
    over_rest = json.loads(REST.encode_request(operations.SEND_MESSAGE, request, Target()).body)
    assert over_rest["configuration"] == {"blocking": True, "pushNotification": expected}


PUSH = {"id": "c", "url": "u", "token": "k", "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "x"}}
CREATED = types.TaskPushNotificationConfig(
    task_id="t",
    id="c",
    url="u",
    token="k",
    authentication=types.AuthenticationInfo(scheme="Bearer", credentials="x"),
)
NAME = "tasks/t/pushNotificationConfigs/c"


@pytest.mark.parametrize(
    "body",
    [
        {"parent": "tasks/t", "configId": "c", "config": {"name": NAME, "pushNotificationConfig": PUSH}},
        {"parent": "tasks/t", "config_id": "c", "config": {"name": NAME, "push_notification_config": PUSH}},
        {"name": NAME, "pushNotificationConfig": PUSH},
        {"config": {"pushNotificationConfig": PUSH}},
        {"config": PUSH},
        {"taskId": "t", "pushNotificationConfig": PUSH},
        PUSH,
    ],
)
def test_every_form_of_a_new_push_configuration_is_read(body: dict[str, Any]) -> None:
    assert request_in(rest("POST", "/v1/tasks/t/pushNotificationConfigs", body)) == CREATED


def test_push_configurations_over_json_rpc_are_named_by_task_and_id() -> None:
    params = {"taskId": "t", "pushNotificationConfig": PUSH}
    assert request_in(rpc("tasks/pushNotificationConfig/set", params)) == CREATED
    wanted = types.GetTaskPushNotificationConfigRequest(task_id="t", id="c")
    both = {"id": "t", "pushNotificationConfigId": "c"}
    assert request_in(rpc("tasks/pushNotificationConfig/get", both)) == wanted
    first = request_in(rpc("tasks/pushNotificationConfig/get", {"id": "t"}))
    assert first == types.GetTaskPushNotificationConfigRequest(task_id="t", id="")
    dropped = types.DeleteTaskPushNotificationConfigRequest(task_id="t", id="c")
    assert request_in(rpc("tasks/pushNotificationConfig/delete", both)) == dropped
    assert fields_of(rpc("tasks/pushNotificationConfig/delete", {"id": "t"})) == [
        "pushNotificationConfigId is required"
    ]


def test_what_is_written_of_a_push_configuration() -> None:
    config = msgspec.structs.replace(CREATED, token=None, authentication=None)
    plain = {"id": "c", "url": "u"}
    assert written(RPC, operations.GET_PUSH_CONFIG, config) == {"taskId": "t", "pushNotificationConfig": plain}
    assert written(REST, operations.GET_PUSH_CONFIG, config) == {"name": NAME, "pushNotificationConfig": plain}
    page = types.ListTaskPushNotificationConfigsResponse(configs=(config,))
    assert written(RPC, operations.LIST_PUSH_CONFIGS, page) == [{"taskId": "t", "pushNotificationConfig": plain}]
    assert written(REST, operations.LIST_PUSH_CONFIGS, page) == {
        "configs": [{"name": NAME, "pushNotificationConfig": plain}],
        "nextPageToken": "",
    }
    assert written(RPC, operations.DELETE_PUSH_CONFIG, None) is None
    assert written(REST, operations.DELETE_PUSH_CONFIG, None) == {}


def test_what_is_written_of_a_task_over_json_rpc() -> None:
    value = written(RPC, operations.GET_TASK, samples.TASK)
    assert value["kind"] == "task"
    assert value["status"]["state"] == "input-required"
    message = value["history"][0]
    assert (message["kind"], message["role"], message["referenceTaskIds"]) == ("message", "user", ["t-0"])
    assert message["parts"] == [
        {"kind": "text", "text": "hello"},
        {"kind": "file", "file": {"bytes": "AAECAw==", "mimeType": "application/octet-stream", "name": "a.bin"}},
        {"kind": "file", "file": {"uri": "https://example.com/f.pdf"}, "metadata": {"pages": 3}},
        {"kind": "data", "data": {"some_key": [1, None, 2.5]}},
        {"kind": "data", "data": {"value": None}, "metadata": {"data_part_compat": True}},
    ]


def test_what_is_written_of_a_task_over_http_json() -> None:
    value = written(REST, operations.GET_TASK, samples.TASK)
    assert "kind" not in value
    assert value["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    message = value["history"][0]
    assert message.keys() == {"messageId", "contextId", "taskId", "role", "content", "metadata", "extensions"}
    assert message["role"] == "ROLE_USER"
    assert message["content"] == [
        {"text": "hello"},
        {"file": {"fileWithBytes": "QUFFQ0F3PT0=", "mimeType": "application/octet-stream", "name": "a.bin"}},
        {"file": {"fileWithUri": "https://example.com/f.pdf"}, "metadata": {"pages": 3}},
        {"data": {"data": {"some_key": [1, None, 2.5]}}},
        {"data": {"data": {"value": None}}, "metadata": {"data_part_compat": True}},
    ]
    assert value["artifacts"][0]["parts"] == [{"text": "x"}]


STATES = {
    TaskState.UNSPECIFIED: ("unknown", "TASK_STATE_UNSPECIFIED", False),
    TaskState.SUBMITTED: ("submitted", "TASK_STATE_SUBMITTED", False),
    TaskState.WORKING: ("working", "TASK_STATE_WORKING", False),
    TaskState.COMPLETED: ("completed", "TASK_STATE_COMPLETED", True),
    TaskState.FAILED: ("failed", "TASK_STATE_FAILED", True),
    TaskState.CANCELED: ("canceled", "TASK_STATE_CANCELLED", True),
    TaskState.INPUT_REQUIRED: ("input-required", "TASK_STATE_INPUT_REQUIRED", True),
    TaskState.REJECTED: ("rejected", "TASK_STATE_REJECTED", True),
    TaskState.AUTH_REQUIRED: ("auth-required", "TASK_STATE_AUTH_REQUIRED", False),
}


@pytest.mark.parametrize("state", TaskState)
def test_a_status_event_says_its_state_and_whether_the_turn_is_over(state: TaskState) -> None:
    name, proto_name, final = STATES[state]
    event = types.TaskStatusUpdateEvent(task_id="t", context_id="c", status=types.TaskStatus(state=state))
    about = {"taskId": "t", "contextId": "c"}
    assert written(RPC, operations.SUBSCRIBE_TO_TASK, event) == {
        "kind": "status-update",
        **about,
        "status": {"state": name},
        "final": final,
    }
    update = {**about, "status": {"state": proto_name}} | ({"final": True} if final else {})
    assert written(REST, operations.SUBSCRIBE_TO_TASK, event) == {"statusUpdate": update}


def test_an_artifact_event_stands_alone_or_under_its_name() -> None:
    artifact = types.Artifact(artifact_id="a", parts=(types.Part(text="x"),))
    event = types.TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact, append=True)
    about = {"taskId": "t", "contextId": "c"}
    assert written(RPC, operations.SUBSCRIBE_TO_TASK, event) == {
        "kind": "artifact-update",
        **about,
        "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "x"}]},
        "append": True,
    }
    assert written(REST, operations.SUBSCRIBE_TO_TASK, event) == {
        "artifactUpdate": {**about, "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}, "append": True}
    }
