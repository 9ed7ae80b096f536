"""The messages and fields of package `a2a.v1` that are made otherwise than the canonical values."""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec
import pybase64
from msgspec import UNSET

from dragoman import types
from dragoman.dialects.fields import Sub
from dragoman.dialects.protobuf import ALWAYS, Path, Record, Text, say
from dragoman.dialects.scalars import Findings
from dragoman.dialects.v0_3.reading import VALUE_ALONE
from dragoman.dialects.wellknown import read_members, write_members

__all__ = [
    "CONFIG",
    "CONFIG_OR_TASK",
    "NAMED_CONFIG",
    "PLAIN_CONFIG",
    "TASK",
    "Config",
    "Content",
    "Final",
    "Name",
    "NewConfig",
    "unwrap",
]

TASK = re.compile(r"tasks/(.+)", re.DOTALL)
CONFIG = re.compile(r"tasks/(.+?)/pushNotificationConfigs/(.+)", re.DOTALL)
CONFIG_OR_TASK = re.compile(r"tasks/(.+?)(?:/pushNotificationConfigs/(.*))?", re.DOTALL)
_ENDS_TURN = frozenset(state for state in types.TaskState if state.terminal or state.value == "input-required")


class Content:
    """The one content of a part."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        match message.WhichOneof("part"):
            case "text":
                members["text"] = message.text
            case "file":
                self._read_file(message.file, members, found, (path, "file"))
            case "data":
                try:
                    members["data"] = read_members(message.data.data)
                except ValueError as error:
                    say(found, (path, "data"), str(error))
            case _:
                say(found, path, "must have exactly one of text, file, data")

    @staticmethod
    def _read_file(file: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        match file.WhichOneof("file"):
            case "file_with_uri":
                members["url"] = file.file_with_uri
            case "file_with_bytes":
                members["base64"] = _base64_in(file.file_with_bytes)
            case _:
                say(found, path, "must have exactly one of file_with_uri, file_with_bytes")
        members["filename"] = file.name or None
        members["media_type"] = file.mime_type or None

    def write(self, value: types.Part, message: Any) -> None:
        if value.text is not None:
            message.text = value.text
        elif value.data is UNSET:
            self._write_file(value, message.file)
        elif isinstance(value.data, Mapping):
            write_members(cast("Mapping[str, Any]", value.data), message.data.data)
        else:
            write_members({"value": value.data}, message.data.data)
            message.metadata.fields[VALUE_ALONE].bool_value = True

    @staticmethod
    def _write_file(value: types.Part, file: Any) -> None:
        if value.url is not None:
            file.file_with_uri = value.url
        elif value.base64 is not None:
            file.file_with_bytes = value.base64.encode()
        file.name = value.filename or ""
        file.mime_type = value.media_type or ""


def _base64_in(given: bytes) -> str:
    """The base64 text of a file: what stands there, if it is such a text, else that of the bytes that stand there."""
    try:
        text = given.decode("ascii")
        pybase64.b64decode_as_bytearray(text, validate=True)
    except ValueError:
        return pybase64.b64encode(given).decode()
    return text


def unwrap(members: dict[str, Any]) -> None:
    """Takes data out of the object that it is in only because data have to be one."""
    data, metadata = members.get("data"), members.get("metadata")
    if metadata and metadata.get(VALUE_ALONE) is True and data is not None and "value" in data:
        members["data"] = data["value"]
        members["metadata"] = {name: value for name, value in metadata.items() if name != VALUE_ALONE} or None


class Final:
    """Whether a status event ends the stream; the state says it, so it is not read."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None: ...

    def write(self, value: types.TaskStatusUpdateEvent, message: Any) -> None:
        message.final = value.status.state in _ENDS_TURN


class Name:
    """A resource name, of a task or of a push configuration, whose parts are members of the request."""

    def __init__(self, wire: str, pattern: re.Pattern[str], *names: str) -> None:
        self._wire = wire
        self._pattern = pattern
        self._names = names

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        match = self._pattern.fullmatch(getattr(message, self._wire))
        if match is None:
            further = "/pushNotificationConfigs/{id}" if len(self._names) > 1 else ""
            say(found, (path, self._wire), f"must be tasks/{{id}}{further}")
        else:
            members |= {name: match[number] or "" for number, name in enumerate(self._names, 1)}

    def write(self, value: Any, message: Any) -> None:
        setattr(message, self._wire, _resource(*(getattr(value, name) for name in self._names)))


def _resource(task_id: str, config_id: str | None = None) -> str:
    return f"tasks/{task_id}" if config_id is None else f"tasks/{task_id}/pushNotificationConfigs/{config_id}"


class _Scheme:
    """The first of the schemes."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        if message.schemes and message.schemes[0]:
            members["scheme"] = message.schemes[0]
        else:
            say(found, (path, "schemes"), "is required")

    def write(self, value: types.AuthenticationInfo, message: Any) -> None:
        message.schemes.append(value.scheme)


PLAIN_CONFIG = Record(
    types.TaskPushNotificationConfig,
    Text("id"),
    Text("url", need=ALWAYS),
    Text("token"),
    Sub("authentication", Record(types.AuthenticationInfo, _Scheme(), Text("credentials"))),
)


class Config:
    """A push configuration under its resource name."""

    def read(self, message: Any, found: Findings, path: Path) -> types.TaskPushNotificationConfig | None:
        config: types.TaskPushNotificationConfig | None = PLAIN_CONFIG.read(
            message.push_notification_config, found, (path, "push_notification_config")
        )
        named = CONFIG.fullmatch(message.name)
        if config is None or named is None:
            return config
        return msgspec.structs.replace(config, task_id=named[1], id=config.id or named[2])

    def write(self, value: types.TaskPushNotificationConfig, message: Any) -> None:
        if value.id:
            message.name = _resource(value.task_id, value.id)
        PLAIN_CONFIG.write(value, message.push_notification_config)


NAMED_CONFIG = Config()


class NewConfig:
    """A push configuration for the task that `parent` names, else that its own name says."""

    def read(self, message: Any, found: Findings, path: Path) -> types.TaskPushNotificationConfig | None:
        config = NAMED_CONFIG.read(message.config, found, (path, "config"))
        parent = TASK.fullmatch(message.parent)
        if parent is None and (message.parent or config is None or not config.task_id):
            say(found, (path, "parent"), "must be tasks/{id}")
        if config is None or found.violations:
            return None
        return msgspec.structs.replace(
            config, task_id=parent[1] if parent else config.task_id, id=message.config_id or config.id
        )

    def write(self, value: types.TaskPushNotificationConfig, message: Any) -> None:
        message.parent = _resource(value.task_id)
        message.config_id = value.id
        NAMED_CONFIG.write(value, message.config)
