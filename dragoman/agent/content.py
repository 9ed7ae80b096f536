"""What handlers give back, as content: text, parts, data, artifacts."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec

from dragoman.errors import InvalidAgentResponseError
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.json import Json

__all__ = ["as_artifact", "as_json", "as_message", "is_model"]


def is_model(kind: Any) -> bool:
    """Whether this class is a Pydantic model, a dataclass or a msgspec Struct."""
    return isinstance(kind, type) and (
        hasattr(kind, "model_validate") or dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct)
    )


def as_json(value: Any) -> Json:
    """A value as plain JSON: models become objects.

    Raises:
        InvalidAgentResponseError: it has no JSON form.
    """
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")  # type: ignore[no-any-return]  # Pydantic is not a dependency
    try:
        return msgspec.to_builtins(value, str_keys=True)  # type: ignore[no-any-return]  # builtins are JSON
    except TypeError as error:
        raise InvalidAgentResponseError(f"a {type(value).__name__} is not content of a task") from error


def as_artifact(value: Any) -> Artifact:
    """Anything but text as an artifact of its own; the id may be empty, to be filled in."""
    if isinstance(value, Artifact):
        return value
    if isinstance(value, Part):
        return Artifact(artifact_id="", parts=(value,), name=value.filename)
    if isinstance(value, bytes):
        return Artifact(artifact_id="", parts=(Part.from_bytes(value, media_type="application/octet-stream"),))
    return Artifact(artifact_id="", parts=(Part(data=as_json(value), media_type="application/json"),))


def as_message(*content: Message | Part | str | Mapping[str, Any]) -> Message:
    """The agent's message of these parts; its id is filled in when it is sent."""
    if len(content) == 1 and isinstance(content[0], Message):
        return content[0]
    parts = tuple(_part(item) for item in content)
    return Message(message_id="", role=Role.AGENT, parts=parts)


def _part(item: Message | Part | str | Mapping[str, Any]) -> Part:
    if isinstance(item, str):
        return Part(text=item)
    if isinstance(item, Part):
        return item
    return Part(data=as_json(item))
