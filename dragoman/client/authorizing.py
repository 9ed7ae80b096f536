"""Going on by itself with a task that waits for an authorization (specification section 7.6)."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, cast

from dragoman.client.content import Content, ResultOptions
from dragoman.types.content import Message
from dragoman.types.task import Task, TaskState

if TYPE_CHECKING:
    from dragoman.client.task import TaskHandle

__all__ = ["ROUNDS", "Authorization", "OnAuthRequired", "authorized", "remaining"]

Authorization: TypeAlias = Content | bool | None
OnAuthRequired: TypeAlias = Callable[[Task, Message | None], Authorization | Awaitable[Authorization]]
"""What a caller says when a task waits for an authorization: what to answer; True, if it was given elsewhere and there
is only to wait; None or False if there is none.
"""

ROUNDS = 5
"""How often it is asked for one task in one call."""


async def authorized(handle: "TaskHandle", told: OnAuthRequired, options: ResultOptions) -> "TaskHandle":
    """The task after all rounds; still waiting if there was no answer, or there were too many questions."""
    since = asyncio.get_running_loop().time()
    for _ in range(ROUNDS):
        if handle.state is not TaskState.AUTH_REQUIRED:
            break
        answer = await _said(told, handle.task)
        if answer is None or answer is False:
            break
        handle = handle.granted() if answer is True else await handle.reply(answer)
        await handle.settle(**remaining(options, since))
    return handle


def remaining(options: ResultOptions, since: float) -> ResultOptions:
    """The options with what is left of their deadline."""
    deadline = options.get("deadline")
    if deadline is None:
        return options
    left = max(deadline - (asyncio.get_running_loop().time() - since), 0.0)
    return cast("ResultOptions", {**options, "deadline": left})


async def _said(told: OnAuthRequired, task: Task) -> Authorization:
    message = task.status.message
    is_coroutine = inspect.iscoroutinefunction(told) or inspect.iscoroutinefunction(getattr(told, "__call__", None))  # noqa: B004 -- its kind is asked, not whether it is there
    said = told(task, message) if is_coroutine else await asyncio.to_thread(told, task, message)
    return await said if inspect.isawaitable(said) else said
