"""From the JSON objects of A2A 0.3, in either spelling, to canonical values; what is the same in 1.0 is read as there.

As in 1.0, functions raise `Irregular` for what the types do not say, and the codec asks the liberal reader.
"""

import pybase64
from msgspec import UNSET, structs

from dragoman import types
from dragoman.dialects.liberal import Irregular
from dragoman.dialects.v0_3 import objects as wire
from dragoman.dialects.v1_0 import reading, requests

__all__ = [
    "delete_push_config",
    "event",
    "get_push_config",
    "get_task",
    "list_push_configs",
    "send_message",
    "send_message_of_proto",
    "send_response",
    "subscribe",
    "task",
    "task_page",
]

VALUE_ALONE = "data_part_compat"
"""In the metadata of a part: its data are an object only because they have to be."""

_ROLES = {
    "user": types.Role.USER,
    "agent": types.Role.AGENT,
    "ROLE_USER": types.Role.USER,
    "ROLE_AGENT": types.Role.AGENT,
    "ROLE_UNSPECIFIED": types.Role.AGENT,
}
_STATES = {
    "unknown": types.TaskState.UNSPECIFIED,
    **{state.value: state for state in types.TaskState},
    **dict(zip(wire.STATES, types.TaskState, strict=True)),
}
_NO_CONFIGURATION = types.SendMessageConfiguration()


def _part(part: wire.Part) -> types.Part:
    if (part.text is not None) + (part.file is not None) + (part.data is not None) != 1:
        raise Irregular
    if part.file is not None:
        return _file(part.file, part.metadata)
    if part.data is not None:
        return _data(part.data, part.metadata, nested=part.kind is UNSET)
    return types.Part(text=part.text, metadata=part.metadata)


def _file(file: wire.File, metadata: types.JsonObject | None) -> types.Part:
    url = file.file_with_uri if file.uri is None else file.uri
    base64 = file.bytes
    if base64 is not None:
        pybase64.b64decode_as_bytearray(base64, validate=True)
    elif file.file_with_bytes is not None:
        base64 = _single(file.file_with_bytes)
    if (url is None) == (base64 is None):
        raise Irregular
    return types.Part(
        base64=base64, url=url, metadata=metadata, filename=file.name or None, media_type=file.mime_type or None
    )


def _single(twice: str) -> str:
    """The base64 text whose base64 this is; the text itself if it holds other bytes, as some peers have it."""
    once = pybase64.b64decode(twice, validate=True)
    try:
        text = once.decode("ascii")
        pybase64.b64decode_as_bytearray(text, validate=True)
    except ValueError:
        return twice
    return text


def _data(data: types.JsonObject, metadata: types.JsonObject | None, *, nested: bool) -> types.Part:
    inner = data.get("data") if nested and len(data) == 1 else None
    plain = inner if isinstance(inner, dict) else data
    if metadata is not None and metadata.get(VALUE_ALONE) is True and "value" in plain:
        rest = {name: value for name, value in metadata.items() if name != VALUE_ALONE}
        return types.Part(data=plain["value"], metadata=rest or None)
    return types.Part(data=plain, metadata=metadata)


def _message(message: wire.Message) -> types.Message:
    parts = message.content if message.parts is UNSET else message.parts
    role = _ROLES.get(message.role)
    if role is None:
        raise Irregular
    return types.Message(
        message_id=message.message_id,
        role=role,
        parts=() if parts is UNSET else tuple([_part(part) for part in parts]),
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
    state = _STATES.get(status.state)
    if state is None:
        raise Irregular
    return types.TaskStatus(
        state=state,
        message=None if status.message is None else _message(status.message),
        timestamp=reading.moment(status.timestamp) if status.timestamp else None,
    )


def task(value: wire.Task) -> types.Task:
    if not value.id:
        raise Irregular
    return types.Task(
        id=value.id,
        context_id=value.context_id or "",
        status=_status(value.status),
        artifacts=tuple([_artifact(artifact) for artifact in value.artifacts]),
        history=tuple([_message(message) for message in value.history]),
        metadata=value.metadata,
    )


def event(value: wire.Event) -> types.StreamEvent:
    """Whatever `final` says: the state says it."""
    if (value.task, value.message, value.status_update, value.artifact_update).count(None) != 3:  # noqa: PLR2004 -- three of the four
        raise Irregular
    if value.artifact_update is not None:
        return _artifact_update(value.artifact_update)
    if value.status_update is not None:
        return _status_update(value.status_update)
    return send_response(value)


def send_response(value: wire.Event) -> types.Task | types.Message:
    if value.task is not None:
        return task(value.task)
    if value.message is not None:
        return _message(value.message)
    raise Irregular


def _artifact_update(update: wire.TaskArtifactUpdate) -> types.TaskArtifactUpdateEvent:
    return types.TaskArtifactUpdateEvent(
        task_id=update.task_id,
        context_id=update.context_id,
        artifact=_artifact(update.artifact),
        append=update.append,
        last_chunk=update.last_chunk,
        metadata=update.metadata,
    )


def _status_update(update: wire.TaskStatusUpdate) -> types.TaskStatusUpdateEvent:
    return types.TaskStatusUpdateEvent(
        task_id=update.task_id, context_id=update.context_id, status=_status(update.status), metadata=update.metadata
    )


def task_page(page: wire.TaskPage) -> types.ListTasksResponse:
    """Without sizes, which 0.3 does not say; artifacts are always shown."""
    tasks = () if page.tasks is UNSET else tuple([task(item) for item in page.tasks])
    return types.ListTasksResponse(
        tasks=tasks,
        next_page_token=page.next_page_token or "",
        page_size=len(tasks),
        total_size=len(tasks),
        with_artifacts=any(item.artifacts for item in tasks),
    )


def send_message(request: wire.SendMessage) -> types.SendMessageRequest:
    """Of JSON-RPC, where a message is answered when its turn is over unless `blocking` is false."""
    return _send_message(request, blocking=True)


def send_message_of_proto(request: wire.SendMessage) -> types.SendMessageRequest:
    """Of HTTP+JSON, where a configuration that does not say `blocking` says false, as in any proto."""
    return _send_message(request, blocking=request.configuration is None)


def _send_message(request: wire.SendMessage, *, blocking: bool) -> types.SendMessageRequest:
    message = _message(request.message)
    if not message.message_id or not message.parts or request.message.role == "ROLE_UNSPECIFIED":
        raise Irregular
    given = request.configuration
    return types.SendMessageRequest(
        message=message,
        configuration=_NO_CONFIGURATION if given is None else _configuration(given, blocking=blocking),
        metadata=request.metadata,
        tenant=request.tenant,
    )


def _configuration(given: wire.Configuration, *, blocking: bool) -> types.SendMessageConfiguration:
    config = given.push_notification_config or given.push_notification
    return types.SendMessageConfiguration(
        accepted_output_modes=given.accepted_output_modes,
        task_push_notification_config=None if config is None else _push_config(config),
        history_length=given.history_length or None,
        return_immediately=not (blocking if given.blocking is None else given.blocking),
    )


def _push_config(config: wire.PushConfig) -> types.TaskPushNotificationConfig:
    given = config.authentication
    if not config.url or (given is not None and not given.schemes):
        raise Irregular
    return types.TaskPushNotificationConfig(
        url=config.url,
        id=config.id or "",
        token=config.token or None,
        authentication=None
        if given is None
        else types.AuthenticationInfo(scheme=given.schemes[0], credentials=given.credentials or None),
    )


def get_task(request: requests.GetTask) -> types.GetTaskRequest:
    """A history length of 0 is none that was set: peers answer with the whole history."""
    return types.GetTaskRequest(id=request.id, history_length=request.history_length or None, tenant=request.tenant)


def subscribe(request: requests.SubscribeToTask) -> types.SubscribeToTaskRequest:
    return structs.replace(reading.subscribe(request), turn=True)


def get_push_config(request: wire.NamePushConfig) -> types.GetTaskPushNotificationConfigRequest:
    return types.GetTaskPushNotificationConfigRequest(
        task_id=request.id, id=request.push_notification_config_id, tenant=request.tenant
    )


def delete_push_config(request: wire.DeletePushConfig) -> types.DeleteTaskPushNotificationConfigRequest:
    return types.DeleteTaskPushNotificationConfigRequest(
        task_id=request.id, id=request.push_notification_config_id, tenant=request.tenant
    )


def list_push_configs(request: wire.NamePushConfig) -> types.ListTaskPushNotificationConfigsRequest:
    return types.ListTaskPushNotificationConfigsRequest(task_id=request.id, tenant=request.tenant)
