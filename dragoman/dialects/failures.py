"""What both JSON bindings say beside results: errors as JSON, which a client reads in the form of any agent.

Read are `google.rpc.Status` and JSON-RPC errors with details in an array (1.0) or in an object (the draft, 0.3),
`application/problem+json` (the draft), and the bare `{code, message}` and `{message, type}` of 0.3 agents.
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from dragoman import operations
from dragoman.dialects.base import HttpReply
from dragoman.dialects.codec import parse_json
from dragoman.dialects.status import error_type
from dragoman.errors import A2AError, FieldViolation, MethodNotFoundError, ReplyMalformed
from dragoman.operations import Operation
from dragoman.types import Json

__all__ = [
    "BESIDE_RESULT",
    "DOMAIN",
    "JSON_TYPES",
    "details_of",
    "failure_of",
    "media_type",
    "metadata_of",
    "object_of",
    "read_failure",
    "sendable",
]

DOMAIN = "a2a-protocol.org"
JSON_TYPES = frozenset({"application/json", "application/a2a+json"})

BESIDE_RESULT: dict[Operation, dict[str, str]] = {
    operations.GET_EXTENDED_AGENT_CARD: {"cache-control": "private, no-store"},
}
"""Headers that answers with a result have: what is for one caller only is kept by nobody else (section 13.3)."""


class _ErrorInfo(msgspec.Struct, omit_defaults=True):
    type: str = msgspec.field(name="@type")
    reason: str
    domain: str
    metadata: dict[str, str] = {}


class _Violation(msgspec.Struct):
    field: str
    description: str


class _BadRequest(msgspec.Struct, rename="camel"):
    type: str = msgspec.field(name="@type")
    field_violations: list[_Violation]


def details_of(error: A2AError, reason: str) -> list[_ErrorInfo | _BadRequest]:
    """ErrorInfo, whose metadata are strings, and BadRequest if single members are wrong (specification section 9.5)."""
    info = _ErrorInfo(
        type="type.googleapis.com/google.rpc.ErrorInfo",
        reason=reason,
        domain=DOMAIN,
        metadata=metadata_of(error),
    )
    if not error.violations:
        return [info]
    violations = [_Violation(violation.field, violation.description) for violation in error.violations]
    return [info, _BadRequest(type="type.googleapis.com/google.rpc.BadRequest", field_violations=violations)]


def metadata_of(error: A2AError) -> dict[str, str]:
    """The error's details as ErrorInfo has them: strings, other values as JSON."""
    return {sendable(name): _text(value) for name, value in error.details.items()}


def object_of(error: A2AError) -> dict[str, Any]:
    """The error's details as an object, as 0.3 has them; the members that are wrong stand under `errors`."""
    details: dict[str, Any] = {
        sendable(name): sendable(value) if isinstance(value, str) else value for name, value in error.details.items()
    }
    if error.violations:
        details["errors"] = [
            {"field": sendable(one.field), "message": sendable(one.description)} for one in error.violations
        ]
    return details


def _text(value: Json) -> str:
    return sendable(value) if isinstance(value, str) else msgspec.json.encode(value).decode()


def sendable(text: str) -> str:
    """The text with what UTF-8 cannot say replaced: it may quote anything, and an error must be sent in any case."""
    return text.encode(errors="replace").decode()


def media_type(headers: dict[str, str]) -> str:
    """The media type of a body, without parameters, in lower case; empty if none is stated."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def failure_of(reply: HttpReply) -> A2AError:
    """The error that a reply says, by its body, else by its status.

    Raises:
        ReplyMalformed: the reply does not say any.
    """
    excerpt = reply.body[:200].decode(errors="replace")
    try:
        value = parse_json(reply.body)
    except A2AError:
        value = None
    error = read_failure(value, reply.status)
    if error is not None:
        return error
    if reply.status in {404, 405}:
        return MethodNotFoundError(f"Nothing at this address speaks A2A (HTTP {reply.status})")
    if reply.status in {401, 403, 413, 429, 502, 503, 504}:
        return error_type(None, None, reply.status)()
    raise ReplyMalformed(f"The agent answered with HTTP status {reply.status}", excerpt)


def read_failure(value: Any, http: int | None = None) -> A2AError | None:
    """The error in a JSON value of any of the families, or None if there is none."""
    if not isinstance(value, dict):
        return None
    outer = cast("dict[str, Any]", value)
    body = cast("dict[str, Any]", outer["error"]) if isinstance(outer.get("error"), dict) else outer
    problem = "title" in body or ("detail" in body and "type" in body)
    message = body.get("message") or (problem and (body.get("detail") or body.get("title")))
    if body is outer and not isinstance(message, str):
        return None
    return _error(body, message if isinstance(message, str) else None, http)


def _error(body: dict[str, Any], message: str | None, http: int | None) -> A2AError:
    given = body.get("details") if isinstance(body.get("details"), list) else body.get("data")
    details: dict[str, Any] = {}
    violations: list[FieldViolation] = []
    reason: str | None = None
    if isinstance(given, list):
        for item in cast("Sequence[Any]", given):
            reason = _read_detail(item, details, violations) or reason
    elif isinstance(given, dict):
        details |= cast("dict[str, Any]", given)
        violations += _violations(details.pop("errors", None), "message")
    violations += _violations(body.get("errors"), "message")
    code = body.get("code")
    number = code if isinstance(code, int) and not isinstance(code, bool) else None
    status = number if number is not None and 100 <= number < 600 else http  # noqa: PLR2004 -- HTTP statuses
    named = reason or _string(body.get("type"))
    if named is None and (number is None or number > 0):
        named = _string(body.get("status"))
    return error_type(named, number, status)(message, details=details, violations=violations)


def _read_detail(item: Any, details: dict[str, Any], violations: list[FieldViolation]) -> str | None:
    """Adds what one entry of the details says; the reason if it is an ErrorInfo."""
    if not isinstance(item, dict):
        return None
    entry = cast("dict[str, Any]", item)
    metadata = entry.get("metadata")
    if isinstance(metadata, dict):
        details |= cast("dict[str, Any]", metadata)
    violations += _violations(entry.get("fieldViolations"), "description")
    return _string(entry.get("reason"))


def _violations(given: Any, description: str) -> list[FieldViolation]:
    if not isinstance(given, list):
        return []
    entries = [cast("dict[str, Any]", item) for item in cast("Sequence[Any]", given) if isinstance(item, dict)]
    return [FieldViolation(str(entry.get("field", "")), str(entry.get(description, ""))) for entry in entries]


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
