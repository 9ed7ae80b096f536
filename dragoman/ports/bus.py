"""The event bus: hints that something was committed. Correctness never rests on it, only promptness."""

from collections.abc import Callable
from typing import Protocol

import msgspec

from dragoman.ports.tasks import Entry

__all__ = ["EventBus", "Hint", "Subscription"]


class Hint(msgspec.Struct, frozen=True, gc=False):
    """The log of a task has these new entries, all committed."""

    task_id: str
    entries: tuple[Entry, ...]


class Subscription(Protocol):
    """One reader's mailbox for one task. Bounded: when it overflows it drops what it holds and remembers that."""

    def take(self) -> tuple[tuple[Entry, ...], bool]:
        """What has arrived since the last call, in order, and whether anything was dropped in between."""
        ...

    async def wait(self) -> None:
        """Returns when there is something to take, when `nudge` is called, or after `close`. For one caller at a
        time; waiting again after a cancellation is fine.
        """
        ...

    def nudge(self) -> None:
        """Makes a wait that is under way return."""
        ...

    def close(self) -> None:
        """Ends the subscription. May be called again."""
        ...


class EventBus(Protocol):
    """Hands hints to the readers of a task. `publish` never waits for a reader; order is kept per task; a hint may
    be lost.
    """

    def publish(self, hint: Hint) -> None: ...

    def subscribe(self, task_id: str) -> Subscription:
        """Hints published from now on."""
        ...

    def listen(self, heard: Callable[[Hint], None]) -> Callable[[], None]:
        """Has `heard` called with every hint from now on, of whatever task; it must be quick and not raise. Calling
        what this returns ends that.
        """
        ...
