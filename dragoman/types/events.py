"""What a stream carries (specification sections 4.2.1, 4.2.2 and 3.2.3)."""

import msgspec

from dragoman.types.content import Artifact, Message
from dragoman.types.json import JsonObject
from dragoman.types.task import Task, TaskStatus

__all__ = ["StreamEvent", "TaskArtifactUpdateEvent", "TaskStatusUpdateEvent", "TaskUpdate"]


class TaskStatusUpdateEvent(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="status", tag_field="type"
):
    """The task has a new status."""

    task_id: str
    context_id: str
    status: TaskStatus
    metadata: JsonObject | None = None


class TaskArtifactUpdateEvent(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False, tag="artifact", tag_field="type"
):
    """An artifact was created, replaced (`append` false) or continued (`append` true)."""

    task_id: str
    context_id: str
    artifact: Artifact
    append: bool = False
    last_chunk: bool = False
    metadata: JsonObject | None = None


TaskUpdate = TaskStatusUpdateEvent | TaskArtifactUpdateEvent
"""What happens to a task after its creation."""

StreamEvent = Task | Message | TaskStatusUpdateEvent | TaskArtifactUpdateEvent
"""One event of a stream: a Task or a single Message first, then updates (section 3.1.2)."""
