"""What events do to a task."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman.core.lifecycle import fold, joined, status_of
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.json import JsonObject
from dragoman.types.task import Task, TaskState, TaskStatus

TASK = Task(
    id="t",
    context_id="c",
    status=TaskStatus(state=TaskState.SUBMITTED),
    history=(Message(message_id="m0", role=Role.USER, parts=(Part(text="hello"),)),),
    metadata={"k": 1},
)


def message(text: str, role: Role = Role.AGENT) -> Message:
    return Message(message_id=text, role=role, parts=(Part(text=text),))


def status(state: TaskState, said: Message | None = None) -> TaskStatusUpdateEvent:
    return TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=state, message=said))


def chunk(
    *parts: Part,
    key: str = "a",
    append: bool = True,
    name: str | None = None,
    metadata: JsonObject | None = None,
    extensions: tuple[str, ...] = (),
) -> TaskArtifactUpdateEvent:
    artifact = Artifact(artifact_id=key, parts=parts, name=name, metadata=metadata, extensions=extensions)
    return TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact, append=append)


def text(value: str) -> Part:
    return Part(text=value)


def after(*updates: TaskUpdate, task: Task = TASK) -> Task:
    return fold(task, [(update, None) for update in updates])


def test_no_event_changes_nothing() -> None:
    assert fold(TASK, []) == TASK


def test_a_status_replaces_the_one_before() -> None:
    task = after(status(TaskState.WORKING), status(TaskState.COMPLETED, message("bye")))
    assert task.status == TaskStatus(state=TaskState.COMPLETED, message=message("bye"))
    assert (task.history, task.metadata, task.id, task.context_id) == (TASK.history, TASK.metadata, "t", "c")


def test_progress_passes_and_questions_stay_in_the_history() -> None:
    question, answer = message("which?"), message("that", Role.USER)
    task = fold(
        TASK,
        [
            (status(TaskState.WORKING, message("busy")), None),
            (status(TaskState.INPUT_REQUIRED, question), None),
            (status(TaskState.WORKING), answer),
            (status(TaskState.AUTH_REQUIRED), None),
            (status(TaskState.COMPLETED, message("bye")), None),
        ],
    )
    assert task.history == (*TASK.history, question, answer)


def test_an_open_question_is_the_status_and_not_yet_history() -> None:
    task = after(status(TaskState.INPUT_REQUIRED, message("which?")))
    assert task.history == TASK.history
    assert task.status.message == message("which?")


def test_a_received_message_is_history_whatever_it_comes_with() -> None:
    task = fold(TASK, [(chunk(text("a")), message("more", Role.USER))])
    assert task.history == (*TASK.history, message("more", Role.USER))


def test_chunks_make_one_text() -> None:
    task = after(chunk(text("a"), append=False), chunk(text("b")), chunk(text("c"), text("d")))
    assert task.artifacts == (Artifact(artifact_id="a", parts=(text("abcd"),)),)


def test_a_chunk_for_an_unknown_artifact_begins_it() -> None:
    assert after(chunk(text("a"))).artifacts == (Artifact(artifact_id="a", parts=(text("a"),)),)


def test_an_artifact_is_replaced_in_its_place() -> None:
    task = after(
        chunk(text("1"), key="a"),
        chunk(text("2"), key="b"),
        chunk(text("3"), key="a", append=False, name="new"),
        chunk(text("4"), key="a"),
    )
    assert task.artifacts == (
        Artifact(artifact_id="a", parts=(text("34"),), name="new"),
        Artifact(artifact_id="b", parts=(text("2"),)),
    )


def test_folding_continues_artifacts_of_the_snapshot() -> None:
    base = after(chunk(text("a"), key="a"), chunk(text("x"), key="b"))
    task = after(chunk(text("b"), key="a"), task=base)
    assert [artifact.text for artifact in task.artifacts] == ["ab", "x"]
    assert base.artifacts[0].text == "a"


def test_what_a_chunk_says_of_its_artifact_is_the_newer_word() -> None:
    task = after(
        chunk(text("a"), name="old", metadata={"x": 1, "y": 1}, extensions=("e1",)),
        chunk(text("b"), metadata={"y": 2}, extensions=("e2", "e1")),
        chunk(text("c"), name="new"),
    )
    assert task.artifacts == (
        Artifact(artifact_id="a", parts=(text("abc"),), name="new", metadata={"x": 1, "y": 2}, extensions=("e1", "e2")),
    )


def test_text_with_a_name_or_a_type_is_not_joined() -> None:
    typed = Part(text="b", media_type="text/html")
    parts = (text("a"), text("a"), typed, Part(text="c", filename="f"), Part(text="d", metadata={}), text("e"))
    assert joined(parts) == (text("aa"), *parts[2:])


def test_other_parts_stand_between_texts() -> None:
    data = Part(data=None)
    assert joined([text("a"), data, text("b"), text("c")]) == (text("a"), data, text("bc"))


def test_empty_texts_go_unless_they_are_all_there_is() -> None:
    data = Part(data=1)
    assert joined([text(""), text("")]) == (text(""),)
    assert joined([text(""), data, text("")]) == (data,)
    assert joined([]) == ()


def test_the_last_status_is_found() -> None:
    assert status_of([]) is None
    assert status_of([chunk(text("a"))]) is None
    first, last = status(TaskState.WORKING), status(TaskState.FAILED)
    assert status_of([first, last, chunk(text("a"))]) is last


PARTS = (text(""), text("a"), text("b"), Part(data=1), Part(text="m", filename="f"))


def chunk_of(parts: list[Part], key: str, append: bool) -> TaskUpdate:
    return chunk(*parts, key=key, append=append)


def status_with(state: TaskState, said: str | None) -> TaskUpdate:
    return status(state, None if said is None else message(said))


EVENTS = st.one_of(
    st.builds(chunk_of, st.lists(st.sampled_from(PARTS), max_size=3), st.sampled_from("ab"), st.booleans()),
    st.builds(status_with, st.sampled_from(TaskState), st.sampled_from((None, "s"))),
)
UPDATES = st.lists(st.tuples(EVENTS, st.sampled_from([None, message("r", Role.USER)])), max_size=12)


@given(UPDATES, st.integers(0, 12))
def test_it_does_not_matter_where_a_snapshot_was_taken(
    updates: list[tuple[TaskUpdate, Message | None]], cut: int
) -> None:
    assert fold(fold(TASK, updates[:cut]), updates[cut:]) == fold(TASK, updates)


@given(UPDATES)
def test_folding_changes_no_value_it_was_given(updates: list[tuple[TaskUpdate, Message | None]]) -> None:
    before = fold(TASK, updates[:6])
    copy = fold(TASK, updates[:6])
    fold(before, updates)
    assert before == copy
