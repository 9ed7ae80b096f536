"""Which line a body is spelled in: one row for each thing that tells."""

from typing import Any

import msgspec
import pytest

from dragoman import operations
from dragoman.dialects.sniff import DRAFT, FINAL, OLD, Line, line_of, telling
from dragoman.operations import OPERATIONS, Operation

SEND, LIST, CONFIG = operations.SEND_MESSAGE, operations.LIST_TASKS, operations.GET_PUSH_CONFIG
BARE: dict[str, Any] = {"messageId": "m", "parts": [{"text": "x"}]}


def message(*parts: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"message": {**BARE, **({"parts": list(parts)} if parts else {}), **members}}


def configured(**members: Any) -> dict[str, Any]:
    return {**message(), "configuration": members}


ROWS: list[tuple[Operation, dict[str, Any], Line | None]] = [
    (SEND, message(kind="message", role="ROLE_USER"), OLD),
    (SEND, message({"text": "x"}, {"kind": "text", "text": "x"}, role="ROLE_USER"), OLD),
    (SEND, {"message": {"role": "ROLE_USER", "content": [{"text": "x"}]}}, OLD),
    (SEND, {"request": {"role": "ROLE_USER", "content": [{"text": "x"}]}}, OLD),
    (SEND, message(role="ROLE_USER"), FINAL),
    (SEND, {**message(role="ROLE_USER"), "configuration": {"blocking": True}}, FINAL),
    (SEND, configured(taskPushNotificationConfig={}), FINAL),
    (SEND, configured(returnImmediately=False), FINAL),
    (SEND, configured(returnImmediately=False, blocking=True), FINAL),
    (SEND, {**message(role="user"), "configuration": {"returnImmediately": True}}, FINAL),
    (SEND, message({"raw": "AA=="}, role="user"), FINAL),
    (SEND, message({"text": "x"}, {"url": "u"}, role="user"), FINAL),
    (SEND, message({"text": "x", "filename": "f"}, role="user"), FINAL),
    (SEND, message({"text": "x", "mediaType": "text/plain"}, role="user"), FINAL),
    (SEND, {**message(role="user"), "configuration": {"pushNotification": {}}}, OLD),
    (SEND, message({"file": {"mimeType": "image/png"}}, role="user"), OLD),
    (SEND, configured(blocking=False), DRAFT),
    (SEND, configured(pushNotificationConfig={}), DRAFT),
    (SEND, message({"file": {"mediaType": "image/png"}}), DRAFT),
    (SEND, message(role="user"), DRAFT),
    (operations.SEND_STREAMING_MESSAGE, message(role="agent"), DRAFT),
    (SEND, message(), None),
    (SEND, message(role=1), None),
    (SEND, message({"file": {}}), None),
    (SEND, {}, None),
    (LIST, {"statusTimestampAfter": "2026-01-31T12:00:00Z", "metadata": {}}, FINAL),
    (LIST, {"status": "TASK_STATE_WORKING"}, FINAL),
    (LIST, {"status": "working"}, DRAFT),
    (LIST, {"lastUpdatedAfter": 5}, DRAFT),
    (LIST, {"lastUpdatedAfter": "5"}, DRAFT),
    (LIST, {"lastUpdatedAfter": "2026-01-31T12:00:00Z"}, None),
    (LIST, {"metadata": {}}, DRAFT),
    (LIST, {"pageSize": 5}, None),
    (CONFIG, {"taskId": "t", "id": "c"}, None),
    *((CONFIG, {name: "x"}, DRAFT) for name in ("name", "parent", "configId", "config_id")),
    *((operations.CREATE_PUSH_CONFIG, {name: {}}, DRAFT) for name in ("config", "pushNotificationConfig")),
    (operations.GET_TASK, {"id": "t", "metadata": {}}, None),
]


@pytest.mark.parametrize(("operation", "params", "line"), ROWS)
def test_the_first_thing_that_tells_counts(operation: Operation, params: dict[str, Any], line: Line | None) -> None:
    assert line_of(msgspec.json.encode(params), operation) == line
    assert telling(operation) or line is None


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"1", b"null", b"\xff", b'{"message":[],"configuration":1,"status":1,"lastUpdatedAfter":[]}',
     b'{"message":{"parts":{"a":1},"role":[]}}', b'{"message":{"parts":[1,null,"x",[]]}}', b"[" * 100_000],
    ids=lambda body: repr(body[:20]),
)  # fmt: skip
def test_what_says_nothing_tells_nothing(operation: Operation, body: bytes) -> None:
    assert line_of(body, operation) is None
