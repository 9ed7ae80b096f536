"""What an engine works with, in one value, and the clock and identifiers of the real world."""

import os
import time
import zlib
from datetime import UTC, datetime, timedelta

import msgspec

from dragoman.ports.agent import AgentExecutor
from dragoman.ports.bus import EventBus
from dragoman.ports.tasks import TaskStore
from dragoman.ports.world import Clock, Ids

__all__ = ["Limits", "RandomIds", "SystemClock", "World"]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long the engine waits for what; seconds."""

    cancel_grace: float = 5.0
    """For a cancelled handler to clean up; after it the task is CANCELED without it."""
    drain_grace: float = 10.0
    """For running tasks to end when the server stops; after it they are FAILED with reason `worker-lost`."""
    keep_alive: float = 15.0
    """Between signs of life on an idle stream."""
    send_stall: float = 30.0
    """For a reader of a stream to take anything; after it the stream is closed."""
    body_timeout: float = 30.0
    """For the whole body of a request to arrive."""


class World(msgspec.Struct, frozen=True, kw_only=True):
    """The ports of one running agent."""

    store: TaskStore
    bus: EventBus
    agent: AgentExecutor
    clock: Clock
    ids: Ids
    limits: Limits = Limits()


class SystemClock:
    """The machine's clock in whole milliseconds, held back from running backwards."""

    def __init__(self) -> None:
        self._last = 0
        self._value = datetime.fromtimestamp(0, UTC)

    def now(self) -> datetime:
        millis = time.time_ns() // 1_000_000
        if millis > self._last:
            self._last = millis
            self._value = _EPOCH + timedelta(milliseconds=millis)
        return self._value


_EPOCH = datetime.fromtimestamp(0, UTC)


class RandomIds:
    """Version 4 UUIDs from the operating system's randomness; 122 bits, or 114 for tasks."""

    def new(self) -> str:
        return _uuid4(os.urandom(16))

    def task(self, tenant: str, context_id: str) -> str:
        shard = zlib.crc32(f"{tenant}\0{context_id}".encode()) & 0xFF
        return _uuid4(bytes((shard,)) + os.urandom(15))


def _uuid4(random: bytes) -> str:
    text = random.hex()
    variant = "89ab"[random[8] & 3]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"
