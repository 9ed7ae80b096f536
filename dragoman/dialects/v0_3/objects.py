"""The JSON objects of A2A 0.3, in both of its spellings.

JSON-RPC (the schema of 0.3.0) says what an object is in `kind`, and calls the parts of a message `parts`. HTTP+JSON
as it is deployed is the ProtoJSON of `a2a.v1`, without `kind` and with `content`. Peers mix the two, so one struct
holds the members of both: whichever came is read, and `writing` fills those of the binding.

Deviations from the canonical values:

* names of states and roles are lower case (JSON-RPC) or those of the proto, with `TASK_STATE_CANCELLED` (HTTP+JSON);
  a state that is not specified is called `unknown`;
* a file is an object inside its part. HTTP+JSON has its bytes as base64 of base64 text: the official Python and Go SDKs
  write that and read nothing else. Bytes as they are, which the JavaScript SDK sends, are read too, unless they look
  like base64 text themselves;
* data is an object. Any other value stands in one under `value`, and the metadata of the part say `data_part_compat`,
  as the compatibility layer of the official Python SDK has it;
* a status event says whether it is `final`: of a turn, which ends with the task or when that asks for input;
* a push configuration lists `schemes`, of which the first counts, and stands in an object that says the task.

Lost are the media type and file name of text and data, and on HTTP+JSON `reference_task_ids`, which `a2a.v1` lacks.
"""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from dragoman.dialects.v1_0.objects import Base64, Filled, Object, Time
from dragoman.dialects.v1_0.requests import Id, Length
from dragoman.types import JsonObject

__all__ = [
    "Artifact",
    "Authentication",
    "Configuration",
    "CreatePushConfig",
    "DeletePushConfig",
    "Event",
    "File",
    "Message",
    "NamePushConfig",
    "Part",
    "PushConfig",
    "PushConfigs",
    "SendMessage",
    "Task",
    "TaskArtifactUpdate",
    "TaskPage",
    "TaskPushConfig",
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
    "TASK_STATE_CANCELLED",
    "TASK_STATE_INPUT_REQUIRED",
    "TASK_STATE_REJECTED",
    "TASK_STATE_AUTH_REQUIRED",
)
RoleName = Annotated[str, Meta(extra={"names": ROLES, "absent": "ROLE_UNSPECIFIED"})]
StateName = Annotated[str, Meta(extra={"names": STATES})]
Kind = str | UnsetType
"""What the object is, in JSON-RPC."""


class File(Object, kw_only=True):
    """`bytes` and `uri` are of JSON-RPC, the longer names of HTTP+JSON."""

    bytes: Base64 | None = None
    uri: str | None = None
    file_with_bytes: Base64 | None = None
    file_with_uri: str | None = None
    mime_type: Annotated[str, Meta(extra={"alias": "mediaType"})] | None = None
    name: str | None = None


class Part(Object, kw_only=True):
    """One of `text`, `file` and `data`; data without a `kind` stands in a further object under `data`."""

    kind: Kind = UNSET
    text: str | None = None
    file: File | None = None
    data: JsonObject | None = None
    metadata: JsonObject | None = None


class Message(Object, kw_only=True):
    """`content` is what HTTP+JSON calls `parts`."""

    kind: Kind = UNSET
    message_id: Filled
    context_id: str | None = None
    task_id: str | None = None
    role: RoleName
    parts: tuple[Part, ...] | UnsetType = UNSET
    content: tuple[Part, ...] | UnsetType = UNSET
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
    message: Annotated[Message, Meta(extra={"alias": "update"})] | None = None
    timestamp: Time | None = None


class Task(Object, kw_only=True):
    kind: Kind = UNSET
    id: str
    context_id: str | UnsetType = UNSET
    status: TaskStatus
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()
    metadata: JsonObject | None = None


class TaskStatusUpdate(Object, kw_only=True):
    kind: Kind = UNSET
    task_id: str
    context_id: str
    status: TaskStatus
    final: bool | UnsetType = UNSET
    metadata: JsonObject | None = None


class TaskArtifactUpdate(Object, kw_only=True):
    kind: Kind = UNSET
    task_id: str
    context_id: str
    artifact: Artifact
    append: bool = False
    last_chunk: bool = False
    metadata: JsonObject | None = None


class Event(Object, kw_only=True):
    """Exactly one member; the result of SendMessage has one of the first two. In JSON-RPC that stands alone."""

    task: Task | None = None
    message: Annotated[Message, Meta(extra={"alias": "msg"})] | None = None
    status_update: TaskStatusUpdate | None = None
    artifact_update: TaskArtifactUpdate | None = None


class TaskPage(Object, kw_only=True):
    """The list of tasks, which HTTP+JSON alone has."""

    tasks: tuple[Task, ...] | UnsetType = UNSET
    next_page_token: str | UnsetType = UNSET


class Authentication(Object, kw_only=True):
    schemes: Annotated[tuple[str, ...], Meta(extra={"filled": True})]
    credentials: str | None = None


class PushConfig(Object, kw_only=True):
    id: str | None = None
    url: Filled
    token: str | None = None
    authentication: Authentication | None = None


class TaskPushConfig(Object, kw_only=True):
    """The task is `task_id` in JSON-RPC, and in HTTP+JSON part of `name`, which is a resource name."""

    tenant: str = ""
    task_id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    push_notification_config: PushConfig


class Configuration(Object, kw_only=True):
    """The configuration of a message. Where updates are pushed has another name in each binding, JSON-RPC's first."""

    accepted_output_modes: tuple[str, ...] = ()
    blocking: bool | None = None
    history_length: Length | None = None
    push_notification_config: PushConfig | None = None
    push_notification: PushConfig | None = None


class SendMessage(Object, kw_only=True):
    """`request` is the name of the message in the proto."""

    tenant: str = ""
    message: Annotated[Message, Meta(extra={"alias": "request"})]
    configuration: Configuration | None = None
    metadata: JsonObject | None = None


class PushConfigs(Object, kw_only=True):
    configs: tuple[TaskPushConfig, ...]
    next_page_token: str


class CreatePushConfig(Object, kw_only=True):
    """What HTTP+JSON takes to create one: the proto's request, with resource names."""

    tenant: str = ""
    task_id: str
    parent: str
    config_id: str
    config: TaskPushConfig


class NamePushConfig(Object, kw_only=True):
    """Get, list and delete in JSON-RPC; `id` is the task's. Without the other, get means the first that there is."""

    tenant: str = ""
    id: Id
    push_notification_config_id: str = ""


class DeletePushConfig(NamePushConfig, kw_only=True):
    push_notification_config_id: Id  # pyright: ignore[reportGeneralTypeIssues] -- narrows a member that has a default elsewhere
