"""The writes: each is encoded where it is called, planned in the writer thread, and told to the cache in the end.

A plan is checked before it gathers its first row, so a refused change leaves nothing behind in its batch.
"""

from datetime import datetime
from typing import Protocol, cast

from dragoman.core.views import position, to_microseconds
from dragoman.errors import Fenced
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Commit, Key, NewTask, Posted, Selector, TurnStart
from dragoman.stores.held import Held, admit, checked_status
from dragoman.stores.record import Letter, encode, encode_task
from dragoman.stores.sqlite.bulk import Row
from dragoman.stores.sqlite.cache import Cache
from dragoman.stores.sqlite.heads import Head, Heads
from dragoman.stores.sqlite.knowledge import claim, remove
from dragoman.stores.sqlite.push_changes import Brought, remove_answers
from dragoman.stores.sqlite.wave import Wave
from dragoman.types.content import Message

__all__ = ["Change", "Create", "Erase", "Guard", "Post", "Update", "shard"]


Guard = tuple[Key, datetime]
"""A key, and the time as of which it is looked for."""


class Change(Protocol):
    """One write: what the writer thread and, afterwards, the event loop do with it."""

    @property
    def task_id(self) -> str | None:
        """The task it is about; None if it must be alone in its wave."""
        ...

    def plan(self, heads: Heads, wave: Wave) -> object:
        """Adds its rows to the wave and returns its result, or refuses with an exception."""
        ...

    def committed(self, cache: Cache, result: object, /) -> None:
        """It is durable now."""
        ...


class Create:
    def __init__(self, new: NewTask, now: datetime) -> None:
        self.task_id = new.task.id
        self._now = now
        self._new = new
        self._body, self._artifacts = encode_task(new.task)
        self._start = encode(new.start)
        time, _ = position(new.task)
        self._status_at = to_microseconds(time)
        self._push = None if new.push is None else Brought(new, new.push, now)

    def plan(self, heads: Heads, wave: Wave) -> None:
        new, task, scope = self._new, self._new.task, self._new.scope
        n = heads.next_number()
        if new.key is not None:
            claim(heads, wave, scope, new.key, self._now, to=(task.id, n))
        pushed = self._push is not None
        heads.stage(task.id, Head(n, scope.tenant, scope.principal, task.state, 1, 1, pushed=pushed))
        state, time = task.state.value, self._status_at
        row: Row = (
            n, task.id, scope.tenant, scope.principal, task.context_id, new.skill, 1, self._start, new.start.trace,
            shard(task.id), state, 1, 1, 0, time, time, new.worker, 1 if new.worker else 0,
        )  # fmt: skip
        wave.created.append(row)
        wave.snapshots.append((n, 1, self._body, self._artifacts))
        wave.count(scope.tenant, scope.principal, state, 1)
        if self._push is not None:
            self._push.plan(heads, wave)

    def committed(self, cache: Cache, _: object, /) -> None:
        cache.put(self.task_id, Held.created(self._new), len(self._body) + len(self._artifacts))


class Update:
    def __init__(self, commit: Commit, now: datetime) -> None:
        self.task_id = commit.task_id
        self._now = now
        self._commit = commit
        self._status = checked_status(commit)
        self._status_at = None
        if self._status is not None and self._status.timestamp is not None:
            self._status_at = to_microseconds(self._status.timestamp)
        self._events = encode(commit.entries) if commit.entries else b""
        self._snapshot = None if commit.snapshot is None else encode_task(commit.snapshot)
        self._memos = [(memo.turn, memo.kind, memo.key, encode(memo)) for memo in commit.memos]
        self._start = None if commit.start is None else encode(commit.start)

    def plan(self, heads: Heads, wave: Wave) -> None:
        commit = self._commit
        head = heads.find(self.task_id)
        if head is None:
            raise Fenced(f"Task {self.task_id} does not exist")
        admit(commit, epoch=head.epoch, seq=head.seq, state=head.state, waiting=head.waiting)
        if commit.key is not None:
            scope = Scope(head.tenant, head.principal)
            claim(heads, wave, scope, commit.key, self._now, to=(self.task_id, head.n))
        seq, epoch = commit.after + len(commit.entries), commit.epoch + commit.claim
        state = head.state if self._status is None else self._status.state
        left = tuple(number for number in head.waiting if number not in commit.consumed)
        heads.stage(
            self.task_id,
            Head(head.n, head.tenant, head.principal, state, seq, epoch, head.posted, left, head.pushed),
        )
        fenced: Row = (head.n, self.task_id, commit.epoch, commit.after, epoch, seq)
        if self._status is None:
            wave.advanced.append(fenced)
        else:
            wave.moved.append((*fenced, state.value, self._status_at or 0))
            wave.count(head.tenant, head.principal, head.state.value, -1)
            wave.count(head.tenant, head.principal, state.value, 1)
        if commit.entries:
            has_status = int(self._status is not None or any(entry.received is not None for entry in commit.entries))
            wave.events.append((head.n, commit.after + 1, seq, epoch, has_status, self._events))
            if head.pushed:
                wave.pushes.behind.append((head.n,))
        if self._snapshot is not None:
            wave.snapshots.append((head.n, seq, *self._snapshot))
        self._plan_rest(head, wave)

    def _plan_rest(self, head: Head, wave: Wave) -> None:
        commit = self._commit
        wave.memos += [(head.n, *memo) for memo in self._memos]
        wave.consumed += [(head.n, number) for number in commit.consumed]
        if commit.worker is not None or commit.attempt is not None:
            wave.owned.append((commit.worker, commit.attempt, head.n))
        if commit.turn is not None:
            wave.turned.append((commit.turn, head.n))
        if commit.start is not None and self._start is not None:
            wave.started.append((self._start, commit.start.trace, head.n))

    def committed(self, cache: Cache, _: object, /) -> None:
        size = len(self._events) + sum(len(memo[3]) for memo in self._memos)
        if self._snapshot is not None:
            size += len(self._snapshot[0]) + len(self._snapshot[1])
        cache.update(self._commit, self._status, size)


class Post:
    def __init__(self, task_id: str, scope: Scope, message: Message, start: TurnStart, guard: Guard | None) -> None:
        self.task_id = task_id
        self._guard = guard
        self._scope = scope
        self._message = message
        self._start = start
        self._body = encode(Letter(message, start))

    def plan(self, heads: Heads, wave: Wave) -> int:
        head = heads.find(self.task_id, self._scope)
        if head is None or head.state.terminal:
            raise Fenced(f"Task {self.task_id} takes no message")
        if self._guard is not None:
            claim(heads, wave, self._scope, *self._guard, to=(self.task_id, head.n))
        number = head.posted + 1
        waiting = (*head.waiting, number)
        heads.stage(
            self.task_id,
            Head(head.n, head.tenant, head.principal, head.state, head.seq, head.epoch, number, waiting, head.pushed),
        )
        wave.posted.append((number, head.n))
        wave.letters.append((head.n, number, self._body))
        return number

    def committed(self, cache: Cache, result: object, /) -> None:
        assert isinstance(result, int)
        cache.post(self.task_id, Posted(n=result, message=self._message, start=self._start), len(self._body))


class Erase:
    """Deletes rows at once instead of gathering them: it is rare, and has its wave for itself."""

    task_id = None

    def __init__(self, selector: Selector) -> None:
        if selector == Selector():
            raise ValueError("Nothing is selected")
        self._selector = selector

    def plan(self, heads: Heads, wave: Wave) -> tuple[str, ...]:
        found = heads.connection.execute(*self._query()).fetchall()
        if self._selector == Selector(principal=self._selector.principal):
            remove_answers(heads, "principal = ?", self._selector.principal)
        return tuple([remove(heads, wave, row) for row in found])

    def committed(self, cache: Cache, result: object, /) -> None:
        for task_id in cast("tuple[str, ...]", result):
            cache.drop(task_id)

    def _query(self) -> tuple[str, list[str]]:
        """Finds tasks by an index in every case; for a principal alone the tally knows the tenants."""
        selector = self._selector
        chosen = "select n, id, tenant, principal, state from task where"
        tests: list[str] = []
        values: list[str] = []
        if selector.task_id is not None:
            tests.append("id = ?")
            values.append(selector.task_id)
        elif selector.context_id is None:
            tests.append("(tenant, principal) in (select distinct tenant, principal from tally)")
        if selector.principal is not None:
            tests.append("principal = ?")
            values.append(selector.principal)
        if selector.context_id is not None:
            tests.append("context_id = ?")
            values.append(selector.context_id)
        return f"{chosen} {' and '.join(tests)}", values


def shard(task_id: str) -> int:
    """The logical shard: the first byte of a task id; 0 for ids of other forms."""
    try:
        return int(task_id[:2], 16)
    except ValueError:
        return 0
