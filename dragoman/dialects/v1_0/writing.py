"""From canonical values to the JSON objects of A2A 1.0."""

from datetime import UTC, datetime

import msgspec
from msgspec import UNSET, UnsetType

from dragoman import types
from dragoman.dialects.v1_0 import objects as wire
from dragoman.dialects.v1_0 import requests

__all__ = [
    "cancel_task",
    "create_push_config",
    "get_card",
    "get_task",
    "list_push_configs",
    "list_tasks",
    "name_push_config",
    "push_config",
    "push_configs",
    "send_message",
    "send_response",
    "stamp",
    "stream_response",
    "subscribe",
    "task",
    "task_page",
]

_STATES: dict[types.TaskState, wire.StateName] = dict(zip(types.TaskState, wire.STATES, strict=True))  # type: ignore[arg-type]  # pyright: ignore[reportAssignmentType] -- the names are those of the literal

_encode = msgspec.json.Encoder().encode


def stamp(moment: datetime) -> str:
    """The moment in UTC with three digits, cut; msgspec writes none or six, and is the fastest at it."""
    text = _encode(moment if moment.tzinfo is UTC else moment.astimezone(UTC)).decode()
    return text[1:24] + "Z" if "." in text else text[1:20] + ".000Z"


def _part(part: types.Part) -> wire.Part:
    if part.plain_text:
        return wire.Part(text=part.text)
    return wire.Part(
        text=part.text,
        raw=part.base64,
        url=part.url,
        data=part.data,
        metadata=part.metadata,
        filename=part.filename,
        media_type=part.media_type,
    )


def _message(message: types.Message) -> wire.Message:
    return wire.Message(
        message_id=message.message_id,
        context_id=message.context_id,
        task_id=message.task_id,
        role="ROLE_USER" if message.role is types.Role.USER else "ROLE_AGENT",
        parts=tuple([_part(part) for part in message.parts]),
        metadata=message.metadata,
        extensions=message.extensions,
        reference_task_ids=message.reference_task_ids,
    )


def _artifact(artifact: types.Artifact) -> wire.Artifact:
    return wire.Artifact(
        artifact_id=artifact.artifact_id,
        name=artifact.name,
        description=artifact.description,
        parts=tuple([_part(part) for part in artifact.parts]),
        metadata=artifact.metadata,
        extensions=artifact.extensions,
    )


def _status(status: types.TaskStatus) -> wire.TaskStatus:
    return wire.TaskStatus(
        state=_STATES[status.state],
        message=None if status.message is None else _message(status.message),
        timestamp=None if status.timestamp is None else stamp(status.timestamp),
    )


def task(value: types.Task) -> wire.Task:
    artifacts = tuple([_artifact(artifact) for artifact in value.artifacts])
    return _task(value, artifacts or UNSET)


def _task(value: types.Task, artifacts: tuple[wire.Artifact, ...] | UnsetType) -> wire.Task:
    return wire.Task(
        id=value.id,
        context_id=value.context_id,
        status=_status(value.status),
        artifacts=artifacts,
        history=tuple([_message(message) for message in value.history]),
        metadata=value.metadata,
    )


def stream_response(event: types.StreamEvent) -> wire.StreamResponse:
    match event:
        case types.TaskArtifactUpdateEvent():
            return wire.StreamResponse(artifact_update=_artifact_update(event))
        case types.TaskStatusUpdateEvent():
            return wire.StreamResponse(status_update=_status_update(event))
        case types.Task():
            return wire.StreamResponse(task=task(event))
        case types.Message():
            return wire.StreamResponse(message=_message(event))


def send_response(result: types.Task | types.Message) -> wire.SendResponse:
    if isinstance(result, types.Task):
        return wire.SendResponse(task=task(result))
    return wire.SendResponse(message=_message(result))


def _artifact_update(event: types.TaskArtifactUpdateEvent) -> wire.TaskArtifactUpdate:
    return wire.TaskArtifactUpdate(
        task_id=event.task_id,
        context_id=event.context_id,
        artifact=_artifact(event.artifact),
        append=event.append,
        last_chunk=event.last_chunk,
        metadata=event.metadata,
    )


def _status_update(event: types.TaskStatusUpdateEvent) -> wire.TaskStatusUpdate:
    return wire.TaskStatusUpdate(
        task_id=event.task_id, context_id=event.context_id, status=_status(event.status), metadata=event.metadata
    )


def task_page(page: types.ListTasksResponse) -> wire.TaskPage:
    return wire.TaskPage(
        tasks=tuple([_listed(item, with_artifacts=page.with_artifacts) for item in page.tasks]),
        next_page_token=page.next_page_token,
        page_size=page.page_size,
        total_size=page.total_size,
    )


def _listed(value: types.Task, *, with_artifacts: bool) -> wire.Task:
    return _task(value, tuple([_artifact(artifact) for artifact in value.artifacts]) if with_artifacts else UNSET)


def push_config(config: types.TaskPushNotificationConfig) -> wire.PushConfig:
    given = config.authentication
    return wire.PushConfig(
        tenant=config.tenant,
        id=config.id,
        task_id=config.task_id,
        url=config.url,
        token=config.token,
        authentication=None
        if given is None
        else wire.Authentication(scheme=given.scheme, credentials=given.credentials),
    )


def create_push_config(config: types.TaskPushNotificationConfig) -> requests.CreatePushConfig:
    plain = push_config(config)
    return requests.CreatePushConfig(
        tenant=plain.tenant,
        id=plain.id,
        task_id=plain.task_id,
        url=plain.url,
        token=plain.token,
        authentication=plain.authentication,
    )


def push_configs(value: types.ListTaskPushNotificationConfigsResponse) -> wire.PushConfigs:
    return wire.PushConfigs(
        configs=tuple([push_config(config) for config in value.configs]), next_page_token=value.next_page_token
    )


def send_message(request: types.SendMessageRequest) -> requests.SendMessage:
    given = request.configuration
    config = given.task_push_notification_config
    configuration = requests.Configuration(
        accepted_output_modes=given.accepted_output_modes,
        task_push_notification_config=None if config is None else push_config(config),
        history_length=given.history_length,
        return_immediately=given.return_immediately,
    )
    return requests.SendMessage(
        tenant=request.tenant,
        message=_message(request.message),
        configuration=None if configuration == requests.Configuration() else configuration,
        metadata=request.metadata,
    )


def get_task(request: types.GetTaskRequest) -> requests.GetTask:
    return requests.GetTask(tenant=request.tenant, id=request.id, history_length=request.history_length)


def list_tasks(request: types.ListTasksRequest) -> requests.ListTasks:
    after = request.status_timestamp_after
    return requests.ListTasks(
        tenant=request.tenant,
        context_id=request.context_id,
        status=None if request.status is None else _STATES[request.status],
        page_size=request.page_size,
        page_token=request.page_token,
        history_length=request.history_length,
        status_timestamp_after=None if after is None else stamp(after),
        include_artifacts=request.include_artifacts,
    )


def cancel_task(request: types.CancelTaskRequest) -> requests.CancelTask:
    return requests.CancelTask(tenant=request.tenant, id=request.id, metadata=request.metadata)


def subscribe(request: types.SubscribeToTaskRequest) -> requests.SubscribeToTask:
    return requests.SubscribeToTask(tenant=request.tenant, id=request.id)


def name_push_config(
    request: types.GetTaskPushNotificationConfigRequest | types.DeleteTaskPushNotificationConfigRequest,
) -> requests.NamePushConfig:
    return requests.NamePushConfig(tenant=request.tenant, task_id=request.task_id, id=request.id)


def list_push_configs(request: types.ListTaskPushNotificationConfigsRequest) -> requests.ListPushConfigs:
    return requests.ListPushConfigs(
        tenant=request.tenant, task_id=request.task_id, page_size=request.page_size, page_token=request.page_token
    )


def get_card(request: types.GetExtendedAgentCardRequest) -> requests.GetCard:
    return requests.GetCard(tenant=request.tenant)
