"""What the writer thread knows of tasks, so that it need not ask the database before each change."""

import sqlite3

import msgspec

from dragoman.ports.call import Scope
from dragoman.stores.sqlite.push_heads import PushHeads
from dragoman.types.task import TaskState

__all__ = ["Head", "Heads"]

CAPACITY = 20_000


class Head(msgspec.Struct, frozen=True):
    """The part of a task's row that a change is checked against."""

    n: int
    tenant: str
    principal: str
    state: TaskState
    seq: int
    epoch: int
    posted: int = 0
    waiting: tuple[int, ...] = ()
    """Numbers of the messages in the inbox."""
    pushed: bool = False
    """Whether it has, or had, a configuration of push notifications."""


class Heads:
    """Heads as they are committed, and on top of them what the open transaction makes of them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._known: dict[str, Head] = {}
        self._staged: dict[str, Head | None] = {}
        (last,) = connection.execute("select coalesce(max(n), 0) from task").fetchone()
        self._last: int = last
        self.pushes = PushHeads(connection)

    def next_number(self) -> int:
        """A number that no task has had since the store was opened."""
        self._last += 1
        return self._last

    def find(self, task_id: str, scope: Scope | None = None) -> Head | None:
        """The head of a task; with a scope only of one of it, as whenever a caller has named the task."""
        head = self._staged[task_id] if task_id in self._staged else self._known.get(task_id)
        if head is not None:
            return head if scope is None or scope == Scope(head.tenant, head.principal) else None
        if task_id in self._staged:
            return None
        head = self._read(task_id, scope)
        if head is not None:
            self._keep(task_id, head)
        return head

    def stage(self, task_id: str, head: Head | None) -> None:
        """The task will stand like this, or be gone, if the transaction succeeds."""
        self._staged[task_id] = head

    def commit(self) -> None:
        """The transaction succeeded."""
        for task_id, head in self._staged.items():
            if head is None or head.state.terminal:
                self._known.pop(task_id, None)
            else:
                self._keep(task_id, head)
        self._staged.clear()
        self.pushes.commit()

    def rollback(self) -> None:
        """The transaction failed, perhaps because what was known is wrong: ask the database again."""
        self.pushes.forget()
        self._known.clear()
        self._staged.clear()

    def _keep(self, task_id: str, head: Head) -> None:
        self._known.pop(task_id, None)
        self._known[task_id] = head
        if len(self._known) > CAPACITY:
            del self._known[next(iter(self._known))]

    def _read(self, task_id: str, scope: Scope | None) -> Head | None:
        where, values = "id = ?", [task_id]
        if scope is not None:
            where, values = f"{where} and tenant = ? and principal = ?", [task_id, scope.tenant, scope.principal]
        row = self.connection.execute(
            f"""select n, tenant, principal, state, seq, epoch, posted,
                exists (select 1 from push where push.task = task.n) from task where {where}""",  # noqa: S608 -- made of this module's own words only
            values,
        ).fetchone()
        if row is None:
            return None
        n, tenant, principal, state, seq, epoch, posted, pushed = row
        letters = self.connection.execute("select number from inbox where n = ? order by number", (n,))
        waiting = tuple(number for (number,) in letters)
        return Head(n, tenant, principal, TaskState(state), seq, epoch, posted, waiting, bool(pushed))
