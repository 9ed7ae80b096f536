"""A running task's own end of its log: what was stored last, and the next change to store.

An event is committed before anyone sees it, and published right after.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from dragoman.core.lifecycle import fold
from dragoman.engine.persistence import until_available
from dragoman.engine.world import World
from dragoman.errors import StoreUnavailable
from dragoman.ports.bus import Hint
from dragoman.ports.tasks import Commit, Entry, Memo, Posted, Stored, TurnStart
from dragoman.types.content import Message
from dragoman.types.events import TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.json import JsonObject
from dragoman.types.task import Task, TaskStatus

__all__ = ["TaskLog", "numbered"]

CHECKPOINT_SIZE = 65_536
"""Characters of unfolded log after which a running task gets a fresh snapshot, or its own size if that is more."""

T = TypeVar("T")
Updates = Sequence[tuple[TaskUpdate, Message | None]]


class TaskLog:
    """Continues the log of one task under one epoch. One change at a time.

    While the store is unavailable a change waits for it, until `hasty` is set because there is no time left.
    """

    __slots__ = (
        "_base",
        "_base_size",
        "_epoch",
        "_seq",
        "_tail",
        "_tail_size",
        "_world",
        "extensions",
        "hasty",
        "task_id",
    )

    def __init__(self, world: World, stored: Stored) -> None:
        self._world = world
        self._epoch = stored.epoch
        self._seq = stored.seq
        self._base = stored.task
        self._base_size = 0
        self._tail: list[tuple[TaskUpdate, Message | None]] = []
        self._tail_size = 0
        self.hasty = False
        self.extensions: tuple[str, ...] = ()
        """Those in force for what is appended."""
        self.task_id = stored.task.id

    @property
    def task(self) -> Task:
        """The task as of the last change."""
        return fold(self._base, self._tail) if self._tail else self._base

    def status_event(self, status: TaskStatus, metadata: JsonObject | None = None) -> TaskStatusUpdateEvent:
        """The event that gives this task a status."""
        return TaskStatusUpdateEvent(
            task_id=self.task_id, context_id=self._base.context_id, status=status, metadata=metadata
        )

    async def append(
        self,
        events: Sequence[TaskUpdate],
        *,
        settles: bool = False,
        unless_pending: bool = False,
        memos: tuple[Memo, ...] = (),
        posted: Sequence[Posted] = (),
        turn: int | None = None,
        start: TurnStart | None = None,
        attempt: int | None = None,
    ) -> None:
        """Stores, then publishes. The posted messages are taken from the inbox, as `numbered` has it.

        Raises:
            Fenced, InboxPending: as `TaskStore.commit`.
            StoreUnavailable: it still is, and there is no time left.
        """
        if self.extensions and (made := self._world.extensions) is not None:
            events = [made.emitted(self.extensions, event) for event in events]
        entries = numbered(self._seq, events, [one.message for one in posted])
        updates = [(entry.event, entry.received) for entry in entries]
        commit = Commit(
            task_id=self.task_id,
            epoch=self._epoch,
            after=self._seq,
            entries=entries,
            snapshot=self._snapshot(updates, needed=settles or bool(posted)),
            turn=turn,
            start=start,
            memos=memos,
            consumed=tuple([one.n for one in posted]),
            unless_pending=unless_pending,
            attempt=attempt,
        )
        try:
            await self._world.store.commit(commit)
        except StoreUnavailable:
            await self.insist(partial(self._world.store.commit, commit))
        self._seq += len(entries)
        self._moved(updates, commit.snapshot)
        if entries:
            self._world.bus.publish(Hint(self.task_id, entries))

    async def hand_back(self, stopped: Memo) -> None:
        """Makes the task nobody's, under a new epoch, and has it remembered why: this log is over.

        Raises:
            Fenced, StoreUnavailable: as `TaskStore.commit`.
        """
        await self._world.store.commit(
            Commit(task_id=self.task_id, epoch=self._epoch, after=self._seq, claim=True, worker="", memos=(stopped,))
        )

    async def insist(self, call: Callable[[], Awaitable[T]]) -> T:
        """The result of this call of the store, made again while the store is unavailable."""
        return await until_available(call, self.task_id, given_up=lambda: self.hasty)

    def _snapshot(self, updates: Updates, *, needed: bool) -> Task | None:
        """The task after these updates, if one is needed, or if folding the log has become dear."""
        if needed or self._tail_size > max(CHECKPOINT_SIZE, self._base_size):
            return fold(self._base, [*self._tail, *updates])
        return None

    def _moved(self, updates: Updates, snapshot: Task | None) -> None:
        if snapshot is None:
            self._tail.extend(updates)
            self._tail_size += sum(_size(event) for event, _ in updates)
            return
        self._base = snapshot
        self._base_size += self._tail_size
        self._tail.clear()
        self._tail_size = 0


def numbered(after: int, events: Sequence[TaskUpdate], received: Sequence[Message] = ()) -> tuple[Entry, ...]:
    """The events as entries that follow number `after`; the received messages go with the last of them, one each."""
    bare = len(events) - len(received)
    return tuple(
        [
            Entry(seq=after + 1 + i, event=event, received=None if i < bare else received[i - bare])
            for i, event in enumerate(events)
        ]
    )


def _size(event: TaskUpdate) -> int:
    if isinstance(event, TaskStatusUpdateEvent):
        return 256
    return 256 + sum(len(part.text or part.base64 or "") for part in event.artifact.parts)
