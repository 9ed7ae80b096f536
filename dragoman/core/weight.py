"""How much an event weighs in memory, as estimated: for buffers that are bounded."""

from collections.abc import Iterable

import msgspec

from dragoman.types.content import Message, Part
from dragoman.types.events import TaskStatusUpdateEvent, TaskUpdate

__all__ = ["weight"]

_EVENT_BYTES = 400
_PART_BYTES = 100


def weight(event: TaskUpdate, received: Message | None = None) -> int:
    """Bytes that the event takes, with the message that goes with it, if one does."""
    size = _message(event.status.message) if isinstance(event, TaskStatusUpdateEvent) else _parts(event.artifact.parts)
    return _EVENT_BYTES + size + _message(received)


def _message(message: Message | None) -> int:
    return 0 if message is None else _parts(message.parts)


def _parts(parts: Iterable[Part]) -> int:
    return sum([_PART_BYTES + _part(part) for part in parts])


def _part(part: Part) -> int:
    if part.text is not None:
        return len(part.text)
    if part.base64 is not None:
        return len(part.base64)
    return 0 if part.data is msgspec.UNSET else len(msgspec.json.encode(part.data))
