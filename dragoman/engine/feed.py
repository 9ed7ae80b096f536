"""The ordered events of one task for one reader: snapshot first, then every later event once.

A feed subscribes before it reads the snapshot, so that nothing falls between; what it gets as a hint it takes only if
it continues where it stands, and everything else it reads from the log. A lost hint costs time, never an event.

A reader who was there before names the last event that it has, and gets what came after it instead of the snapshot.
If that is not in the log any more, the task as it is stands in for all that is missing.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from dragoman.core import views
from dragoman.engine.world import World
from dragoman.errors import TaskNotFoundError
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Entry, Stored
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent, TaskStatusUpdateEvent
from dragoman.types.reliable import numbered
from dragoman.types.task import Task, TaskState

__all__ = ["Batch", "DirectFeed", "Feed", "TaskFeed"]

Batch = Sequence[tuple[int | None, StreamEvent]]
"""Events that are ready together, each with its sequence number. An empty batch is a sign of life."""

Feed = AsyncIterator[Batch]


class DirectFeed:
    """The one event of an agent that answers directly."""

    cut = False

    def __init__(self, message: Message) -> None:
        self._message: Message | None = message

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> Batch:
        if self._message is None:
            raise StopAsyncIteration
        message, self._message = self._message, None
        return ((None, message),)

    def close(self) -> None:
        self._message = None


class TaskFeed:
    """Reads one task until `ends` says of a state that it was the last. Must be closed.

    `after` is the number of the last event that the reader has; one that the task has not reached says nothing, and so
    does one after which there is nothing more to read. With `numbers` events say their numbers in their metadata.
    """

    def __init__(
        self,
        world: World,
        task_id: str,
        scope: Scope,
        ends: Callable[[TaskState], bool],
        *,
        history_length: int | None = None,
        after: int | None = None,
        numbers: bool = False,
        closed: Callable[["TaskFeed"], None],
    ) -> None:
        self._world = world
        self._history_length = history_length
        self._after = after
        self._numbers = numbers
        self._on_close = closed
        self.task_id = task_id
        self._scope = scope
        self._ends = ends
        self._hints = world.bus.subscribe(task_id)
        self._seq = 0
        self._ended = False
        self._closed = False
        self.cut = False
        """Whether the feed was closed before its end."""
        self._behind = False
        """Whether the log may hold more than was last read from it."""
        self._instead: Stored | None = None
        """The task, if it is all that is left of it: the log is gone."""

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> Batch:
        if self._ended:
            raise StopAsyncIteration
        if self._seq == 0 and (first := await self._first()) is not None:
            return self._whole(first)
        entries = await self._later()
        if self._closed:
            raise StopAsyncIteration
        if self._instead is not None:
            return self._whole(self._instead)
        told = self._to_end(entries)
        if self._numbers:
            return [(entry.seq, numbered(entry.event, entry.seq)) for entry in told]
        return [(entry.seq, entry.event) for entry in told]

    async def settled(self) -> Task:
        """Waits for a state at which the feed ends, or for its close; the task as it is then."""
        await self._snapshot()
        while not self._ended:
            self._to_end(await self._later())
        return (await self._read()).task

    def close(self) -> None:
        """Ends the feed; a reader that waits is told so."""
        self.cut = self.cut or not self._ended
        self._ended = self._closed = True
        self._hints.close()
        self._on_close(self)

    def look(self) -> None:
        """Makes the reader ask the log without a hint; one whose task is gone learns that."""
        self._behind = True
        self._hints.nudge()

    async def _first(self) -> Stored | None:
        """The snapshot to begin with; None if the reader goes on after an event that it has."""
        stored = await self._snapshot()
        after = self._after
        if after is None or not 0 < after <= stored.seq:
            return stored
        if after == stored.seq and self._ended:
            return stored
        self._seq = after
        self._behind = after < stored.seq
        self._ended = self._closed
        return None

    async def _snapshot(self) -> Stored:
        stored = await self._read()
        self._stand_at(stored)
        return stored

    def _whole(self, stored: Stored) -> Batch:
        task = views.with_history(stored.task, self._history_length)
        return ((stored.seq, numbered(task, stored.seq) if self._numbers else task),)

    async def _read(self) -> Stored:
        stored = await self._world.store.get(self.task_id, self._scope)
        if stored is None:
            raise TaskNotFoundError
        return stored

    def _stand_at(self, stored: Stored) -> None:
        self._seq = stored.seq
        # It may have been closed while it read.
        self._ended = self._closed or self._ends(stored.task.status.state)

    async def _later(self) -> Sequence[Entry]:
        entries, dropped = self._hints.take()
        if not (entries or dropped or self._behind):
            await self._wait()
            entries, dropped = self._hints.take()
        if dropped or self._behind or (entries and not self._continued(entries)):
            entries = await self._from_log()
        if entries:
            self._seq = entries[-1].seq
        return entries

    async def _wait(self) -> None:
        """Waits for a hint, or for the time after which the log is asked without one."""
        timer = asyncio.get_running_loop().call_later(self._world.limits.keep_alive, self.look)
        try:
            await self._hints.wait()
        finally:
            timer.cancel()

    async def _from_log(self) -> tuple[Entry, ...]:
        self._behind = False
        entries = await self._entries()
        if not entries:
            stored = await self._read()
            if stored.task.status.state.terminal and stored.seq > self._seq:
                # It has ended between the two reads, or its log is gone.
                entries = await self._entries()
                if not entries:
                    self._instead = stored
                    self._stand_at(stored)
        if entries:
            self._behind = True
        return entries

    async def _entries(self) -> tuple[Entry, ...]:
        return await self._world.store.entries(self.task_id, self._scope, self._seq)

    def _continued(self, entries: Sequence[Entry]) -> bool:
        """Whether these follow what was read, with none missing: hints keep their order, but some may be lost."""
        return entries[0].seq == self._seq + 1 and entries[-1].seq == self._seq + len(entries)

    def _to_end(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The entries up to the first that ends the feed, if one does."""
        for count, entry in enumerate(entries, 1):
            if isinstance(entry.event, TaskStatusUpdateEvent) and self._ends(entry.event.status.state):
                self._ended = True
                return entries[:count]
        return entries
