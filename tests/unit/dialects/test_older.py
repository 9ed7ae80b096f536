"""Replies in the spelling of another line than was asked for are read by the dialects of 1.0."""

from typing import Any

import msgspec
import pytest

from dragoman import operations, types
from dragoman.dialects.base import Dialect, HttpReply
from dragoman.dialects.older import Older, push_config, push_configs
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.dialects.v1_0.rest import Rest
from dragoman.operations import Operation

RPC, REST = JsonRpc(), Rest()
STATUS: dict[str, Any] = {"state": "working", "message": {"messageId": "m", "role": "agent", "parts": [{"text": "x"}]}}
PROTO_STATUS: dict[str, Any] = {
    "state": "TASK_STATE_WORKING",
    "update": {"message_id": "m", "role": "ROLE_AGENT", "content": [{"text": "x"}]},
}
MESSAGE = types.Message(message_id="m", role=types.Role.AGENT, parts=(types.Part(text="x"),))
TASK = types.Task(id="t", context_id="c", status=types.TaskStatus(state=types.TaskState.WORKING, message=MESSAGE))
INNER: dict[str, Any] = {"id": "p", "url": "u", "token": "s", "authentication": {"schemes": ["Basic"]}}
CONFIG = types.TaskPushNotificationConfig(
    url="u", id="p", task_id="t", token="s", authentication=types.AuthenticationInfo(scheme="Basic")
)
FILE = types.Part(base64="AAEC", media_type="image/png", filename="f")

ROWS: list[tuple[Operation, Any, Any]] = [
    (operations.GET_TASK, {"kind": "task", "id": "t", "contextId": "c", "status": STATUS}, TASK),
    (operations.GET_TASK, {"task": {"id": "t", "contextId": "c", "status": STATUS}}, TASK),
    (operations.GET_TASK, {"id": "t", "context_id": "c", "status": PROTO_STATUS}, TASK),
    (operations.SEND_MESSAGE, {"kind": "task", "id": "t", "contextId": "c", "status": STATUS}, TASK),
    (operations.SEND_MESSAGE, {"id": "t", "contextId": "c", "status": STATUS}, TASK),
    (operations.SEND_MESSAGE, {"msg": PROTO_STATUS["update"]}, MESSAGE),
    (operations.SEND_MESSAGE, {"kind": "message", **STATUS["message"]}, MESSAGE),
    (operations.SEND_MESSAGE, STATUS["message"], MESSAGE),
    (operations.LIST_TASKS, [{"id": "t", "contextId": "c", "status": STATUS}], (TASK,)),
    (operations.LIST_TASKS, {"tasks": [{"id": "t", "contextId": "c", "status": PROTO_STATUS}]}, (TASK,)),
    (operations.GET_PUSH_CONFIG, {"taskId": "t", "pushNotificationConfig": INNER}, CONFIG),
    (
        operations.GET_PUSH_CONFIG,
        {"name": "tasks/t/pushNotificationConfigs/p", "pushNotificationConfig": INNER},
        CONFIG,
    ),
    (operations.LIST_PUSH_CONFIGS, [{"taskId": "t", "pushNotificationConfig": INNER}], (CONFIG,)),
    (operations.LIST_PUSH_CONFIGS, {"configs": [{"name": "tasks/t", "pushNotificationConfig": INNER}]}, (CONFIG,)),
]


@pytest.mark.parametrize("dialect", [RPC, REST], ids=["rpc", "rest"])
@pytest.mark.parametrize(("operation", "given", "expected"), ROWS)
def test_a_result_is_read_in_any_spelling(dialect: Dialect, operation: Operation, given: Any, expected: Any) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "result": given} if dialect is RPC else given
    read = dialect.decode_result(operation, HttpReply(200, {}, msgspec.json.encode(body)))
    assert getattr(read, "tasks", getattr(read, "configs", read)) == expected


@pytest.mark.parametrize(
    "part",
    [
        {"file": {"fileWithBytes": "AAEC", "mediaType": "image/png", "name": "f"}},
        {"file": {"file_with_bytes": "AAEC", "mime_type": "image/png", "name": "f"}},
        {"kind": "file", "file": {"bytes": "AAEC", "mimeType": "image/png", "name": "f"}},
        {"kind": "FilePart", "fileWithBytes": "AAEC", "mimeType": "image/png", "name": "f"},
    ],
)
def test_a_file_is_read_in_any_spelling(part: dict[str, Any]) -> None:
    artifact = {"artifactId": "a", "parts": [part]}
    for event in (
        {"artifactUpdate": {"taskId": "t", "contextId": "c", "artifact": artifact}},
        {"kind": "artifact-update", "taskId": "t", "contextId": "c", "artifact": artifact},
        {"taskId": "t", "contextId": "c", "artifact": artifact},
    ):
        read = REST.decode_event(operations.SUBSCRIBE_TO_TASK, msgspec.json.encode(event))
        assert isinstance(read, types.TaskArtifactUpdateEvent)
        assert read.artifact.parts == (FILE,)


def test_data_of_1_0_keeps_a_member_that_is_called_data() -> None:
    """In the draft the same JSON would be the inner value."""
    message = {"messageId": "m", "role": "agent", "parts": [{"data": {"data": 1}}], "context_id": "c"}
    read = REST.decode_result(operations.SEND_MESSAGE, HttpReply(200, {}, msgspec.json.encode({"message": message})))
    assert read.parts[0].data == {"data": 1}


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, {"parts": 1}, {"status": 1}, {"task": 1}, {"artifact": []}])
def test_what_has_no_shape_is_left_to_the_reader(value: Any) -> None:
    for nested in (True, False):
        older = Older(nested_data=nested)
        for read in (
            older.part,
            older.message,
            older.task,
            older.result,
            older.event,
            older.page,
            push_config,
            push_configs,
        ):
            read(value)
            read({"task": value, "message": value, "status": value, "parts": value, "config": value, "tasks": value})
            read([value])
