"""Errors as each binding and line tells them, held against the tables of the documents."""

from base64 import b64decode
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import unquote

import pytest
from google.protobuf.json_format import MessageToDict

from dragoman import _proto
from dragoman.dialects.base import HttpReply
from tests.behaviour.cells import Cell

__all__ = ["ERRORS", "Fault", "read_error", "read_status", "refused"]

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
    "UNAUTHENTICATED": (-31401, 401, "UNAUTHENTICATED"),
    "PERMISSION_DENIED": (-31403, 403, "PERMISSION_DENIED"),
    "REQUEST_TOO_LARGE": (-32600, 413, "RESOURCE_EXHAUSTED"),
    "LIMIT_EXCEEDED": (-31429, 429, "RESOURCE_EXHAUSTED"),
    "UNAVAILABLE": (-32603, 503, "UNAVAILABLE"),
}
# Where a line before 1.0 has another status: the draft says so in its section 5.4; for 0.3 the official SDKs do.
HTTP: dict[str, dict[str, int]] = {
    "1.0": {},
    "draft": {"TASK_NOT_CANCELABLE": 409, "CONTENT_TYPE_NOT_SUPPORTED": 415, "INVALID_AGENT_RESPONSE": 502},
    "0.3": {
        "TASK_NOT_CANCELABLE": 409,
        "PUSH_NOTIFICATION_NOT_SUPPORTED": 501,
        "UNSUPPORTED_OPERATION": 501,
        "CONTENT_TYPE_NOT_SUPPORTED": 415,
        "INVALID_AGENT_RESPONSE": 502,
        "EXTENDED_AGENT_CARD_NOT_CONFIGURED": 404,
        "INVALID_PARAMS": 422,
    },
}
_UNSUPPORTED = ("PUSH_NOTIFICATION_NOT_SUPPORTED", "UNSUPPORTED_OPERATION")
GRPC: dict[str, dict[str, str]] = {
    "1.0": {},
    "draft": dict.fromkeys((*_UNSUPPORTED, "VERSION_NOT_SUPPORTED"), "UNIMPLEMENTED"),
    "0.3": dict.fromkeys((*_UNSUPPORTED, "TASK_NOT_CANCELABLE", "CONTENT_TYPE_NOT_SUPPORTED"), "UNIMPLEMENTED"),
}
STATUSES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
TYPES = "https://a2a-protocol.org/errors/"
BAD_REQUEST = "type.googleapis.com/google.rpc.BadRequest"
OWN_STATUS = {401, 403, 413, 429, 503}
"""What intermediaries must see is an HTTP status in JSON-RPC too."""

Details = list[dict[str, Any]]


class Fault(Exception):
    """A refusal, the same in every cell: `details` are as 1.0 has them."""

    def __init__(self, reason: str, text: str, details: Details, reply: HttpReply) -> None:
        self.reason, self.text, self.details, self.reply = reason, text, details, reply
        super().__init__(f"{reason}: {text}")

    @property
    def fields(self) -> list[str]:
        """The members that the refusal says are wrong."""
        return [violation["field"] for detail in self.details for violation in detail.get("fieldViolations", [])]

    @property
    def told(self) -> str:
        """All that the caller is told, as text."""
        return f"{self.reply.status} {self.text} {self.details} {self.reply.body!r}"


def refused(reason: str) -> pytest.RaisesExc[Fault]:
    """Expects a refusal with this reason."""
    assert reason in ERRORS
    return pytest.raises(Fault, match=f"^{reason}: ")


def read_error(cell: Cell, status: int, body: Any, *, streamed: bool) -> tuple[str, str, Details]:
    """The reason, text and details of an error over JSON, after its form was held against the tables."""
    assert "Traceback" not in str(body)
    read = {
        "1.0/JSONRPC": _read_final_rpc,
        "1.0/HTTP+JSON": _read_final_rest,
        "0.3/JSONRPC": _read_older_rpc,
        "0.3/HTTP+JSON": _read_old_rest,
        "draft/JSONRPC": _read_older_rpc,
        "draft/HTTP+JSON": _read_problem,
    }[cell.key]
    if streamed and read is _read_problem:
        status = body["status"]  # that of the stream was told before
    reason, text, details = read(body, status)
    code, http, _ = ERRORS[reason]
    http = 405 if reason == "METHOD_NOT_FOUND" and status == 405 else HTTP[cell.line].get(reason, http)
    assert text
    if cell.binding == "JSONRPC":
        assert body["error"]["code"] == code
        assert status == (http if http in OWN_STATUS else 200)
    else:
        assert streamed or status == http, (status, body)
    return reason, text, details


def _read_final_rpc(body: Any, status: int) -> tuple[str, str, Details]:
    error = _rpc_error(body)
    return _reason(error.get("data", [])), error["message"], error.get("data", [])


def _read_final_rest(body: Any, status: int) -> tuple[str, str, Details]:
    assert set(body) == {"error"}
    error = body["error"]
    assert set(error) == {"code", "status", "message", "details"}
    reason = _reason(error["details"])
    _, http, name = ERRORS[reason]
    assert (error["code"], error["status"]) == (405 if status == 405 else http, name)
    return reason, error["message"], error["details"]


def _read_older_rpc(body: Any, status: int) -> tuple[str, str, Details]:
    """The code says which error it is, data are an object."""
    error = _rpc_error(body)
    same = [reason for reason, (code, _, _) in ERRORS.items() if code == error["code"]]
    by_status = [reason for reason in same if ERRORS[reason][1] == status]
    data = error.get("data", {})
    assert isinstance(data, dict), error
    return (by_status or same)[0], error["message"], _details(cast("dict[str, Any]", data))


def _read_old_rest(body: Any, status: int) -> tuple[str, str, Details]:
    assert set(body) <= {"code", "message", "type", "data"}, body
    reason = _reason_of(body["type"])
    assert body["code"] == ERRORS[reason][0]
    return reason, body["message"], _details(body.get("data", {}))


def _read_problem(body: Any, status: int) -> tuple[str, str, Details]:
    """A problem document: what is wrong with members alone has no type."""
    assert {"title", "status", "detail"} <= set(body), body
    assert body["status"] == status
    reason = str(body["title"]).upper().replace(" ", "_")
    if -32099 <= ERRORS[reason][0] <= -32001:
        assert body["type"] == TYPES + reason.lower().replace("_", "-")
    else:
        assert "type" not in body
    return reason, body["detail"], _details(body)


def _rpc_error(body: Any) -> dict[str, Any]:
    assert set(body) == {"jsonrpc", "id", "error"}
    assert body["jsonrpc"] == "2.0"
    assert set(body["error"]) <= {"code", "message", "data"}
    return cast("dict[str, Any]", body["error"])


def _details(data: Mapping[str, Any]) -> Details:
    """Details of a line before 1.0, as 1.0 has them."""
    violations = [{"field": one["field"], "description": one["message"]} for one in data.get("errors", [])]
    return [{"metadata": dict(data)}, *([{"@type": BAD_REQUEST, "fieldViolations": violations}] if violations else [])]


def _reason_of(name: str) -> str:
    """`TASK_NOT_FOUND` of `TaskNotFoundError`; the names of errors that end in it keep it."""
    return next(reason for reason in ERRORS if _class_of(reason) == name)


def _class_of(reason: str) -> str:
    return reason.removesuffix("_ERROR").title().replace("_", "") + "Error"


def _reason(details: Sequence[Mapping[str, Any]]) -> str:
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


def read_status(cell: Cell, trailers: Mapping[str, str]) -> tuple[str, str, Details]:
    """The reason, text and details of an error over gRPC, after its form was held against the tables."""
    status = STATUSES[int(trailers["grpc-status"])]
    text = unquote(trailers["grpc-message"])
    encoded = trailers.get("grpc-status-details-bin", "")
    assert "=" not in encoded
    told = _proto.parse("google.rpc.Status", b64decode(encoded + "=" * (-len(encoded) % 4)))
    assert told.code == int(trailers["grpc-status"])
    details = [_unpacked(detail) for detail in told.details]
    reason = _reason(details)
    if cell.line == "0.3":
        # Clients of 0.3 find the error by its name in the text.
        name, _, text = text.partition(": ")
        assert name == _class_of(reason)
    assert told.message == text
    assert status == GRPC[cell.line].get(reason, ERRORS[reason][2]), (status, reason)
    assert text
    return reason, text, details


def _unpacked(detail: Any) -> dict[str, Any]:
    told = _proto.parse(detail.type_url.rpartition("/")[2], detail.value)
    return {"@type": detail.type_url, **MessageToDict(told)}
