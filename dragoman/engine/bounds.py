"""What a message may ask for, and how many a task takes."""

import asyncio

from dragoman.buckets import Buckets
from dragoman.core.weight import weight_of
from dragoman.engine.world import World
from dragoman.errors import FieldViolation, InvalidParamsError, LimitExceededError, UnsupportedOperationError
from dragoman.ports.limits import CallLimits
from dragoman.ports.tasks import Stored
from dragoman.types.content import Message
from dragoman.types.requests import SendMessageRequest

__all__ = ["Bounds", "check_request"]


def check_request(request: SendMessageRequest, limits: CallLimits) -> None:
    """Raises `InvalidParamsError` if there is more in the message than is taken."""
    message, most = request.message, limits.max_id_length
    if limits.max_parts is not None and len(message.parts) > limits.max_parts:
        raise _too_much("maxParts", "message.parts", f"has more than {limits.max_parts} entries")
    context_id, task_id = message.context_id, message.task_id
    if (
        len(message.message_id) > most
        or (context_id is not None and len(context_id) > most)
        or (task_id is not None and len(task_id) > most)
        or len(request.tenant) > most
    ):
        raise _long_id(request, most)
    if message.reference_task_ids or message.extensions or request.configuration.accepted_output_modes:
        _check_names(request, limits)


def _long_id(request: SendMessageRequest, most: int) -> InvalidParamsError:
    message = request.message
    ids = {
        "message.messageId": message.message_id,
        "message.contextId": message.context_id or "",
        "message.taskId": message.task_id or "",
        "tenant": request.tenant,
    }
    field = next(name for name, value in ids.items() if len(value) > most)
    return _too_much("maxIdLength", field, f"is longer than {most} characters")


def _check_names(request: SendMessageRequest, limits: CallLimits) -> None:
    message = request.message
    ids, names = ("maxIdLength", limits.max_id_length), ("maxNameLength", limits.max_name_length)
    for field, listed, (limit, longest) in (
        ("message.referenceTaskIds", message.reference_task_ids, ids),
        ("message.extensions", message.extensions, names),
        ("configuration.acceptedOutputModes", request.configuration.accepted_output_modes, names),
    ):
        if len(listed) > limits.max_names:
            raise _too_much("maxNames", field, f"has more than {limits.max_names} entries")
        for index, name in enumerate(listed):
            if len(name) > longest:
                raise _too_much(limit, f"{field}[{index}]", f"is longer than {longest} characters")


def _too_much(limit: str, field: str, why: str) -> InvalidParamsError:
    return InvalidParamsError(f"{field} {why}", details={"limit": limit}, violations=(FieldViolation(field, why),))


class Bounds:
    """Holds messages to tasks that are there to how often and how many they may be."""

    def __init__(self, world: World) -> None:
        self._world = world
        rate = world.calls.messages_per_task
        self._tasks: Buckets[str] | None = None if rate is None else Buckets(rate, _now)

    async def check(self, stored: Stored, message: Message) -> None:
        """Whether the task takes a further message now.

        Raises:
            LimitExceededError: there were too many lately.
            UnsupportedOperationError: it is full.
        """
        if self._tasks is not None and (wait := self._tasks.take(stored.task.id)):
            error = LimitExceededError("Too many messages to this task", details={"limit": "messagesPerTask"})
            error.retry_after = wait
            raise error
        most, most_bytes = self._world.calls.max_history, self._world.calls.max_task_bytes
        waiting = () if stored.task.state.interrupted else await self._world.store.inbox(stored.task.id)
        held = [*stored.task.history, *[posted.message for posted in waiting]]
        if most is not None and len(held) >= most:
            raise _full("maxHistory", f"The task has {most} messages, which is the most")
        if most_bytes is not None and sum(map(weight_of, [*held, message])) > most_bytes:
            raise _full("maxTaskBytes", f"The messages of the task have {most_bytes} bytes at most")


def _full(limit: str, message: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(f"{message}; begin another", details={"limit": limit})


def _now() -> float:
    return asyncio.get_running_loop().time()
