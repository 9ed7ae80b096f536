"""How many tasks run at once, whether others wait, and how many of both there are, by caller and in all."""

import math

from dragoman.errors import LimitExceededError
from dragoman.ports.limits import CallLimits

__all__ = ["Slots"]

SOON = 1.0
"""Seconds after which there may be room again: nobody knows."""


class Slots:
    """`most` slots, or as many as are asked for. Who finds none waits in the store, and goes first when one is free.

    `limits` bound those that have a slot or wait for one; they are refused by `check`, before anything is stored. The
    empty caller is the anonymous one, who is everybody.
    """

    def __init__(self, most: int | None, limits: CallLimits) -> None:
        self._most = most
        self._most_per_caller = limits.max_tasks_per_principal or math.inf
        self._most_in_all = limits.max_tasks or math.inf
        self._taken = 0
        self._callers: dict[str, int] = {}
        """How many of each caller have a slot or wait for one."""
        self._waiting: dict[str, str] = {}
        """Tasks that came and found no slot, with their callers."""
        self._queue = False
        self.shut = False
        """Whether none is given out, however many are free."""

    @property
    def queue(self) -> bool:
        """Whether tasks may be waiting in the store."""
        return self._queue

    @queue.setter
    def queue(self, waiting: bool) -> None:
        self._queue = waiting
        if not waiting and self._waiting:
            # Others have taken them, or have ended them.
            for task_id in tuple(self._waiting):
                self.withdraw(task_id)

    @property
    def free(self) -> bool:
        return not self.shut and (self._most is None or self._taken < self._most)

    def check(self, caller: str) -> None:
        """Raises `LimitExceededError` if a further task of this caller is too many."""
        if caller and self._callers.get(caller, 0) >= self._most_per_caller:
            raise _exceeded("tasksPerPrincipal", "Too many tasks that run or are queued")
        if self._taken + len(self._waiting) >= self._most_in_all:
            raise _exceeded("tasks", "This agent has as many tasks as it can have")

    def enter(self, task_id: str, caller: str) -> bool:
        """Takes a slot for a task that has just come, if one is free and nobody waits for it; else it waits."""
        if caller:
            self._callers[caller] = self._callers.get(caller, 0) + 1
        if self.shut or (self._most is not None and (self._queue or self._taken >= self._most)):
            self._queue = True
            self._waiting[task_id] = caller
            return False
        self._taken += 1
        return True

    def advance(self, task_id: str, caller: str) -> bool:
        """Takes a slot for the task that has waited longest, if one is free."""
        if not self.free:
            return False
        self.withdraw(task_id)
        self._taken += 1
        if caller:
            self._callers[caller] = self._callers.get(caller, 0) + 1
        return True

    def withdraw(self, task_id: str) -> None:
        """The task does not wait any more, if it did."""
        caller = self._waiting.pop(task_id, None)
        if caller:
            self._release(caller)

    def leave(self, caller: str) -> None:
        """Gives a slot back."""
        self._taken -= 1
        if caller:
            self._release(caller)

    def _release(self, caller: str) -> None:
        left = self._callers[caller] - 1
        if left:
            self._callers[caller] = left
        else:
            del self._callers[caller]


def _exceeded(limit: str, message: str) -> LimitExceededError:
    error = LimitExceededError(message, details={"limit": limit})
    error.retry_after = SOON
    return error
