"""From the JSON of 1.0 to that of the 1.0 draft (draft sections 3.2, 4, 5.5 and 10.5.1).

Deviations from 1.0: states are lower kebab-case and `cancelled` has two Ls (conflict C1), roles are lower case; the
content of files and data stands in an object of its own, and data is always an object; status updates have `final`;
configurations ask with `blocking`, the opposite of `returnImmediately`; push configurations stand inside an object with
a resource name. What the draft has no place for is left out: media type and file name of parts that are no files.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any

__all__ = [
    "card",
    "create_push_config",
    "event",
    "list_tasks",
    "name_push_config",
    "page",
    "push_config",
    "push_configs",
    "same",
    "send",
    "task",
]

_FILE = (("raw", "fileWithBytes"), ("url", "fileWithUri"), ("mediaType", "mediaType"), ("filename", "name"))
_STATE_PREFIX = "TASK_STATE_"
_LAST = frozenset({"completed", "failed", "cancelled", "rejected", "input-required"})
"""States after which a stream has no more to say."""

Members = dict[str, Any]


def same(value: Members) -> Members:
    return value


def _part(given: Members) -> Members:
    if "text" in given:
        written: Members = {"text": given["text"]}
    elif "data" in given:
        data = given["data"]
        written = {"data": {"data": data if isinstance(data, dict) else {"value": data}}}
    else:
        written = {"file": {name: given[own] for own, name in _FILE if own in given}}
    return written | {"metadata": given["metadata"]} if "metadata" in given else written


def _message(given: Members) -> Members:
    role = given["role"].removeprefix("ROLE_").lower()
    return {**given, "role": role, "parts": [_part(item) for item in given["parts"]]}


def _status(given: Members) -> Members:
    return _with({**given, "state": _state(given["state"])}, message=_message)


def _state(name: str) -> str:
    return name.removeprefix(_STATE_PREFIX).lower().replace("_", "-").replace("canceled", "cancelled")


def _artifact(given: Members) -> Members:
    return {**given, "parts": [_part(item) for item in given["parts"]]}


def task(given: Members) -> Members:
    return _with(given, status=_status, artifacts=_each(_artifact), history=_each(_message))


def event(given: Members) -> Members:
    """A result of SendMessage, or an event of a stream."""
    return _with(given, task=task, message=_message, statusUpdate=_status_update, artifactUpdate=_artifact_update)


def _status_update(given: Members) -> Members:
    status = _status(given["status"])
    return {**given, "status": status, "final": status["state"] in _LAST}


def _artifact_update(given: Members) -> Members:
    return _with(given, artifact=_artifact)


def page(given: Members) -> Members:
    return _with(given, tasks=_each(task))


def push_config(given: Members) -> Members:
    """TaskPushNotificationConfig."""
    name = f"tasks/{given.get('taskId', '')}/pushNotificationConfigs/{given.get('id', '')}"
    return {"name": name, "pushNotificationConfig": _inner_config(given)}


def _inner_config(given: Members) -> Members:
    return _with(
        {name: given[name] for name in ("id", "url", "token", "authentication") if name in given},
        authentication=_authentication,
    )


def _authentication(given: Members) -> Members:
    return {"schemes": [given["scheme"]]} | {name: given[name] for name in ("credentials",) if name in given}


def push_configs(given: Members) -> Members:
    return _with(given, configs=_each(push_config))


def send(given: Members) -> Members:
    asked: Members = given.get("configuration", {})
    configuration: Members = {name: asked[name] for name in ("acceptedOutputModes", "historyLength") if name in asked}
    configuration["blocking"] = not asked.get("returnImmediately", False)
    if "taskPushNotificationConfig" in asked:
        configuration["pushNotificationConfig"] = _inner_config(asked["taskPushNotificationConfig"])
    return {**given, "message": _message(given["message"]), "configuration": configuration}


def list_tasks(given: Members) -> Members:
    written = _with(given, status=_state)
    after = written.pop("statusTimestampAfter", None)
    if after is not None:
        written["lastUpdatedAfter"] = round(datetime.fromisoformat(after).timestamp() * 1000)
    return written


def create_push_config(given: Members) -> Members:
    """What the proto of the draft takes, with the task named as its text has it too."""
    return {
        **{name: given[name] for name in ("tenant",) if name in given},
        "taskId": given["taskId"],
        "parent": f"tasks/{given['taskId']}",
        "configId": given.get("id", ""),
        "config": push_config(given),
    }


def name_push_config(given: Members) -> Members:
    """Get and delete."""
    return {"configId" if name == "id" else name: member for name, member in given.items()}


def card(given: Members) -> Members:
    """The version stands once, at the top, and the extended card is not among the capabilities."""
    capabilities = dict(given["capabilities"])
    extended = capabilities.pop("extendedAgentCard", None)
    further = {} if extended is None else {"supportsAuthenticatedExtendedCard": extended}
    interfaces = [
        {name: member for name, member in interface.items() if name != "protocolVersion"}
        for interface in given["supportedInterfaces"]
    ]
    skills = [_secured(skill) for skill in given["skills"]]
    own = {"supportedInterfaces": interfaces, "capabilities": capabilities, "skills": skills}
    return {"protocolVersion": "1.0", **_secured(given), **own, **further}


def _secured(given: Members) -> Members:
    return {"security" if name == "securityRequirements" else name: member for name, member in given.items()}


def _with(given: Members, **writers: Callable[[Any], Any]) -> Members:
    return {name: writers[name](member) if name in writers else member for name, member in given.items()}


def _each(write: Callable[[Members], Members]) -> Callable[[list[Members]], list[Members]]:
    return lambda items: [write(item) for item in items]
