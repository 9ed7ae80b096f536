"""One notification, read."""

from collections.abc import Mapping
from typing import NamedTuple

from dragoman.client.receiver.refusal import Refused
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.reliable import unnumbered
from dragoman.types.task import Task

__all__ = ["Notice", "delivery_id", "notice_of"]

LONGEST_ID = 1024
LONGEST_NUMBER = 18


class Notice(NamedTuple):
    """An event, the task that it is about (empty for a direct answer), and its number in the task's log, if the agent
    says that; `size` is how many bytes it came in.
    """

    event: StreamEvent
    task_id: str
    seq: int | None
    size: int


def delivery_id(headers: Mapping[str, str]) -> str | None:
    """What the agent calls this delivery, the same each time that it is tried.

    Raises:
        Refused: it is too long to be remembered.
    """
    named = headers.get("webhook-id") or headers.get("idempotency-key")
    if named is not None and len(named) > LONGEST_ID:
        raise Refused(400, "the id of the delivery is too long")
    return named


def notice_of(event: StreamEvent, delivery: str | None, size: int) -> Notice:
    """The event with what the id of its delivery tells: `<task>:<number>:<configuration>`; other ids tell nothing."""
    event = unnumbered(event)
    if isinstance(event, Message):
        return Notice(event, "", None, size)
    task_id = event.id if isinstance(event, Task) else event.task_id
    return Notice(event, task_id, _number(delivery or "", task_id), size)


def _number(delivery: str, task_id: str) -> int | None:
    start = f"{task_id}:"
    if not task_id or not delivery.startswith(start):
        return None
    digits, colon, _ = delivery.removeprefix(start).partition(":")
    plausible = colon and digits.isascii() and digits.isdigit() and len(digits) <= LONGEST_NUMBER
    return (int(digits) or None) if plausible else None
