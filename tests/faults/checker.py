"""Reads a history and says what was promised and not kept. Each check is one invariant."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from dragoman.types.events import TaskStatusUpdateEvent
from dragoman.types.task import TaskState
from tests.faults.history import Acknowledged, History, Kept, Reading, rebuilt

__all__ = ["INVARIANTS", "Violation", "violations"]


class Violation(NamedTuple):
    """An invariant that does not hold, of which task, and how."""

    invariant: str
    task_id: str
    what: str


Check = Callable[[History], Iterator[tuple[str, str]]]


def violations(history: History) -> list[Violation]:
    """What is wrong with this history; nothing, if every promise was kept."""
    return [
        Violation(invariant, task_id, what)
        for invariant, check in INVARIANTS.items()
        for task_id, what in check(history)
    ]


# What the store holds, by itself.


def _numbers(history: History) -> Iterator[tuple[str, str]]:
    """Numbers run 2..n without a gap: 1 is the creation."""
    for task_id, kept in history.kept.items():
        numbers = [entry.seq for entry in kept.entries]
        if numbers != list(range(2, len(numbers) + 2)):
            yield task_id, f"the log is numbered {numbers}"


def _epochs(history: History) -> Iterator[tuple[str, str]]:
    """Epochs never decrease along the log: who was fenced off writes nothing."""
    for task_id, kept in history.kept.items():
        for place, (one, next_) in enumerate(pairwise(kept.epochs), 2):
            if next_ < one:
                yield task_id, f"entry {place + 1} was written in epoch {next_}, after one of epoch {one}"


def _one_end(history: History) -> Iterator[tuple[str, str]]:
    """There is at most one terminal event, and it is the last."""
    for task_id, kept in history.kept.items():
        ends = [entry.seq for entry in kept.entries if _state(entry.event, TaskState.UNSPECIFIED).terminal]
        last = kept.entries[-1].seq if kept.entries else 1
        if len(ends) > 1 or (ends and ends[0] != last):
            yield task_id, f"terminal events are at {ends}, the log ends at {last}"


def _snapshot(history: History) -> Iterator[tuple[str, str]]:
    """The stored task is what its log makes of it."""
    for task_id, kept in history.kept.items():
        if not kept.entries:
            continue
        made = rebuilt(kept.created, task_id, [entry.event for entry in kept.entries])
        if made.artifacts != kept.task.artifacts:
            yield task_id, "the artifacts are not those of the log"
        if made.status.state is not TaskState.UNSPECIFIED and made.status != kept.task.status:
            yield task_id, f"the status is {kept.task.status}, by the log {made.status}"


def _finished(history: History) -> Iterator[tuple[str, str]]:
    """When all is quiet, no task is left at work, and none that has ended has messages waiting."""
    for task_id, kept in history.kept.items() if history.quiet else ():
        if not kept.task.state.settled:
            yield task_id, f"it is left {kept.task.state.value}"
        elif kept.waiting and kept.task.state.terminal:
            yield task_id, f"{len(kept.waiting)} messages wait for a task that is {kept.task.state.value}"


# What callers were told, against what the store holds.


def _acknowledged(history: History) -> Iterator[tuple[str, str]]:
    """A message that was taken is in its task, once."""
    for one in history.acknowledged:
        kept = history.kept.get(one.task_id)
        if one.task_id in history.erased:
            continue
        if kept is None:
            yield one.task_id, f"the task of message {one.message_id} is not stored"
        elif _mentions(kept)[one.message_id] == 0:
            yield one.task_id, f"message {one.message_id} was taken, and is lost"
    for task_id, kept in history.kept.items():
        for message_id, times in _mentions(kept).items():
            if times > 1 and message_id in {one.message_id for one in history.acknowledged if one.known_again}:
                yield task_id, f"message {message_id} is there {times} times"


def _known_again(history: History) -> Iterator[tuple[str, str]]:
    """The same message of the same caller is one message, however often it is sent."""
    tasks: dict[Acknowledged, set[str]] = defaultdict(set)
    for one in history.acknowledged:
        if one.known_again:
            tasks[one._replace(task_id="")].add(one.task_id)
    for one, task_ids in tasks.items():
        holders = {task_id for task_id, kept in history.kept.items() if _mentions(kept)[one.message_id]}
        holders |= task_ids - history.erased
        if len(holders) > 1:
            yield min(holders), f"message {one.message_id} is in {len(holders)} tasks"


def _same_answer(history: History) -> Iterator[tuple[str, str]]:
    """The same message that makes no task has one answer, however often it is sent."""
    answers: dict[tuple[object, str], list[object]] = defaultdict(list)
    for one in history.answered:
        if one.known_again:
            answers[one.scope, one.message_id].append(one.answer)
    for (_, message_id), given in answers.items():
        if any(answer != given[0] for answer in given):
            yield "", f"message {message_id} was answered by {given}"


def _erased(history: History) -> Iterator[tuple[str, str]]:
    """What was erased does not come back."""
    for task_id in history.erased & set(history.kept):
        yield task_id, "it was erased, and is there"


def _seen_is_stored(history: History) -> Iterator[tuple[str, str]]:
    """Every event that a caller was given is in the log, with that content."""
    for reading in history.readings:
        kept = history.kept.get(reading.task_id)
        if reading.task_id in history.erased:
            continue
        if kept is None:
            yield reading.task_id, "a stream told of a task that is not stored"
            continue
        stored = {entry.seq: entry.event for entry in kept.entries}
        for seq, event, _ in reading.events:
            if stored.get(seq) != event:
                yield reading.task_id, f"event {seq} was delivered as {event}, and is stored as {stored.get(seq)}"


def _contiguous(history: History) -> Iterator[tuple[str, str]]:
    """A stream is one run of numbers that begins right after its snapshot, or after what it was asked to go on from."""
    for reading in history.readings:
        numbers = [seq for seq, _, _ in reading.events]
        if numbers != list(range(reading.start + 1, reading.start + 1 + len(numbers))):
            yield reading.task_id, f"a stream from {reading.start} gave {numbers}"


def _same_task(history: History) -> Iterator[tuple[str, str]]:
    """What a reader builds from a stream is what was stored as of its last number."""
    for reading in history.readings:
        kept = history.kept.get(reading.task_id)
        if kept is None or reading.snapshot is None:
            continue
        for seq, updates in ((reading.start, 0), (reading.start + len(reading.events), len(reading.events))):
            seen = rebuilt(reading.snapshot, reading.task_id, [event for _, event, _ in reading.events[:updates]])
            log = [entry.event for entry in kept.entries if entry.seq <= seq]
            stored = rebuilt(kept.created, reading.task_id, log)
            if seen.artifacts != stored.artifacts:
                yield reading.task_id, f"a reader at {seq} has other artifacts than the store"
        yield from _own_end(reading, kept)


def _own_end(reading: Reading, kept: Kept) -> Iterator[tuple[str, str]]:
    if not reading.ended or reading.snapshot is None:
        return
    seen = rebuilt(reading.snapshot, reading.task_id, [event for _, event, _ in reading.events])
    if not seen.state.settled:
        yield reading.task_id, f"a stream ended while the task was {seen.state.value}"
    if seen.state.terminal and seen.artifacts != kept.task.artifacts:
        yield reading.task_id, "a reader has other artifacts in the end than the store"


def _ended_for_good(history: History) -> Iterator[tuple[str, str]]:
    """Nothing changes any more after a caller was told that a task has ended."""
    for told in history.ended:
        kept = history.kept.get(told.id)
        if told.id in history.erased:
            continue
        if kept is None:
            yield told.id, "a task that has ended is not stored"
        elif (told.status, told.artifacts) != (kept.task.status, kept.task.artifacts):
            yield told.id, f"it was told to be {told.status}, and is {kept.task.status}"


def _promptly(history: History) -> Iterator[tuple[str, str]]:
    """Where no hint is lost, events reach open streams soon."""
    for reading in history.readings if history.promptly is not None else ():
        for seq, _, at in reading.events:
            late = at - max(reading.began, history.committed.get((reading.task_id, seq), at))
            if late > (history.promptly or 0.0):
                yield reading.task_id, f"event {seq} came {late:.1f} s after its commit"


INVARIANTS: dict[str, Check] = {
    "numbers": _numbers,
    "epochs": _epochs,
    "one end": _one_end,
    "snapshot": _snapshot,
    "finished": _finished,
    "acknowledged": _acknowledged,
    "known again": _known_again,
    "same answer": _same_answer,
    "erased": _erased,
    "seen is stored": _seen_is_stored,
    "contiguous": _contiguous,
    "same task": _same_task,
    "ended for good": _ended_for_good,
    "promptly": _promptly,
}


def _state(event: object, otherwise: TaskState) -> TaskState:
    return event.status.state if isinstance(event, TaskStatusUpdateEvent) else otherwise


def _mentions(kept: Kept) -> Counter[str]:
    """How often each message is in the task: in its history, or waiting."""
    return Counter([message.message_id for message in (*kept.task.history, *kept.waiting)])
