"""The eleven operations of A2A as data (specification section 3.1).

Everything that treats operations alike iterates over `OPERATIONS`: dialects, the service, the client, tests.
"""

from typing import Any

import msgspec

from dragoman.types import requests
from dragoman.types.card import AgentCard
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.task import Task

__all__ = ["OPERATIONS", "Operation"]


class Operation(msgspec.Struct, frozen=True, eq=False):
    """One operation: its name in the specification, what it takes, what it gives."""

    name: str
    request: type[msgspec.Struct]
    result: Any
    """The type of the result; of one event for operations that stream."""
    streams: bool = False
    needs: str | None = None
    """The capability that the card must declare: `streaming`, `push_notifications`, `extended_agent_card`."""
    safe: bool = False
    """Whether a client may send it again without knowing what became of the first attempt."""


SEND_MESSAGE = Operation("SendMessage", requests.SendMessageRequest, Task | Message)
SEND_STREAMING_MESSAGE = Operation(
    "SendStreamingMessage", requests.SendMessageRequest, StreamEvent, streams=True, needs="streaming"
)
GET_TASK = Operation("GetTask", requests.GetTaskRequest, Task, safe=True)
LIST_TASKS = Operation("ListTasks", requests.ListTasksRequest, requests.ListTasksResponse, safe=True)
CANCEL_TASK = Operation("CancelTask", requests.CancelTaskRequest, Task)
SUBSCRIBE_TO_TASK = Operation(
    "SubscribeToTask", requests.SubscribeToTaskRequest, StreamEvent, streams=True, needs="streaming", safe=True
)
CREATE_PUSH_CONFIG = Operation(
    "CreateTaskPushNotificationConfig",
    TaskPushNotificationConfig,
    TaskPushNotificationConfig,
    needs="push_notifications",
)
GET_PUSH_CONFIG = Operation(
    "GetTaskPushNotificationConfig",
    requests.GetTaskPushNotificationConfigRequest,
    TaskPushNotificationConfig,
    needs="push_notifications",
    safe=True,
)
LIST_PUSH_CONFIGS = Operation(
    "ListTaskPushNotificationConfigs",
    requests.ListTaskPushNotificationConfigsRequest,
    requests.ListTaskPushNotificationConfigsResponse,
    needs="push_notifications",
    safe=True,
)
DELETE_PUSH_CONFIG = Operation(
    "DeleteTaskPushNotificationConfig",
    requests.DeleteTaskPushNotificationConfigRequest,
    None,
    needs="push_notifications",
    safe=True,
)
GET_EXTENDED_AGENT_CARD = Operation(
    "GetExtendedAgentCard",
    requests.GetExtendedAgentCardRequest,
    AgentCard,
    needs="extended_agent_card",
    safe=True,
)

OPERATIONS: tuple[Operation, ...] = (
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    GET_TASK,
    LIST_TASKS,
    CANCEL_TASK,
    SUBSCRIBE_TO_TASK,
    CREATE_PUSH_CONFIG,
    GET_PUSH_CONFIG,
    LIST_PUSH_CONFIGS,
    DELETE_PUSH_CONFIG,
    GET_EXTENDED_AGENT_CARD,
)
