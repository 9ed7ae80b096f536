"""What each operation of A2A 0.3 takes and gives, as codecs: one table for each of the two JSON bindings."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from dragoman import operations
from dragoman.dialects import older
from dragoman.dialects.codec import Codec
from dragoman.dialects.liberal import Rule
from dragoman.dialects.v0_3 import card, objects, reading, writing
from dragoman.dialects.v1_0 import codecs as newer
from dragoman.dialects.v1_0 import objects as newer_objects
from dragoman.dialects.v1_0 import reading as newer_reading
from dragoman.dialects.v1_0 import requests
from dragoman.dialects.v1_0 import writing as newer_writing
from dragoman.errors import FieldViolation
from dragoman.operations import Operation

__all__ = ["PROTO_REQUESTS", "PROTO_RESULTS", "RPC_REQUESTS", "RPC_RESULTS"]

Table = Mapping[Operation, Codec[Any, Any]]
ResultTable = Mapping[Operation, Codec[Any, Any] | None]


def _one_of(*names: str) -> Rule:
    def check(members: dict[str, Any]) -> str | None:
        if sum(name in members for name in names) == 1:
            return None
        return f"must have exactly one of {', '.join(names)}"

    return check


def _has_parts(message: dict[str, Any]) -> FieldViolation | None:
    parts = message.get("parts", message.get("content"))
    if parts:
        return None
    return FieldViolation("parts", "is required" if parts is None else "must not be empty")


_RULES: dict[type[msgspec.Struct], Rule] = {
    objects.Part: _one_of("text", "file", "data"),
    objects.File: _one_of("bytes", "uri", "fileWithBytes", "fileWithUri"),
}


class _Bare(Codec[Any, Any]):
    """Results of JSON-RPC, which stand alone and say in `kind` what they are."""

    def decode(self, body: bytes | msgspec.Raw) -> Any:
        try:
            name = _NAMES.get(_kind.decode(body).kind)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            name = None
        return super().decode(body if name is None else b'{"%b":%b}' % (name, bytes(body)))


class _Kind(msgspec.Struct):
    kind: str = ""


_kind = msgspec.json.Decoder(_Kind)
_NAMES = {
    "task": b"task",
    "message": b"message",
    "status-update": b"statusUpdate",
    "artifact-update": b"artifactUpdate",
}


def _push(wire: type[msgspec.Struct], read: Any, write: Any, shape: Any, *, strict: bool = False) -> Codec[Any, Any]:
    """A push configuration in any of its forms, read as in 1.0."""
    return Codec(wire, read, write, strict=strict, shape=shape, plain=False)


def _page(value: Any) -> Any:
    """A page of tasks, which some peers answer as a bare array."""
    return {"tasks": cast("Any", value)} if isinstance(value, list) else value


def _requests(writer: writing.Writer, send: Callable[[objects.SendMessage], Any]) -> dict[Operation, Codec[Any, Any]]:
    rules = _RULES | {objects.Message: _has_parts}
    message = Codec(objects.SendMessage, send, writer.send_message, strict=True, rules=rules, aliased=True)
    return {
        operations.SEND_MESSAGE: message,
        operations.SEND_STREAMING_MESSAGE: message,
        operations.GET_TASK: Codec(requests.GetTask, reading.get_task, writing.get_task, strict=True),
        operations.CANCEL_TASK: newer.REQUESTS[operations.CANCEL_TASK],
        operations.SUBSCRIBE_TO_TASK: Codec(
            requests.SubscribeToTask, reading.subscribe, newer_writing.subscribe, strict=True
        ),
        operations.CREATE_PUSH_CONFIG: _push(
            requests.CreatePushConfig,
            newer_reading.push_config,
            writer.create_push_config,
            older.push_config,
            strict=True,
        ),
        operations.GET_EXTENDED_AGENT_CARD: newer.REQUESTS[operations.GET_EXTENDED_AGENT_CARD],
    }


def _results(
    writer: writing.Writer, codec: type[Codec[Any, Any]], write: Callable[[Any], Any]
) -> dict[Operation, Codec[Any, Any] | None]:
    event = codec(objects.Event, reading.event, write, rules=_RULES, aliased=True, shape=older.wrapped)
    task = Codec(objects.Task, reading.task, writer.task, rules=_RULES, aliased=True, shape=older.unwrapped)
    push = _push(newer_objects.PushConfig, newer_reading.push_config, writer.push_config, older.push_config)
    pushes = _push(newer_objects.PushConfigs, newer_reading.push_configs, writer.push_configs, older.push_configs)
    return {
        operations.SEND_MESSAGE: codec(
            objects.Event, reading.send_response, write, rules=_RULES, aliased=True, shape=older.wrapped
        ),
        operations.SEND_STREAMING_MESSAGE: event,
        operations.GET_TASK: task,
        operations.CANCEL_TASK: task,
        operations.SUBSCRIBE_TO_TASK: event,
        operations.CREATE_PUSH_CONFIG: push,
        operations.GET_PUSH_CONFIG: push,
        operations.LIST_PUSH_CONFIGS: pushes,
        operations.DELETE_PUSH_CONFIG: None,
        operations.GET_EXTENDED_AGENT_CARD: card.CODEC,
    }


_rpc = writing.Writer(kinds=True)
_proto = writing.Writer(kinds=False)

RPC_REQUESTS: Table = _requests(_rpc, reading.send_message) | {
    operations.GET_PUSH_CONFIG: Codec(
        objects.NamePushConfig, reading.get_push_config, writing.name_push_config, strict=True
    ),
    operations.LIST_PUSH_CONFIGS: Codec(
        objects.NamePushConfig, reading.list_push_configs, writing.name_push_config, strict=True
    ),
    operations.DELETE_PUSH_CONFIG: Codec(
        objects.DeletePushConfig, reading.delete_push_config, writing.delete_push_config, strict=True
    ),
}
"""JSON-RPC: how the request of each operation is read and written. Lists of tasks there are none."""

RPC_RESULTS: ResultTable = _results(_rpc, _Bare, _rpc.bare)
"""JSON-RPC: how the result, or one event, of each operation is read and written; None where there is none."""

PROTO_REQUESTS: Table = newer.REQUESTS | _requests(_proto, reading.send_message_of_proto)
"""HTTP+JSON: as above. What stands in paths and queries is as in 1.0."""

PROTO_RESULTS: ResultTable = _results(_proto, Codec, _proto.event) | {
    operations.LIST_TASKS: Codec(
        objects.TaskPage, reading.task_page, _proto.task_page, rules=_RULES, aliased=True, shape=_page
    ),
}
"""HTTP+JSON: as above."""
