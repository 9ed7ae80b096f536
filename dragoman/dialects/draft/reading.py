"""From the request objects of the 1.0 draft to those of 1.0 (draft sections 3.1, 3.2.2, 9.4 and 10.4).

The draft leaves the parameters of push operations to the reader's guess in its JSON bindings; every spelling that its
text or its proto suggests is taken.
"""

from typing import Any, cast

from dragoman.dialects.older import Older, pick, push_config, resource
from dragoman.errors import FieldViolation, InvalidParamsError

__all__ = ["OLDER", "list_push_configs", "list_tasks", "name_push_config", "named_task", "send"]

OLDER = Older(nested_data=True)


def send(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    message = pick(given, "message", "request")
    rest = {name: member for name, member in given.items() if name not in ("message", "request", "configuration")}
    return {**rest, "message": OLDER.message(message), "configuration": _configuration(given.get("configuration"))}


def _configuration(value: Any) -> Any:
    """`blocking` is false unless stated, which is the opposite of what 1.0 does without a configuration."""
    if value is None:
        return {"returnImmediately": True}
    if not isinstance(value, dict):
        return value
    given = dict(cast("dict[str, Any]", value))
    blocking = given.pop("blocking", None)
    if blocking is not None and not isinstance(blocking, bool):
        raise _wrong("configuration.blocking", "must be true or false")
    if pick(given, "returnImmediately", "return_immediately") is None:
        given["returnImmediately"] = not blocking
    for name in ("pushNotificationConfig", "push_notification_config"):
        if given.get(name) is not None:
            given["taskPushNotificationConfig"] = push_config(given.pop(name))
    return given


def list_tasks(value: Any) -> Any:
    """Without a history length there is no history; `lastUpdatedAfter`, in milliseconds, is a name that 1.0 reads."""
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    return {"historyLength": 0, **given} if pick(given, "historyLength", "history_length") is None else given


def named_task(value: Any) -> Any:
    """A request that names a task, by id or by resource name."""
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    return {**given, "id": pick(given, "id", "taskId", "task_id") or resource(given.get("name"))[0]}


def name_push_config(value: Any) -> Any:
    """Get and delete: `id` is the configuration if the task has a name of its own, else the task."""
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    of_task, of_config = resource(given.get("name"))
    task = pick(given, "taskId", "task_id") or of_task or resource(given.get("parent"))[0]
    config = pick(given, "configId", "config_id", "pushNotificationConfigId", "push_notification_config_id")
    one = given.get("id")
    return {**given, "taskId": task or one, "id": config or of_config or (one if task else None)}


def list_push_configs(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    task = pick(given, "taskId", "task_id", "id") or resource(pick(given, "parent", "name"))[0]
    return {**given, "taskId": task}


def _wrong(field: str, description: str) -> InvalidParamsError:
    violations = (FieldViolation(field, description),)
    return InvalidParamsError(f"Invalid parameters: {field} {description}", violations=violations)
