"""How much an event weighs in memory, as estimated: for buffers that are bounded."""

from collections.abc import Iterable

import msgspec

from dragoman.types.content import Artifact, Message, Part
from dragoman.types.events import TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.json import JsonObject

__all__ = ["size_of", "weight", "weight_of"]

_EVENT_BYTES = 400
_PART_BYTES = 100


def weight(event: TaskUpdate, received: Message | None = None) -> int:
    """Bytes that the event takes, with the message that goes with it, if one does."""
    size = weight_of(event.status.message) if isinstance(event, TaskStatusUpdateEvent) else size_of(event.artifact)
    return _EVENT_BYTES + size + weight_of(received)


def weight_of(message: Message | None) -> int:
    """Bytes that the message takes; none if there is none."""
    return 0 if message is None else _parts(message.parts) + _metadata(message.metadata)


def size_of(artifact: Artifact) -> int:
    """Bytes that the artifact takes, or a chunk of it."""
    return _parts(artifact.parts) + _metadata(artifact.metadata)


def _parts(parts: Iterable[Part]) -> int:
    return sum([_PART_BYTES + _part(part) for part in parts])


def _metadata(metadata: JsonObject | None) -> int:
    return 0 if metadata is None else len(msgspec.json.encode(metadata))


def _part(part: Part) -> int:
    return _metadata(part.metadata) + _content(part)


def _content(part: Part) -> int:
    if part.text is not None:
        return len(part.text)
    if part.base64 is not None:
        return len(part.base64)
    return 0 if part.data is msgspec.UNSET else len(msgspec.json.encode(part.data))
