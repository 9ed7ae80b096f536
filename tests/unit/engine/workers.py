"""Workers on a stage: one that beats but once, one that looks all the time, and what happens to them."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import msgspec

from dragoman.buses.memory import MemoryBus
from dragoman.engine.service import Service
from dragoman.engine.world import Limits, RandomIds
from dragoman.ports.tasks import Stored, TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.testing.clock import FakeClock
from dragoman.types.card import AgentCapabilities
from dragoman.types.task import TaskState
from tests.unit.engine.stage import QUICK, Stage

__all__ = ["STILL", "WATCHFUL", "crash", "looked", "pair", "reason"]

STILL = msgspec.structs.replace(QUICK, beat=1000)
"""One beat, at the start."""
WATCHFUL = msgspec.structs.replace(QUICK, beat=0.005)


@asynccontextmanager
async def working(store: TaskStore, agent: ScriptedAgent, limits: Limits) -> AsyncGenerator[Stage]:
    """One of several open engines on a store: its identifiers are its own."""
    stage = Stage(store, agent, MemoryBus(), limits)
    stage.world = msgspec.structs.replace(stage.world, ids=RandomIds())
    stage.service = Service(stage.world, AgentCapabilities(streaming=True))
    await stage.service.open()
    try:
        yield stage
    finally:
        await stage.service.close()


@asynccontextmanager
async def pair(agent: ScriptedAgent, heir: ScriptedAgent) -> AsyncGenerator[tuple[Stage, Stage, Callable[[], None]]]:
    """Two workers on one store: one that beats but once, and one that looks all the time. And what lets the lease of
    the first run out.
    """
    clock = FakeClock()
    store = MemoryStore(clock)
    async with working(store, agent, STILL) as first:
        async with working(store, heir, WATCHFUL) as second:
            yield first, second, lambda: (clock.advance(1 + WATCHFUL.dead_after), None)[1]
        await store.open()


async def looked(stage: Stage, times: int = 3) -> None:
    """Returns when the worker has looked for tasks so many times."""
    claimable, seen = stage.store.claimable, asyncio.Semaphore(0)

    async def watched(dead_after: float, limit: int) -> tuple[Stored, ...]:
        found = await claimable(dead_after, limit)
        seen.release()
        return found

    stage.store.claimable = watched  # type: ignore[method-assign]  # the same, and watched
    for _ in range(times):
        await seen.acquire()
    stage.store.claimable = claimable  # type: ignore[method-assign]  # as it was


async def reason(stage: Stage, task_id: str) -> object:
    """Why the task has failed."""
    assert (await stage.ended(task_id)).state is TaskState.FAILED
    return ((await stage.log(task_id))[-1].event.metadata or {})["reason"]


async def crash(stage: Stage) -> None:
    """Ends the service as if nothing that it still wrote had come through; the store is open again afterwards."""
    stage.store.failing = 1_000_000
    await stage.service.close()
    stage.store.failing = 0
