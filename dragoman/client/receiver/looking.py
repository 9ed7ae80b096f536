"""The task as it is, for a receiver that has missed something."""

from contextlib import aclosing
from typing import TYPE_CHECKING

from dragoman.errors import (
    InvalidParamsError,
    MethodNotFoundError,
    TaskNotFoundError,
    TimedOut,
    UnsupportedOperationError,
)
from dragoman.types.reliable import number_of, unnumbered
from dragoman.types.requests import GetTaskRequest, SubscribeToTaskRequest
from dragoman.types.task import Task

if TYPE_CHECKING:
    from dragoman.client.client import Client

__all__ = ["looked"]

LONGEST = 30.0
"""Seconds that a look may take."""

# As agents answer to a subscription that cannot be: the task has ended, nobody runs it, or there are none.
_NO_SUBSCRIPTION = (UnsupportedOperationError, InvalidParamsError, MethodNotFoundError, TaskNotFoundError)


async def looked(client: "Client", task_id: str) -> tuple[Task, int | None]:
    """The task, and the number of the last event in it where the agent numbers them. Raises as the client does."""
    import asyncio

    try:
        async with asyncio.timeout(LONGEST):
            return await _looked(client, task_id)
    except TimeoutError as error:
        raise TimedOut("The task did not come in time") from error


async def _looked(client: "Client", task_id: str) -> tuple[Task, int | None]:
    try:
        # Only a subscription tells what number the task is at.
        async with aclosing(client.subscribe_to_task(SubscribeToTaskRequest(id=task_id))) as events:
            async for event in events:
                if isinstance(event, Task) and (number := number_of(event)) is not None:
                    return unnumbered(event), number
                break
    except _NO_SUBSCRIPTION:
        pass
    return await client.get_task(GetTaskRequest(id=task_id)), None
