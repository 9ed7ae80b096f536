"""Every field of every message has a meaning in canonical values, or is named here with the reason why it has none."""

from collections.abc import Iterator
from typing import Any

import pytest

from dragoman import _proto
from dragoman.dialects.grpc import GrpcBinding
from dragoman.dialects.protobuf import Codec
from dragoman.dialects.v0_3 import grpc as v0_3
from dragoman.dialects.v1_0 import grpc as v1_0
from dragoman.errors import A2AError, ReplyMalformed

DROPPED = {
    "a2a.v1.TaskStatusUpdateEvent.final": "the state of the task says it",
    "a2a.v1.ListTasksRequest.metadata": "the draft gives it no meaning, and 1.0 has dropped it",
    "a2a.v1.AgentCapabilities.state_transition_history": "nobody ever said what it promises; 1.0 has dropped it",
    "a2a.v1.CreateTaskPushNotificationConfigRequest.parent": "the name of the configuration says it too",
    "a2a.v1.SetTaskPushNotificationConfigRequest.parent": "the name of the configuration says it too",
    "a2a.v1.AgentCard.url": "older than supported_interfaces, and not read beside them",
    "a2a.v1.AgentCard.preferred_transport": "older than supported_interfaces, and not read beside them",
    "a2a.v1.AgentCard.additional_interfaces": "older than supported_interfaces, and not read beside them",
}
"""Fields that may be absent from any message that has all others without anybody noticing."""

DIALECTS: tuple[GrpcBinding, ...] = (v1_0.Grpc(), v0_3.Grpc(), v0_3.DraftGrpc())
CONFIG_NAME = "tasks/t/pushNotificationConfigs/c"
NAMES = {
    "GetTaskPushNotificationConfigRequest": CONFIG_NAME,
    "DeleteTaskPushNotificationConfigRequest": CONFIG_NAME,
    "TaskPushNotificationConfig": CONFIG_NAME,
    "GetTaskRequest": "tasks/t",
    "CancelTaskRequest": "tasks/t",
    "TaskSubscriptionRequest": "tasks/t",
    "SubscribeToTaskRequest": "tasks/t",
}
SCALARS: dict[str, Any] = {"bytes": b"AAAA", "bool": True, "int32": 7, "int64": 7_000, "enum": 2}
KINDS = {3: "int64", 5: "int32", 8: "bool", 9: "string", 12: "bytes", 14: "enum"}
MESSAGE = 11


def whole(descriptor: Any, chosen: dict[str, str]) -> Any:
    """A message with all its fields; of alternatives the chosen one, else the first."""
    message = _proto.message(descriptor.full_name)()
    for field in descriptor.fields:
        if field.containing_oneof is None or chosen_of(field.containing_oneof, chosen) == field.name:
            put(message, field, chosen)
    return message


def chosen_of(oneof: Any, chosen: dict[str, str]) -> str:
    first: str = oneof.fields[0].name
    return chosen.get(oneof.full_name, first)


def put(message: Any, field: Any, chosen: dict[str, str]) -> None:
    inner = field.message_type
    if inner is not None and inner.GetOptions().map_entry:
        entries = getattr(message, field.name)
        value = inner.fields_by_name["value"]
        if value.message_type is None:
            entries["k"] = field.full_name
        else:
            entries["k"].CopyFrom(whole(value.message_type, chosen))
    elif field.is_repeated:
        getattr(message, field.name).append(single(field, chosen))
    elif inner is not None:
        getattr(message, field.name).CopyFrom(single(field, chosen))
    else:
        setattr(message, field.name, single(field, chosen))


def single(field: Any, chosen: dict[str, str]) -> Any:
    inner = field.message_type
    if inner is None:
        holder = field.containing_type
        if holder.full_name.startswith("a2a.v1.") and field.name in {"name", "parent"} and holder.name not in FREE:
            return NAMES.get(holder.name, "tasks/t")
        return SCALARS.get(KINDS[field.type], field.full_name)
    if inner.full_name == "google.protobuf.Struct":
        return _proto.message(inner.full_name)(fields={"k": _proto.message("google.protobuf.Value")(number_value=1)})
    if inner.full_name == "google.protobuf.Value":
        return _proto.message(inner.full_name)(string_value="x")
    if inner.full_name == "google.protobuf.Timestamp":
        return _proto.message(inner.full_name)(seconds=7)
    return whole(inner, chosen)


FREE = {"Artifact", "AgentCard", "AgentSkill", "FilePart", "APIKeySecurityScheme"}
"""Messages whose `name` is for people."""


def below(descriptor: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The fields on the way to each field of a message, itself last."""
    for field in descriptor.fields:
        yield (*path, field)
        if field.message_type is not None and not field.message_type.full_name.startswith("google."):
            yield from below(field.message_type, (*path, field))


def codecs() -> Iterator[tuple[str, Codec]]:
    for dialect in DIALECTS:
        for codec in (*dialect.requests.values(), *dialect.results.values()):
            if codec is not None:
                yield f"{dialect.key} {codec.message}", codec


def cases() -> list[Any]:
    """Each field of each message once for each dialect, with all the places where it is met."""
    places: dict[tuple[str, str], list[tuple[Codec, tuple[Any, ...]]]] = {}
    for name, codec in codecs():
        for path in below(_proto.descriptor_of(codec.message)):
            if not in_entry(path[-1]):
                places.setdefault((name.partition(" ")[0], path[-1].full_name), []).append((codec, path))
    return [pytest.param(field, met, id=f"{dialect} {field}") for (dialect, field), met in places.items()]


def read(codec: Codec, message: Any) -> Any:
    try:
        return codec.decode(message.SerializeToString())
    except (A2AError, ReplyMalformed):
        return None


def without(message: Any, path: tuple[Any, ...]) -> None:
    """Takes the last field of the path out of the message."""
    for field in path[:-1]:
        if in_entry(field):
            continue
        message = getattr(message, field.name)
        if field.is_repeated:
            message = message["k" if field.message_type.GetOptions().map_entry else 0]
    message.ClearField(path[-1].name)


def in_entry(field: Any) -> bool:
    """Whether the field is that of an entry of a map."""
    return bool(field.containing_type.GetOptions().map_entry)


def noticed(codec: Codec, path: tuple[Any, ...]) -> bool:
    """Whether it makes a difference that the last field of the path is there."""
    chosen = {field.containing_oneof.full_name: field.name for field in path if field.containing_oneof is not None}
    full = whole(_proto.descriptor_of(codec.message), chosen)
    value = read(codec, full)
    assert value is not None, full
    without(full, path)
    return bool(read(codec, full) != value)


@pytest.mark.parametrize(("field", "places"), cases())
def test_a_field_has_a_meaning_or_a_reason_to_have_none(
    field: str, places: list[tuple[Codec, tuple[Any, ...]]]
) -> None:
    assert any(noticed(codec, path) for codec, path in places) != (field in DROPPED), DROPPED.get(field)


def test_every_dropped_field_exists() -> None:
    assert set(DROPPED) - set(_proto.symbols()) == set()


def test_every_message_of_the_packages_is_met() -> None:
    met = {
        path[-1].containing_type.full_name
        for _, codec in codecs()
        for path in below(_proto.descriptor_of(codec.message))
    }
    met |= {codec.message for _, codec in codecs()}
    pool = {name for name in _proto.symbols() if name.startswith(("lf.a2a.v1.", "a2a.v1."))}
    messages = {name for name in pool if is_message(name)}
    assert messages - met == set()


def is_message(name: str) -> bool:
    try:
        _proto.message(name)
    except KeyError:
        return False
    return True
