"""The JSON objects of A2A 1.0, as they stand on the wire (specification section 4; the normative proto).

Names are camelCase there. What has no default is always emitted; a default is never emitted, unless the struct keeps
its defaults because the specification marks the members required. An empty string means absent wherever the
specification has no presence. Deviations from the canonical values: enums are proto names, bytes are base64 text,
times are strings, push configurations and interfaces are as they are.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dragoman.types import JsonObject

__all__ = [
    "Artifact",
    "Authentication",
    "Message",
    "Object",
    "Part",
    "PushConfig",
    "PushConfigs",
    "RoleName",
    "SendResponse",
    "StateName",
    "StreamResponse",
    "Task",
    "TaskArtifactUpdate",
    "TaskPage",
    "TaskStatus",
    "TaskStatusUpdate",
]

ROLES = ("ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT")
STATES = (
    "TASK_STATE_UNSPECIFIED",
    "TASK_STATE_SUBMITTED",
    "TASK_STATE_WORKING",
    "TASK_STATE_COMPLETED",
    "TASK_STATE_FAILED",
    "TASK_STATE_CANCELED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
)
RoleName = Annotated[
    Literal["ROLE_UNSPECIFIED", "ROLE_USER", "ROLE_AGENT"], Meta(extra={"names": ROLES, "absent": "ROLE_UNSPECIFIED"})
]
StateName = Annotated[
    Literal[
        "TASK_STATE_UNSPECIFIED",
        "TASK_STATE_SUBMITTED",
        "TASK_STATE_WORKING",
        "TASK_STATE_COMPLETED",
        "TASK_STATE_FAILED",
        "TASK_STATE_CANCELED",
        "TASK_STATE_INPUT_REQUIRED",
        "TASK_STATE_REJECTED",
        "TASK_STATE_AUTH_REQUIRED",
    ],
    Meta(extra={"names": STATES}),
]
Base64 = Annotated[str, Meta(extra={"base64": True})]
Time = Annotated[str, Meta(extra={"time": True})]
Filled = Annotated[str, Meta(extra={"filled": True})]
"""A string that must not be empty in a request; the codec asks, since replies are read more leniently."""


class Object(msgspec.Struct, rename="camel", omit_defaults=True, gc=False):
    """How all objects are written. They hold no cycles, so the garbage collector need not know them."""


class Part(Object, kw_only=True):
    """Exactly one of `text`, `raw`, `url` and `data`; a `data` of null counts if it stands alone."""

    text: str | None = None
    raw: Base64 | None = None
    url: str | None = None
    data: Any | UnsetType = UNSET
    metadata: JsonObject | None = None
    filename: str | None = None
    media_type: str | None = None


class Message(Object, kw_only=True):
    message_id: Filled
    context_id: str | None = None
    task_id: str | None = None
    role: RoleName
    parts: Annotated[tuple[Part, ...], Meta(extra={"filled": True})]
    metadata: JsonObject | None = None
    extensions: tuple[str, ...] = ()
    reference_task_ids: tuple[str, ...] = ()


class Artifact(Object, kw_only=True):
    artifact_id: str
    name: str | None = None
    description: str | None = None
    parts: tuple[Part, ...]
    metadata: JsonObject | None = None
    extensions: tuple[str, ...] = ()


class TaskStatus(Object, kw_only=True):
    state: StateName
    message: Message | None = None
    timestamp: Time | None = None


class Task(Object, kw_only=True):
    """`artifacts` is there, even if empty, in lists that were asked for artifacts (section 3.1.4)."""

    id: str
    context_id: str = ""
    status: TaskStatus
    artifacts: tuple[Artifact, ...] | UnsetType = UNSET
    history: tuple[Message, ...] = ()
    metadata: JsonObject | None = None


class TaskStatusUpdate(Object, kw_only=True):
    task_id: str
    context_id: str
    status: TaskStatus
    metadata: JsonObject | None = None


class TaskArtifactUpdate(Object, kw_only=True):
    task_id: str
    context_id: str
    artifact: Artifact
    append: bool = False
    last_chunk: bool = False
    metadata: JsonObject | None = None


class StreamResponse(Object, kw_only=True):
    """Exactly one member (section 3.2.3)."""

    task: Task | None = None
    message: Message | None = None
    status_update: TaskStatusUpdate | None = None
    artifact_update: TaskArtifactUpdate | None = None


class SendResponse(Object, kw_only=True):
    """Exactly one member."""

    task: Task | None = None
    message: Message | None = None


class TaskPage(Object, omit_defaults=False, kw_only=True):
    """ListTasksResponse: all four members are always there."""

    tasks: tuple[Task, ...] = ()
    next_page_token: str = ""
    page_size: int = 0
    total_size: int = 0


class Authentication(Object, kw_only=True):
    scheme: Filled
    credentials: str | None = None


class PushConfig(Object, kw_only=True):
    """TaskPushNotificationConfig."""

    tenant: str = ""
    id: str = ""
    task_id: str = ""
    url: Filled
    token: str | None = None
    authentication: Authentication | None = None


class PushConfigs(Object, kw_only=True):
    """ListTaskPushNotificationConfigsResponse; `configs` is always there, so that a reader sees an empty list."""

    configs: tuple[PushConfig, ...] | UnsetType = UNSET
    next_page_token: str = ""
