"""Which line of the protocol a body is spelled in, for dialects that share addresses and method names.

    what stands there                                                    spelled as
    `kind` in the message or a part                                      0.3
    `ROLE_...` or `TASK_STATE_...`, parts called `content`               0.3 (its ProtoJSON)
    `ROLE_...` or `TASK_STATE_...`                                       1.0
    `returnImmediately`, `taskPushNotificationConfig`, a part with
    `raw`, `url`, `filename` or `mediaType`, `statusTimestampAfter`      1.0
    `pushNotification` in the configuration, `mimeType` in a file        0.3
    `blocking` or `pushNotificationConfig` in the configuration, a
    file with `mediaType`                                                draft
    a role or a status in lower case, `lastUpdatedAfter` in digits,
    `metadata` beside the filters of a list                              draft
    a push configuration inside an object, or named by `configId`,
    `name` or `parent`                                                   draft

The first that fits counts. Everything else could be any of them.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, cast

import msgspec

from dragoman import operations
from dragoman.dialects.older import pick
from dragoman.operations import Operation

__all__ = ["DRAFT", "FINAL", "OLD", "Line", "line_of", "telling"]

Line = Literal["1.0", "draft", "0.3"]
"""What the key of a dialect begins with."""
FINAL: Line = "1.0"
DRAFT: Line = "draft"
OLD: Line = "0.3"

_CONFIGURED: tuple[tuple[str, Line], ...] = (
    ("taskPushNotificationConfig", FINAL),
    ("returnImmediately", FINAL),
    ("pushNotification", OLD),
    ("blocking", DRAFT),
    ("pushNotificationConfig", DRAFT),
)
_DRAFT_CONFIG = frozenset(
    {"name", "parent", "config", "configId", "config_id", "pushNotificationConfig", "push_notification_config"}
)
_FINAL_PART = frozenset({"raw", "url", "filename", "mediaType"})

_decode = msgspec.json.Decoder[Any]().decode


def telling(operation: Operation) -> bool:
    """Whether requests of this operation can tell their line."""
    return operation in _SNIFFERS


def line_of(params: bytes | msgspec.Raw, operation: Operation) -> Line | None:
    """The line in which a request of this operation is spelled; None where nothing tells."""
    try:
        value = _decode(params)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or operation not in _SNIFFERS:
        return None
    return _SNIFFERS[operation](cast("dict[str, Any]", value))


def _sending(given: dict[str, Any]) -> Line | None:
    message = _members(pick(given, "message", "request"))
    content = pick(message, "parts", "content")
    parts = [_members(part) for part in cast("Sequence[Any]", content if isinstance(content, list) else ())]
    if any("kind" in holder for holder in (message, *parts)):
        return OLD
    role = message.get("role")
    if isinstance(role, str) and role.startswith("ROLE_"):
        return OLD if "content" in message else FINAL
    holders: list[Line | None] = [_configured(_members(given.get("configuration"))), *[_part(part) for part in parts]]
    for found in holders:
        if found is not None:
            return found
    return DRAFT if isinstance(role, str) and role.islower() else None


def _configured(configuration: dict[str, Any]) -> Line | None:
    return next((line for name, line in _CONFIGURED if name in configuration), None)


def _part(part: dict[str, Any]) -> Line | None:
    if not _FINAL_PART.isdisjoint(part):
        return FINAL
    file = _members(part.get("file"))
    if "mediaType" in file:
        return DRAFT
    return OLD if "mimeType" in file else None


def _listing(given: dict[str, Any]) -> Line | None:
    status = given.get("status")
    if "statusTimestampAfter" in given or (isinstance(status, str) and status.startswith("TASK_STATE_")):
        return FINAL
    after = given.get("lastUpdatedAfter")
    in_digits = isinstance(after, int) or (isinstance(after, str) and after.isdigit())
    return DRAFT if in_digits or "metadata" in given or (isinstance(status, str) and status.islower()) else None


def _configuring(given: dict[str, Any]) -> Line | None:
    return None if _DRAFT_CONFIG.isdisjoint(given) else DRAFT


def _members(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


_SNIFFERS: dict[Operation, Callable[[dict[str, Any]], Line | None]] = {
    operations.SEND_MESSAGE: _sending,
    operations.SEND_STREAMING_MESSAGE: _sending,
    operations.LIST_TASKS: _listing,
    operations.CREATE_PUSH_CONFIG: _configuring,
    operations.GET_PUSH_CONFIG: _configuring,
    operations.DELETE_PUSH_CONFIG: _configuring,
}
