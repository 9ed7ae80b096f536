"""What each operation of the 1.0 draft takes and gives: the codecs of 1.0, spelled as the draft has it."""

from collections.abc import Callable
from typing import Any

from dragoman import operations
from dragoman.dialects.codec import Codec
from dragoman.dialects.draft import reading, writing
from dragoman.dialects.older import push_config, push_configs
from dragoman.dialects.v1_0 import codecs as final
from dragoman.dialects.v1_0.card import upgraded
from dragoman.operations import Operation

__all__ = ["REQUESTS", "RESULTS"]

Spelling = Callable[[Any], Any]

_REQUESTS: dict[Operation, tuple[Spelling, Spelling]] = {
    operations.SEND_MESSAGE: (reading.send, writing.send),
    operations.SEND_STREAMING_MESSAGE: (reading.send, writing.send),
    operations.GET_TASK: (reading.named_task, writing.same),
    operations.LIST_TASKS: (reading.list_tasks, writing.list_tasks),
    operations.CANCEL_TASK: (reading.named_task, writing.same),
    operations.SUBSCRIBE_TO_TASK: (reading.named_task, writing.same),
    operations.CREATE_PUSH_CONFIG: (push_config, writing.create_push_config),
    operations.GET_PUSH_CONFIG: (reading.name_push_config, writing.name_push_config),
    operations.LIST_PUSH_CONFIGS: (reading.list_push_configs, writing.same),
    operations.DELETE_PUSH_CONFIG: (reading.name_push_config, writing.name_push_config),
    operations.GET_EXTENDED_AGENT_CARD: (writing.same, writing.same),
}
_RESULTS: dict[Operation, tuple[Spelling, Spelling]] = {
    operations.SEND_MESSAGE: (reading.OLDER.event, writing.event),
    operations.SEND_STREAMING_MESSAGE: (reading.OLDER.event, writing.event),
    operations.GET_TASK: (reading.OLDER.result, writing.task),
    operations.LIST_TASKS: (reading.OLDER.page, writing.page),
    operations.CANCEL_TASK: (reading.OLDER.result, writing.task),
    operations.SUBSCRIBE_TO_TASK: (reading.OLDER.event, writing.event),
    operations.CREATE_PUSH_CONFIG: (push_config, writing.push_config),
    operations.GET_PUSH_CONFIG: (push_config, writing.push_config),
    operations.LIST_PUSH_CONFIGS: (push_configs, writing.push_configs),
    operations.GET_EXTENDED_AGENT_CARD: (upgraded, writing.card),
}
"""Reading and writing of each; what has no result has no row."""


def _respelled(codec: Codec[Any, Any], spelling: tuple[Spelling, Spelling]) -> Codec[Any, Any]:
    return codec.respelled(*spelling)


REQUESTS: dict[Operation, Codec[Any, Any]] = {
    operation: _respelled(codec, _REQUESTS[operation]) for operation, codec in final.REQUESTS.items()
}
"""How the request of each operation is read and written."""

RESULTS: dict[Operation, Codec[Any, Any] | None] = {
    operation: None if codec is None else _respelled(codec, _RESULTS[operation])
    for operation, codec in final.RESULTS.items()
}
"""How the result (or one event) of each operation is read and written; None where there is none."""
