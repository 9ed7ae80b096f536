"""What a simulated process has of the world: a clock that may be wrong, ids of a seed, hints that may be lost."""

import asyncio
from collections.abc import Callable
from contextvars import Context
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from dragoman.buses.memory import MemoryBus
from dragoman.ports.bus import Hint, Subscription
from tests.simulation.loop import SeededLoop

__all__ = ["LoopClock", "SeededIds", "Wire", "WiredBus"]

START = datetime(2030, 1, 1, 12, tzinfo=UTC)


class LoopClock:
    """The virtual time of day, wrong by `skew` seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop, skew: float = 0.0) -> None:
        self._loop = loop
        self._start = START + timedelta(seconds=skew)

    def now(self) -> datetime:
        return self._start + timedelta(milliseconds=int(self._loop.time() * 1000))


class SeededIds:
    """Ids in the form of UUIDs, the same for the same seed."""

    def __init__(self, random: Random) -> None:
        self._random = random

    def new(self) -> str:
        return str(UUID(int=self._random.getrandbits(128), version=4))

    def task(self, tenant: str, context_id: str) -> str:  # noqa: ARG002 -- shards mean nothing in one store
        return self.new()


class Wire:
    """Carries hints between the buses of all processes: each late by a little, some of them never."""

    def __init__(self, loop: SeededLoop, random: Random, loss: float) -> None:
        self._loop = loop
        self._random = random
        self._loss = loss
        self._ends: list[tuple[WiredBus, Context]] = []

    def join(self, bus: "WiredBus", context: Context) -> None:
        self._ends.append((bus, context))

    def leave(self, bus: "WiredBus") -> None:
        self._ends = [end for end in self._ends if end[0] is not bus]

    def carry(self, hint: Hint) -> None:
        for bus, context in self._ends:
            if self._random.random() >= self._loss:
                # Order is kept per task, so each is on its way for as long as every other.
                self._loop.call_later(0.002, bus.arrived, hint, context=context)


class WiredBus:
    """The bus as one process sees it."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._readers = MemoryBus()
        self.arrived = self._readers.publish

    def publish(self, hint: Hint) -> None:
        self._wire.carry(hint)

    def subscribe(self, task_id: str) -> Subscription:
        return self._readers.subscribe(task_id)

    def listen(self, heard: Callable[[Hint], None]) -> Callable[[], None]:
        return self._readers.listen(heard)
