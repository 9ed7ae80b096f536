"""What a run has emitted and nobody has stored yet: how it becomes events."""

from dragoman.engine.output import MERGE_LIMIT, Output
from dragoman.engine.volume import Volume
from dragoman.ports.limits import CallLimits
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import TaskArtifactUpdateEvent, TaskUpdate
from dragoman.types.task import TaskState, TaskStatus
from tests.unit.engine.stage import texts


def output() -> Output:
    return Output("t", "c", "1.0", Volume(CallLimits()))


def note(text: str) -> TaskStatus:
    return TaskStatus(
        state=TaskState.WORKING, message=Message(message_id="n", role=Role.AGENT, parts=(Part(text=text),))
    )


def chunks(events: list[TaskUpdate]) -> list[tuple[str, bool, bool]]:
    """Text, append and last_chunk of each artifact event."""
    return [
        (event.artifact.text, event.append, event.last_chunk)
        for event in events
        if isinstance(event, TaskArtifactUpdateEvent)
    ]


def ids(events: list[TaskUpdate]) -> list[str]:
    return [event.artifact.artifact_id for event in events if isinstance(event, TaskArtifactUpdateEvent)]


def test_nothing_said_is_no_event() -> None:
    out = output()
    out.end_text()
    assert not out
    assert out.take() == []


def test_chunks_that_wait_together_share_an_event() -> None:
    out = output()
    for chunk in ("one ", "two ", "three"):
        out.text(chunk)
    assert chunks(out.take()) == [("one two three", False, False)]
    assert not out


def test_the_first_chunk_opens_the_artifact_and_later_ones_append() -> None:
    out = output()
    events: list[TaskUpdate] = []
    for chunk in ("a", "b", "c"):
        out.text(chunk)
        events += out.take()
    assert chunks(events) == [("a", False, False), ("b", True, False), ("c", True, False)]
    assert len(set(ids(events))) == 1


def test_the_end_is_marked_on_a_chunk_that_still_waits() -> None:
    out = output()
    out.text("a")
    out.take()
    out.text("b")
    out.end_text()
    assert chunks(out.take()) == [("b", True, True)]


def test_the_end_is_an_empty_chunk_when_none_waits() -> None:
    out = output()
    out.text("a")
    out.take()
    out.end_text()
    assert chunks(out.take()) == [("", True, True)]


def test_a_single_chunk_opens_and_ends_the_artifact() -> None:
    out = output()
    out.text("all")
    out.end_text()
    assert chunks(out.take()) == [("all", False, True)]


def test_text_is_merged_up_to_a_limit() -> None:
    out = output()
    for _ in range(5):
        out.text("x" * (MERGE_LIMIT // 2))
    out.end_text()
    events = out.take()
    assert [len(text) for text, _, _ in chunks(events)] == [MERGE_LIMIT, MERGE_LIMIT, MERGE_LIMIT // 2]
    assert [append for _, append, _ in chunks(events)] == [False, True, True]
    assert [last for _, _, last in chunks(events)] == [False, False, True]


def test_text_artifacts_and_notes_keep_their_order() -> None:
    out = output()
    out.text("one")
    out.status(note("half way"))
    out.text("two")
    out.artifact(Artifact(artifact_id="", parts=(Part(text="table"),)), append=False, last_chunk=True)
    out.text("three")
    out.end_text()
    events = out.take()
    assert texts(list(events)) == ["one", "[half way]", "two", "table", "three"]
    text_id, again, table, third = ids(events)
    assert text_id == again == third != table
    assert chunks(events)[-1] == ("three", True, True)


def test_the_end_of_the_text_may_stand_before_another_artifact() -> None:
    out = output()
    out.text("words")
    out.artifact(Artifact(artifact_id="own", parts=(Part(text="table"),)), append=False, last_chunk=True)
    out.end_text()
    assert chunks(out.take()) == [("words", False, True), ("table", False, True)]


def test_an_artifact_keeps_the_id_that_it_brings() -> None:
    out = output()
    out.artifact(Artifact(artifact_id="own", parts=()), append=True, last_chunk=False)
    (event,) = out.take()
    assert isinstance(event, TaskArtifactUpdateEvent)
    assert (event.artifact.artifact_id, event.append, event.last_chunk) == ("own", True, False)


def test_repeating_a_run_makes_the_same_ids_whatever_waited_together() -> None:
    def run(*, pausing: bool) -> list[str]:
        out, seen = output(), list[TaskUpdate]()
        out.artifact(Artifact(artifact_id="", parts=(Part(data=1),)), append=False, last_chunk=True)
        out.text("a")
        if pausing:
            seen += out.take()
        out.text("b")
        out.artifact(Artifact(artifact_id="", parts=(Part(data=2),)), append=False, last_chunk=True)
        return list(dict.fromkeys(ids(seen + out.take())))

    assert run(pausing=True) == run(pausing=False)
    assert len(run(pausing=False)) == 3


def test_a_part_of_the_run_that_has_another_name_makes_other_artifacts() -> None:
    out = output()
    out.text("a")
    first = out.take()
    out.rename("1.1")
    out.text("b")
    second = out.take()
    assert chunks(second) == [("b", False, False)]
    assert set(ids(first)).isdisjoint(ids(second))


def test_what_was_forgotten_is_not_taken() -> None:
    out = output()
    out.text("a")
    out.status(note("b"))
    out.clear()
    assert not out
    out.end_text()
    assert out.take() == []
    out.text("c")
    assert chunks(out.take()) == [("c", False, False)]


def test_it_is_full_after_much_text_or_many_events_and_has_room_once_taken() -> None:
    out = output()
    fullness: list[bool] = []
    for chunk in ("x" * 65_535, "x"):
        out.text(chunk)
        fullness.append(out.full)
    out.take()
    fullness.append(out.full)
    for _ in range(256):
        out.status(note("."))
        fullness.append(out.full)
    assert fullness == [False, True, False] + [False] * 255 + [True]
