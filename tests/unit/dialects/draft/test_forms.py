"""Push configurations and errors of the 1.0 draft, in every form that its text suggests."""

from typing import Any

import msgspec
import pytest

from dragoman import errors, operations, types
from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal
from dragoman.errors import A2AError, FieldViolation
from tests.behaviour.manifest import requirement
from tests.unit.dialects.draft.speaking import REST, RPC, WEATHER, post, written

INNER = {"url": "https://e.com", "id": "p", "token": "s", "authentication": {"schemes": ["Basic", "x"]}}
CONFIG = types.TaskPushNotificationConfig(
    url="https://e.com", id="p", task_id="t", token="s", authentication=types.AuthenticationInfo(scheme="Basic")
)


@pytest.mark.parametrize(
    "params",
    [
        {"taskId": "t", "pushNotificationConfig": INNER},
        {"task_id": "t", "push_notification_config": INNER},
        {"id": "t", "pushNotificationConfig": INNER},
        {"parent": "tasks/t", "configId": "p", "config": {"pushNotificationConfig": {**INNER, "id": ""}}},
        {"parent": "tasks/t", "configId": "p", "config": INNER},
        {"name": "tasks/t/pushNotificationConfigs/p", "pushNotificationConfig": {**INNER, "id": None}},
        {"taskId": "t", "config": {"name": "tasks/t/pushNotificationConfigs/p", "pushNotificationConfig": INNER}},
        {"taskId": "t", **INNER},
        {"parent": "tasks/t", **INNER},
    ],
)
@pytest.mark.parametrize("method", ["SetTaskPushNotificationConfig", "CreateTaskPushNotificationConfig"])
def test_every_way_to_set_a_push_configuration_is_understood(method: str, params: dict[str, Any]) -> None:
    """Sections 3.1.7, 10.4.7 and appendix A."""
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    outcome = RPC.decode_request(HttpRequest("POST", "/", "", {}, body))
    assert isinstance(outcome, Call), outcome
    assert outcome.request == CONFIG


@pytest.mark.parametrize(
    "params",
    [
        {"taskId": "t", "configId": "p"},
        {"taskId": "t", "id": "p"},
        {"id": "t", "pushNotificationConfigId": "p"},
        {"name": "tasks/t/pushNotificationConfigs/p"},
        {"parent": "tasks/t", "config_id": "p"},
    ],
)
@pytest.mark.parametrize("method", ["GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"])
def test_every_way_to_name_a_push_configuration_is_understood(method: str, params: dict[str, Any]) -> None:
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    outcome = RPC.decode_request(HttpRequest("POST", "/", "", {}, body))
    assert isinstance(outcome, Call), outcome
    assert (outcome.request.task_id, outcome.request.id) == ("t", "p")


@pytest.mark.parametrize("params", [{"taskId": "t"}, {"id": "t"}, {"parent": "tasks/t"}, {"name": "tasks/t"}])
@pytest.mark.parametrize("method", ["ListTaskPushNotificationConfig", "ListTaskPushNotificationConfigs"])
def test_every_way_to_list_push_configurations_is_understood(method: str, params: dict[str, Any]) -> None:
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    outcome = RPC.decode_request(HttpRequest("POST", "/", "", {}, body))
    assert isinstance(outcome, Call), outcome
    assert outcome.request.task_id == "t"


def test_a_push_configuration_has_a_resource_name() -> None:
    """Section 10.5.1."""
    shown = written(operations.CREATE_PUSH_CONFIG, CONFIG)
    inner = {"id": "p", "url": "https://e.com", "token": "s", "authentication": {"schemes": ["Basic"]}}
    assert shown == {"name": "tasks/t/pushNotificationConfigs/p", "pushNotificationConfig": inner}
    listed = types.ListTaskPushNotificationConfigsResponse(configs=(CONFIG,))
    assert written(operations.LIST_PUSH_CONFIGS, listed) == {"configs": [shown]}
    reply = HttpReply(200, {}, msgspec.json.encode({"configs": [shown]}))
    assert REST.decode_result(operations.LIST_PUSH_CONFIGS, reply) == listed


# Errors.

HTTP: dict[type[A2AError], tuple[int, str]] = {
    errors.TaskNotFoundError: (404, "task-not-found"),
    errors.TaskNotCancelableError: (409, "task-not-cancelable"),
    errors.PushNotificationNotSupportedError: (400, "push-notification-not-supported"),
    errors.UnsupportedOperationError: (400, "unsupported-operation"),
    errors.ContentTypeNotSupportedError: (415, "content-type-not-supported"),
    errors.InvalidAgentResponseError: (502, "invalid-agent-response"),
    errors.ExtendedAgentCardNotConfiguredError: (400, "extended-agent-card-not-configured"),
    errors.ExtensionSupportRequiredError: (400, "extension-support-required"),
    errors.VersionNotSupportedError: (400, "version-not-supported"),
}


@requirement("R-11.6-01")
@pytest.mark.parametrize("error", HTTP)
def test_an_error_is_a_problem_document(error: type[A2AError]) -> None:
    """Sections 5.4 and 11.6."""
    status, name = HTTP[error]
    reply = REST.encode_error(error("what happened", details={"taskId": "t", "status": "kept out"}), None)
    problem = msgspec.json.decode(reply.body)
    assert (reply.status, reply.headers["content-type"]) == (status, "application/problem+json")
    assert problem["type"] == f"https://a2a-protocol.org/errors/{name}"
    assert problem["title"].lower().replace(" ", "-") == name
    assert (problem["status"], problem["detail"], problem["taskId"]) == (status, "what happened", "t")
    with pytest.raises(error) as caught:
        REST.decode_result(operations.GET_TASK, reply)
    assert caught.value.message == "what happened"


def test_supported_versions_are_an_array() -> None:
    """Section 6.4."""
    error = errors.VersionNotSupportedError("no", details={"supportedVersions": "1.0, 0.3"})
    assert msgspec.json.decode(REST.encode_error(error, None).body)["supportedVersions"] == ["1.0", "0.3"]
    shown = msgspec.json.decode(RPC.encode_error(error, 1).body)["error"]
    assert shown == {"code": -32009, "message": "no", "data": {"supportedVersions": ["1.0", "0.3"]}}


def test_over_json_rpc_details_are_an_object() -> None:
    """Section 9.5."""
    error = errors.TaskNotFoundError(details={"taskId": "nonexistent-task-id"})
    shown = msgspec.json.decode(RPC.encode_error(error, 2).body)
    assert shown == {
        "jsonrpc": "2.0",
        "id": 2,
        "error": {"code": -32001, "message": "Task not found", "data": {"taskId": "nonexistent-task-id"}},
    }
    assert "data" not in msgspec.json.decode(RPC.encode_error(errors.TaskNotFoundError(), 2).body)["error"]


WRONG: list[tuple[Any, str, str]] = [
    ([{"file": {"fileWithBytes": "?"}}], "message.parts[0].file.fileWithBytes", "must be base64"),
    ([{"file": {"fileWithUri": 5}}], "message.parts[0].file.fileWithUri", "must be a string"),
    ([{"file": {}}], "message.parts[0]", "must have exactly one of text, file, data"),
    ([], "message.parts", "must not be empty"),
]


@pytest.mark.parametrize(("parts", "field", "description"), WRONG)
def test_wrong_members_are_named_as_the_draft_calls_them(parts: Any, field: str, description: str) -> None:
    for outcome in (
        REST.decode_request(post("/v1/message:send", {"message": {**WEATHER, "parts": parts}})),
        RPC.decode_request(
            post(
                "/",
                {
                    "jsonrpc": "2.0",
                    "id": 1,
                    "method": "SendMessage",
                    "params": {"message": {**WEATHER, "parts": parts}},
                },
            )
        ),
    ):
        assert isinstance(outcome, Refusal)
        assert outcome.error.violations == (FieldViolation(field, description),)
        assert outcome.error.message == f"Invalid parameters: {field} {description}"


def test_blocking_that_is_no_boolean_is_named() -> None:
    outcome = REST.decode_request(post("/v1/message:send", {"message": WEATHER, "configuration": {"blocking": "yes"}}))
    assert isinstance(outcome, Refusal)
    assert outcome.error.violations == (FieldViolation("configuration.blocking", "must be true or false"),)


@pytest.mark.parametrize("message", [None, [], "text", {"parts": "x"}, {"parts": [1]}, {"parts": [{"file": 1}]}])
@pytest.mark.parametrize("configuration", [None, [], "x"])
def test_what_has_no_shape_is_refused(message: Any, configuration: Any) -> None:
    body = {"message": message, "configuration": configuration}
    outcome = REST.decode_request(post("/v1/message:send", body))
    assert isinstance(outcome, Refusal)
    assert isinstance(outcome.error, errors.InvalidParamsError)
