"""The store that lasts as long as its process: dictionaries, and lists kept in order."""

from bisect import bisect_left, insort

from dragoman.core.views import Position, listed
from dragoman.errors import Fenced, StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Commit, Entry, Memo, NewTask, Page, Posted, Query, Selector, Stored, TurnStart
from dragoman.stores.held import Held, checked_status
from dragoman.stores.record import check
from dragoman.types.content import Message
from dragoman.types.task import TaskState

__all__ = ["MemoryStore"]


class MemoryStore:
    """Keeps tasks in memory, under the promises of `TaskStore`; no method ever waits."""

    def __init__(self) -> None:
        self._tasks: dict[str, Held] = {}
        self._logs: dict[str, list[Entry]] = {}
        self._shelves: dict[Scope, _Shelf] = {}
        self._open = True

    @property
    def description(self) -> str:
        return "memory"

    async def open(self) -> None:
        self._open = True

    async def close(self) -> None:
        """Refuses calls from now on; what is stored stays until the store itself goes."""
        self._open = False

    async def create(self, new: NewTask) -> None:
        self._check_open()
        task_id = new.task.id
        check((new.task, new.start))
        if task_id in self._tasks:
            raise ValueError(f"Task id {task_id} is taken")
        self._tasks[task_id] = held = Held.created(new)
        self._logs[task_id] = []
        shelf = self._shelves.get(new.scope)
        if shelf is None:
            shelf = self._shelves[new.scope] = _Shelf()
        shelf.add(held)

    async def commit(self, commit: Commit) -> None:
        self._check_open()
        status = checked_status(commit)
        check((commit.entries, commit.memos) if commit.memos else commit.entries)
        held = self._tasks.get(commit.task_id)
        if held is None:
            raise Fenced(f"Task {commit.task_id} does not exist")
        held.admit(commit)
        place, state = held.position, held.state
        held.apply(commit, status)
        if status is not None:
            self._shelves[held.scope].move(held, place, state)
        self._logs[commit.task_id].extend(commit.entries)

    async def get(self, task_id: str, scope: Scope) -> Stored | None:
        self._check_open()
        held = self._seen(task_id, scope)
        return None if held is None else held.stored()

    async def entries(self, task_id: str, scope: Scope, after: int, limit: int = 256) -> tuple[Entry, ...]:
        self._check_open()
        held = self._seen(task_id, scope)
        if held is None:
            return ()
        # The log begins with entry 2, because 1 is the creation.
        first = max(after - 1, 0)
        return tuple(self._logs[task_id][first : first + limit])

    async def page(self, query: Query, scope: Scope) -> Page:
        self._check_open()
        shelf = self._shelves.get(scope)
        if shelf is None:
            return Page(tasks=(), total=0, more=False)
        order = shelf.order(query)
        if query.context_id is not None and query.state is not None:
            order = [place for place in order if self._tasks[place[1]].state is query.state]
        start = 0 if query.since is None else bisect_left(order, (query.since, ""))
        end = len(order) if query.before is None else bisect_left(order, query.before)
        low = max(start, end - query.limit)
        stored = [self._tasks[task_id].stored().task for _, task_id in reversed(order[low:end])]
        return Page(
            tasks=tuple(listed(task, artifacts=query.artifacts) for task in stored),
            total=len(order) - start,
            more=low > start,
        )

    async def post(self, task_id: str, scope: Scope, message: Message, start: TurnStart) -> int:
        self._check_open()
        check((message, start))
        held = self._seen(task_id, scope)
        if held is None or held.state.terminal:
            raise Fenced(f"Task {task_id} takes no message")
        number = held.posted + 1
        held.post(Posted(n=number, message=message, start=start))
        return number

    async def inbox(self, task_id: str) -> tuple[Posted, ...]:
        self._check_open()
        held = self._tasks.get(task_id)
        return () if held is None else held.waiting()

    async def memos(self, task_id: str, turn: int) -> tuple[Memo, ...]:
        self._check_open()
        held = self._tasks.get(task_id)
        return () if held is None else held.remembered(turn)

    async def unfinished(self) -> tuple[Stored, ...]:
        self._check_open()
        found: list[Stored] = []
        for shelf in self._shelves.values():
            for state, order in shelf.by_state.items():
                if not state.settled:
                    found += [self._tasks[task_id].stored() for _, task_id in order]
        return tuple(found)

    async def locate(self, task_id: str) -> Stored | None:
        self._check_open()
        held = self._tasks.get(task_id)
        return None if held is None else held.stored()

    async def erase(self, selector: Selector) -> tuple[str, ...]:
        self._check_open()
        if selector == Selector():
            raise ValueError("Nothing is selected")
        erased = [task_id for task_id in self._candidates(selector) if self._selected(task_id, selector)]
        for task_id in erased:
            held = self._tasks.pop(task_id)
            del self._logs[task_id]
            shelf = self._shelves[held.scope]
            shelf.remove(held)
            if not shelf.all:
                del self._shelves[held.scope]
        return tuple(erased)

    def _candidates(self, selector: Selector) -> list[str]:
        if selector.task_id is not None:
            return [selector.task_id]
        shelves = [
            shelf
            for scope, shelf in self._shelves.items()
            if selector.principal is None or scope.principal == selector.principal
        ]
        if selector.context_id is None:
            return [task_id for shelf in shelves for _, task_id in shelf.all]
        return [task_id for shelf in shelves for task_id in shelf.by_context.get(selector.context_id, ())]

    def _selected(self, task_id: str, selector: Selector) -> bool:
        held = self._tasks.get(task_id)
        return (
            held is not None
            and (selector.context_id is None or selector.context_id == held.context_id)
            and (selector.principal is None or selector.principal == held.scope.principal)
        )

    def _seen(self, task_id: str, scope: Scope) -> Held | None:
        held = self._tasks.get(task_id)
        return held if held is not None and held.scope == scope else None

    def _check_open(self) -> None:
        if not self._open:
            raise StoreUnavailable("The store is closed")


class _Shelf:
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
        del order[bisect_left(order, place)]
