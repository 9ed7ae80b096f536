"""The checker finds what is wrong with a history: one bad history for each invariant, and good ones."""

from collections.abc import Callable

import msgspec
import pytest

from dragoman.core.lifecycle import fold
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Entry
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.task import Task, TaskState, TaskStatus
from tests.faults.checker import INVARIANTS, violations
from tests.faults.history import Acknowledged, Answered, Delivered, History, Kept, Reading

ID = "t"
WORKING = TaskStatus(state=TaskState.WORKING)
DONE = TaskStatus(state=TaskState.COMPLETED)
ASKED = Message(message_id="m", role=Role.USER, parts=(Part(text="go"),))
CREATED = Task(id=ID, context_id="c", status=WORKING, history=(ASKED,))


def chunk(text: str) -> TaskUpdate:
    artifact = Artifact(artifact_id="a", parts=(Part(text=text),))
    return TaskArtifactUpdateEvent(task_id=ID, context_id="c", artifact=artifact, append=True)


def status(status: TaskStatus) -> TaskUpdate:
    return TaskStatusUpdateEvent(task_id=ID, context_id="c", status=status)


UPDATES = [chunk("one "), chunk("two "), chunk("three"), status(DONE)]


def kept(updates: list[TaskUpdate]) -> Kept:
    entries = tuple(Entry(seq=seq, event=event) for seq, event in enumerate(updates, 2))
    task = fold(CREATED, [(event, None) for event in updates])
    return Kept(task, entries, epochs=(1,) * len(entries), created=CREATED)


def good() -> History:
    """A task that was streamed from two places, once from its number 3 on, and whose end was told."""
    whole = kept(UPDATES)
    at_3 = fold(CREATED, [(event, None) for event in UPDATES[:2]])
    events = [Delivered(seq, event, 0.1) for seq, event in enumerate(UPDATES, 2)]
    return History(
        kept={ID: whole},
        acknowledged=[Acknowledged(Scope(), "m", "go", ID, known_again=True)],
        readings=[
            Reading(ID, 1, CREATED, events, ended=True),
            Reading(ID, 3, at_3, events[2:], ended=True),
            Reading(ID, 2, None, events[1:3]),
        ],
        ended=[whole.task],
        committed={(ID, seq): 0.0 for seq in range(2, 6)},
        promptly=1.0,
        quiet=True,
    )


def found(history: History) -> set[str]:
    return {violation.invariant for violation in violations(history)}


def test_a_history_in_which_all_promises_were_kept_has_no_violation() -> None:
    assert violations(good()) == []
    assert good().events == 4 + 2 + 2 + 2


def _gap(history: History) -> None:
    held = history.kept[ID]
    held.entries = held.entries[:1] + held.entries[2:]


def _stale_write(history: History) -> None:
    history.kept[ID].epochs = (1, 2, 1, 2)


def _two_ends(history: History) -> None:
    history.kept[ID] = kept([*UPDATES, status(TaskStatus(state=TaskState.FAILED))])


def _event_after_the_end(history: History) -> None:
    history.kept[ID] = kept([*UPDATES, chunk("late")])


def _snapshot_of_elsewhere(history: History) -> None:
    held = history.kept[ID]
    held.task = msgspec.structs.replace(held.task, artifacts=())


def _status_of_elsewhere(history: History) -> None:
    held = history.kept[ID]
    held.task = msgspec.structs.replace(held.task, status=TaskStatus(state=TaskState.FAILED))


def _left_working(history: History) -> None:
    history.kept["u"] = Kept(msgspec.structs.replace(CREATED, id="u", history=()), (), ())


def _left_waiting(history: History) -> None:
    history.kept[ID].waiting = (msgspec.structs.replace(ASKED, message_id="n"),)


def _lost_task(history: History) -> None:
    history.acknowledged.append(Acknowledged(Scope(), "n", "go", "u", known_again=False))


def _lost_message(history: History) -> None:
    history.acknowledged.append(Acknowledged(Scope(), "n", "go", ID, known_again=False))


def _doubled_message(history: History) -> None:
    history.kept[ID].waiting = (ASKED,)
    history.quiet = False


def _two_tasks_of_one_message(history: History) -> None:
    history.kept["u"] = Kept(msgspec.structs.replace(CREATED, id="u", status=DONE), (), ())


def _unwritten_event(history: History) -> None:
    history.readings[0].events[1] = Delivered(3, chunk("TWO "))


def _hole_in_a_stream(history: History) -> None:
    del history.readings[0].events[1]


def _repetition_in_a_stream(history: History) -> None:
    history.readings[2].events.append(history.readings[2].events[-1])


def _snapshot_ahead_of_its_number(history: History) -> None:
    history.readings[1].snapshot = history.kept[ID].task


def _stream_that_just_ends(history: History) -> None:
    history.readings[0].events.pop()


def _second_thoughts(history: History) -> None:
    history.ended.append(msgspec.structs.replace(history.ended[0], status=TaskStatus(state=TaskState.CANCELED)))


def _late(history: History) -> None:
    history.readings[0].events[0] = Delivered(2, UPDATES[0], 15.0)


def _two_answers(history: History) -> None:
    for text in ("yes", "no"):
        answer = Message(message_id="a", role=Role.AGENT, parts=(Part(text=text),))
        history.answered.append(Answered(Scope(), "n", answer, known_again=True))


def _come_back(history: History) -> None:
    history.erased.add(ID)


BAD: list[tuple[str, Callable[[History], None]]] = [
    ("numbers", _gap),
    ("epochs", _stale_write),
    ("one end", _two_ends),
    ("one end", _event_after_the_end),
    ("snapshot", _snapshot_of_elsewhere),
    ("snapshot", _status_of_elsewhere),
    ("finished", _left_working),
    ("finished", _left_waiting),
    ("acknowledged", _lost_task),
    ("acknowledged", _lost_message),
    ("acknowledged", _doubled_message),
    ("known again", _two_tasks_of_one_message),
    ("same answer", _two_answers),
    ("erased", _come_back),
    ("seen is stored", _unwritten_event),
    ("contiguous", _hole_in_a_stream),
    ("contiguous", _repetition_in_a_stream),
    ("same task", _snapshot_ahead_of_its_number),
    ("same task", _stream_that_just_ends),
    ("ended for good", _second_thoughts),
    ("promptly", _late),
]


@pytest.mark.parametrize(("invariant", "spoil"), BAD, ids=[spoil.__name__.strip("_") for _, spoil in BAD])
def test_what_is_wrong_is_found(invariant: str, spoil: Callable[[History], None]) -> None:
    history = good()
    spoil(history)
    assert invariant in found(history)


def test_every_invariant_has_a_history_that_breaks_it() -> None:
    assert {invariant for invariant, _ in BAD} == set(INVARIANTS)


def test_what_nobody_promised_is_no_violation() -> None:
    history = good()
    history.promptly = None
    history.quiet = False
    _late(history)
    _left_working(history)
    assert violations(history) == []
