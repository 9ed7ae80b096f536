"""From a request to the handler: what is refused, and what is handed on in which order."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple

from dragoman.client.receiver.gate import Gate
from dragoman.client.receiver.limits import ReceiverLimits
from dragoman.client.receiver.line import Line, Look
from dragoman.client.receiver.notice import Notice, delivery_id, notice_of
from dragoman.client.receiver.rate import Rate
from dragoman.client.receiver.readers import Readers, state_in
from dragoman.client.receiver.refusal import Refused
from dragoman.client.receiver.seen import Seen
from dragoman.client.receiver.watch import Watch, Watches
from dragoman.errors import A2AError, ContentTypeNotSupportedError, DragomanError, TransportError
from dragoman.types.events import StreamEvent

__all__ = ["Desk", "Intake", "OnEvent", "Read", "Verify"]

PAUSE = 5.0
"""Seconds after which an agent is to come again whose keys could not be had."""

OnEvent = Callable[[StreamEvent], Awaitable[None]]
"""What is done with an event; when it raises, the agent is told to come again."""
Read = Callable[[bytes, str], StreamEvent]
"""The event in a body of any dialect, of the media type that is stated; raises an `A2AError` if there is none."""
Verify = Callable[[Mapping[str, str], bytes], Awaitable[None]]
"""Raises a `DragomanError` for a request, by its headers and its body, that was not signed by who should have."""


class Desk(NamedTuple):
    """What there is of one task: the order of its events, and who reads them."""

    line: Line
    readers: Readers


class Intake:
    """Takes notifications. Events of one task are handed on one at a time, those of several tasks side by side.

    `over` is told of each configuration whose task has ended, once.
    """

    def __init__(
        self,
        gate: Gate,
        watches: Watches,
        *,
        read: Read,
        verify: Verify | None,
        on_event: OnEvent | None,
        look: Look | None,
        over: Callable[[Watch], None],
        any_task: bool,
        limits: ReceiverLimits,
    ) -> None:
        self._gate = gate
        self._watches = watches
        self._read = read
        self._verify = verify
        self._on_event = on_event
        self._look = look
        self._over = over
        self._any_task = any_task
        self._limits = limits
        self._rate = self.rate()
        self._seen = Seen(limits.remembered, limits.in_flight)
        self._desks: dict[str, Desk] = {}
        self._passing: dict[str, None] = {}
        """Tasks that may be forgotten, those first that were added first."""
        self._unread: dict[str, None] = {}
        """Tasks that have ended of which something may wait for a reader, those first that ended first."""
        self._closed = False

    def rate(self) -> Rate:
        """How often one configuration may notify."""
        return Rate(self._limits.rate, self._limits.burst, _now)

    def desk(self, task_id: str, *, fresh: bool = False) -> Desk:
        """The task's; made where there is none, for a `fresh` task to begin with its creation."""
        desk = self._desks.get(task_id)
        if desk is None:
            readers = Readers(self._limits, keep=self._on_event is None)
            hand = partial(self._hand, task_id, readers)
            line = Line(hand, self._look, self._limits.patience, 0 if fresh else None)
            desk = self._desks[task_id] = Desk(line, readers)
        return desk

    def admit(self, headers: Mapping[str, str]) -> Watch | None:
        if self._closed:
            raise Refused(410, "nobody is interested any more")
        watch = self._gate.admit(headers)
        if watch is not None and watch.given_up and not self._seen.has(_key(watch, headers)):
            raise Refused(410, "nobody is interested in this task any more")
        wait = (self._rate if watch is None else watch.rate).take()
        if wait:
            raise Refused(429, "too many notifications", wait)
        return watch

    async def take(self, watch: Watch | None, headers: Mapping[str, str], body: bytes) -> None:
        if self._verify is not None:
            await _verified(self._verify, headers, body)
        try:
            event = self._read(body, headers.get("content-type", ""))
        except ContentTypeNotSupportedError as error:
            raise Refused(415, error.message) from error
        except A2AError as error:
            raise Refused(400, error.message) from error
        notice = notice_of(event, delivery_id(headers), len(body))
        watch = self._check(watch, notice)
        await self._seen.once(_key(watch, headers), partial(self._enter, watch, notice))

    def bind(self, watch: Watch, task_id: str) -> None:
        """The agent has said which task the configuration is for."""
        self._watches.bind(watch, task_id)
        self._passing.pop(task_id, None)
        # Where credentials are shown alone, all may have been pushed before the agent has answered.
        if self.desk(task_id, fresh=watch.fresh).readers.state.terminal:
            self._end(watch)

    def pass_on(self, watch: Watch) -> None:
        """The configuration is over: it is remembered for a while."""
        self._watches.retire(watch)
        if watch.task_id is not None:
            self._forget_in_time(watch.task_id)
            self._keep_unread(watch.task_id)

    async def aclose(self) -> None:
        """Refuses what comes from now on, and breaks off what is under way."""
        self._closed = True
        await self._seen.aclose()

    def _check(self, watch: Watch | None, notice: Notice) -> Watch | None:
        """The configuration that a notification belongs to, if to one."""
        if watch is None:
            watch = self._watches.by_task(notice.task_id)
            if watch is not None and watch.given_up:
                raise Refused(410, "nobody is interested in this task any more")
            # Which task it will be may be said only now; then what has shown the credentials is believed.
            if watch is None and not self._any_task and not self._watches.unbound():
                raise Refused(404, "nobody here has asked for this task")
        elif watch.task_id is None:
            if notice.task_id:
                self.bind(watch, notice.task_id)
        elif notice.task_id not in ("", watch.task_id):
            raise Refused(403, "this token is for another task")
        return watch

    async def _enter(self, watch: Watch | None, notice: Notice) -> None:
        task_id = notice.task_id or (watch.task_id if watch is not None else None)
        if task_id:
            if watch is None:
                self._forget_in_time(task_id)
            await self.desk(task_id).line.take(notice)
            return
        if self._on_event is not None:
            await self._on_event(notice.event)
        if watch is not None:
            self._end(watch)

    async def _hand(self, task_id: str, readers: Readers, event: StreamEvent, size: int, seq: int | None) -> None:
        if self._on_event is not None:
            await self._on_event(event)
        readers.put(event, size, seq)
        watch = self._watches.by_task(task_id)
        if watch is not None and state_in(event).terminal:
            self._end(watch)

    def _end(self, watch: Watch) -> None:
        if not watch.over:
            watch.over = True
            self.pass_on(watch)
            self._over(watch)

    def _keep_unread(self, task_id: str) -> None:
        """Keeps what nobody has read of this task, and not for ever that of others which have ended."""
        self._unread.pop(task_id, None)
        self._unread[task_id] = None
        if len(self._unread) > self._limits.unread_tasks:
            oldest = next(iter(self._unread))
            del self._unread[oldest]
            desk = self._desks.get(oldest)
            if desk is not None and desk.readers.state.terminal:
                desk.readers.give_up()

    def _forget_in_time(self, task_id: str) -> None:
        self._passing.pop(task_id, None)
        self._passing[task_id] = None
        if len(self._passing) > self._limits.tasks:
            oldest = next(iter(self._passing))
            del self._passing[oldest]
            self._desks.pop(oldest, None)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _key(watch: Watch | None, headers: Mapping[str, str]) -> tuple[bytes, str] | None:
    """What a delivery is known by: one agent cannot use up the ids of another."""
    delivery = delivery_id(headers)
    return None if delivery is None else (b"" if watch is None else watch.digest, delivery)


async def _verified(verify: Verify, headers: Mapping[str, str], body: bytes) -> None:
    try:
        await verify(headers, body)
    except TransportError as error:
        raise Refused(503, "the signature cannot be verified now", PAUSE) from error
    except DragomanError as error:
        raise Refused(401, f"not verified: {error}") from error
