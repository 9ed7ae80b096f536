"""What is recorded of a run with faults: what callers were told, and what the store holds in the end."""

from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.core.lifecycle import fold
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Entry
from dragoman.types.content import Message
from dragoman.types.events import TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.task import Task, TaskState, TaskStatus

__all__ = ["Acknowledged", "Answered", "Delivered", "History", "Kept", "Reading", "rebuilt"]


class Acknowledged(NamedTuple):
    """A message that a caller was told has been taken. `known_again` if a repetition of it had to be recognized."""

    scope: Scope
    message_id: str
    body: str
    task_id: str
    known_again: bool


class Answered(NamedTuple):
    """What a caller was answered without a task. `known_again` as for `Acknowledged`."""

    scope: Scope
    message_id: str
    answer: Message
    known_again: bool


class Delivered(NamedTuple):
    """An event as a stream gave it, and when."""

    seq: int
    event: TaskUpdate
    at: float = 0.0


@dataclass
class Reading:
    """One stream as one caller saw it: a task as of `start`, or without one what came after `start`."""

    task_id: str
    start: int = 0
    snapshot: Task | None = None
    events: list[Delivered] = field(default_factory=list[Delivered])
    ended: bool = False
    """Whether the stream came to its own end, rather than to a cut."""
    began: float = 0.0

    @property
    def state(self) -> TaskState:
        """The last state that the stream has told of."""
        for _, event, _ in reversed(self.events):
            if isinstance(event, TaskStatusUpdateEvent):
                return event.status.state
        return TaskState.UNSPECIFIED if self.snapshot is None else self.snapshot.state


@dataclass
class Kept:
    """A task as the store holds it: with its whole log, the epoch under which each entry was written, and its inbox."""

    task: Task
    entries: tuple[Entry, ...]
    epochs: tuple[int, ...]
    waiting: tuple[Message, ...] = ()
    created: Task | None = None
    """The task as of number 1, where that was recorded."""


@dataclass
class History:
    """Everything that the checker reads."""

    kept: dict[str, Kept] = field(default_factory=dict[str, Kept])
    acknowledged: list[Acknowledged] = field(default_factory=list[Acknowledged])
    answered: list[Answered] = field(default_factory=list[Answered])
    readings: list[Reading] = field(default_factory=list[Reading])
    ended: list[Task] = field(default_factory=list[Task])
    """Tasks in a terminal state, as callers were given them."""
    committed: dict[tuple[str, int], float] = field(default_factory=dict[tuple[str, int], float])
    """When each entry was stored."""
    promptly: float | None = None
    """Within how many seconds of its commit an event must reach an open stream; None where hints may be lost."""
    erased: set[str] = field(default_factory=set[str])
    """Tasks that were removed for good: nothing is asked of them but that they stay away."""
    quiet: bool = False
    """Whether the run was given the time to bring every task to an end."""

    @property
    def events(self) -> int:
        """How many events callers were given."""
        return sum(len(reading.events) + (reading.snapshot is not None) for reading in self.readings)


def rebuilt(start: Task | None, task_id: str, updates: list[TaskUpdate]) -> Task:
    """The task that a reader has after these updates; without a start, as far as updates tell."""
    nothing = Task(id=task_id, context_id="", status=TaskStatus(state=TaskState.UNSPECIFIED))
    return fold(start or nothing, [(update, None) for update in updates])
