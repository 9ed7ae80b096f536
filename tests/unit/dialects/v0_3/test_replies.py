"""What a client of 0.3 makes of answers: peers wrap what others leave bare, and know other names."""

import json
from typing import Any

import pytest

from dragoman import operations, types
from dragoman.dialects.base import HttpReply
from dragoman.dialects.v0_3.jsonrpc import JsonRpc
from dragoman.dialects.v0_3.rest import Rest
from dragoman.errors import ReplyMalformed
from dragoman.operations import Operation

RPC, REST = JsonRpc(), Rest()
each_dialect = pytest.mark.parametrize("dialect", [RPC, REST], ids=lambda dialect: dialect.binding)

PLAIN = types.Message(message_id="m", role=types.Role.AGENT, parts=(types.Part(text="x"),))
WITH_FILE = types.Message(message_id="m", role=types.Role.AGENT, parts=(types.Part(url="u", media_type="t"),))
DONE = types.TaskStatus(state=types.TaskState.COMPLETED, message=PLAIN)
TASK = types.Task(id="t", context_id="c", status=DONE)

MESSAGE: dict[str, Any] = {"messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "x"}]}
FILE: dict[str, Any] = {"messageId": "m", "role": "agent", "parts": [{"file": {"uri": "u", "mediaType": "t"}}]}
STATUS: dict[str, Any] = {"state": "completed", "message": MESSAGE}
SHOWN: dict[str, Any] = {"id": "t", "contextId": "c", "status": STATUS}
UPDATE: dict[str, Any] = {"taskId": "t", "contextId": "c", "status": STATUS, "final": True}

EVENTS: dict[str, tuple[dict[str, Any], types.StreamEvent]] = {
    "a task by its kind": ({"kind": "task", **SHOWN}, TASK),
    "a task by its members": (SHOWN, TASK),
    "a task by its name": ({"task": SHOWN}, TASK),
    "a task with an update for a message": ({"task": {**SHOWN, "status": {"state": 3, "update": MESSAGE}}}, TASK),
    "a task in the states of 1.0": ({"task": {**SHOWN, "status": {**STATUS, "state": "TASK_STATE_COMPLETED"}}}, TASK),
    "a message by its kind": ({"kind": "message", **MESSAGE}, PLAIN),
    "a message by its members": (MESSAGE, PLAIN),
    "a message by the name in the proto": ({"msg": MESSAGE}, PLAIN),
    "a file with the media type of 1.0": ({"kind": "message", **FILE}, WITH_FILE),
    "a status by its kind": (
        {"kind": "status-update", **UPDATE},
        types.TaskStatusUpdateEvent(task_id="t", context_id="c", status=DONE),
    ),
    "a status by the name in the proto": (
        {"status_update": {"task_id": "t", "context_id": "c", "status": STATUS}},
        types.TaskStatusUpdateEvent(task_id="t", context_id="c", status=DONE),
    ),
    "a status of an older kind": (
        {"kind": "TaskStatusUpdateEvent", **UPDATE},
        types.TaskStatusUpdateEvent(task_id="t", context_id="c", status=DONE),
    ),
}


def answer(dialect: JsonRpc | Rest, operation: Operation, value: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "result": value} if dialect is RPC else value
    return dialect.decode_result(operation, HttpReply(200, {}, json.dumps(body).encode()))


@each_dialect
@pytest.mark.parametrize(("value", "expected"), EVENTS.values(), ids=EVENTS)
def test_an_event_is_known_by_its_kind_its_name_or_its_members(
    dialect: JsonRpc | Rest, value: dict[str, Any], expected: types.StreamEvent
) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": value} if dialect is RPC else value)
    assert dialect.decode_event(operations.SUBSCRIBE_TO_TASK, body) == expected
    if isinstance(expected, types.Task | types.Message):
        assert answer(dialect, operations.SEND_MESSAGE, value) == expected


@each_dialect
@pytest.mark.parametrize("value", [SHOWN, {"kind": "task", **SHOWN}, {"task": SHOWN}])
def test_a_task_may_be_wrapped(dialect: JsonRpc | Rest, value: dict[str, Any]) -> None:
    assert answer(dialect, operations.GET_TASK, value) == TASK


@each_dialect
def test_what_peers_leave_out_is_empty(dialect: JsonRpc | Rest) -> None:
    bare = answer(dialect, operations.GET_TASK, {"id": "t", "status": {}})
    assert bare == types.Task(id="t", context_id="", status=types.TaskStatus(state=types.TaskState.UNSPECIFIED))
    empty = answer(dialect, operations.SEND_MESSAGE, {"message": {"messageId": "m", "role": "agent"}})
    assert empty == types.Message(message_id="m", role=types.Role.AGENT, parts=())


@each_dialect
@pytest.mark.parametrize("value", [[], {}, {"kind": "new"}, {"kind": "task"}, {"kind": []}, 7, "task", None])
def test_what_is_no_result_is_malformed(dialect: JsonRpc | Rest, value: Any) -> None:
    with pytest.raises(ReplyMalformed):
        answer(dialect, operations.SEND_MESSAGE, value)


@pytest.mark.parametrize(
    "value", [{"tasks": [SHOWN], "nextPageToken": "n"}, {"tasks": [SHOWN], "next_page_token": "n"}, [SHOWN]]
)
def test_a_page_of_tasks_may_be_a_bare_array(value: Any) -> None:
    page = answer(REST, operations.LIST_TASKS, value)
    assert page.tasks == (TASK,)
    assert page.next_page_token == ("" if isinstance(value, list) else "n")


CONFIG = {"id": "p", "url": "u"}


@each_dialect
@pytest.mark.parametrize(
    "value",
    [
        [{"taskId": "t", "pushNotificationConfig": CONFIG}],
        {"configs": [{"name": "tasks/t/pushNotificationConfigs/p", "pushNotificationConfig": CONFIG}]},
    ],
)
def test_push_configurations_may_be_a_bare_array(dialect: JsonRpc | Rest, value: Any) -> None:
    (config,) = answer(dialect, operations.LIST_PUSH_CONFIGS, value).configs
    assert config == types.TaskPushNotificationConfig(task_id="t", id="p", url="u")


def test_a_deletion_may_be_answered_without_a_word() -> None:
    assert REST.decode_result(operations.DELETE_PUSH_CONFIG, HttpReply(204, {})) is None
    for body in (b'{"jsonrpc":"2.0","id":1}', b'{"jsonrpc":"2.0","id":1,"result":null}', b'{"id":1,"result":{}}'):
        assert RPC.decode_result(operations.DELETE_PUSH_CONFIG, HttpReply(200, {}, body)) is None
