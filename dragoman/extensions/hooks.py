"""Extensions in a row: which of them a call has activated, and their hooks one after the other."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, cast

from dragoman.errors import ConfigurationError
from dragoman.extensions.extension import Emitted, ExtendedCall, Extension
from dragoman.operations import Operation
from dragoman.ports.call import CallContext
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent, TaskStatusUpdateEvent, TaskUpdate

__all__ = ["ActivatedHooks", "AgentExtensions", "check_uris", "passed"]

log = logging.getLogger("dragoman.extensions")

Said = TypeVar("Said", bound=Message | TaskUpdate)
Value = TypeVar("Value")
Hook = Callable[[Any, ExtendedCall], Any]

LONGEST = 30.0
"""Seconds that an agent waits for one hook."""
_OF_CALLS = ("on_request", "on_response", "on_event")


def check_uris(uris: Iterable[str]) -> None:
    """Raises `ConfigurationError` if one of them cannot be named in a list with commas, or is there twice."""
    seen: set[str] = set()
    for uri in uris:
        if not uri.isascii() or not uri.isprintable() or not uri or "," in uri or " " in uri:
            raise ConfigurationError(f"an extension needs a URI without commas and white space, not {uri!r}")
        if uri in seen:
            raise ConfigurationError(f"the extension {uri} is there twice")
        seen.add(uri)


async def passed(hooks: Iterable[Hook], value: Value, call: ExtendedCall, *, seconds: float | None = None) -> Value:
    """The value as it comes out of the last of the hooks.

    Raises:
        TypeError: one of them gave something of another type.
        TimeoutError: one of them took longer than so many seconds.
    """
    for hook in hooks:
        made = hook(value, call)
        if inspect.isawaitable(made):
            async with asyncio.timeout(seconds):
                made = await made
        if type(made) is not type(value):
            raise TypeError(f"{hook.__qualname__} gave {type(made).__name__} for {type(value).__name__}")
        value = made
    return value


class AgentExtensions:
    """The extensions of one agent, as the engine has them do their work."""

    def __init__(self, extensions: Sequence[Extension]) -> None:
        self._of_calls = {one.uri: one for one in extensions if any(_writes(one, hook) for hook in _OF_CALLS)}
        self._emitting = {one.uri: one for one in extensions if _writes(one, "on_emit")}

    def hooks(self, operation: Operation, context: CallContext) -> "ActivatedHooks | None":
        named = context.parameters.extensions
        active = [extension for uri, extension in self._of_calls.items() if uri in named]
        if not active:
            return None
        call = ExtendedCall(operation=operation.name, extensions=named, principal=context.principal)
        return ActivatedHooks(active, call)

    def emitted(self, extensions: tuple[str, ...], said: Said) -> Said:
        for uri, extension in self._emitting.items():
            if uri in extensions:
                said = _emitted(extension, said)
        return said


class ActivatedHooks:
    """The hooks of the extensions that are in force for one call."""

    def __init__(self, active: Sequence[Extension], call: ExtendedCall) -> None:
        self._call = call
        self._requests = [one.on_request for one in active if _writes(one, "on_request")]
        outwards = active[::-1]
        self._responses = [one.on_response for one in outwards if _writes(one, "on_response")]
        self._events = [one.on_event for one in outwards if _writes(one, "on_event")]

    async def request(self, request: Any) -> Any:
        return await passed(self._requests, request, self._call, seconds=LONGEST)

    async def response(self, result: Any) -> Any:
        # What a deletion answers is nothing.
        return None if result is None else await passed(self._responses, result, self._call, seconds=LONGEST)

    async def event(self, event: StreamEvent) -> StreamEvent:
        return await passed(self._events, event, self._call, seconds=LONGEST)


def _writes(extension: Extension, hook: str) -> bool:
    """Whether the extension has something of its own to do here."""
    return getattr(type(extension), hook) is not getattr(Extension, hook)


def _emitted(extension: Extension, said: Said) -> Said:
    try:
        made = extension.on_emit(said)
        if type(made) is type(said) and _place(made) == _place(said):
            return cast("Said", made)
        log.error("the extension %s gave something else for what it was to extend", extension.uri)
    except Exception:
        log.exception("the extension %s failed; what was said is stored as it was", extension.uri)
    return said


def _place(said: Emitted) -> tuple[Any, ...]:
    """What is not an extension's to change: where this belongs, and what it does to the task."""
    if isinstance(said, Message):
        return said.message_id, said.role, said.task_id, said.context_id
    if isinstance(said, TaskStatusUpdateEvent):
        return said.task_id, said.context_id, said.status.state
    return said.task_id, said.context_id, said.artifact.artifact_id, said.append, said.last_chunk
