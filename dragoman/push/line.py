"""What is known in memory of one configuration, and of what it is to be delivered."""

import asyncio
from collections.abc import Sequence

from dragoman.ports.call import Scope
from dragoman.ports.push import Push, PushMove
from dragoman.ports.tasks import Entry

__all__ = ["Line", "Space"]

LINE_ENTRIES = 64
"""How many entries one line keeps; what comes when it is full is read from the log later."""
LINE_BYTES = 262_144


class Space:
    """Memory that all lines share, in bytes, as estimated."""

    def __init__(self, most: int) -> None:
        self.free = most


class Line:
    """One configuration. It has entries that continue at its cursor, or the log has; never more than one delivery of it
    is under way.
    """

    __slots__ = (
        "_kept",
        "_size",
        "_space",
        "config_id",
        "gone",
        "heard",
        "job",
        "last",
        "over",
        "parked",
        "push",
        "scope",
        "since",
        "task_id",
        "timer",
        "unsaved",
        "waiting",
    )

    def __init__(self, task_id: str, config_id: str, scope: Scope, space: Space, push: Push | None = None) -> None:
        self.task_id = task_id
        self.config_id = config_id
        self.scope = scope
        self.push = push
        """None until it was read from the store."""
        self.last = 0 if push is None else push.seq
        """The highest number of the task's log that is known."""
        self.over = push is not None and push.terminal
        """Whether nothing comes after that."""
        self.parked = False
        """Whether the task waits for its caller, as far as deliveries have come."""
        self.unsaved: PushMove | None = None
        """A change that is still to be stored: nothing is delivered before."""
        self.since: float | None = None
        """Since when there is something to deliver, by the clock of the event loop."""
        self.heard = 0.0
        """When something was last heard of the task, by the clock of the event loop."""
        self.waiting = False
        """Whether it stands in the queue of its origin."""
        self.timer: asyncio.TimerHandle | None = None
        self.job: asyncio.Task[bool | None] | None = None
        self.gone = False
        """Whether it was let go of: nothing is delivered any more."""
        self._kept: list[tuple[Entry, int, float | None]] = []
        self._size = 0
        self._space = space

    @property
    def key(self) -> tuple[str, str]:
        return self.task_id, self.config_id

    @property
    def origin(self) -> str:
        """Empty until it is known."""
        return "" if self.push is None else self.push.origin

    @property
    def behind(self) -> bool:
        """Whether there may be something to do for it."""
        push = self.push
        if push is None or self.unsaved is not None or push.whole or push.answer is not None:
            return True
        return push.cursor < self.last or self.over

    @property
    def idle(self) -> bool:
        """Whether nobody has it in hand: it waits for something to happen to its task. It does not while its last turn
        has ended, and what follows from that is still to be done.
        """
        return not self.waiting and self.timer is None and self.job is None

    def hear(self, entries: Sequence[Entry], sizes: Sequence[int], now: float) -> None:
        """Takes what was committed just now, if it continues what the line has and there is space; without sizes it
        takes note only.
        """
        self.heard = now
        if entries[-1].seq <= self.last:
            return
        if sizes and self._continued_by(entries[0].seq):
            self._keep(entries, sizes, now)
        self.last = entries[-1].seq

    def read(self, entries: Sequence[Entry], sizes: Sequence[int]) -> None:
        """Takes what was read from the log after the cursor, in place of what it has."""
        self.clear()
        self._keep(entries, sizes, None, at_least=1)
        self.last = max(self.last, entries[-1].seq)

    def next(self, cursor: int) -> Entry | None:
        """The entry after the cursor, if it is here: since it was heard there is something to deliver. What comes
        before it is dropped.
        """
        while self._kept and self._kept[0][0].seq <= cursor:
            self._drop()
        if self._kept and self._kept[0][0].seq == cursor + 1:
            entry, _, at = self._kept[0]
            self.since = at or self.since
            return entry
        self.clear()
        return None

    def clear(self) -> None:
        """Drops what it has of the log, which has it too."""
        while self._kept:
            self._drop()

    def close(self) -> None:
        """Lets go of what it holds. May be called again."""
        self.gone = True
        self.clear()
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        if self.job is not None:
            self.job.cancel()

    def _continued_by(self, seq: int) -> bool:
        """Whether this number comes right after all that is kept or, if that is nothing, after the cursor."""
        if self._kept:
            return self._kept[-1][0].seq == self.last == seq - 1
        # Of a configuration that was not read yet the cursor is not known: then it shows later whether this fits.
        return self.push is None or self.push.cursor == self.last == seq - 1

    def _keep(self, entries: Sequence[Entry], sizes: Sequence[int], at: float | None, at_least: int = 0) -> None:
        for entry, size in zip(entries, sizes, strict=True):
            full = len(self._kept) >= LINE_ENTRIES or self._size + size > LINE_BYTES or size > self._space.free
            if full and len(self._kept) >= at_least:
                return
            self._kept.append((entry, size, at))
            self._size += size
            self._space.free -= size

    def _drop(self) -> None:
        _, size, _ = self._kept.pop(0)
        self._size -= size
        self._space.free += size
