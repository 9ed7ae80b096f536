"""Reads a history of webhooks and says what was promised and not kept. Each check is one invariant.

What counts as delivered is what the receiver has said 2xx to, with a whole head, whatever became of the connection.
"""

from collections.abc import Callable, Iterator

import msgspec

from dragoman.dialects.push import posts_whole_tasks, read_push, write_push
from dragoman.errors import A2AError
from dragoman.ports.push import PushState
from dragoman.types.content import Artifact
from dragoman.types.task import Task
from tests.faults.checker import Violation
from tests.faults.history import Kept, rebuilt
from tests.faults.push.history import MADE, Arrival, History, Registration

__all__ = ["INVARIANTS", "covered", "violations"]

VARYING = frozenset({"webhook-timestamp", MADE})
"""Headers that are others at each attempt."""

Check = Callable[[History, str, Registration], Iterator[str]]


def violations(history: History) -> list[Violation]:
    """What is wrong with this history; nothing, if every promise was kept."""
    strays = [f"nothing was registered at {path}" for path in history.arrivals if path not in history.asked]
    return [Violation("strays", "", what) for what in (*strays, *history.strays)] + [
        Violation(invariant, registration.config.task_id, f"{path}: {what}")
        for path, registration in history.registrations.items()
        for invariant, check in INVARIANTS.items()
        for what in check(history, path, registration)
    ]


def covered(history: History) -> int:
    """How many events were to arrive: of each configuration those that `arrived` asks for."""
    return sum(max(0, _last(history, one) - one.by) for one in history.registrations.values() if not one.removed)


def _arrived(history: History, path: str, registration: Registration) -> Iterator[str]:
    """Every event of the task from the registration on was delivered. 0.3 posts whole tasks and no events: one with
    number n stands for all events up to n. Nowhere else may a task stand for events: no configuration dies in such a
    run, and no log is pruned.
    """
    if registration.removed:
        return
    numbers = {one.number for one in history.arrived(path) if one.accepted is not None}
    wanted = range(registration.by + 1, _last(history, registration) + 1)
    if posts_whole_tasks(registration.dialect):
        missing = [number for number in wanted if number > max(numbers, default=0)]
    else:
        missing = [number for number in wanted if number not in numbers]
    if missing:
        yield f"{missing} of {wanted} were not delivered"


def _order(history: History, path: str, registration: Registration) -> Iterator[str]:
    """What arrives for the first time comes in order, each after the one before it was accepted. Of whole tasks the one
    that was not accepted may be followed by a newer one; and where there are rivals, who was paused may send one that
    nobody has seen yet, since no two of them need send the same.
    """
    accepted: dict[int, int] = {}
    first: dict[int, int] = {}
    for one in history.arrived(path):
        if one.accepted is not None:
            accepted[one.number] = min(one.accepted, accepted.get(one.number, one.accepted))
        first.setdefault(one.number, one.order)
    whole = posts_whole_tasks(registration.dialect)
    before: int | None = None
    for number, order in first.items():
        if before is None:
            if not registration.after < number or (not whole and number > registration.by + 1):
                yield f"{number} came first, of a configuration made between {registration.after} and {registration.by}"
        elif (number < before and not (whole and history.rivals)) or (not whole and number != before + 1):
            yield f"{number} came after {before}"
        elif not whole and not accepted.get(before, order) < order:
            yield f"{number} came before {before} was accepted"
        before = number


def _same(history: History, path: str, _: Registration) -> Iterator[str]:
    """All attempts of one delivery are the same, but for their times."""
    seen: dict[str, Arrival] = {}
    for one in history.arrived(path):
        first = seen.setdefault(one.identity, one)
        if first.body != one.body and not _known(history, path, one):
            yield f"{one.identity} is {first.body!r}, and then {one.body!r}"
        if _fixed(first) != _fixed(one):
            yield f"the headers of {one.identity} change"


def _told(history: History, path: str, registration: Registration) -> Iterator[str]:
    """Each notification says from which configuration it is, and what its caller has asked it to show."""
    config = registration.config
    assert config.authentication is not None
    wanted = {
        "x-a2a-notification-token": config.token,
        "a2a-notification-token": config.token,
        "authorization": f"{config.authentication.scheme} {config.authentication.credentials}",
    }
    for one in history.arrived(path):
        identity = f"{config.task_id}:{one.number}:{config.id}"
        if (one.identity, one.headers.get("idempotency-key")) != (identity, identity):
            yield f"a notification is called {one.identity}"
        for name, value in wanted.items():
            if one.headers.get(name) != value:
                yield f"{one.identity} has another {name}"


def _content(history: History, path: str, registration: Registration) -> Iterator[str]:
    """Each says what the log says: its event, or the task as of its number."""
    kept = history.kept[registration.config.task_id]
    dialect = registration.dialect
    for one in history.arrived(path):
        if not 1 <= one.number <= _last(history, registration):
            yield f"{one.identity} is of no event that there is"
            continue
        try:
            event = read_push(one.body, one.headers.get("content-type", ""), dialect)
        except A2AError as error:
            yield f"{one.identity} cannot be read: {error}"
            continue
        if isinstance(event, Task):
            if not posts_whole_tasks(dialect) and one.number != 1 and not _known(history, path, one):
                yield f"{one.identity} is a whole task"
            elif event.artifacts != _artifacts(kept, event, one.number, dialect):
                yield f"{one.identity} has other artifacts than the log up to there"
        elif write_push(dialect, kept.entries[one.number - 2].event)[1] != one.body:
            yield f"{one.identity} is {one.body!r}, and not {kept.entries[one.number - 2].event}"


def _deleted(history: History, path: str, registration: Registration) -> Iterator[str]:
    """Nothing is sent any more after a deletion was acknowledged; what was on its way then may still arrive."""
    if registration.removed_at is not None:
        for one in history.arrived(path):
            if (late := one.made - registration.removed_at) > 0:
                yield f"{one.identity} was sent {late:.3f} s after the deletion"


def _ended(history: History, _: str, registration: Registration) -> Iterator[str]:
    """In the end each configuration has ended with its task, and those that were deleted are away."""
    state = history.states.get(registration.place)
    ended = history.kept[registration.config.task_id].task.state.terminal
    wanted = None if registration.removed else PushState.ENDED if ended else PushState.LIVE
    if state is not wanted:
        yield f"the configuration is {state}, and should be {wanted}"


INVARIANTS: dict[str, Check] = {
    "arrived": _arrived,
    "order": _order,
    "same": _same,
    "told": _told,
    "content": _content,
    "deleted": _deleted,
    "ended": _ended,
}


def _last(history: History, registration: Registration) -> int:
    """The number of the task's last event."""
    return len(history.kept[registration.config.task_id].entries) + 1


def _known(history: History, path: str, one: Arrival) -> bool:
    """Whether it had been accepted before, and came from a rival: who takes over what another ends at that moment may
    find the log gone, and tells the task once more.
    """
    accepted = [other.accepted for other in history.arrived(path) if other.number == one.number and other.accepted]
    return history.rivals and any(order < one.order for order in accepted)


def _fixed(arrival: Arrival) -> dict[str, str]:
    return {name: value for name, value in arrival.headers.items() if name not in VARYING}


def _artifacts(kept: Kept, told: Task, number: int, dialect: str) -> tuple[Artifact, ...]:
    """The artifacts that the log makes up to a number, as they are read in that dialect."""
    made = rebuilt(None, told.id, [entry.event for entry in kept.entries if entry.seq <= number])
    media, body = write_push(dialect, msgspec.structs.replace(told, artifacts=made.artifacts))
    again = read_push(body, media, dialect)
    assert isinstance(again, Task)
    return again.artifacts
