"""`task.inbox`: messages that come while the handler works, for handlers that take them."""

from collections.abc import Callable, Coroutine
from typing import Any, Self

from dragoman.ports.agent import Turn
from dragoman.types.content import Message

__all__ = ["BlockingInbox", "Inbox"]

Waiter = Callable[[Coroutine[Any, Any, Message | None]], Message | None]


class Inbox:
    """The messages that callers send to the task while it is worked on, oldest first.

    A message that the handler takes is part of this turn; those that it leaves begin the next turns, one each. What was
    taken stays taken, and a handler that runs again gets the same messages again, in the same order, before new ones.
    """

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def __aiter__(self) -> Self:
        """Gives each message as it comes, and waits for the next without end: leave the loop to go on."""
        return self

    async def __anext__(self) -> Message:
        message = await self._turn.receive(wait=True)
        if message is None:
            raise StopAsyncIteration
        return message

    async def take(self) -> Message | None:
        """The next message, if one is there."""
        return await self._turn.receive(wait=False)


class BlockingInbox:
    """`Inbox`, for handlers that run in a thread."""

    def __init__(self, turn: Turn, wait: Waiter) -> None:
        self._turn = turn
        self._wait = wait

    def __iter__(self) -> Self:
        """As `Inbox.__aiter__`."""
        return self

    def __next__(self) -> Message:
        message = self._wait(self._turn.receive(wait=True))
        if message is None:
            raise StopIteration
        return message

    def take(self) -> Message | None:
        """As `Inbox.take`."""
        return self._wait(self._turn.receive(wait=False))
