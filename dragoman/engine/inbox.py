"""Messages that a run takes while it works, instead of leaving them to the next turn."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from dragoman.engine.persistence import until_available
from dragoman.engine.world import World
from dragoman.ports.tasks import Memo, Posted
from dragoman.types.content import Message

__all__ = ["TurnInbox", "taken_memo"]


def taken_memo(posted: Posted, turn: int) -> Memo:
    """What a turn remembers of a message that it has taken."""
    return Memo(kind="inbox", key=str(posted.n), turn=turn, message=posted.message)


class TurnInbox:
    """Gives each message once, in the order of arrival, and only when it is stored that the turn has taken it. What
    earlier runs of the turn have taken comes first, as they had it.

    `take` has a message stored as taken; the future tells when it is.
    """

    def __init__(
        self, world: World, task_id: str, taken: Sequence[Message], take: Callable[[Posted], asyncio.Future[None]]
    ) -> None:
        self._world = world
        self._task_id = task_id
        self._taken = list(taken)
        self._given = 0
        self._take = take
        self._asked: set[int] = set()
        """Numbers of the messages that this run has had stored as taken, or is having stored."""
        self._news = 0
        self._waiting: list[asyncio.Future[None]] = []
        self._closed = False

    async def receive(self, *, wait: bool) -> Message | None:
        """The next message; waits for one, or gives None. A message whose receiver was cancelled goes to the next."""
        while True:
            if self._given < len(self._taken):
                self._given += 1
                return self._taken[self._given - 1]
            if self._closed:
                raise asyncio.CancelledError
            news = self._news
            posted = await self._next()
            if posted is not None:
                self._asked.add(posted.n)
                await self._take(posted)
            elif not wait:
                return None
            elif news == self._news:
                await self._arrival()

    def taken(self, posted: Sequence[Posted]) -> None:
        """These are stored as taken."""
        self._taken += [one.message for one in posted]
        self.look()

    def look(self) -> None:
        """Something may have come."""
        self._news += 1
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    def close(self) -> None:
        """Nobody is left waiting."""
        self._closed = True
        for waiter in self._waiting:
            waiter.cancel()
        self._waiting.clear()

    async def _next(self) -> Posted | None:
        read = partial(self._world.store.inbox, self._task_id)
        for posted in await until_available(read, self._task_id, given_up=lambda: self._closed):
            if posted.n not in self._asked:
                return posted
        return None

    async def _arrival(self) -> None:
        """Waits for news, or for the time after which the store is asked without any."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting.append(waiter)
        timer = loop.call_later(self._world.limits.keep_alive, self.look)
        try:
            await waiter
        finally:
            timer.cancel()
