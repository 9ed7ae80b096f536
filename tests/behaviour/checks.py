"""What every answer has to be, whatever was asked: names, spellings, timestamps."""

import re
from typing import Any, cast

__all__ = ["FREE", "check_payload"]

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
