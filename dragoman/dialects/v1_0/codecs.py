"""What each operation of A2A 1.0 takes and gives, as codecs; both JSON bindings use them."""

from typing import Any

import msgspec
from msgspec import UNSET

from dragoman import operations
from dragoman.dialects.codec import Codec
from dragoman.dialects.liberal import Rule
from dragoman.dialects.older import Older, push_config, push_configs
from dragoman.dialects.v1_0 import card, objects, reading, requests, writing
from dragoman.operations import Operation

__all__ = ["REQUESTS", "RESULTS"]

_CONTENTS = ("text", "raw", "url", "data")


def _one_content(part: dict[str, Any]) -> str | None:
    """A part has one content; a null beside another one is none."""
    present = [name for name in _CONTENTS if name in part]
    if len(present) > 1 and part.get("data", UNSET) is None:
        del part["data"]
        present.remove("data")
    if len(present) == 1:
        return None
    return "must have exactly one of text, raw, url, data"


_RULES: dict[type[msgspec.Struct], Rule] = {objects.Part: _one_content}
_older = Older(nested_data=False)

_send = Codec(requests.SendMessage, reading.send_message, writing.send_message, strict=True, rules=_RULES)
_task = Codec(objects.Task, reading.task, writing.task, rules=_RULES, shape=_older.result)
_event = Codec(
    objects.StreamResponse, reading.stream_response, writing.stream_response, rules=_RULES, shape=_older.event
)
_push = Codec(objects.PushConfig, reading.push_config, writing.push_config, shape=push_config)

REQUESTS: dict[Operation, Codec[Any, Any]] = {
    operations.SEND_MESSAGE: _send,
    operations.SEND_STREAMING_MESSAGE: _send,
    operations.GET_TASK: Codec(requests.GetTask, reading.get_task, writing.get_task, strict=True),
    operations.LIST_TASKS: Codec(requests.ListTasks, reading.list_tasks, writing.list_tasks, strict=True, aliased=True),
    operations.CANCEL_TASK: Codec(requests.CancelTask, reading.cancel_task, writing.cancel_task, strict=True),
    operations.SUBSCRIBE_TO_TASK: Codec(requests.SubscribeToTask, reading.subscribe, writing.subscribe, strict=True),
    operations.CREATE_PUSH_CONFIG: Codec(
        requests.CreatePushConfig, reading.push_config, writing.create_push_config, strict=True
    ),
    operations.GET_PUSH_CONFIG: Codec(
        requests.NamePushConfig, reading.get_push_config, writing.name_push_config, strict=True
    ),
    operations.LIST_PUSH_CONFIGS: Codec(
        requests.ListPushConfigs, reading.list_push_configs, writing.list_push_configs, strict=True
    ),
    operations.DELETE_PUSH_CONFIG: Codec(
        requests.NamePushConfig, reading.delete_push_config, writing.name_push_config, strict=True
    ),
    operations.GET_EXTENDED_AGENT_CARD: Codec(requests.GetCard, reading.get_card, writing.get_card, strict=True),
}
"""How the request of each operation is read and written."""

RESULTS: dict[Operation, Codec[Any, Any] | None] = {
    operations.SEND_MESSAGE: Codec(
        objects.SendResponse, reading.send_response, writing.send_response, rules=_RULES, shape=_older.event
    ),
    operations.SEND_STREAMING_MESSAGE: _event,
    operations.GET_TASK: _task,
    operations.LIST_TASKS: Codec(
        objects.TaskPage, reading.task_page, writing.task_page, rules=_RULES, shape=_older.page
    ),
    operations.CANCEL_TASK: _task,
    operations.SUBSCRIBE_TO_TASK: _event,
    operations.CREATE_PUSH_CONFIG: _push,
    operations.GET_PUSH_CONFIG: _push,
    operations.LIST_PUSH_CONFIGS: Codec(
        objects.PushConfigs, reading.push_configs, writing.push_configs, shape=push_configs
    ),
    operations.DELETE_PUSH_CONFIG: None,
    operations.GET_EXTENDED_AGENT_CARD: Codec(
        card.AgentCard, card.read_card, card.write_card, shape=card.upgraded, plain=False
    ),
}
"""How the result (or one event) of each operation is read and written; None where there is none."""
