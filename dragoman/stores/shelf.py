"""The tasks of one scope in memory, in order."""

from bisect import bisect_left, insort

from dragoman.core.views import Position
from dragoman.ports.tasks import Query
from dragoman.stores.held import Held
from dragoman.types.task import TaskState

__all__ = ["Shelf"]

NEAR = 64


class Shelf:
    """The tasks of one scope in order, lowest position first: all, by state and by context.

    Nearly every change is at the high end of a list, where it costs nothing; elsewhere it moves as much memory as
    one pointer for each task behind it, some 40 microseconds at 100,000 tasks.
    """

    def __init__(self) -> None:
        self.all: list[Position] = []
        self.by_state: dict[TaskState, list[Position]] = {}
        self.by_context: dict[str, dict[str, Held]] = {}

    def add(self, held: Held) -> None:
        """Takes a new task."""
        _put(self.all, held.position)
        _put(self.by_state.setdefault(held.state, []), held.position)
        self.by_context.setdefault(held.context_id, {})[held.task_id] = held

    def move(self, held: Held, place: Position, state: TaskState) -> None:
        """Moves a task to where it stands now, from `place` and `state`."""
        if held.position != place:
            _drop(self.all, place)
            _put(self.all, held.position)
        _drop(self.by_state[state], place)
        _put(self.by_state.setdefault(held.state, []), held.position)

    def remove(self, held: Held) -> None:
        """Forgets a task."""
        _drop(self.all, held.position)
        _drop(self.by_state[held.state], held.position)
        in_context = self.by_context[held.context_id]
        del in_context[held.task_id]
        if not in_context:
            del self.by_context[held.context_id]

    def order(self, query: Query) -> list[Position]:
        """The shortest list that holds all that the query may match."""
        if query.context_id is not None:
            return sorted(held.position for held in self.by_context.get(query.context_id, {}).values())
        if query.state is not None:
            return self.by_state.get(query.state, [])
        return self.all


def _put(order: list[Position], place: Position) -> None:
    if not order or order[-1] < place:
        order.append(place)
    else:
        insort(order, place)


def _drop(order: list[Position], place: Position) -> None:
    if order[-1] == place:
        order.pop()
    else:
        # What changes is nearly always among the latest.
        near = len(order) - NEAR
        low = near if near > 0 and order[near] <= place else 0
        del order[bisect_left(order, place, low)]
