"""What callers may say, and how a task is put together from events."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import msgspec
import pydantic
import pytest

from dragoman import Artifact, Message, Part, Role, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus
from dragoman.client.content import Content, request_of
from dragoman.client.view import TaskView
from dragoman.types import StreamEvent, TaskStatusUpdateEvent


@dataclasses.dataclass
class Point:
    x: int


class Line(msgspec.Struct):
    length: float


class Area(pydantic.BaseModel):
    side: int = pydantic.Field(alias="theSide")


CONTENT: list[tuple[Content, tuple[Part, ...]]] = [
    ("hi", (Part(text="hi"),)),
    (b"\x00", (Part(base64="AA==", media_type="application/octet-stream"),)),
    (Part(url="https://h/a"), (Part(url="https://h/a"),)),
    ({"a": 1}, (Part(data={"a": 1}),)),
    (Point(1), (Part(data={"x": 1}),)),
    (Line(0.5), (Part(data={"length": 0.5}),)),
    (Area(theSide=2), (Part(data={"theSide": 2}),)),
    (["hi", {"a": 1}, Part(text="x")], (Part(text="hi"), Part(data={"a": 1}), Part(text="x"))),
]


@pytest.mark.parametrize(("content", "parts"), CONTENT)
def test_content_becomes_parts(content: Content, parts: Sequence[Part]) -> None:
    message = request_of(content, {}).message
    assert message.parts == parts
    assert message.role is Role.USER
    assert message.message_id


def test_every_message_has_an_id_of_its_own() -> None:
    assert len({request_of("hi", {}).message.message_id for _ in range(100)}) == 100


def test_a_whole_message_keeps_what_the_options_do_not_say() -> None:
    whole = Message(message_id="m", role=Role.USER, parts=(Part(text="x"),), task_id="t", context_id="c")
    assert request_of(whole, {}).message == whole
    assert request_of(whole, {"context_id": "d"}).message == msgspec.structs.replace(whole, context_id="d")


@pytest.mark.parametrize("content", [7, None, object(), [7], [["nested"]], Point, str])
def test_what_cannot_be_sent_is_named(content: object) -> None:
    with pytest.raises(TypeError, match="cannot be sent"):
        request_of(content, {})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]  # that is the point


def test_nothing_cannot_be_sent() -> None:
    with pytest.raises(ValueError, match="at least one part"):
        request_of([], {})


def begun(*texts: str) -> Task:
    artifacts = tuple(Artifact(artifact_id=text, parts=(Part(text=text),)) for text in texts)
    return Task(id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING), artifacts=artifacts)


def chunk(key: str, *parts: Part, append: bool = True, name: str | None = None) -> TaskArtifactUpdateEvent:
    artifact = Artifact(artifact_id=key, parts=parts, name=name)
    return TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact, append=append)


def moved(state: TaskState) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=state))


A, B, DATA = Part(text="a"), Part(text="b"), Part(data=1)
FOLDS: list[tuple[list[StreamEvent], list[tuple[str, tuple[Part, ...]]]]] = [
    ([begun("a")], [("a", (A,))]),
    ([begun("a"), chunk("a", B)], [("a", (Part(text="ab"),))]),
    ([begun("a"), chunk("a", B, append=False)], [("a", (B,))]),
    ([begun("a"), chunk("b", B)], [("a", (A,)), ("b", (B,))]),
    ([chunk("a", A), chunk("a"), chunk("a", Part(text=""))], [("a", (A,))]),
    ([chunk("a", A), chunk("a", DATA), chunk("a", B)], [("a", (A, DATA, B))]),
    ([chunk("a", A), begun("b")], [("b", (B,))]),
    ([chunk("a", A), begun("b"), chunk("b", Part(text="c"))], [("b", (Part(text="bc"),))]),
    ([chunk("a", append=False)], [("a", ())]),
]


@pytest.mark.parametrize(("events", "artifacts"), FOLDS)
def test_events_make_a_task(events: list[StreamEvent], artifacts: list[tuple[str, tuple[Part, ...]]]) -> None:
    view = TaskView()
    for event in events:
        view.add(event)
    assert view.task is not None
    assert [(artifact.artifact_id, artifact.parts) for artifact in view.task.artifacts] == artifacts
    assert view.task_id == "t"


def test_looking_in_between_changes_nothing() -> None:
    looking, blind = TaskView(), TaskView()
    for event in (begun("a"), chunk("a", Part(text="b")), chunk("a", DATA), chunk("a", Part(text="c"))):
        looking.add(event)
        assert looking.task is not None
        blind.add(event)
    assert looking.task == blind.task


@pytest.mark.parametrize("state", list(TaskState))
def test_a_view_is_settled_as_its_task_is(state: TaskState) -> None:
    view = TaskView()
    assert not view.settled
    view.add(begun())
    view.add(moved(state))
    assert (view.settled, view.ended) == (state.settled, state.terminal)


def test_an_option_that_does_not_exist_is_refused_by_name() -> None:
    options: Any = {"task": "t", "deadline": 1.0}
    with pytest.raises(TypeError, match="no option task"):
        request_of("hi", options)
