"""What is left of a value that went through 0.3: the losses that `dragoman.dialects.v0_3.objects` names, no others."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from dragoman import types

__all__ = ["left_of", "left_of_request"]


def _part(part: types.Part) -> types.Part:
    if part.text is None and part.data is UNSET:
        return part
    # Beside a value that is no object, metadata without a member are none.
    metadata = part.metadata if isinstance(part.data, dict) or part.data is UNSET else part.metadata or None
    return replace(part, metadata=metadata, filename=None, media_type=None)


def _message(message: types.Message, binding: str) -> types.Message:
    references = message.reference_task_ids if binding == "JSONRPC" else ()
    return replace(message, parts=tuple(map(_part, message.parts)), reference_task_ids=references)


def _artifact(artifact: types.Artifact) -> types.Artifact:
    return replace(artifact, parts=tuple(map(_part, artifact.parts)))


def _status(status: types.TaskStatus, binding: str) -> types.TaskStatus:
    return status if status.message is None else replace(status, message=_message(status.message, binding))


def left_of(value: Any, binding: str) -> Any:  # noqa: PLR0911 -- one return for each kind of value
    """What comes back of a result or an event."""
    match value:
        case types.Message():
            return _message(value, binding)
        case types.Task():
            return replace(
                value,
                status=_status(value.status, binding),
                artifacts=tuple(map(_artifact, value.artifacts)),
                history=tuple(_message(message, binding) for message in value.history),
            )
        case types.TaskStatusUpdateEvent():
            return replace(value, status=_status(value.status, binding))
        case types.TaskArtifactUpdateEvent():
            return replace(value, artifact=_artifact(value.artifact))
        case types.ListTasksResponse():
            tasks = tuple(left_of(task, binding) for task in value.tasks)
            count, shown = len(tasks), any(task.artifacts for task in tasks)
            return replace(value, tasks=tasks, page_size=count, total_size=count, with_artifacts=shown)
        case types.ListTaskPushNotificationConfigsResponse() if binding == "JSONRPC":
            return replace(value, next_page_token="")
        case _:
            return value


def left_of_request(request: Any, binding: str) -> Any:
    """What comes back of a request."""
    match request:
        case types.SendMessageRequest(configuration=given):
            config = given.task_push_notification_config
            asked = replace(
                given,
                history_length=given.history_length if given.history_length != 0 else 1,
                task_push_notification_config=None if config is None else replace(config, task_id=""),
            )
            return replace(request, message=_message(request.message, binding), configuration=asked)
        case types.GetTaskRequest(history_length=0):
            return replace(request, history_length=1)
        case types.SubscribeToTaskRequest():
            return replace(request, turn=True)
        case types.ListTaskPushNotificationConfigsRequest() if binding == "JSONRPC":
            return replace(request, page_size=None, page_token="")
        case _:
            return request
