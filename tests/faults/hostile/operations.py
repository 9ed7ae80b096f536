"""Calls of callers who are known, for what is not theirs or not there."""

import json
from typing import Any

from tests.faults.hostile.cases import Case, Cases, message, posted, requested, rpc

__all__ = ["OPERATIONS"]

MISSING = "404 TASK_NOT_FOUND"
BAD = "400 INVALID_PARAMS"


def _got(target: str) -> tuple[bytes]:
    return (requested("GET", target, b"", kind=""),)


def _said(**members: Any) -> tuple[bytes]:
    return (posted(json.dumps(members).encode()),)


def _called(method: Any, params: Any) -> tuple[bytes]:
    return (rpc({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),)


SQL = "' OR 1=1; DROP TABLE tasks; --"

OPERATIONS: Cases = {
    "an id that climbs": Case(MISSING, _got("/tasks/..%2f..%2f..%2fetc%2fpasswd")),
    "an id that climbs, encoded twice": Case(MISSING, _got("/tasks/..%252f..%252f")),
    "an id of dots": Case(MISSING, _got("/tasks/..")),
    "an id in SQL": Case(MISSING, _got("/tasks/%27%20OR%201=1;--")),
    "an id with a wildcard": Case(MISSING, _got("/tasks/%25")),
    "an id with a NUL": Case(MISSING, _got("/tasks/a%00b")),
    "an id with a line break": Case(MISSING, _got("/tasks/a%0d%0aset-cookie:%20a=b")),
    "an id that is too long": Case(MISSING, _got("/tasks/" + "a" * 5000)),
    "an id of a megabyte": Case("413 REQUEST_TOO_LARGE", _called("GetTask", {"id": "a" * 1_000_000})),
    "an id in SQL, over JSON-RPC": Case("200 TASK_NOT_FOUND", _called("GetTask", {"id": SQL})),
    "an id that is a number": Case("200 INVALID_PARAMS", _called("GetTask", {"id": 1})),
    "an id that is an object": Case("200 INVALID_PARAMS", _called("GetTask", {"id": {"$ne": None}})),
    "an id that is nothing": Case("200 INVALID_PARAMS", _called("GetTask", {"id": None})),
    "an empty id": Case("200 INVALID_PARAMS", _called("GetTask", {"id": ""})),
    "no params": Case("200 INVALID_PARAMS", _called("GetTask", [])),
    "a prototype": Case("200 TASK_NOT_FOUND", _called("GetTask", {"id": "t", "__proto__": {"admin": True}})),
    "a template": Case("200 TASK_NOT_FOUND", _called("GetTask", {"id": "{{7*7}}${7*7}%{7*7}"})),
    "a formatted string": Case("200 TASK_NOT_FOUND", _called("GetTask", {"id": "%s%n{0.__class__}"})),
    "a negative history": Case(BAD, _got("/tasks/t?historyLength=-1")),
    "a history that is no number": Case(BAD, _got("/tasks/t?historyLength=many")),
    "a history beyond 32 bits": Case(BAD, _got("/tasks/t?historyLength=99999999999999999999")),
    "a history as a fraction": Case(BAD, _got("/tasks/t?historyLength=1.5")),
    "a page of nothing": Case(BAD, _got("/tasks?pageSize=0")),
    "a huge page": Case(BAD, _got("/tasks?pageSize=1000000")),
    "a negative page": Case(BAD, _got("/tasks?pageSize=-5")),
    "a forged page token": Case(BAD, _got("/tasks?pageToken=MTIzNDU2Nzg5")),
    "a page token in SQL": Case(BAD, _got("/tasks?pageToken=%27%20OR%201=1")),
    "a very long page token": Case(BAD, _got("/tasks?pageToken=" + "A" * 8000)),
    "a state that is none": Case(BAD, _got("/tasks?status=TASK_STATE_ADMIN")),
    "a time that is none": Case(BAD, _got("/tasks?statusTimestampAfter=yesterday")),
    "a time beyond all times": Case(BAD, _got("/tasks?statusTimestampAfter=99999-01-01T00:00:00Z")),
    "a tenant that climbs": Case(MISSING, _got("/../tasks/t")),
    "a tenant that climbs, encoded": Case(MISSING, _got("/%2e%2e%2f/tasks/t")),
    "a tenant behind a semicolon": Case(MISSING, _got("/..;/tasks/t")),
    "a tenant in SQL": Case(MISSING, _got("/%27%3b--/tasks/t")),
    "a tenant that is too long": Case(MISSING, _got(f"/{'t' * 2000}/tasks/t")),
    "a message for a task of nobody": Case(MISSING, _said(message=message(taskId=SQL))),
    "a context in SQL": Case("200", _said(message=message(messageId="in sql", contextId=SQL))),
    "a context that is too long": Case(BAD, _said(message=message(contextId="c" * 10_000))),
    "a message's id that is too long": Case(BAD, _said(message=message(messageId="i" * 10_000))),
    "a message of a role that is none": Case(BAD, _said(message=message(role="ROLE_ADMIN"))),
    "a message without parts": Case(BAD, _said(message=message(parts=[]))),
    "a message of too many parts": Case(BAD, _said(message=message(parts=[{"text": "a"}] * 21))),
    "a part that is nothing": Case(BAD, _said(message=message(parts=[{}]))),
    "a part that is two things": Case(BAD, _said(message=message(parts=[{"text": "a", "url": "https://a.example"}]))),
    "a part that is no base64": Case(BAD, _said(message=message(parts=[{"raw": "***"}]))),
    "too many references": Case(BAD, _said(message=message(referenceTaskIds=["t"] * 11))),
    "a cancellation of what is not there": Case(MISSING, (requested("POST", "/tasks/t:cancel", b"{}"),)),
    "a subscription to what is not there": Case(MISSING, _got("/tasks/t:subscribe")),
    "a webhook inside": Case(
        BAD,
        _said(
            message=message(messageId="w"),
            configuration={"taskPushNotificationConfig": {"url": "http://169.254.169.254/"}},
        ),
    ),
    "a webhook that is a file": Case(
        BAD,
        _said(
            message=message(messageId="f"), configuration={"taskPushNotificationConfig": {"url": "file:///etc/passwd"}}
        ),
    ),
    "a method that is none": Case("200 METHOD_NOT_FOUND", _called("DropTables", {})),
    "a method of Python": Case("200 METHOD_NOT_FOUND", _called("__class__", {})),
    "a method that is an object": Case("200 INVALID_REQUEST", _called({}, {})),
}
