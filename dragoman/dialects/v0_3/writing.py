"""From canonical values to the JSON objects of A2A 0.3, in the spelling of the binding."""

from collections.abc import Mapping

import pybase64
from msgspec import UNSET

from dragoman import types
from dragoman.dialects.v0_3 import objects as wire
from dragoman.dialects.v0_3.reading import VALUE_ALONE
from dragoman.dialects.v1_0 import requests, writing

__all__ = ["Writer", "delete_push_config", "get_task", "name_push_config"]

_KINDS = ("text", "file", "data", "message", "task", "status-update", "artifact-update")
_ENDS_TURN = frozenset(state for state in types.TaskState if state.terminal or state.value == "input-required")


class Writer:
    """Writes one of the two spellings: with `kinds` that of JSON-RPC, without that of HTTP+JSON."""

    def __init__(self, *, kinds: bool) -> None:
        self._kinds = kinds
        self._kind: Mapping[str, wire.Kind] = {kind: kind if kinds else UNSET for kind in _KINDS}
        self._roles = {types.Role.USER: "user", types.Role.AGENT: "agent"}
        self._states = {state: state.value for state in types.TaskState} | {types.TaskState.UNSPECIFIED: "unknown"}
        if not kinds:
            self._roles = {types.Role.USER: "ROLE_USER", types.Role.AGENT: "ROLE_AGENT"}
            self._states = dict(zip(types.TaskState, wire.STATES, strict=True))

    def _part(self, part: types.Part) -> wire.Part:
        if part.text is not None:
            return wire.Part(kind=self._kind["text"], text=part.text, metadata=part.metadata)
        if part.data is UNSET:
            return wire.Part(kind=self._kind["file"], file=self._file(part), metadata=part.metadata)
        data, metadata = part.data, part.metadata
        if not isinstance(data, Mapping):
            data, metadata = {"value": data}, {**(metadata or {}), VALUE_ALONE: True}
        return wire.Part(kind=self._kind["data"], data=data if self._kinds else {"data": data}, metadata=metadata)

    def _file(self, part: types.Part) -> wire.File:
        if self._kinds:
            return wire.File(bytes=part.base64, uri=part.url, mime_type=part.media_type, name=part.filename)
        once = part.base64
        return wire.File(
            file_with_bytes=None if once is None else pybase64.b64encode(once.encode()).decode(),
            file_with_uri=part.url,
            mime_type=part.media_type,
            name=part.filename,
        )

    def _message(self, message: types.Message) -> wire.Message:
        parts = tuple([self._part(part) for part in message.parts])
        return wire.Message(
            kind=self._kind["message"],
            message_id=message.message_id,
            context_id=message.context_id,
            task_id=message.task_id,
            role=self._roles[message.role],
            parts=parts if self._kinds else UNSET,
            content=UNSET if self._kinds else parts,
            metadata=message.metadata,
            extensions=message.extensions,
            reference_task_ids=message.reference_task_ids if self._kinds else (),
        )

    def _artifact(self, artifact: types.Artifact) -> wire.Artifact:
        return wire.Artifact(
            artifact_id=artifact.artifact_id,
            name=artifact.name,
            description=artifact.description,
            parts=tuple([self._part(part) for part in artifact.parts]),
            metadata=artifact.metadata,
            extensions=artifact.extensions,
        )

    def _status(self, status: types.TaskStatus) -> wire.TaskStatus:
        return wire.TaskStatus(
            state=self._states[status.state],
            message=None if status.message is None else self._message(status.message),
            timestamp=None if status.timestamp is None else writing.stamp(status.timestamp),
        )

    def task(self, value: types.Task) -> wire.Task:
        return wire.Task(
            kind=self._kind["task"],
            id=value.id,
            context_id=value.context_id,
            status=self._status(value.status),
            artifacts=tuple([self._artifact(artifact) for artifact in value.artifacts]),
            history=tuple([self._message(message) for message in value.history]),
            metadata=value.metadata,
        )

    def bare(
        self, event: types.StreamEvent
    ) -> wire.Task | wire.Message | wire.TaskStatusUpdate | wire.TaskArtifactUpdate:
        """A result or an event as it stands in JSON-RPC."""
        match event:
            case types.TaskArtifactUpdateEvent():
                return self._artifact_update(event)
            case types.TaskStatusUpdateEvent():
                return self._status_update(event)
            case types.Task():
                return self.task(event)
            case types.Message():
                return self._message(event)

    def event(self, event: types.StreamEvent) -> wire.Event:
        """A result or an event under the name of what it is."""
        match event:
            case types.TaskArtifactUpdateEvent():
                return wire.Event(artifact_update=self._artifact_update(event))
            case types.TaskStatusUpdateEvent():
                return wire.Event(status_update=self._status_update(event))
            case types.Task():
                return wire.Event(task=self.task(event))
            case types.Message():
                return wire.Event(message=self._message(event))

    def _artifact_update(self, event: types.TaskArtifactUpdateEvent) -> wire.TaskArtifactUpdate:
        return wire.TaskArtifactUpdate(
            kind=self._kind["artifact-update"],
            task_id=event.task_id,
            context_id=event.context_id,
            artifact=self._artifact(event.artifact),
            append=event.append,
            last_chunk=event.last_chunk,
            metadata=event.metadata,
        )

    def _status_update(self, event: types.TaskStatusUpdateEvent) -> wire.TaskStatusUpdate:
        final = event.status.state in _ENDS_TURN
        return wire.TaskStatusUpdate(
            kind=self._kind["status-update"],
            task_id=event.task_id,
            context_id=event.context_id,
            status=self._status(event.status),
            final=final if final or self._kinds else UNSET,
            metadata=event.metadata,
        )

    def task_page(self, page: types.ListTasksResponse) -> wire.TaskPage:
        return wire.TaskPage(
            tasks=tuple([self.task(item) for item in page.tasks]), next_page_token=page.next_page_token
        )

    def send_message(self, request: types.SendMessageRequest) -> wire.SendMessage:
        """Always says whether to wait, which peers take for granted in opposite ways."""
        given = request.configuration
        config = given.task_push_notification_config
        push = None if config is None else _push_config(config)
        return wire.SendMessage(
            tenant=request.tenant,
            message=self._message(request.message),
            configuration=wire.Configuration(
                accepted_output_modes=given.accepted_output_modes,
                blocking=not given.return_immediately,
                history_length=_length(given.history_length),
                push_notification_config=push if self._kinds else None,
                push_notification=None if self._kinds else push,
            ),
            metadata=request.metadata,
        )

    def push_config(self, config: types.TaskPushNotificationConfig) -> wire.TaskPushConfig:
        return wire.TaskPushConfig(
            task_id=config.task_id if self._kinds else UNSET,
            name=UNSET if self._kinds else _name(config),
            push_notification_config=_push_config(config),
        )

    def create_push_config(
        self, config: types.TaskPushNotificationConfig
    ) -> wire.TaskPushConfig | wire.CreatePushConfig:
        written = self.push_config(config)
        if self._kinds:
            written.tenant = config.tenant
            return written
        return wire.CreatePushConfig(
            tenant=config.tenant,
            task_id=config.task_id,
            parent=f"tasks/{config.task_id}",
            config_id=config.id,
            config=written,
        )

    def push_configs(
        self, value: types.ListTaskPushNotificationConfigsResponse
    ) -> tuple[wire.TaskPushConfig, ...] | wire.PushConfigs:
        configs = tuple([self.push_config(config) for config in value.configs])
        return configs if self._kinds else wire.PushConfigs(configs=configs, next_page_token=value.next_page_token)


def _name(config: types.TaskPushNotificationConfig) -> str:
    return f"tasks/{config.task_id}/pushNotificationConfigs/{config.id}"


def _push_config(config: types.TaskPushNotificationConfig) -> wire.PushConfig:
    given = config.authentication
    return wire.PushConfig(
        id=config.id or None,
        url=config.url,
        token=config.token,
        authentication=None
        if given is None
        else wire.Authentication(schemes=(given.scheme,), credentials=given.credentials),
    )


def _length(length: int | None) -> int | None:
    """0 would mean the whole history: 1 is the least that can be asked for."""
    return 1 if length == 0 else length


def get_task(request: types.GetTaskRequest) -> requests.GetTask:
    return requests.GetTask(tenant=request.tenant, id=request.id, history_length=_length(request.history_length))


def name_push_config(
    request: types.GetTaskPushNotificationConfigRequest | types.ListTaskPushNotificationConfigsRequest,
) -> wire.NamePushConfig:
    named = request.id if isinstance(request, types.GetTaskPushNotificationConfigRequest) else ""
    return wire.NamePushConfig(tenant=request.tenant, id=request.task_id, push_notification_config_id=named)


def delete_push_config(request: types.DeleteTaskPushNotificationConfigRequest) -> wire.DeletePushConfig:
    return wire.DeletePushConfig(tenant=request.tenant, id=request.task_id, push_notification_config_id=request.id)
