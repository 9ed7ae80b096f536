"""Webhooks in the simulation: receivers that fail in every way that a sender can tell apart, and what calls them."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

from dragoman import PushOptions
from dragoman.dialects import push as bodies
from dragoman.errors import StoreUnavailable, UnavailableError
from dragoman.operations import Operation
from dragoman.ports.call import CallContext, Principal
from dragoman.ports.push import PushState
from dragoman.ports.webhook import Answer, Undelivered
from dragoman.ports.world import Clock as TimeOfDay
from dragoman.push.configurations import Configurations
from dragoman.push.options import Retry
from dragoman.push.preparation import Preparation
from dragoman.push.pusher import Pusher
from dragoman.push.seal import KEY_BYTES, Seal
from dragoman.types.reliable import RELIABLE
from dragoman.types.requests import ServiceParameters
from tests.faults.history import Kept
from tests.faults.push.callers import Place, Subscriber
from tests.faults.push.history import Arrival, Clock, History
from tests.simulation.hosts import Host, Lost, Surroundings, context_of
from tests.simulation.loop import SeededLoop
from tests.simulation.store import SharedStore, StoreView
from tests.simulation.world import SeededIds, WiredBus

__all__ = ["Webhooks", "pushing", "subscriber"]

ORIGINS = ("https://good.example", "https://bad.example", "https://away.example")
AWAY = 60.0
"""Seconds for which one of them is away now and then."""
PATIENCE = 7.0
TALK = 3
DIALECTS = ("1.0/JSONRPC", "0.3/JSONRPC", "draft/HTTP+JSON")
PAUSES = (0.01, 0.5, 5.0)
TASKS = 2
"""How many one subscriber begins."""


class Webhooks:
    """What all processes call, as `WebhookClient`: receivers, who are processes of their own."""

    def __init__(self, loop: SeededLoop, random: Random) -> None:
        self._loop = loop
        self._random = random
        self._clock = Clock()
        self._receiving: set[asyncio.Task[Answer]] = set()
        self._away = random.choice((0.0, 20.0))
        self.retry = Retry(first=0.5, most=random.choice((4.0, 15.0)))
        self.healed = False
        self.history = History(rivals=True)

    async def check(self, url: str) -> None:
        """All may be called."""

    async def post(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        receiving = self._loop.create_task(self._receive(url, headers, body), context=context_of("receiver"))
        self._receiving.add(receiving)
        receiving.add_done_callback(self._received)
        # The caller may leave, or die: that is not noticed there.
        return await asyncio.shield(receiving)

    async def close(self) -> None:
        """Nothing is open."""

    async def look(self, kept: dict[str, Kept], store: SharedStore) -> None:
        """Takes down what is stored in the end. Nothing is asked of tasks that were erased, nor of what was delivered
        for configurations that were deleted: other processes do not hear of it at once.
        """
        history = self.history
        history.kept = kept
        for path, one in list(history.registrations.items()):
            if one.config.task_id not in kept:
                del history.registrations[path]
            elif one.removed:
                history.arrivals.pop(path, None)
        for state in PushState:
            for push in await store.inner.read_pushes(state, after=0, limit=1_000):
                history.states[push.task_id, push.id] = state

    async def _receive(self, url: str, headers: dict[str, str], body: bytes) -> Answer:
        origin, random = url[: url.index("/", 8)], self._random
        if origin == ORIGINS[2] and not self.healed and 0 <= self._loop.time() - self._away < AWAY:
            raise Undelivered("nobody is there")
        # It arrives as it is sent: what a dead sender has on its way is not overtaken by the next one.
        arrival = Arrival(self._clock.tick(), headers, body)
        self.history.arrivals.setdefault(url.removeprefix(origin), []).append(arrival)
        await asyncio.sleep(random.choice((0.0, 0.001, 0.3)))
        if not self.healed and origin != ORIGINS[0] and random.random() < 0.5:
            return await self._fail(arrival)
        arrival.accepted = self._clock.tick()
        await asyncio.sleep(random.choice((0.0, 0.001)))
        return Answer(204)

    async def _fail(self, arrival: Arrival) -> Answer:
        match self._random.choice(("error", "busy", "redirect", "hang", "reset", "lost")):
            case "error":
                return Answer(500)
            case "busy":
                return Answer(429, 3.0)
            case "redirect":
                return Answer(302)
            case "hang":
                await asyncio.sleep(40.0)
            case "lost":
                arrival.accepted = self._clock.tick()
            case _:
                """Nothing is said."""
        raise Undelivered("the connection broke")

    def _received(self, receiving: "asyncio.Task[Answer]") -> None:
        self._receiving.discard(receiving)
        receiving.exception()


class _Idle:
    """A processor that nobody has used."""

    def used(self) -> float:
        return 0.0

    def waited(self) -> float:
        return 0.0

    def close(self) -> None:
        """Nothing is open."""


def pushing(
    webhooks: Webhooks, around: Surroundings, view: StoreView, bus: WiredBus, time: TimeOfDay
) -> Configurations:
    """What one process does with configurations."""
    random, client = around.random, around.client(webhooks)
    seal = Seal(lambda: bytes(KEY_BYTES))
    options = PushOptions(retry=webhooks.retry)
    pusher = Pusher(
        view, bus, client, Preparation(seal, bodies), options, clock=time, chance=random.random, processor=_Idle
    )
    return Configurations(view, client, seal, pusher, SeededIds(random), max_per_task=options.max_per_task)


class _Channel:
    """The way of a subscriber to whichever process there is."""

    def __init__(self, hosts: Sequence[Host], random: Random, dialect: str) -> None:
        self._hosts = hosts
        self._random = random
        self._context = CallContext(
            principal=Principal("bob"), parameters=ServiceParameters(extensions=(RELIABLE,)), dialect=dialect
        )

    async def call(self, operation: Operation, request: Any) -> Any:
        able = [host for host in self._hosts if host.service is not None]
        if not able:
            await asyncio.sleep(1.0)
            raise UnavailableError
        host = self._random.choice(able)
        assert host.service is not None
        try:
            return await host.within(host.service.call(operation, request, self._context), PATIENCE)
        except (Lost, StoreUnavailable):
            raise UnavailableError from None


def subscriber(name: str, hosts: Sequence[Host], random: Random, webhooks: Webhooks, store: SharedStore) -> Subscriber:
    """A caller who has a few tasks pushed."""
    begun = 0

    async def seq(task_id: str) -> int:
        stored = await store.inner.locate(task_id)
        assert stored is not None
        return stored.seq

    async def free() -> None:
        nonlocal begun
        begun += 1

    return Subscriber(
        name,
        {dialect: _Channel(hosts, random, dialect) for dialect in DIALECTS},
        [Place(origin.split("/")[2].split(".")[0], origin) for origin in ORIGINS],
        random,
        webhooks.history,
        seq=seq,
        free=free,
        stopping=lambda: begun >= TASKS,
        talk=TALK,
        pauses=PAUSES,
    )
