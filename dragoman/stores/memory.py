"""The store that lasts as long as its process: dictionaries, and lists kept in order."""

from bisect import bisect_left, bisect_right
from datetime import UTC, datetime, timedelta

from dragoman.core.views import EPOCH, Position, listed
from dragoman.errors import Duplicate, Fenced, StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.push import DeadLetter, NewPush, Push, PushMove, PushState
from dragoman.ports.tasks import Commit, Entry, Key, Memo, NewTask, Page, Posted, Query, Selector, Stored, TurnStart
from dragoman.ports.world import Clock
from dragoman.stores.clock import WallClock
from dragoman.stores.held import Held, checked_status
from dragoman.stores.keys import Keys
from dragoman.stores.pushes import Pushes, brought, checked, delivering
from dragoman.stores.record import check
from dragoman.stores.shelf import Shelf
from dragoman.types.content import Message

__all__ = ["MemoryStore"]

LAST = chr(0x10FFFF)
"""Comes after every id."""
BEGINNING: Position = datetime.min.replace(tzinfo=UTC), ""
"""Comes before every task."""


class MemoryStore:
    """Keeps tasks in memory, under the promises of `TaskStore` and `PushStore`; no method ever waits."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or WallClock()
        self._keys = Keys()
        self._beats: dict[str, datetime] = {}
        self._pruned = BEGINNING
        """Tasks that ended until there have no log any more, but for those that are spared."""
        self._spared: set[str] = set()
        """Tasks that have ended, and whose log is still to be delivered."""
        self._tasks: dict[str, Held] = {}
        self._pushes = Pushes(self._tasks)
        self._logs: dict[str, list[Entry]] = {}
        self._shelves: dict[Scope, Shelf] = {}
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
        push = None if new.push is None else brought(new, new.push)
        if task_id in self._tasks:
            raise ValueError(f"Task id {task_id} is taken")
        if new.key is not None:
            self._keys.check(new.scope, new.key, self._clock.now())
            self._keys.put(new.scope, new.key, task_id)
        self._tasks[task_id] = held = Held.created(new)
        self._logs[task_id] = []
        shelf = self._shelves.get(new.scope)
        if shelf is None:
            shelf = self._shelves[new.scope] = Shelf()
        shelf.add(held)
        if push is not None:
            self._pushes.put(push, self._clock.now())

    async def commit(self, commit: Commit) -> None:
        self._check_open()
        status = checked_status(commit)
        check((commit.entries, commit.memos) if commit.memos else commit.entries)
        held = self._tasks.get(commit.task_id)
        if held is None:
            raise Fenced(f"Task {commit.task_id} does not exist")
        held.admit(commit)
        if commit.key is not None:
            self._keys.check(held.scope, commit.key, self._clock.now())
            self._keys.put(held.scope, commit.key, commit.task_id)
        place, state = held.position, held.state
        held.apply(commit, status)
        if status is not None:
            self._shelves[held.scope].move(held, place, state)
        self._logs[commit.task_id].extend(commit.entries)
        if commit.task_id in self._pushes.of_task:
            self._pushes.happened(commit.task_id)

    async def get(self, task_id: str, scope: Scope) -> Stored | None:
        self._check_open()
        held = self._seen(task_id, scope)
        return None if held is None else held.stored()

    async def entries(self, task_id: str, scope: Scope, after: int, limit: int = 256) -> tuple[Entry, ...]:
        self._check_open()
        held = self._seen(task_id, scope)
        if held is None:
            return ()
        # The log begins with entry 2, because 1 is the creation, if it was not pruned.
        log = self._logs[task_id]
        first = max(after - 1, 0)
        return tuple(log[first : first + limit])

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

    async def post(self, task_id: str, scope: Scope, message: Message, start: TurnStart, key: Key | None = None) -> int:
        self._check_open()
        check((message, start))
        held = self._seen(task_id, scope)
        if held is None or held.state.terminal:
            raise Fenced(f"Task {task_id} takes no message")
        self._keys.check(scope, key, self._clock.now())
        self._keys.put(scope, key, task_id)
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

    async def answered(self, scope: Scope, key: Key, answer: Message, push: NewPush | None = None) -> None:
        self._check_open()
        check(answer)
        answering = None if push is None else delivering(answer, push)
        self._keys.check(scope, key, self._clock.now())
        self._keys.put(scope, key, "", answer)
        if answering is not None:
            self._pushes.put(answering, self._clock.now())

    async def known(self, scope: Scope, message_id: str) -> Duplicate | None:
        self._check_open()
        return self._keys.find(scope, message_id, self._clock.now())

    async def beat(self, worker: str) -> None:
        self._check_open()
        self._beats[worker] = self._clock.now()

    async def retire(self, worker: str) -> None:
        self._check_open()
        self._beats.pop(worker, None)

    async def claimable(self, dead_after: float, limit: int) -> tuple[Stored, ...]:
        self._check_open()
        alive = self._alive(dead_after)
        unsettled = [
            self._tasks[task_id].stored()
            for shelf in self._shelves.values()
            for state, order in shelf.by_state.items()
            if not state.settled
            for _, task_id in order
        ]
        found = [stored for stored in unsettled if stored.worker not in alive]
        found.sort(key=lambda stored: (not stored.worker, stored.task.status.timestamp or EPOCH, stored.task.id))
        return tuple(found[:limit])

    def _alive(self, dead_after: float) -> set[str]:
        since = self._clock.now() - timedelta(seconds=dead_after)
        return {worker for worker, beat in self._beats.items() if beat > since}

    async def prune(self, *, logs_after: float | None, tasks_after: float | None, limit: int) -> int:
        self._check_open()
        now = self._clock.now()
        expired = self._keys.expire(now)
        logs, tasks = _until(now, logs_after), _until(now, tasks_after)
        ended = () if tasks is None else self._ended(BEGINNING, tasks)
        old = [task_id for _, task_id in ended if not self._pushes.behind(task_id)][:limit]
        self._remove(old)
        gone = len(old)
        if logs is not None:
            gone += self._pushes.prune(logs[0], limit - gone)
            gone += self._cut(logs, limit - gone)
        return expired + gone

    def _cut(self, until: Position, limit: int) -> int:
        """Clears logs, those that ended first at first. The mark goes back where a clock had run ahead."""
        freed = [task_id for task_id in self._spared if not self._pushes.behind(task_id)][:limit]
        self._spared.difference_update(freed)
        limit -= len(freed)
        ended = self._ended(self._pruned, until)
        for task_id in (*freed, *(task_id for _, task_id in ended[:limit])):
            if self._pushes.behind(task_id):
                self._spared.add(task_id)
            else:
                self._logs[task_id].clear()
        if len(ended) <= limit:
            self._pruned = until
        elif limit > 0:
            self._pruned = ended[limit - 1]
        return len(freed) + len(ended[:limit])

    def _ended(self, after: Position, until: Position) -> list[Position]:
        """Tasks that ended after the one place and not after the other, in order."""
        found: list[Position] = []
        for shelf in self._shelves.values():
            for state, order in shelf.by_state.items():
                if state.terminal:
                    found += order[bisect_right(order, after) : bisect_right(order, until)]
        return sorted(found)

    async def locate(self, task_id: str) -> Stored | None:
        self._check_open()
        held = self._tasks.get(task_id)
        return None if held is None else held.stored()

    async def erase(self, selector: Selector) -> tuple[str, ...]:
        self._check_open()
        if selector == Selector():
            raise ValueError("Nothing is selected")
        erased = [task_id for task_id in self._candidates(selector) if self._selected(task_id, selector)]
        self._remove(erased)
        if selector.principal is not None and selector == Selector(principal=selector.principal):
            self._pushes.forget_answers(selector.principal)
        return tuple(erased)

    def _remove(self, task_ids: list[str]) -> None:
        for task_id in task_ids:
            held = self._tasks.pop(task_id)
            del self._logs[task_id]
            shelf = self._shelves[held.scope]
            shelf.remove(held)
            if not shelf.all:
                del self._shelves[held.scope]
        self._keys.forget(frozenset(task_ids))
        self._pushes.forget(task_ids)
        self._spared.difference_update(task_ids)

    # Configurations of push notifications.

    async def put_push(self, new: NewPush) -> Push:
        self._check_open()
        if checked(new).task_id and self._seen(new.task_id, new.scope) is None:
            raise Fenced(f"Task {new.task_id} does not exist")
        return self._pushes.put(new, self._clock.now())

    async def get_push(self, task_id: str, scope: Scope, config_id: str) -> Push | None:
        self._check_open()
        if not task_id:
            return self._pushes.find_answer(scope, config_id)
        return None if self._seen(task_id, scope) is None else self._pushes.find(task_id, config_id)

    async def page_pushes(self, task_id: str, scope: Scope, *, after: int, limit: int) -> tuple[Push, ...]:
        self._check_open()
        return () if self._seen(task_id, scope) is None else self._pushes.page(task_id, after, limit)

    async def drop_push(self, task_id: str, scope: Scope, config_id: str) -> None:
        self._check_open()
        if self._seen(task_id, scope) is not None:
            self._pushes.drop(task_id, config_id)

    async def due_pushes(self, worker: str, dead_after: float, *, after: int, limit: int) -> tuple[Push, ...]:
        self._check_open()
        return self._pushes.due(worker, self._alive(dead_after), after, limit)

    async def move_push(self, move: PushMove) -> None:
        self._check_open()
        check(move)
        self._pushes.move(move)

    async def read_pushes(self, state: PushState, *, after: int, limit: int) -> tuple[Push, ...]:
        self._check_open()
        return self._pushes.in_state(state, after, limit)

    async def letters(self, n: int, limit: int) -> tuple[DeadLetter, ...]:
        self._check_open()
        return self._pushes.letters(n, limit)

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


def _until(now: datetime, seconds: float | None) -> Position | None:
    """After all that had ended so long before now."""
    return None if seconds is None else (now - timedelta(seconds=seconds), LAST)
