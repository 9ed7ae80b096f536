"""`task.context`: what else was said and done in the context of a task."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from dragoman.ports.agent import Turn
from dragoman.types.content import Message
from dragoman.types.task import Task

__all__ = ["BlockingConversation", "Conversation"]

MOST = 100
"""The highest number of tasks that can be asked for."""

LOOKED_THROUGH = 20
"""How many tasks are looked through for messages."""

Waiter = Callable[[Coroutine[Any, Any, tuple[Task, ...]]], tuple[Task, ...]]


class Conversation:
    """The other tasks of the context that the caller may see; read from the store when they are asked for."""

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    @property
    def id(self) -> str:
        return self._turn.task.context_id

    async def tasks(self, limit: int = 20) -> tuple[Task, ...]:
        """The tasks, newest status first; at most `limit`, which is 1 to 100.

        Raises:
            ValueError: the limit is none of these.
        """
        return await self._turn.related(_checked(limit))

    async def messages(self, limit: int = 100) -> tuple[Message, ...]:
        """What was said in the histories of the newest 20 tasks, newest first; at most `limit` messages.

        Raises:
            ValueError: the limit is less than 1.
        """
        return _said(await self._turn.related(LOOKED_THROUGH), limit)


class BlockingConversation:
    """`Conversation`, for handlers that run in a thread."""

    def __init__(self, turn: Turn, wait: Waiter) -> None:
        self._turn = turn
        self._wait = wait

    @property
    def id(self) -> str:
        return self._turn.task.context_id

    def tasks(self, limit: int = 20) -> tuple[Task, ...]:
        """As `Conversation.tasks`."""
        return self._wait(self._turn.related(_checked(limit)))

    def messages(self, limit: int = 100) -> tuple[Message, ...]:
        """As `Conversation.messages`."""
        return _said(self._wait(self._turn.related(LOOKED_THROUGH)), limit)


def _checked(limit: int) -> int:
    if not 1 <= limit <= MOST:
        raise ValueError(f"the limit must be between 1 and {MOST}")
    return limit


def _said(tasks: Sequence[Task], limit: int) -> tuple[Message, ...]:
    if limit < 1:
        raise ValueError("the limit must be at least 1")
    return tuple([message for task in tasks for message in reversed(task.history)][:limit])
