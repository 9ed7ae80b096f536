"""The store of tasks: snapshot, event log, inbox and memos, committed together.

Every task has a sequence number `seq`, 1 at creation and one more for each event. A snapshot is a task as of some
number; a snapshot plus the later entries of the log is the task now. Every task has an `epoch`, raised by each claim;
a write under an old epoch, or after a number that is no longer the last, is refused with `Fenced`.

Every run of a server is a worker with an id of its own. A worker owns the tasks that it has created or claimed; it is
alive as long as it beats, by the clock of the store. Leases only keep two workers from doing the same; what makes it
harmless if they do is the epoch.
"""

from datetime import datetime
from typing import Protocol

import msgspec

from dragoman.errors import Duplicate
from dragoman.ports.call import Scope
from dragoman.ports.push import NewPush
from dragoman.types.content import Message
from dragoman.types.events import TaskUpdate
from dragoman.types.json import Json, JsonObject
from dragoman.types.task import Task, TaskState

__all__ = [
    "Commit",
    "Entry",
    "Key",
    "Memo",
    "NewTask",
    "Page",
    "Posted",
    "Query",
    "Selector",
    "Stored",
    "TaskStore",
    "TurnStart",
]


class Entry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One event of a task's log. `received` is the caller's message that the event goes with, if any:
    it is part of the history from here on.
    """

    seq: int
    event: TaskUpdate
    received: Message | None = None


class TurnStart(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What began a turn. Kept, because a handler may run again."""

    index: int = 0
    """Where in the task's history the message is that began the turn."""
    metadata: JsonObject | None = None
    """Metadata of the request (not of the message)."""
    output_modes: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    trace: str = ""
    caller: str = ""
    """Who began the turn, where several share; empty where the scope says it."""


class Memo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Something that a turn remembers: kind `ask` (a question, with its answer once there), `step` (a result), `inbox`
    (a message that it took) or `stopped` (an attempt that was ended by an orderly stop of its server).
    """

    kind: str
    key: str
    turn: int
    value: Json = None
    """The question or the result."""
    answered: bool = False
    answer: Json = None
    message: Message | None = None
    """The message that was the answer; without one `answer` is, given out of band."""


class Key(msgspec.Struct, frozen=True, gc=False):
    """How a request is known again, within its scope: by its message id, until it expires. `digest` tells what it
    was.
    """

    message_id: str
    digest: str
    expires: datetime


class NewTask(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A task to be stored, as of seq 1, epoch 1, turn 1. Its `worker` runs it at once; without one it is queued."""

    task: Task
    scope: Scope
    skill: str
    start: TurnStart
    worker: str = ""
    key: Key | None = None
    push: NewPush | None = None
    """A configuration that came with the message (section 3.2.2)."""


class Stored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A task as of `seq`, with what the engine keeps beside it."""

    task: Task
    seq: int
    epoch: int
    scope: Scope
    skill: str
    turn: int
    start: TurnStart
    worker: str = ""
    """Who owns it; empty for a task that is queued."""
    attempt: int = 1
    """How often the turn has been begun, 0 for a task that is queued."""


class Commit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One atomic change of one task.

    `entries` continue the log right after `after`. `snapshot`, if given, is the task as of the last entry; it must
    be given when the last status among the entries is settled (terminal or interrupted). `claim` raises the epoch
    by one; `worker`, if given with it, owns the task from here on (nobody, if it is empty). `turn` and `start`, if
    given, begin a new turn; `attempt`, if given with a claim or a turn, is how often the turn has been begun.
    `memos` replace those of the same turn, kind and key. `consumed` names the inbox messages that this change
    takes. `unless_pending` refuses the change with `InboxPending` if the inbox holds a message that it does not
    consume; `key` refuses it with `Duplicate` if it is known.
    """

    task_id: str
    epoch: int
    after: int
    entries: tuple[Entry, ...] = ()
    snapshot: Task | None = None
    claim: bool = False
    turn: int | None = None
    start: TurnStart | None = None
    memos: tuple[Memo, ...] = ()
    consumed: tuple[int, ...] = ()
    unless_pending: bool = False
    worker: str | None = None
    attempt: int | None = None
    key: Key | None = None


class Posted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A message in the inbox of a task; `n` counts up from 1 in the order of arrival."""

    n: int
    message: Message
    start: TurnStart


class Query(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A page of tasks. `before` is the position of the last task of the page before: its status time and id."""

    limit: int
    context_id: str | None = None
    state: TaskState | None = None
    since: datetime | None = None
    before: tuple[datetime, str] | None = None
    artifacts: bool = False


class Page(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Tasks in order of status time, newest first, then by id, highest first; `more` tells if another page follows.
    `total` counts the tasks that match, `before` left aside.
    """

    tasks: tuple[Task, ...]
    total: int
    more: bool


class Selector(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Which tasks to erase: all that match every member that is set. At least one is."""

    task_id: str | None = None
    context_id: str | None = None
    principal: str | None = None


class TaskStore(Protocol):
    """Keeps tasks. Safe for concurrent use on one event loop.

    Every write is atomic, visible to all later reads, and durable (as far as the store is) when the call returns.
    Writes to one task take effect in the order of the calls. A write whose caller is cancelled takes effect whole or
    not at all, and no later than the next write to its task returns. `StoreUnavailable` may come from any method; after
    it nothing of the call has been stored. Values given and returned are immutable and may be shared. One that has no
    stored form (text that is not Unicode, data that is not JSON) is refused with `ValueError` or `TypeError` by every
    store, before anything of it is stored.
    """

    async def open(self) -> None:
        """Makes ready for use; creates or upgrades the schema.

        Raises:
            StoreInUse: another process, or another agent, has the store.
        """
        ...

    async def close(self) -> None:
        """Finishes what was called, then releases everything. May be called again."""
        ...

    async def create(self, new: NewTask) -> None:
        """Stores a new task.

        Raises:
            ValueError: the id is taken.
            Duplicate: its key is known; nothing is stored.
        """
        ...

    async def commit(self, commit: Commit) -> None:
        """Applies one change.

        Raises:
            Fenced: epoch or `after` is not the task's, the task is terminal, or it is gone.
            InboxPending, Duplicate: see `Commit`.
            ValueError: the entries do not follow `after`, or a snapshot that must be given is missing.
        """
        ...

    async def get(self, task_id: str, scope: Scope) -> Stored | None:
        """The task now, or None if it does not exist for this scope."""
        ...

    async def entries(self, task_id: str, scope: Scope, after: int, limit: int = 256) -> tuple[Entry, ...]:
        """The entries with `seq > after`, oldest first, without gap: at most `limit`, and fewer where they are large,
        but one at least if there is one. Empty if out of scope, or if the log was pruned.
        """
        ...

    async def page(self, query: Query, scope: Scope) -> Page:
        """A page of the tasks of this scope. Its cost does not grow with the number of tasks outside the page,
        except that counting by `since` or `context_id` walks an index over what matches.
        """
        ...

    async def post(self, task_id: str, scope: Scope, message: Message, start: TurnStart, key: Key | None = None) -> int:
        """Puts a message into the inbox of a task that is not terminal; returns its number.

        Raises:
            Fenced: the task is terminal, or does not exist for this scope.
            Duplicate: the key is known; nothing is stored.
        """
        ...

    async def inbox(self, task_id: str) -> tuple[Posted, ...]:
        """The messages that wait, oldest first."""
        ...

    async def memos(self, task_id: str, turn: int) -> tuple[Memo, ...]:
        """What this turn remembers, in the order in which keys were first written."""
        ...

    async def answered(self, scope: Scope, key: Key, answer: Message, push: NewPush | None = None) -> None:
        """Keeps the direct answer to a request that made no task, and the configuration that delivers it, both or
        neither.

        Raises:
            Duplicate: the key is known; nothing is stored.
            ValueError: the configuration is of a task.
        """
        ...

    async def known(self, scope: Scope, message_id: str) -> Duplicate | None:
        """What `Duplicate` would say of a request with this message id, if anything."""
        ...

    async def beat(self, worker: str) -> None:
        """The worker is alive now, by the clock of the store."""
        ...

    async def retire(self, worker: str) -> None:
        """The worker ends: what it still owns can be claimed at once."""
        ...

    async def claimable(self, dead_after: float, limit: int) -> tuple[Stored, ...]:
        """Tasks that are neither terminal nor interrupted, and that nobody works on: first those of workers that have
        not beaten for `dead_after` seconds, then those that are queued; each the longest waiting first.
        """
        ...

    async def prune(self, *, logs_after: float | None, tasks_after: float | None, limit: int) -> int:
        """Removes the log of tasks whose end is `logs_after` seconds ago or more (their snapshots stay), tasks whose
        end is `tasks_after` seconds ago or more, and keys that have expired, all by the clock of the store; None leaves
        them. Of tasks and of keys at most about `limit` at a time. How many tasks and keys it touched: 0 if nothing is
        left to do.
        """
        ...

    async def locate(self, task_id: str) -> Stored | None:
        """The task whatever its scope: for the agent's own code, never for a caller."""
        ...

    async def erase(self, selector: Selector) -> tuple[str, ...]:
        """Removes the tasks and all that belongs to them for good; returns their ids.

        Raises:
            ValueError: the selector chooses nothing.
        """
        ...

    @property
    def description(self) -> str:
        """Where the tasks are, for people: a path or `memory`."""
        ...
