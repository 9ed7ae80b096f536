"""Deliveries to all configurations of this worker: who is next, and what is found in the store.

Lines in memory are for promptness, and bounded; the store knows all that is due. Long waits are left to it.
"""

import asyncio
import logging
import random
from collections.abc import Callable, Sequence

from dragoman.core.weight import weight
from dragoman.errors import Fenced, StoreUnavailable
from dragoman.ports.bus import EventBus, Hint
from dragoman.ports.call import Scope
from dragoman.ports.push import Push, PushState
from dragoman.ports.store import Store
from dragoman.ports.tasks import Entry
from dragoman.ports.webhook import WebhookClient
from dragoman.ports.world import Clock
from dragoman.push.attempt import PusherState
from dragoman.push.courier import Courier
from dragoman.push.delivery import PreparePush
from dragoman.push.line import Line
from dragoman.push.lines import Lines
from dragoman.push.looking import PAGE, Looking
from dragoman.push.options import PushOptions
from dragoman.push.origins import FAR, Origins
from dragoman.push.processor import Processor, ThisThread
from dragoman.push.schedule import revived
from dragoman.push.turns import Turns
from dragoman.types.events import TaskStatusUpdateEvent

__all__ = ["Pusher"]

log = logging.getLogger("dragoman.push")

MOST_OF_ORIGIN = 500
"""How many lines of one origin wait in memory at most; all that were not read yet count as one."""
MANY = 128
"""With so many lines that wait there is no hurry: the log will be read for those to come, and the store for more."""
STORE_WAIT = 0.5
"""Seconds until the store is asked again that did not answer, at first; up to ten times as long."""
LET_GO = 1.0
"""Seconds that deliveries have to end that are broken off."""


class Pusher:
    """Implements `Deliveries`. Closes the client with itself; both can be opened again.

    `dead_after` and `look` are seconds as in `Limits.dead_after` and `Limits.beat`; `chance` gives numbers from 0 to
    less than 1, `processor` what the thread that calls it has had of the processor.
    """

    def __init__(
        self,
        store: Store,
        bus: EventBus,
        webhooks: WebhookClient,
        prepare: PreparePush,
        options: PushOptions,
        *,
        clock: Clock,
        dead_after: float = 20.0,
        look: float = 5.0,
        chance: Callable[[], float] = random.random,
        processor: Callable[[], Processor] = ThisThread,
    ) -> None:
        self._store = store
        self._bus = bus
        self._webhooks = webhooks
        self._options = options
        self._clock = clock
        self._dead_after = dead_after
        self._look_every = look
        self._chance = chance
        self._processor_of = processor
        self._courier = Courier(store, webhooks, prepare, options, clock=clock, chance=chance)
        self._running: tuple[asyncio.Task[None], ...] = ()
        self._unlisten: Callable[[], None] | None = None

    async def open(self, worker: Callable[[], str]) -> None:
        """Begins, with what is due in the store; `worker` says as whom.

        Raises:
            StoreUnavailable: nothing has begun then.
        """
        self._loop = loop = asyncio.get_running_loop()
        self._worker = worker
        self._wake = asyncio.Event()
        self._lines = Lines()
        self._origins = Origins(
            self._options.per_host,
            self._options.breaker,
            self._options.retry,
            time=loop.time,
            at=loop.call_at,
            wake=self._wake.set,
        )
        self._silences = 0
        self._looking = Looking(
            self._store,
            self._lines,
            worker,
            self._dead_after,
            self._look_every,
            found=self._found,
            hungry=lambda: self._origins.waiting < MANY,
        )
        try:
            await self._looking.look()
            if await self._store.read_pushes(PushState.LIVE, after=0, limit=1):
                self._listen()
        except BaseException:
            self._let_go()
            raise
        self._processor = self._processor_of()
        self._turns = Turns(
            self._origins,
            self._wake,
            self._options.in_flight,
            self._processor,
            work=self._work,
            ended=self._ended,
            begun=self._looking.refill,
        )
        self._running = (loop.create_task(self._turns.live()), loop.create_task(self._looking.live()))

    async def close(self, grace: float) -> None:
        """Goes on for at most so many seconds while deliveries are under way or due, then breaks them off; what is
        left is found in the store by the next one. May be called again.
        """
        if not self._running:
            return
        await self._turns.quiet(self._loop.time() + grace)
        running, self._running = self._running, ()
        for task in running:
            task.cancel()
        self._let_go()
        await asyncio.wait(running)
        await self._turns.broken_off(LET_GO)
        self._processor.close()
        await self._webhooks.close()

    def stored(self, task_id: str, scope: Scope, config_id: str) -> None:
        """A configuration was stored or replaced just now: from here on its task is followed. Quick; never raises."""
        if not self._running:
            return
        self._listen()
        before = self._lines.get(task_id, config_id)
        job = None if before is None else before.job
        if before is not None:
            self._forget(before)
        if self._crowded(""):
            self._looking.more = True
            return
        line = self._lines.add(task_id, config_id, scope)
        line.heard = self._loop.time()
        if job is None or job.done():
            self._ready(line)
        else:
            # One delivery at a time, also while the old one is being broken off.
            line.job = job
            job.add_done_callback(lambda _: self._ready(line))

    def dropped(self, task_id: str, config_id: str) -> None:
        """A configuration was removed just now: no delivery begins any more, and one that is under way is broken off.
        Quick; never raises.
        """
        if self._running:
            self._lines.left(task_id, config_id)
            line = self._lines.get(task_id, config_id)
            if line is not None:
                self._forget(line)

    def erased(self, task_ids: Sequence[str]) -> None:
        """Tasks were removed just now, with their configurations: as `dropped`."""
        # Direct answers go with all of a caller's. Those that are still there will be found again.
        for task_id in (*task_ids, "") if self._running else ():
            self._lines.left(task_id)
            for line in tuple(self._lines.of(task_id)):
                self._forget(line)

    async def retry(self, task_id: str | None = None, config_id: str | None = None, origin: str | None = None) -> int:
        """Makes dead configurations live again, those of which all that is given is true; each gets its task as it is
        first. How many those are.

        Raises:
            StoreUnavailable: some may live again.
        """
        after, count = 0, 0
        while page := await self._store.read_pushes(PushState.DEAD, after=after, limit=PAGE):
            for push in page:
                wanted = ((task_id, push.task_id), (config_id, push.id), (origin, push.origin))
                if all(name in (None, own) for name, own in wanted) and await self._revive(push):
                    count += 1
            after = page[-1].n
        return count

    @property
    def state(self) -> PusherState:
        """How deliveries stand; takes a look at every line. The pusher is open."""
        since = [line.since for line in self._lines if line.since is not None]
        return PusherState(
            known=len(self._lines),
            waiting=self._origins.waiting,
            under_way=len(self._turns),
            oldest=self._loop.time() - min(since) if since else 0.0,
            origins=tuple(self._origins.states()),
        )

    def _let_go(self) -> None:
        """Hears nothing any more, and breaks off what is under way."""
        if self._unlisten is not None:
            self._unlisten()
            self._unlisten = None
        for line in self._lines:
            self._forget(line)

    # What happens elsewhere.

    def _listen(self) -> None:
        """Hears the bus from now on: until there is a first configuration, nobody pays for it."""
        if self._unlisten is None:
            self._unlisten = self._bus.listen(self._heard)

    def _heard(self, hint: Hint) -> None:
        entries = hint.entries
        if not entries:
            return
        lines = self._lines.of(hint.task_id)
        if not lines:
            if _goes_on(entries):
                self._looking.ask(hint.task_id)
            return
        hurry = self._origins.waiting < MANY
        sizes = [weight(entry.event, entry.received) for entry in entries] if hurry else ()
        for line in lines:
            line.hear(entries, sizes, self._loop.time())
            if line.idle and line.behind:
                self._ready(line)

    def _found(self, push: Push) -> bool:
        """A configuration is live in the store; whether there was room for it."""
        line = self._lines.get(push.task_id, push.id)
        if line is not None:
            line.last = max(line.last, push.seq)
            line.over = line.over or push.terminal
            if line.idle and line.behind:
                self._ready(line)
            return True
        self._listen()
        wait = self._until_due(push)
        if wait > FAR:
            return True
        if self._crowded(push.origin):
            return False
        line = self._lines.add(push.task_id, push.id, push.scope, push)
        line.heard = self._loop.time()
        self._settle(line)
        return True

    def _crowded(self, origin: str) -> bool:
        """Whether another line of this origin is better left to the store for now."""
        return self._lines.full or self._origins.crowd(origin) >= MOST_OF_ORIGIN

    async def _revive(self, push: Push) -> bool:
        try:
            await self._store.move_push(revived(push, self._worker()))
        except Fenced:
            return False
        self.stored(push.task_id, push.scope, push.id)
        return True

    # Lines and their turns.

    async def _work(self, line: Line, name: str) -> bool | None:
        """One turn of a line: whether its origin is in order, if that shows."""
        if line.push is None:
            line.gone = not await self._courier.read(line)
            return None
        await self._courier.claim(line, self._worker())
        closed_for = self._origins.of(name).closed_for(self._loop.time())
        if closed_for > FAR:
            await self._courier.postpone(line, closed_for + self._chance() * FAR)
            return None
        return await self._courier.deliver(line)

    def _ended(self, line: Line, error: BaseException | None) -> None:
        """A turn is over, well or not: what becomes of the line."""
        if error is None:
            self._silences = 0
            self._settle(line)
        elif isinstance(error, StoreUnavailable):
            self._silences += 1
            log.warning("the store does not answer for a delivery, which is made later: %s", error)
            self._rest(line, STORE_WAIT * min(self._silences, 10))
        else:
            if not isinstance(error, (Fenced, asyncio.CancelledError)):
                log.error("a delivery broke off, and is looked at again", exc_info=error)
            self._forget(line)

    def _settle(self, line: Line) -> None:
        """Puts a line where it belongs after what was learnt of it."""
        push = line.push
        wait = 0.0 if push is None else self._until_due(push)
        if line.gone or push is None or push.state is not PushState.LIVE or wait > FAR:
            self._forget(line)
        elif wait > 0:
            self._rest(line, wait)
        elif line.behind and self._origins.crowd(push.origin) >= MOST_OF_ORIGIN:
            self._looking.more = True
            self._forget(line)
        elif line.behind:
            self._ready(line)
        elif line.parked:
            # Its task may wait for days; that it goes on will be heard.
            self._forget(line)
        else:
            line.since = None

    def _ready(self, line: Line) -> None:
        line.timer = None
        if line.gone:
            return
        if line.since is None:
            line.since = self._loop.time()
        self._origins.add(line)
        self._wake.set()

    def _rest(self, line: Line, seconds: float) -> None:
        """Has a line wait for its time, without the events that it has: the log has them too."""
        if not line.gone:
            line.clear()
            line.timer = self._loop.call_later(seconds, self._ready, line)

    def _forget(self, line: Line) -> None:
        self._origins.remove(line)
        self._lines.remove(line)

    def _until_due(self, push: Push) -> float:
        """Seconds until the next attempt may be made."""
        wait = 0.0 if push.not_before is None else (push.not_before - self._clock.now()).total_seconds()
        # Nothing is ever put off for longer than that: then the clock was put back.
        return max(0.0, wait) if wait <= self._options.retry.most + FAR else 0.0


def _goes_on(entries: Sequence[Entry]) -> bool:
    """Whether a task may have been interrupted, or queued, until now."""
    event = entries[0].event
    return isinstance(event, TaskStatusUpdateEvent) and event.status.message is None and not event.status.state.settled
