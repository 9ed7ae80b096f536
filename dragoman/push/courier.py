"""One delivery: what is next in the log, post, and only then move the cursor."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta

import msgspec

from dragoman.core.weight import weight
from dragoman.errors import Fenced
from dragoman.ports.push import Push, PushMove, PushState
from dragoman.ports.store import Store
from dragoman.ports.tasks import Entry, Stored
from dragoman.ports.webhook import AddressRefused, Undelivered, WebhookClient
from dragoman.ports.world import Clock
from dragoman.push.attempt import Attempt, Outcome
from dragoman.push.delivery import Delivery, PreparePush, Undeliverable
from dragoman.push.line import Line
from dragoman.push.options import PushOptions
from dragoman.push.schedule import Result, after, as_it_is, given_up, postponed, result_of, unanswered
from dragoman.types.events import StreamEvent, TaskStatusUpdateEvent
from dragoman.types.task import Task

__all__ = ["Courier"]

log = logging.getLogger("dragoman.push")

AT_A_TIME = 32
"""How many entries are read from the log at once."""

OUTCOMES: dict[str, Outcome] = {"delivered": "delivered", "refused": "refused", "failed": "failed", "gone": "dead"}


class _Item(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is next for a configuration. `last` if nothing can come after it; `parked` if the task waits then."""

    event: StreamEvent
    seq: int
    last: bool = False
    parked: bool = False


class Courier:
    """Delivers for lines that were read; what it learns stands in the line. One call for a line at a time.

    Every method may raise `StoreUnavailable`; nothing is lost then, and something may be delivered again. `Fenced` says
    that the configuration was changed by another, or is gone.
    """

    def __init__(
        self,
        store: Store,
        webhooks: WebhookClient,
        prepare: PreparePush,
        options: PushOptions,
        *,
        clock: Clock,
        chance: Callable[[], float],
    ) -> None:
        self._store = store
        self._webhooks = webhooks
        self._prepare = prepare
        self._options = options
        self._clock = clock
        self._chance = chance

    async def read(self, line: Line) -> bool:
        """Reads the configuration; whether it is there, and live."""
        push = await self._store.get_push(line.task_id, line.scope, line.config_id)
        if push is None or push.state is not PushState.LIVE:
            return False
        line.push = push
        line.last = max(line.last, push.seq)
        line.over = push.terminal
        return True

    async def claim(self, line: Line, worker: str) -> None:
        """Makes the configuration this worker's, unless it is, or something else is to be stored first."""
        push = _of(line)
        if push.worker != worker and line.unsaved is None:
            await self._store_move(line, msgspec.structs.replace(as_it_is(push), claim=True, worker=worker))

    async def postpone(self, line: Line, seconds: float) -> None:
        """Puts the next attempt off, because the origin is left alone for so long."""
        push, now = _of(line), self._clock.now()
        if line.unsaved is not None:
            await self._store_move(line, line.unsaved)
        elif not await self._too_old(line):
            await self._store_move(line, postponed(push, now + timedelta(seconds=seconds), now))

    async def deliver(self, line: Line) -> bool | None:
        """Makes one attempt to deliver what is next, if anything is: whether the origin is in order, if that shows."""
        if line.unsaved is not None:
            await self._store_move(line, line.unsaved)
            return None
        item = await self._next(line)
        if item is None:
            await self._caught_up(line)
            return None
        push, time = _of(line), asyncio.get_running_loop().time
        began = time()
        result = await self._attempt(push, item)
        took = time() - began
        # The cursor moves after the answer: what breaks off in between is delivered again, and never lost.
        move = self._move(push, item, result)
        line.parked = item.parked
        try:
            await self._store_move(line, move)
        finally:
            self._tell(line, push, result, move, took)
        return result.alive

    # What is next.

    async def _next(self, line: Line) -> _Item | None:
        push = _of(line)
        if push.answer is not None:
            return _Item(event=push.answer, seq=0, last=True) if "message" in self._options.events else None
        if push.whole:
            return await self._whole(line)
        if push.cursor == 0:
            created = await self._created(line)
            if created is not None:
                return created
        item = await self._later(line)
        if item is not None and self._prepare.whole(push.dialect):
            return await self._whole(line)
        return item

    async def _created(self, line: Line) -> _Item | None:
        """The task as it was created, if that is to be delivered."""
        push = _of(line)
        if "task" not in self._options.events:
            self._pass(line, 1)
            return None
        stored = await self._task(line)
        if stored is None:
            return None
        if self._prepare.whole(push.dialect):
            return _as_it_is(stored)
        task = stored.task
        created = Task(
            id=task.id, context_id=task.context_id, status=push.opened or task.status, history=task.history[:1]
        )
        return _Item(event=created, seq=1)

    async def _whole(self, line: Line) -> _Item | None:
        stored = await self._task(line)
        if stored is None:
            return None
        line.last = max(line.last, stored.seq)
        return _as_it_is(stored)

    async def _later(self, line: Line) -> _Item | None:
        """The next event of the log that is to be delivered; those before it are passed over."""
        while (push := _of(line)).cursor < line.last:
            entry = line.next(push.cursor)
            if entry is None:
                entries = await self._store.entries(line.task_id, line.scope, push.cursor, AT_A_TIME)
                if not entries:
                    return await self._without_log(line)
                line.read(entries, _sizes(entries))
                entry = entries[0]
            status = entry.event.status.state if isinstance(entry.event, TaskStatusUpdateEvent) else None
            kind = "artifact" if status is None else "status"
            if kind in self._options.events:
                return _Item(
                    event=entry.event,
                    seq=entry.seq,
                    last=status is not None and status.terminal,
                    parked=status is not None and status.interrupted,
                )
            line.parked = status is not None and status.interrupted
            line.over = line.over or (status is not None and status.terminal)
            self._pass(line, entry.seq)
        return None

    async def _without_log(self, line: Line) -> _Item | None:
        """The task as it is stands in for what the log does not have any more. It has it while a live configuration is
        behind, so most likely another has delivered this, or the configuration is gone.
        """
        held, now = _of(line), await self._store.get_push(line.task_id, line.scope, line.config_id)
        if now is None or now.epoch != held.epoch:
            raise Fenced(f"Configuration {held.n} is in another epoch than {held.epoch}, or gone")
        stored = await self._task(line)
        if stored is None:
            return None
        if stored.seq <= _of(line).cursor:
            line.last = stored.seq
            return None
        return _as_it_is(stored)

    async def _task(self, line: Line) -> Stored | None:
        stored = await self._store.get(line.task_id, line.scope)
        line.gone = line.gone or stored is None
        return stored

    def _pass(self, line: Line, seq: int) -> None:
        """Goes on after an event without delivering it. That is stored with the next delivery, or before the line is
        let go of.
        """
        line.push = msgspec.structs.replace(_of(line), cursor=seq)

    async def _caught_up(self, line: Line) -> None:
        push = _of(line)
        if line.gone:
            return
        if line.over or push.answer is not None:
            await self._store_move(line, msgspec.structs.replace(as_it_is(push), state=PushState.ENDED))
        elif line.parked:
            await self._store_move(line, as_it_is(push))

    # The attempt.

    async def _attempt(self, push: Push, item: _Item) -> Result:
        try:
            request = self._prepare.request(push, item.event, item.seq, self._clock.now())
        except Undeliverable as error:
            return Result(kind="gone", trouble=str(error), alive=None)
        except Exception:
            log.exception("a delivery of task %s could not be made", push.task_id or "(none)")
            return unanswered("the delivery could not be made", alive=None)
        return await self._post(request)

    async def _post(self, request: Delivery) -> Result:
        try:
            async with asyncio.timeout(self._options.timeout):
                return result_of(await self._webhooks.post(request.url, request.headers, request.body))
        except TimeoutError:
            return unanswered(f"no answer within {self._options.timeout:g} s")
        except AddressRefused as error:
            return unanswered(str(error), alive=None)
        except Undelivered as error:
            return unanswered(str(error))
        except Exception:
            log.exception("a webhook could not be called")
            return unanswered("the webhook could not be called")

    def _move(self, push: Push, item: _Item, result: Result) -> PushMove:
        return after(
            push,
            item.seq,
            result,
            last=item.last,
            retry=self._options.retry,
            now=self._clock.now(),
            chance=self._chance(),
        )

    async def _too_old(self, line: Line) -> bool:
        """Gives the configuration up if it fails for as long as it may."""
        push = _of(line)
        budget = timedelta(seconds=self._options.retry.budget)
        if push.failing_since is None or self._clock.now() - push.failing_since < budget:
            return False
        await self._store_move(line, given_up(push, push.trouble))
        return True

    async def _store_move(self, line: Line, move: PushMove) -> None:
        line.unsaved = move
        await self._store.move_push(move)
        line.unsaved = None
        line.push = _of(line).moved(move)

    def _tell(self, line: Line, push: Push, result: Result, move: PushMove, took: float) -> None:
        if self._options.on_attempt is None:
            return
        age = 0.0 if line.since is None else asyncio.get_running_loop().time() - line.since
        if push.failing_since is not None:
            age = max(age, (self._clock.now() - push.failing_since).total_seconds())
        attempt = Attempt(
            origin=push.origin,
            outcome="dead" if move.state is PushState.DEAD else OUTCOMES[result.kind],
            status=result.status,
            trouble=result.trouble,
            seconds=took,
            attempts=push.attempts + 1,
            age=age,
        )
        try:
            self._options.on_attempt(attempt)
        except Exception:
            log.exception("on_attempt has raised")


def _of(line: Line) -> Push:
    assert line.push is not None
    return line.push


def _as_it_is(stored: Stored) -> _Item:
    state = stored.task.state
    return _Item(event=stored.task, seq=stored.seq, last=state.terminal, parked=state.interrupted)


def _sizes(entries: Sequence[Entry]) -> list[int]:
    return [weight(entry.event, entry.received) for entry in entries]
