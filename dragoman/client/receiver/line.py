"""One task's events, in order and one at a time, whatever order and how often they come in."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress

from dragoman.client.receiver.notice import Notice
from dragoman.client.receiver.refusal import Refused
from dragoman.errors import A2AError, TransportError, UnavailableError
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent
from dragoman.types.task import Task

__all__ = ["Line", "Look"]

log = logging.getLogger("dragoman.client")

PAUSE = 5.0
"""Seconds after which an agent is to come again whose task could not be looked at."""
END = sys.maxsize
"""Where a line is whose task has ended: nothing comes after it."""

Look = Callable[[str], Awaitable[tuple[Task, int | None]]]
"""The task as it is, and the number of the last event in it, if the agent says it."""


class Line:
    """The events of one task. `last` is the number of the last one that was handed on: 0 before the first, None if the
    first is not known.

    An event that comes too early waits for those before it, but not for long; then the task as it is takes the place of
    all of them. What a task that was handed on covers is not handed on again. Events without numbers go on as they
    come.
    """

    def __init__(
        self,
        hand: Callable[[StreamEvent, int, int | None], Awaitable[None]],
        look: Look | None,
        patience: float,
        last: int | None = None,
    ) -> None:
        self.last = last
        self._hand = hand
        self._look = look
        self._patience = patience
        self._turn = asyncio.Lock()
        self._moved = asyncio.Event()
        self._blurred = False
        """Whether a task was handed on of which it is not known which events are in it."""

    async def take(self, notice: Notice) -> None:
        """Ends when the event has been handed on, or was before; raises what handing it on raises.

        Raises:
            Refused: events are missing, and the task cannot be looked at now.
        """
        if notice.seq is not None and not isinstance(notice.event, Task):
            with suppress(TimeoutError):
                async with asyncio.timeout(self._patience):
                    await self._reached(notice.seq - 1)
        async with self._turn:
            if notice.seq is not None and self.last is not None and notice.seq <= self.last:
                return
            event, reached = notice.event, notice.seq
            if self._lacks(notice):
                event, reached = await self._made_up(notice)
            await self._hand(event, notice.size, reached)
            self._move(event, reached)

    async def _reached(self, seq: int) -> None:
        while self.last is not None and self.last < seq:
            await self._moved.wait()

    def _move(self, event: StreamEvent, reached: int | None) -> None:
        if isinstance(event, Task) and event.state.terminal and reached is not None:
            reached = END
        if reached is not None:
            self.last = reached
            self._moved.set()
            self._moved = asyncio.Event()

    def _lacks(self, notice: Notice) -> bool:
        """Whether the task is needed in place of the event."""
        event = notice.event
        if notice.seq is None or isinstance(event, Message):
            return False
        if isinstance(event, Task):
            self._blurred = False
            return False
        missing = self.last is not None and notice.seq > self.last + 1
        return missing or (self._blurred and isinstance(event, TaskArtifactUpdateEvent) and event.append)

    async def _made_up(self, notice: Notice) -> tuple[StreamEvent, int | None]:
        if self._look is None:
            return notice.event, notice.seq
        try:
            task, number = await self._look(notice.task_id)
        except (TransportError, UnavailableError) as error:
            raise Refused(503, "events are missing, and the task cannot be looked at now", PAUSE) from error
        except A2AError as error:
            log.warning("events of the task %s are missing, and it cannot be looked at: %s", notice.task_id, error)
            return notice.event, notice.seq
        self._blurred = number is None
        return task, max(number or 0, notice.seq or 0)
