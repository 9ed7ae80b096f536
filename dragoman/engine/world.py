"""What an engine works with, in one value, and the clock and identifiers of the real world."""

import os
import time
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from dragoman.ports.agent import AgentExecutor
from dragoman.ports.bus import EventBus
from dragoman.ports.extensions import Extensions
from dragoman.ports.limits import CallLimits
from dragoman.ports.push import Pushes
from dragoman.ports.tasks import TaskStore
from dragoman.ports.world import Clock, Ids

__all__ = ["Keeping", "Limits", "RandomIds", "SystemClock", "World"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long the engine waits for what; seconds."""

    cancel_grace: float = 5.0
    """For a cancelled handler to clean up; after it the task is CANCELED without it."""
    drain_grace: float = 10.0
    """For running tasks to end when the server stops; after it comes what their skill's policy says."""
    keep_alive: float = 15.0
    """Between signs of life on an idle stream."""
    send_stall: float = 30.0
    """For a reader of a stream to take anything; after it the stream is closed."""
    body_timeout: float = 30.0
    """For the whole body of a request to arrive."""
    beat: float = 5.0
    """Between two signs of life of this worker, and between two looks at what others have left."""
    dead_after: float = 20.0
    """Without a sign of life, by the clock of the store, a worker is taken for dead."""
    fence_after: float | None = 15.0
    """Without a sign of life that the store has confirmed, this worker stops its runs, since others may soon take them
    over; None if nobody else can have the store.
    """
    max_running: int | None = None
    """How many tasks run at once; not a time. The others wait in SUBMITTED."""


class Keeping(msgspec.Struct, frozen=True, kw_only=True):
    """How long what is kept; seconds."""

    keys: float = 86_400.0
    """The ids of messages, so that one that comes twice is known again."""
    logs: float | None = 3_600.0
    """The log of a task after its end; later, readers who come back get the task instead of what they have missed. None
    keeps it as long as the task.
    """
    tasks: float | None = None
    """A task after its end; None keeps it for good."""
    strict: bool = False
    """Whether a message is refused that has the id of another one; else it is a message of its own. Not a time."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """The ports of one running agent."""

    store: TaskStore
    bus: EventBus
    agent: AgentExecutor
    clock: Clock
    ids: Ids
    limits: Limits = Limits()
    calls: CallLimits = CallLimits()
    """What callers may ask for, and what a task may hold."""
    keeping: Keeping = Keeping()
    pushes: Pushes | None = None
    """None if the agent sends no push notifications."""
    extensions: Extensions | None = None
    """None if the agent has none that do anything here."""


class SystemClock:
    """The machine's clock in whole milliseconds, held back from running backwards."""

    def __init__(self) -> None:
        self._last = 0
        self._value = datetime.fromtimestamp(0, UTC)

    def now(self) -> datetime:
        millis = time.time_ns() // 1_000_000
        if millis > self._last:
            self._last = millis
            # Exact: the nearest microsecond to a float of this size is the one that was meant.
            self._value = datetime.fromtimestamp(millis / 1000, UTC)
        return self._value


class RandomIds:
    """Version 4 UUIDs of the operating system's randomness, made many at a time; 122 bits, 114 for tasks."""

    def __init__(self) -> None:
        self._ready: list[str] = []
        if hasattr(os, "register_at_fork"):
            # A forked process must not give the same identifiers as its parent.
            os.register_at_fork(after_in_child=self._ready.clear)

    def new(self) -> str:
        if not self._ready:
            self._ready.extend(_uuids(_IDS_AT_A_TIME))
        return self._ready.pop()

    def task(self, tenant: str, context_id: str) -> str:
        shard = zlib.crc32(f"{tenant}\0{context_id}".encode()) & 0xFF
        return _SHARDS[shard] + self.new()[2:]


def _uuids(count: int) -> Iterator[str]:
    """All columns of the digits are set at once: one by one, identifiers would cost a twentieth of a request."""
    digits = os.urandom(16 * count).hex().encode()
    text = bytearray(b"-" * (36 * count))
    for column, place in enumerate(_PLACES):
        text[place::36] = digits[column::32]
    text[14::36] = b"4" * count
    text[19::36] = text[19::36].translate(_VARIANTS)
    whole = text.decode()
    return (whole[at : at + 36] for at in range(0, len(whole), 36))


_IDS_AT_A_TIME = 256
_SHARDS = [f"{shard:02x}" for shard in range(256)]
_PLACES = [place for place in range(36) if place not in (8, 13, 18, 23)]
"""Where the 32 digits stand among the hyphens."""
_VARIANTS = bytes.maketrans(b"0123456789abcdef", b"89ab" * 4)
