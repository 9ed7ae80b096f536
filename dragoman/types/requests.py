"""What the eleven operations take and give (specification sections 3.1 and 3.2).

`tenant` is empty where the caller names none. A `history_length` of None sets no limit, 0 asks for no history.
"""

from datetime import datetime

import msgspec

from dragoman.types.content import Message
from dragoman.types.json import JsonObject
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.task import Task, TaskState

__all__ = [
    "CancelTaskRequest",
    "DeleteTaskPushNotificationConfigRequest",
    "GetExtendedAgentCardRequest",
    "GetTaskPushNotificationConfigRequest",
    "GetTaskRequest",
    "ListTaskPushNotificationConfigsRequest",
    "ListTaskPushNotificationConfigsResponse",
    "ListTasksRequest",
    "ListTasksResponse",
    "SendMessageConfiguration",
    "SendMessageRequest",
    "ServiceParameters",
    "SubscribeToTaskRequest",
]

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 100


class ServiceParameters(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What travels beside a request: as headers or metadata (section 3.2.6). `version` is Major.Minor."""

    version: str = ""
    extensions: tuple[str, ...] = ()
    trace: str = ""
    """The caller's `traceparent`, as sent."""
    last_event_id: int | None = None
    """The number of the last event that the caller has of the task; what it asks for is what came after."""


class SendMessageConfiguration(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a message is to be answered (section 3.2.2)."""

    accepted_output_modes: tuple[str, ...] = ()
    task_push_notification_config: TaskPushNotificationConfig | None = None
    history_length: int | None = None
    return_immediately: bool = False


class SendMessageRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    message: Message
    configuration: SendMessageConfiguration = SendMessageConfiguration()
    metadata: JsonObject | None = None
    tenant: str = ""


class GetTaskRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: str
    history_length: int | None = None
    tenant: str = ""


class ListTasksRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Filters and page of ListTasks; `page_size` is 1 to 100, by default 50 (section 3.1.4)."""

    context_id: str | None = None
    status: TaskState | None = None
    page_size: int | None = None
    page_token: str = ""
    history_length: int | None = None
    status_timestamp_after: datetime | None = None
    """Keeps tasks whose status is as new as this or newer."""
    include_artifacts: bool = False
    tenant: str = ""


class ListTasksResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A page of tasks, newest status first; `next_page_token` is empty on the last page."""

    tasks: tuple[Task, ...]
    next_page_token: str
    page_size: int
    total_size: int
    with_artifacts: bool = False
    """Whether artifacts were asked for: only then are they part of the answer, even when empty."""


class CancelTaskRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: str
    metadata: JsonObject | None = None
    tenant: str = ""


class SubscribeToTaskRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    id: str
    tenant: str = ""
    turn: bool = False
    """Whether only the current turn is wanted, as callers of older protocols do: the stream ends when the task asks for
    input too, and a task whose turn is over is shown once, not refused."""


class GetTaskPushNotificationConfigRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An empty `id`, which only older protocols have, means the first configuration of the task."""

    task_id: str
    id: str
    tenant: str = ""


class DeleteTaskPushNotificationConfigRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    task_id: str
    id: str
    tenant: str = ""


class ListTaskPushNotificationConfigsRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    task_id: str
    page_size: int | None = None
    page_token: str = ""
    tenant: str = ""


class ListTaskPushNotificationConfigsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    configs: tuple[TaskPushNotificationConfig, ...] = ()
    next_page_token: str = ""


class GetExtendedAgentCardRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    tenant: str = ""
