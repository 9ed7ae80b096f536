"""From the JSON objects of A2A 1.0 to canonical values.

Each function takes a wire struct and raises `Irregular` (or a ValueError, or an OverflowError) for what its types do
not say; the codec then asks the liberal reader what is the matter. A task's times are cut to milliseconds, filters
keep what they have.
"""

from datetime import UTC, datetime

import pybase64
from msgspec import UNSET

from dragoman import types
from dragoman.dialects.liberal import Irregular
from dragoman.dialects.v1_0 import objects as wire
from dragoman.dialects.v1_0 import requests

__all__ = [
    "cancel_task",
    "delete_push_config",
    "get_card",
    "get_push_config",
    "get_task",
    "list_push_configs",
    "list_tasks",
    "moment",
    "push_config",
    "push_configs",
    "send_message",
    "send_response",
    "stream_response",
    "subscribe",
    "task",
    "task_page",
]

_ROLES = {"ROLE_USER": types.Role.USER, "ROLE_AGENT": types.Role.AGENT, "ROLE_UNSPECIFIED": types.Role.AGENT}
_STATES = dict(zip(wire.STATES, types.TaskState, strict=True))
_NO_CONFIGURATION = types.SendMessageConfiguration()


def _moment(text: str) -> datetime:
    given = datetime.fromisoformat(text)
    if given.tzinfo is not UTC or len(text) < len("2026-01-31T12:00:00Z"):
        raise Irregular
    return given


def _part(part: wire.Part) -> types.Part:
    data = part.data
    contents = (part.text is not None) + (part.raw is not None) + (part.url is not None)
    if data is None and contents:
        data = UNSET
    if contents + (data is not UNSET) != 1:
        raise Irregular
    if part.raw:
        pybase64.b64decode_as_bytearray(part.raw, validate=True)
    return types.Part(
        text=part.text,
        base64=part.raw,
        url=part.url,
        data=data,
        metadata=part.metadata,
        filename=part.filename or None,
        media_type=part.media_type or None,
    )


def _message(message: wire.Message) -> types.Message:
    return types.Message(
        message_id=message.message_id,
        role=_ROLES[message.role],
        parts=tuple([_part(part) for part in message.parts]),
        context_id=message.context_id or None,
        task_id=message.task_id or None,
        metadata=message.metadata,
        extensions=message.extensions,
        reference_task_ids=message.reference_task_ids,
    )


def _artifact(artifact: wire.Artifact) -> types.Artifact:
    return types.Artifact(
        artifact_id=artifact.artifact_id,
        parts=tuple([_part(part) for part in artifact.parts]),
        name=artifact.name or None,
        description=artifact.description or None,
        metadata=artifact.metadata,
        extensions=artifact.extensions,
    )


def _status(status: wire.TaskStatus) -> types.TaskStatus:
    return types.TaskStatus(
        state=_STATES[status.state],
        message=None if status.message is None else _message(status.message),
        timestamp=moment(status.timestamp) if status.timestamp else None,
    )


def moment(text: str) -> datetime:
    """The time of a status."""
    given = _moment(text)
    return given.replace(microsecond=given.microsecond // 1000 * 1000) if given.microsecond % 1000 else given


def task(value: wire.Task) -> types.Task:
    if not value.id:
        raise Irregular
    artifacts = value.artifacts
    return types.Task(
        id=value.id,
        context_id=value.context_id,
        status=_status(value.status),
        artifacts=() if artifacts is UNSET else tuple([_artifact(artifact) for artifact in artifacts]),
        history=tuple([_message(message) for message in value.history]),
        metadata=value.metadata,
    )


def stream_response(value: wire.StreamResponse) -> types.StreamEvent:
    if (value.task, value.message, value.status_update, value.artifact_update).count(None) != 3:  # noqa: PLR2004 -- three of the four
        raise Irregular
    if value.artifact_update is not None:
        return _artifact_update(value.artifact_update)
    if value.status_update is not None:
        return _status_update(value.status_update)
    return _either(value.task, value.message)


def send_response(value: wire.SendResponse) -> types.Task | types.Message:
    if (value.task is None) == (value.message is None):
        raise Irregular
    return _either(value.task, value.message)


def _either(given: wire.Task | None, message: wire.Message | None) -> types.Task | types.Message:
    if given is not None:
        return task(given)
    assert message is not None
    return _message(message)


def _artifact_update(event: wire.TaskArtifactUpdate) -> types.TaskArtifactUpdateEvent:
    return types.TaskArtifactUpdateEvent(
        task_id=event.task_id,
        context_id=event.context_id,
        artifact=_artifact(event.artifact),
        append=event.append,
        last_chunk=event.last_chunk,
        metadata=event.metadata,
    )


def _status_update(event: wire.TaskStatusUpdate) -> types.TaskStatusUpdateEvent:
    return types.TaskStatusUpdateEvent(
        task_id=event.task_id, context_id=event.context_id, status=_status(event.status), metadata=event.metadata
    )


def task_page(page: wire.TaskPage) -> types.ListTasksResponse:
    return types.ListTasksResponse(
        tasks=tuple([task(item) for item in page.tasks]),
        next_page_token=page.next_page_token,
        page_size=page.page_size,
        total_size=page.total_size,
        with_artifacts=any(item.artifacts is not UNSET for item in page.tasks),
    )


def push_config(config: wire.PushConfig) -> types.TaskPushNotificationConfig:
    if not config.url:
        raise Irregular
    given = config.authentication
    authentication = None
    if given is not None:
        if not given.scheme:
            raise Irregular
        authentication = types.AuthenticationInfo(scheme=given.scheme, credentials=given.credentials or None)
    return types.TaskPushNotificationConfig(
        url=config.url,
        id=config.id,
        task_id=config.task_id,
        tenant=config.tenant,
        token=config.token or None,
        authentication=authentication,
    )


def push_configs(value: wire.PushConfigs) -> types.ListTaskPushNotificationConfigsResponse:
    configs = () if value.configs is UNSET else value.configs
    return types.ListTaskPushNotificationConfigsResponse(
        configs=tuple([push_config(config) for config in configs]), next_page_token=value.next_page_token
    )


def send_message(request: requests.SendMessage) -> types.SendMessageRequest:
    message = request.message
    if not message.message_id or not message.parts or message.role == "ROLE_UNSPECIFIED":
        raise Irregular
    given = request.configuration
    return types.SendMessageRequest(
        message=_message(message),
        configuration=_NO_CONFIGURATION if given is None else _configuration(given),
        metadata=request.metadata,
        tenant=request.tenant,
    )


def _configuration(given: requests.Configuration) -> types.SendMessageConfiguration:
    config = given.task_push_notification_config
    return types.SendMessageConfiguration(
        accepted_output_modes=given.accepted_output_modes,
        task_push_notification_config=None if config is None else push_config(config),
        history_length=given.history_length,
        return_immediately=given.return_immediately,
    )


def get_task(request: requests.GetTask) -> types.GetTaskRequest:
    return types.GetTaskRequest(id=request.id, history_length=request.history_length, tenant=request.tenant)


def list_tasks(request: requests.ListTasks) -> types.ListTasksRequest:
    after = request.status_timestamp_after
    status = None if request.status is None else _STATES[request.status]
    return types.ListTasksRequest(
        context_id=request.context_id or None,
        status=None if status is types.TaskState.UNSPECIFIED else status,
        page_size=request.page_size,
        page_token=request.page_token,
        history_length=request.history_length,
        status_timestamp_after=_moment(after) if after is not None else None,
        include_artifacts=request.include_artifacts,
        tenant=request.tenant,
    )


def cancel_task(request: requests.CancelTask) -> types.CancelTaskRequest:
    return types.CancelTaskRequest(id=request.id, metadata=request.metadata, tenant=request.tenant)


def subscribe(request: requests.SubscribeToTask) -> types.SubscribeToTaskRequest:
    return types.SubscribeToTaskRequest(id=request.id, tenant=request.tenant)


def get_push_config(request: requests.NamePushConfig) -> types.GetTaskPushNotificationConfigRequest:
    return types.GetTaskPushNotificationConfigRequest(task_id=request.task_id, id=request.id, tenant=request.tenant)


def delete_push_config(request: requests.NamePushConfig) -> types.DeleteTaskPushNotificationConfigRequest:
    return types.DeleteTaskPushNotificationConfigRequest(task_id=request.task_id, id=request.id, tenant=request.tenant)


def list_push_configs(request: requests.ListPushConfigs) -> types.ListTaskPushNotificationConfigsRequest:
    return types.ListTaskPushNotificationConfigsRequest(
        task_id=request.task_id, page_size=request.page_size, page_token=request.page_token, tenant=request.tenant
    )


def get_card(request: requests.GetCard) -> types.GetExtendedAgentCardRequest:
    return types.GetExtendedAgentCardRequest(tenant=request.tenant)
