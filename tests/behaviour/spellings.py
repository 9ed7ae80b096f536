"""How each line of the protocol spells the objects of 1.0, written out by hand and both ways.

Nothing here uses the project's codecs. Requests are those of 1.0 in JSON, respelled; what is not an object where one
belongs stays as it is, so that wrong requests can be said in every spelling. Answers are read strictly: a name, a
spelling or a `kind` that the line does not have is a failure.
"""

import base64
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, cast

import msgspec

__all__ = ["DRAFT", "FINAL", "KINDS", "PROTO", "Final", "Older"]

Members = dict[str, Any]
States = Mapping[str, str]

_NAMES = ("SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED", "INPUT_REQUIRED", "REJECTED", "AUTH_REQUIRED")
_EVENTS = {"task": "task", "message": "message", "status-update": "statusUpdate", "artifact-update": "artifactUpdate"}
_ENDS = ("COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED")


class Final:
    """1.0: as it is."""

    def params(self, operation: str, given: Members) -> Members:  # noqa: ARG002 -- as in older lines
        return given

    def result(self, operation: str, given: Any) -> Any:  # noqa: ARG002 -- as in older lines
        return given

    def event(self, given: Any) -> Any:
        return given

    def field(self, name: str) -> str:
        """A member named in an error, as 1.0 names it."""
        return name


class Older(msgspec.Struct, frozen=True):
    """A line before 1.0, by what it does differently."""

    states: States
    """By the names of 1.0."""
    roles: States
    parts: str
    """The member of a message that holds its parts."""
    file: Mapping[str, str]
    """The members of a file, by those that they have in 1.0."""
    push: str
    """The member of a configuration that holds the webhook."""
    kinds: bool = False
    """Objects say what they are, and stand bare."""
    resources: bool = False
    """Tasks are named `tasks/{id}`."""
    twice: bool = False
    """Bytes are base64 of base64."""
    config_id: str = "configId"

    # Requests.

    def params(self, operation: str, given: Members) -> Members:
        writers: dict[str, Callable[[Members], Members]] = {
            "SendMessage": self._send,
            "SendStreamingMessage": self._send,
            "ListTasks": self._list,
            "CreateTaskPushNotificationConfig": self._push_config,
            "GetTaskPushNotificationConfig": self._name_config,
            "ListTaskPushNotificationConfigs": self._name_configs,
            "DeleteTaskPushNotificationConfig": self._name_config,
        }
        return writers.get(operation, self._name)(given)

    def _name(self, given: Members) -> Members:
        """A task, by its id."""
        if self.resources and "id" in given:
            return {**_but(given, "id"), "name": f"tasks/{given['id']}"}
        return given

    def _send(self, given: Members) -> Members:
        asked = given.get("configuration", {})
        if isinstance(asked, dict):
            asked = _but(cast("Members", asked), "returnImmediately", "taskPushNotificationConfig")
            at_once = given.get("configuration", {}).get("returnImmediately", False)
            asked["blocking"] = not at_once if isinstance(at_once, bool) else at_once
            if "taskPushNotificationConfig" in given.get("configuration", {}):
                asked[self.push] = self._said_config(given["configuration"]["taskPushNotificationConfig"])
        sent = {"message": self._said(given["message"])} if "message" in given else {}
        return {**given, **sent, "configuration": asked}

    def _said(self, given: Any) -> Any:
        """A message of the caller."""
        if not isinstance(given, dict):
            return given
        members = cast("Members", given)
        said = {"kind": "message", **_but(members, "parts")} if self.kinds else _but(members, "parts")
        if "role" in members:
            said["role"] = self._role(members["role"])
        parts = members.get("parts")
        if "parts" in members:
            items: Any = [self._said_part(part) for part in cast("list[Any]", parts)]
            said[self.parts] = items if isinstance(parts, list) else parts
        return said

    def _role(self, given: Any) -> Any:
        """A role, spelled as the line spells roles even if it has no such one."""
        if self.resources or not isinstance(given, str):
            return given
        return given.removeprefix("ROLE_").lower()

    def _said_part(self, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        part = cast("Members", given)
        kinds: list[str] = []
        said: Members = _but(part, "text", "raw", "url", "data", "filename", "mediaType")
        if "text" in part:
            kinds.append("text")
            said["text"] = part["text"]
        if {"raw", "url"} & set(part):
            kinds.append("file")
            file = {name: part[own] for own, name in self.file.items() if own in part}
            if self.twice and _is_base64(part.get("raw")):
                file[self.file["raw"]] = base64.b64encode(part["raw"].encode()).decode()
            said["file"] = file
        if "data" in part:
            kinds.append("data")
            said["data"] = part["data"] if self.kinds else {"data": part["data"]}
        return {"kind": kinds[0], **said} if self.kinds and kinds else said

    def _said_config(self, given: Any) -> Any:
        """Where updates are pushed, and how, with a list of schemes."""
        if not isinstance(given, dict):
            return given
        config = _but(cast("Members", given), "taskId", "tenant")
        if isinstance(how := config.get("authentication"), dict) and "scheme" in how:
            config["authentication"] = {**_but(cast("Members", how), "scheme"), "schemes": [how["scheme"]]}
        return config

    def _push_config(self, given: Members) -> Members:
        config = self._said_config(given)
        if self.kinds:
            return {"taskId": given["taskId"], "pushNotificationConfig": config}
        parent = f"tasks/{given['taskId']}"
        if "id" not in given:
            return {"parent": parent, "config": {"pushNotificationConfig": config}}
        inner = {"name": f"{parent}/pushNotificationConfigs/{given['id']}", "pushNotificationConfig": config}
        return {"parent": parent, "configId": given["id"], "config": inner}

    def _name_config(self, given: Members) -> Members:
        if self.resources:
            return {"name": "/".join(["tasks", given["taskId"], "pushNotificationConfigs", given.get("id", "")])}
        task = "id" if self.kinds else "taskId"
        return {task: given.get("taskId", ""), self.config_id: given.get("id", "")}

    def _name_configs(self, given: Members) -> Members:
        named = {"parent": f"tasks/{given['taskId']}"} if self.resources else {"id": given.get("taskId", "")}
        return {**_but(given, "taskId", "tenant"), **named}

    def _list(self, given: Members) -> Members:
        # Only the draft has metadata beside the filters, which tells it from 1.0.
        asked: Members = {"metadata": {}, **_but(given, "statusTimestampAfter")}
        if "status" in given:
            asked["status"] = self.states.get(given["status"], given["status"].lower())
        if "statusTimestampAfter" in given:
            after = given["statusTimestampAfter"]
            asked["lastUpdatedAfter"] = _milliseconds(after)
        return asked

    # Answers.

    def result(self, operation: str, given: Any) -> Any:
        match operation:
            case "SendMessage" | "SendStreamingMessage" | "SubscribeToTask":
                return self.event(given)
            case "GetTask" | "CancelTask":
                return self._task(given)
            case "ListTasks":
                return {**given, "tasks": [self._task(task) for task in given["tasks"]]}
            case "CreateTaskPushNotificationConfig" | "GetTaskPushNotificationConfig":
                return self._config(given)
            case "ListTaskPushNotificationConfigs":
                listed = {"configs": given} if self.kinds else given
                return {**listed, "configs": [self._config(config) for config in listed.get("configs", [])]}
            case _:
                return given

    def event(self, given: Any) -> Any:
        if self.kinds:
            given = {_EVENTS[given["kind"]]: given}
        assert len(given) == 1, given
        readers: dict[str, Callable[[Members], Members]] = {
            "task": self._task,
            "message": self._message,
            "statusUpdate": self._status_update,
            "artifactUpdate": lambda update: {
                **self._kind(update, "artifact-update"),
                "artifact": self._artifact(update["artifact"]),
            },
        }
        return {name: readers[name](inner) for name, inner in given.items()}

    def _kind(self, given: Members, kind: str) -> Members:
        """Without the `kind`, which must be there if the line has one, and nowhere else."""
        assert given.get("kind") == (kind if self.kinds else None), given
        return _but(given, "kind")

    def _task(self, given: Members) -> Members:
        task = {**self._kind(given, "task"), "status": self._status(given["status"])}
        if "artifacts" in given:
            task["artifacts"] = [self._artifact(artifact) for artifact in given["artifacts"]]
        if "history" in given:
            task["history"] = [self._message(message) for message in given["history"]]
        return task

    def _config(self, given: Members) -> Members:
        assert set(given) == {"taskId" if self.kinds else "name", "pushNotificationConfig"}, given
        inner = given["pushNotificationConfig"]
        if self.kinds:
            task_id = given["taskId"]
        else:
            tasks, task_id, configs, config_id = given["name"].split("/", 3)
            assert (tasks, configs, config_id) == ("tasks", "pushNotificationConfigs", inner["id"]), given
        config = {**inner, "taskId": task_id}
        if "authentication" in inner:
            (scheme,) = inner["authentication"]["schemes"]
            config["authentication"] = {**_but(inner["authentication"], "schemes"), "scheme": scheme}
        return config

    def _status(self, given: Members) -> Members:
        names = {spelled: name for name, spelled in self.states.items()}
        status = {**given, "state": names[given["state"]]}
        return status | {"message": self._message(given["message"])} if "message" in given else status

    def _status_update(self, given: Members) -> Members:
        update = {**self._kind(given, "status-update"), "status": self._status(given["status"])}
        ends = update["status"]["state"].removeprefix("TASK_STATE_") in _ENDS
        assert update.pop("final", None if self.resources else "absent") == (
            ends or (None if self.resources else False)
        )
        return update

    def _message(self, given: Members) -> Members:
        names = {spelled: name for name, spelled in self.roles.items()}
        message = {**self._kind(given, "message"), "role": names[given["role"]]}
        return {**_but(message, self.parts), "parts": [self._part(part) for part in given[self.parts]]}

    def _artifact(self, given: Members) -> Members:
        return {**given, "parts": [self._part(part) for part in given["parts"]]}

    def _part(self, given: Members) -> Members:
        kind = next(name for name in ("text", "file", "data") if name in given)
        part = self._kind(given, kind)
        if kind == "file":
            own = {name: own for own, name in self.file.items()}
            file = {own[name]: member for name, member in part.pop("file").items()}
            if self.twice and "raw" in file:
                file["raw"] = base64.b64decode(file["raw"]).decode()
            return {**part, **file}
        if kind == "data" and not self.kinds:
            assert set(part["data"]) == {"data"}, part
            return {**part, "data": part["data"]["data"]}
        return part

    def field(self, name: str) -> str:
        spellings = {
            "request.": "message.",
            self.parts: "parts",
            f"configuration.{self.push}": "configuration.taskPushNotificationConfig",
            "configuration.blocking": "configuration.returnImmediately",
            "lastUpdatedAfter": "statusTimestampAfter",
            **{f".file.{spelled}": f".{own}" for own, spelled in self.file.items()},
        }
        for spelled, own in spellings.items():
            name = name.replace(spelled, own)
        return name


def _but(given: Members, *names: str) -> Members:
    return {name: member for name, member in given.items() if name not in names}


def _is_base64(text: Any) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        return False
    return True


def _milliseconds(instant: str) -> Any:
    try:
        return round(datetime.fromisoformat(instant).timestamp() * 1000)
    except ValueError:
        return instant


def _spelled(write: Callable[[str], str]) -> States:
    return {f"TASK_STATE_{name}": write(name) for name in _NAMES}


_ROLES = {"ROLE_USER": "user", "ROLE_AGENT": "agent"}
_FILE = {"raw": "fileWithBytes", "url": "fileWithUri", "mediaType": "mimeType", "filename": "name"}

FINAL = Final()
KINDS = Older(
    states=_spelled(lambda name: name.lower().replace("_", "-")),
    roles=_ROLES,
    parts="parts",
    file={"raw": "bytes", "url": "uri", "mediaType": "mimeType", "filename": "name"},
    push="pushNotificationConfig",
    kinds=True,
    config_id="pushNotificationConfigId",
)
"""0.3 over JSON-RPC."""
PROTO = Older(
    states=_spelled(lambda name: f"TASK_STATE_{name.replace('CANCELED', 'CANCELLED')}"),
    roles={role: role for role in _ROLES},
    parts="content",
    file=_FILE,
    push="pushNotification",
    resources=True,
    twice=True,
)
"""0.3 over HTTP+JSON, and the JSON of the messages that 0.3 and the draft share over gRPC."""
DRAFT = Older(
    states=_spelled(lambda name: name.lower().replace("_", "-").replace("canceled", "cancelled")),
    roles=_ROLES,
    parts="parts",
    file={**_FILE, "mediaType": "mediaType"},
    push="pushNotificationConfig",
)
"""The draft over JSON."""
