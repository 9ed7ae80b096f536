"""Numbers of events in their metadata."""

from typing import Any

import pytest

from dragoman import Artifact, Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus
from dragoman.types.events import TaskStatusUpdateEvent
from dragoman.types.reliable import RELIABLE, number_of, numbered

STATUS = TaskStatus(state=TaskState.WORKING)


def test_an_event_gets_its_number_and_keeps_what_else_its_metadata_says() -> None:
    task = Task(id="t", context_id="c", status=STATUS, metadata={"mine": 1})
    assert numbered(task, 7).metadata == {"mine": 1, RELIABLE: {"seq": 7}}
    assert task.metadata == {"mine": 1}
    status = TaskStatusUpdateEvent(task_id="t", context_id="c", status=STATUS)
    chunk = TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=Artifact(artifact_id="a", parts=()))
    for event in (status, chunk):
        assert event.metadata is None
        assert number_of(numbered(event, 9)) == 9


def test_a_number_that_went_through_protobuf_is_still_that_number() -> None:
    assert number_of(_task({RELIABLE: {"seq": 7.0}})) == 7


@pytest.mark.parametrize(
    "metadata",
    [None, {}, {"seq": 7}, *({RELIABLE: stated} for stated in (None, 7, [7], {}, {"seq": None})),
     *({RELIABLE: {"seq": seq}} for seq in ("7", 7.5, 0, -1, True, float("inf"), float("nan")))],
)  # fmt: skip
def test_metadata_that_state_no_number_have_none(metadata: Any) -> None:
    assert number_of(_task(metadata)) is None


def test_a_message_has_no_number() -> None:
    assert number_of(Message(message_id="m", role=Role.AGENT, parts=(Part(text="hi"),))) is None


def _task(metadata: Any) -> Task:
    return Task(id="t", context_id="c", status=STATUS, metadata=metadata)
