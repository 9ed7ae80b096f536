"""Processes that serve the agent: they die, are paused, and come back; and the way of callers to them."""

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from random import Random
from typing import Any, TypeVar

from dragoman.engine.service import Service
from dragoman.engine.world import Keeping, Limits, World
from dragoman.errors import A2AError, StoreUnavailable
from dragoman.ports.agent import AgentExecutor
from dragoman.ports.push import Pushes
from dragoman.ports.webhook import WebhookClient
from dragoman.ports.world import Clock
from dragoman.types.card import AgentCapabilities, AgentExtension
from dragoman.types.reliable import RELIABLE
from tests.simulation.loop import PROCESS, SeededLoop
from tests.simulation.store import SharedStore, StoreView
from tests.simulation.world import LoopClock, SeededIds, Wire, WiredBus

__all__ = ["Host", "Lost", "Surroundings", "context_of"]

T = TypeVar("T")
CAPABILITIES = AgentCapabilities(streaming=True, push_notifications=True, extensions=(AgentExtension(uri=RELIABLE),))


class Lost(Exception):
    """The process that was called has died, or was not patient enough, or never answered."""


class Surroundings:
    """What all processes share."""

    def __init__(self, loop: SeededLoop, random: Random, loss: float, agent: AgentExecutor) -> None:
        self.loop = loop
        self.random = random
        self.store = SharedStore(loop)
        self.wire = Wire(loop, random, loss)
        self.agent = agent
        self.skews = False
        self.slots: int | None = None
        """How many tasks each process runs at once."""
        self.keeping = Keeping()
        self.crashes = 0
        self.stops = 0
        """Processes that have ended in order."""
        self.pauses = 0
        self.view: type[StoreView] = StoreView
        self.bus: type[WiredBus] = WiredBus
        self.pushes: Callable[[StoreView, WiredBus, Clock], Pushes] | None = None
        """Makes what pushes in one process; None where nothing is pushed."""
        self.client: Callable[[WebhookClient], WebhookClient] = lambda client: client
        """Makes what a process calls webhooks by."""


def context_of(process: str) -> Context:
    """A context in which everything belongs to this process."""
    context = copy_context()
    context.run(PROCESS.set, process)
    return context


class Host:
    """A place where one process after the other serves the agent."""

    def __init__(self, name: str, around: Surroundings) -> None:
        self._around = around
        self._name = name
        self._lives = 0
        self._bus: WiredBus | None = None
        self.service: Service | None = None

    @property
    def process(self) -> str:
        return f"{self._name}#{self._lives}"

    async def start(self) -> None:
        """A new process; it tries until it has opened."""
        around = self._around
        self._lives += 1
        self.context = context_of(self.process)
        self.gone: asyncio.Future[None] = around.loop.create_future()
        view = around.view(around.store, around.loop, around.random)
        view.crash, view.pause = self.die, self.pause
        self._bus = around.bus(around.wire)
        around.wire.join(self._bus, self.context)
        clock = LoopClock(around.loop, around.random.choice((-7200.0, 0.0, 7200.0)) if around.skews else 0.0)
        world = World(
            store=view,
            bus=self._bus,
            agent=around.agent,
            clock=clock,
            ids=SeededIds(around.random),
            limits=Limits(max_running=around.slots),
            keeping=around.keeping,
            pushes=None if around.pushes is None else around.pushes(view, self._bus, clock),
        )
        service = Service(world, CAPABILITIES)
        try:
            await self.within(self._opened(service))
        except Lost:
            return
        self.service = service

    async def _opened(self, service: Service) -> None:
        while True:
            try:
                return await service.open()
            except StoreUnavailable:
                await asyncio.sleep(0.5)

    def die(self) -> None:
        """Ends the process, and has the next one begin some time later."""
        around = self._around
        if around.loop.dead(self.process):
            return
        around.crashes += 1
        self._end()

    async def stop(self) -> None:
        """Ends the process in order, unless it dies first, and has the next one begin some time later."""
        service = self.service
        if service is None:
            return
        try:
            await self.within(service.close())
        except Lost:
            return
        self._around.stops += 1
        self._end()

    def _end(self) -> None:
        around = self._around
        around.loop.kill(self.process)
        assert self._bus is not None
        around.wire.leave(self._bus)
        self.service = None
        if not self.gone.done():
            self.gone.set_result(None)
        around.loop.call_later(around.random.choice((0.1, 3.0, 30.0)), self._again, context=context_of("supervisor"))

    def _again(self) -> None:
        self._starting = asyncio.ensure_future(self.start())

    def pause(self) -> None:
        """Stops the process for a while; long enough, sometimes, for others to take over what it has."""
        around, process = self._around, self.process
        around.pauses += 1
        around.loop.pause(process)
        seconds = around.random.choice((1.0, 18.0, 30.0, 60.0))
        around.loop.call_later(seconds, around.loop.resume, process, context=context_of("supervisor"))

    async def within(self, work: Coroutine[Any, Any, T], patience: float | None = None) -> T:
        """The result of something that is done in this process, for a caller outside of it.

        Raises:
            Lost: the process died first, or it took longer than the caller waits.
            A2AError: what it answered.
        """
        task = self._around.loop.create_task(work, context=self.context)
        either: set[asyncio.Future[Any]] = {task, self.gone}
        await asyncio.wait(either, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            task.add_done_callback(_unheard)
            if not self.gone.done():
                task.cancel()
            raise Lost
        if task.cancelled():
            raise Lost
        try:
            return task.result()
        except (A2AError, StoreUnavailable):
            raise
        except StopAsyncIteration:
            raise Lost from None


def _unheard(task: "asyncio.Task[Any]") -> None:
    """The caller has left: an answer that comes all the same, by an error too, is lost; anything else is a defect."""
    error = None if task.cancelled() else task.exception()
    if error is not None and not isinstance(error, (A2AError, StoreUnavailable, StopAsyncIteration)):
        task.get_loop().call_exception_handler({"message": "nobody was left to be told", "exception": error})
