"""The event bus within one process and one event loop."""

import asyncio
from collections.abc import Callable

from dragoman.core.weight import weight
from dragoman.ports.bus import Hint
from dragoman.ports.tasks import Entry

__all__ = ["MAILBOX_BYTES", "MAILBOX_ENTRIES", "Mailbox", "MemoryBus"]

MAILBOX_ENTRIES = 256
"""How many entries a mailbox holds before it overflows."""

MAILBOX_BYTES = 1_000_000
"""How much a mailbox holds before it overflows, as estimated."""


class MemoryBus:
    """Publishing costs one step for each reader of the task, and a dictionary look-up where there is none."""

    def __init__(self) -> None:
        self._readers: dict[str, list[Mailbox]] = {}
        self._listeners: tuple[Callable[[Hint], None], ...] = ()

    def publish(self, hint: Hint) -> None:
        for heard in self._listeners:
            heard(hint)
        readers = self._readers.get(hint.task_id)
        if readers and hint.entries:
            size = sum([weight(entry.event, entry.received) for entry in hint.entries])
            for reader in readers:
                reader.put(hint.entries, size)

    def subscribe(self, task_id: str) -> "Mailbox":
        mailbox = Mailbox(self, task_id)
        self._readers.setdefault(task_id, []).append(mailbox)
        return mailbox

    def listen(self, heard: Callable[[Hint], None]) -> Callable[[], None]:
        self._listeners = (*self._listeners, heard)
        return lambda: self._unlisten(heard)

    def _unlisten(self, heard: Callable[[Hint], None]) -> None:
        self._listeners = tuple([one for one in self._listeners if one is not heard])

    def leave(self, mailbox: "Mailbox") -> None:
        """Forgets a mailbox; one that is not known any more is no error."""
        readers = self._readers.get(mailbox.task_id, [])
        if mailbox in readers:
            readers.remove(mailbox)
            if not readers:
                del self._readers[mailbox.task_id]


class Mailbox:
    """One reader's share of the hints for one task; made by `MemoryBus.subscribe`."""

    def __init__(self, bus: MemoryBus, task_id: str) -> None:
        self.task_id = task_id
        self._bus = bus
        self._entries: list[Entry] = []
        self._size = 0
        self._dropped = False
        self._closed = False
        self._waiting: asyncio.Future[None] | None = None

    def put(self, entries: tuple[Entry, ...], size: int) -> None:
        """Adds entries of about `size` bytes; drops everything, these included, if that is too much."""
        self._size += size
        if len(self._entries) + len(entries) > MAILBOX_ENTRIES or self._size > MAILBOX_BYTES:
            self._entries.clear()
            self._size = 0
            self._dropped = True
        else:
            self._entries.extend(entries)
        self.nudge()

    def take(self) -> tuple[tuple[Entry, ...], bool]:
        taken = tuple(self._entries), self._dropped
        self._entries.clear()
        self._size = 0
        self._dropped = False
        return taken

    async def wait(self) -> None:
        """Returns when there is something to take, when `nudge` is called, or when the subscription has ended."""
        if self._entries or self._dropped or self._closed:
            return
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
        finally:
            self._waiting = None

    def nudge(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def close(self) -> None:
        self._closed = True
        self._bus.leave(self)
        self.nudge()
