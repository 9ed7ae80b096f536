"""Messages and artifacts, wherever they are."""

from typing import Any

import msgspec
import pytest

from dragoman.extensions import with_contents
from dragoman.types import (
    Artifact,
    GetTaskRequest,
    ListTasksResponse,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)

MESSAGE = Message(message_id="m", role=Role.USER, parts=(Part(text="x"),))
ARTIFACT = Artifact(artifact_id="a", parts=(Part(text="y"),))
SAID = TaskStatus(state=TaskState.WORKING, message=MESSAGE)
TASK = Task(id="t", context_id="c", status=SAID, history=(MESSAGE, MESSAGE), artifacts=(ARTIFACT,))


def marked(content: Any) -> Any:
    return msgspec.structs.replace(content, metadata={"seen": True})


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (MESSAGE, 1),
        (ARTIFACT, 1),
        (SendMessageRequest(message=MESSAGE), 1),
        (TaskStatusUpdateEvent(task_id="t", context_id="c", status=SAID), 1),
        (TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING)), 0),
        (TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=ARTIFACT), 1),
        (TASK, 4),
        (ListTasksResponse(tasks=(TASK, TASK), next_page_token="", page_size=2, total_size=2), 8),
        (GetTaskRequest(id="t"), 0),
    ],
)
def test_each_is_changed_where_it_stands_and_nothing_else_is(value: Any, count: int) -> None:
    changed = with_contents(value, marked)
    assert type(changed) is type(value)
    assert msgspec.json.encode(changed).count(b'"seen":true') == count
    assert with_contents(changed, lambda content: msgspec.structs.replace(content, metadata=None)) == value
