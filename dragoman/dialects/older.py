"""Objects as dialects before 1.0 spell them, made into the JSON of 1.0: what peers mean is read whatever they speak.

File parts have their content in an object of its own (or, in an appendix of the draft, beside a `kind`), 0.3 calls the
parts of a message `content` where it speaks ProtoJSON, results and events stand bare with a `kind` or wrapped by a
member name, push configurations inside an object that says the task. Names of states and roles are left to the liberal
reader, which takes every spelling; what is no such object stays as it is, for that reader to complain about.
"""

from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, cast

__all__ = [
    "Older",
    "authentication",
    "noticing",
    "pick",
    "push_config",
    "push_configs",
    "resource",
    "unwrapped",
    "wrapped",
]

noticing: ContextVar[Callable[[], None] | None] = ContextVar("noticing", default=None)
"""Called for each reply that is read and has older shapes or names, if its reader has set this."""

_KINDS = {"task": "task", "message": "message", "status-update": "statusUpdate", "artifact-update": "artifactUpdate"}
_MARKS = (
    ("messageId", "message"),
    ("artifact", "artifactUpdate"),
    ("taskId", "statusUpdate"),
    ("status", "task"),
)
"""Which member gives a bare object away, in the order of asking."""
_FLAT_FILE = frozenset({"fileWithBytes", "fileWithUri", "file_with_bytes", "file_with_uri"})
_FILE = (
    ("raw", ("fileWithBytes", "file_with_bytes", "bytes")),
    ("url", ("fileWithUri", "file_with_uri", "uri")),
    ("mediaType", ("mediaType", "media_type", "mimeType", "mime_type")),
    ("filename", ("name",)),
)


def pick(members: dict[str, Any], *names: str) -> Any:
    """What stands under the first of the names that has something; None if none has."""
    return next((members[name] for name in names if members.get(name) is not None), None)


def resource(name: Any) -> tuple[str | None, str | None]:
    """Task and push configuration of a resource name, `tasks/{id}/pushNotificationConfigs/{id}`, as far as it goes."""
    words = name.split("/") if isinstance(name, str) else []
    named = dict(zip(words[::2], words[1::2], strict=False))
    return named.get("tasks"), named.get("pushNotificationConfigs")


class Older:
    """`nested_data` says that data parts are `{"data": {"data": {...}}}`, which in 1.0 has another meaning."""

    def __init__(self, *, nested_data: bool) -> None:
        self._nested_data = nested_data

    def part(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        given = cast("dict[str, Any]", value)
        file = given.get("file")
        if not isinstance(file, dict) and not _FLAT_FILE.isdisjoint(given):
            file = given
        if isinstance(file, dict):
            members = cast("dict[str, Any]", file)
            found = {name: pick(members, *spellings) for name, spellings in _FILE}
            # A part that has other contents too is for the reader to refuse.
            found |= {name: given.get(name) for name in ("text", "data", "metadata")}
            return {name: member for name, member in found.items() if member is not None}
        data = given.get("data")
        if self._nested_data and "kind" not in given and isinstance(data, dict) and "data" in data:
            return {**given, "data": cast("dict[str, Any]", data)["data"]}
        return given

    def message(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        given = cast("dict[str, Any]", value)
        parts = pick(given, "parts", "content")
        return given if parts is None else {**given, "parts": _each(parts, self.part)}

    def task(self, value: Any) -> Any:
        return _with(value, {"status": self._status, "history": self._messages, "artifacts": self._artifacts})

    def result(self, value: Any) -> Any:
        """A task that is a result, bare or wrapped."""
        return self.task(unwrapped(value))

    def event(self, value: Any) -> Any:
        """A result or an event, wrapped by the member name that says what it is."""
        updates = {"status": self._status, "artifact": self._artifact}
        return _with(
            wrapped(value),
            {
                "task": self.task,
                "message": self.message,
                "msg": self.message,
                "statusUpdate": lambda update: _with(update, updates),
                "status_update": lambda update: _with(update, updates),
                "artifactUpdate": lambda update: _with(update, updates),
                "artifact_update": lambda update: _with(update, updates),
            },
        )

    def page(self, value: Any) -> Any:
        """A page of tasks, which may be a bare array."""
        whole = {"tasks": cast("Any", value)} if isinstance(value, list) else value
        return _with(whole, {"tasks": lambda tasks: _each(tasks, self.task)})

    def _status(self, value: Any) -> Any:
        return _with(value, {"message": self.message, "update": self.message})

    def _messages(self, value: Any) -> Any:
        return _each(value, self.message)

    def _artifacts(self, value: Any) -> Any:
        return _each(value, self._artifact)

    def _artifact(self, value: Any) -> Any:
        return _with(value, {"parts": lambda parts: _each(parts, self.part)})


def push_config(value: Any) -> Any:
    """A push configuration as one flat object, wherever it names its task and itself."""
    if not isinstance(value, dict):
        return value
    outer = cast("dict[str, Any]", value)
    middle = pick(outer, "config") if isinstance(outer.get("config"), dict) else outer
    inner = pick(middle, "pushNotificationConfig", "push_notification_config")
    given = cast("dict[str, Any]", inner) if isinstance(inner, dict) else middle
    task, named = _first_resource(outer.get("name"), outer.get("parent"), middle.get("name"))
    stated = pick(outer, "configId", "config_id", "pushNotificationConfigId", "push_notification_config_id")
    task_id = pick(outer, "taskId", "task_id")
    nested = given is not outer
    found = {
        **{name: member for name, member in given.items() if name not in ("name", "authentication")},
        "id": stated or given.get("id") or named or (outer.get("id") if nested and task_id is not None else None),
        "taskId": task_id or task or (outer.get("id") if nested else None),
        "tenant": outer.get("tenant"),
        "authentication": authentication(given.get("authentication")),
    }
    return {name: member for name, member in found.items() if member is not None}


def push_configs(value: Any) -> Any:
    """A list of push configurations, which may be a bare array."""
    whole = {"configs": cast("Any", value)} if isinstance(value, list) else value
    return _with(whole, {"configs": lambda configs: _each(configs, push_config)})


def authentication(value: Any) -> Any:
    """How to authenticate to a webhook; of several schemes the first."""
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    schemes = given.get("schemes")
    if "scheme" in given or not isinstance(schemes, list):
        return given
    first: Any = next(iter(cast("Sequence[Any]", schemes)), None)
    return {"scheme": first, "credentials": given.get("credentials")}


def _first_resource(*names: Any) -> tuple[str | None, str | None]:
    found = [resource(name) for name in names]
    tasks = [task for task, _ in found if task]
    configs = [config for _, config in found if config]
    return tasks[0] if tasks else None, configs[0] if configs else None


def unwrapped(value: Any) -> Any:
    """A task that is a result, which some wrap."""
    if isinstance(value, dict) and "status" not in value and isinstance(value.get("task"), dict):
        return cast("dict[str, Any]", value)["task"]
    return cast("Any", value)


def wrapped(value: Any) -> Any:
    """A result or an event under the member name that says what it is, which older ones say in `kind` or not at all."""
    if not isinstance(value, dict) or not _WRAPPERS.isdisjoint(cast("dict[str, Any]", value)):
        return cast("Any", value)
    bare = cast("dict[str, Any]", value)
    name = _KINDS.get(str(bare.get("kind")))
    if name is None:
        name = next((name for mark, name in _MARKS if mark in bare), None)
    return bare if name is None else {name: bare}


_WRAPPERS = frozenset({*_KINDS.values(), "msg", "status_update", "artifact_update"})


def _with(value: Any, readers: Mapping[str, Callable[[Any], Any]]) -> Any:
    """The object with some of its members read; `msg` and `update` are older names of `message`."""
    if not isinstance(value, dict):
        return value
    given = cast("dict[str, Any]", value)
    found = {name: readers[name](member) if name in readers else member for name, member in given.items()}
    for older in ("msg", "update"):
        if older in readers and older in found:
            found.setdefault("message", found[older])
    return found


def _each(value: Any, read: Callable[[Any], Any]) -> Any:
    return [read(item) for item in cast("Sequence[Any]", value)] if isinstance(value, list) else value
