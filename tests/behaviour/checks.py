"""What every answer has to be, whatever was asked: names, spellings, timestamps, and the table of errors."""

import re
from typing import Any, cast

__all__ = ["ERRORS", "FREE", "check_error", "check_payload"]

# reason: JSON-RPC code, HTTP status, name of the gRPC status (specification sections 5.4, 9.5 and 11.6)
ERRORS: dict[str, tuple[int, int, str]] = {
    "TASK_NOT_FOUND": (-32001, 404, "NOT_FOUND"),
    "TASK_NOT_CANCELABLE": (-32002, 400, "FAILED_PRECONDITION"),
    "PUSH_NOTIFICATION_NOT_SUPPORTED": (-32003, 400, "FAILED_PRECONDITION"),
    "UNSUPPORTED_OPERATION": (-32004, 400, "FAILED_PRECONDITION"),
    "CONTENT_TYPE_NOT_SUPPORTED": (-32005, 400, "INVALID_ARGUMENT"),
    "INVALID_AGENT_RESPONSE": (-32006, 500, "INTERNAL"),
    "EXTENDED_AGENT_CARD_NOT_CONFIGURED": (-32007, 400, "FAILED_PRECONDITION"),
    "EXTENSION_SUPPORT_REQUIRED": (-32008, 400, "FAILED_PRECONDITION"),
    "VERSION_NOT_SUPPORTED": (-32009, 400, "FAILED_PRECONDITION"),
    "PARSE_ERROR": (-32700, 400, "INVALID_ARGUMENT"),
    "INVALID_REQUEST": (-32600, 400, "INVALID_ARGUMENT"),
    "METHOD_NOT_FOUND": (-32601, 404, "UNIMPLEMENTED"),
    "INVALID_PARAMS": (-32602, 400, "INVALID_ARGUMENT"),
    "INTERNAL_ERROR": (-32603, 500, "INTERNAL"),
    "REQUEST_TOO_LARGE": (-32600, 413, "RESOURCE_EXHAUSTED"),
    "UNAVAILABLE": (-32603, 503, "UNAVAILABLE"),
}
OF_THE_PROTOCOL = {reason for reason, (code, _, _) in ERRORS.items() if -32099 <= code <= -32001}
OWN_STATUS = {401, 403, 413, 503}
"""What intermediaries must see is an HTTP status in JSON-RPC too."""
FREE = {"metadata", "data", "params", "securitySchemes", "schemes", "scopes", "header"}
"""Members whose content is the user's, with names of the user's choice."""

STATES = {
    f"TASK_STATE_{name}"
    for name in (
        "SUBMITTED",
        "WORKING",
        "COMPLETED",
        "FAILED",
        "CANCELED",
        "INPUT_REQUIRED",
        "REJECTED",
        "AUTH_REQUIRED",
    )
}
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
MEMBERS: dict[str, tuple[set[str], set[str]]] = {
    "task": ({"id", "contextId", "status"}, {"artifacts", "history", "metadata"}),
    "status": ({"state", "timestamp"}, {"message"}),
    "message": (
        {"messageId", "role", "parts"},
        {"contextId", "taskId", "metadata", "extensions", "referenceTaskIds"},
    ),
    "artifact": ({"artifactId", "parts"}, {"name", "description", "metadata", "extensions"}),
    "statusUpdate": ({"taskId", "contextId", "status"}, {"metadata"}),
    "artifactUpdate": ({"taskId", "contextId", "artifact"}, {"append", "lastChunk", "metadata"}),
}
PLURALS = {"tasks": "task", "history": "message", "artifacts": "artifact"}


def check_payload(value: Any, member: str = "") -> None:
    """Names, enum values, timestamps and required members, all the way down."""
    if isinstance(value, list):
        items: list[Any] = cast("Any", value)
        for item in items:
            check_payload(item, PLURALS.get(member, member))
    elif isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        _check_object(members, "task" if not member and {"id", "status"} <= set(members) else member)
    elif member == "state":
        assert value in STATES, value
    elif member == "role":
        assert value in {"ROLE_USER", "ROLE_AGENT"}, value
    elif member == "timestamp":
        assert TIMESTAMP.fullmatch(value), value


def _check_object(value: dict[str, Any], member: str) -> None:
    assert None not in value.values() or member == "parts", value
    if member in MEMBERS:
        required, optional = MEMBERS[member]
        assert required <= set(value) <= required | optional, (member, value)
    if member == "parts":
        assert len({"text", "raw", "url", "data"} & set(value)) == 1, value
        assert set(value) <= {"text", "raw", "url", "data", "metadata", "filename", "mediaType"}, value
    for name, inner in value.items():
        assert re.fullmatch(r"[a-z][a-zA-Z0-9]*", name), name
        assert name not in {"kind", "final"}, value
        if name not in FREE:
            check_payload(inner, name)


def check_error(
    jsonrpc: bool, status: int, body: Any, request_id: Any, *, streamed: bool
) -> tuple[str, str, list[dict[str, Any]]]:
    """The reason, text and details of an error body, after its form was held against the table."""
    if jsonrpc:
        assert set(body) == {"jsonrpc", "id", "error"}
        assert body["jsonrpc"] == "2.0"
        error, details = body["error"], body["error"].get("data", [])
        assert set(error) <= {"code", "message", "data"}
    else:
        assert set(body) == {"error"}
        error, details = body["error"], body["error"]["details"]
        assert set(error) == {"code", "status", "message", "details"}
    reason = _reason(details)
    code, http, name = ERRORS[reason]
    if reason == "METHOD_NOT_FOUND" and status == 405:
        http = 405
    if jsonrpc:
        # The id of a body that was not read is not known.
        assert body["id"] == (None if http == 413 else request_id)
        assert error["code"] == code
        assert status == (http if http in OWN_STATUS else 200)
    else:
        assert (error["code"], error["status"]) == (http, name)
        assert streamed or status == http
    assert error["message"]
    assert "Traceback" not in str(body)
    return reason, error["message"], details


def _reason(details: list[dict[str, Any]]) -> str:
    """The reason, from the first detail of its type; all details must be well-formed."""
    reasons: list[str] = []
    for detail in details:
        match detail:
            case {"@type": "type.googleapis.com/google.rpc.ErrorInfo", **info}:
                assert info["domain"] == "a2a-protocol.org"
                assert all(isinstance(value, str) for value in info.get("metadata", {}).values())
                reasons.append(info["reason"])
            case {"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}:
                assert violations
                assert all(set(violation) == {"field", "description"} for violation in violations)
            case _:
                assert detail["@type"].startswith("type.googleapis.com/google.rpc."), detail
    assert len(reasons) == 1, details
    return reasons[0]
