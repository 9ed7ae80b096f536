"""The messages and artifacts in requests, results and events."""

from collections.abc import Callable
from typing import TypeVar, cast

import msgspec

from dragoman.types.content import Artifact, Message
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.types.requests import ListTasksResponse, SendMessageRequest
from dragoman.types.task import Task, TaskStatus

__all__ = ["Change", "with_contents"]

Change = Callable[[Message | Artifact], Message | Artifact]
"""Gives a message for a message, and an artifact for an artifact."""

Value = TypeVar("Value")


def with_contents(value: Value, change: Change) -> Value:
    """The request, result or event with each message and artifact in it as `change` gives it; what has none is as it
    was. Of a task that is its history, its artifacts and the message of its status.
    """
    made: object = value
    match value:
        case Message() | Artifact():
            made = change(value)
        case SendMessageRequest():
            made = msgspec.structs.replace(value, message=_message(value.message, change))
        case TaskStatusUpdateEvent():
            made = msgspec.structs.replace(value, status=_status(value.status, change))
        case TaskArtifactUpdateEvent():
            made = msgspec.structs.replace(value, artifact=_artifact(value.artifact, change))
        case Task():
            made = _task(value, change)
        case ListTasksResponse():
            made = msgspec.structs.replace(value, tasks=tuple([_task(task, change) for task in value.tasks]))
        case _:
            pass
    return cast("Value", made)


def _task(task: Task, change: Change) -> Task:
    return msgspec.structs.replace(
        task,
        status=_status(task.status, change),
        history=tuple([_message(message, change) for message in task.history]),
        artifacts=tuple([_artifact(artifact, change) for artifact in task.artifacts]),
    )


def _status(status: TaskStatus, change: Change) -> TaskStatus:
    if status.message is None:
        return status
    return msgspec.structs.replace(status, message=_message(status.message, change))


def _message(message: Message, change: Change) -> Message:
    return cast("Message", change(message))


def _artifact(artifact: Artifact, change: Change) -> Artifact:
    return cast("Artifact", change(artifact))
