"""What callers may say, made into messages."""

import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, TypedDict, cast, runtime_checkable

import msgspec

from dragoman.types.content import Message, Part, Role
from dragoman.types.json import Json, JsonObject
from dragoman.types.push import AuthenticationInfo
from dragoman.types.requests import SendMessageConfiguration, SendMessageRequest

if TYPE_CHECKING:
    from dragoman.client.receiver import Receiver, ReceiverLimits, Signature

__all__ = [
    "Content",
    "PydanticModel",
    "ReceiverOptions",
    "ReplyOptions",
    "ResultOptions",
    "SendOptions",
    "SingleContent",
    "StartOptions",
    "WaitOptions",
    "request_of",
]


@runtime_checkable
class PydanticModel(Protocol):
    """A Pydantic model, known by its method."""

    def model_dump(self, *, mode: str = ..., by_alias: bool | None = ...) -> dict[str, Any]: ...


@runtime_checkable
class _DataclassInstance(Protocol):
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]


SingleContent: TypeAlias = str | bytes | Part | Mapping[str, Json] | PydanticModel | msgspec.Struct | _DataclassInstance
"""One part: text, bytes (an inline file), a part as it is, or a JSON object or model (a data part)."""

Content: TypeAlias = SingleContent | Message | Sequence[SingleContent]
"""What a caller may send: one part, several, or a whole message."""


class WaitOptions(TypedDict, total=False):
    """How long to wait, and what becomes of the task then."""

    deadline: float | None
    """Seconds after which `TaskUnfinished` is raised; by default there is no limit."""
    cancel_remote: bool
    """Cancels the task too when its caller stops waiting: is canceled, leaves the stream, or has its deadline pass."""


class ResultOptions(WaitOptions, total=False):
    """How to hear of the outcome."""

    via: "Receiver"
    """Waits for what this receiver is pushed instead of keeping a stream open, and looks at the task at the end."""


class ReplyOptions(TypedDict, total=False):
    """What may go with a follow-up."""

    metadata: JsonObject
    """Of the message."""
    request_metadata: JsonObject
    """Of the request around it."""
    output_modes: Sequence[str]
    """Media types that the caller accepts; by default any."""
    history_length: int
    """How much history the task in the answer may have; 0 is none."""


class SendOptions(ReplyOptions, WaitOptions, total=False):
    """What may go with a message. Naming a task continues it; naming only a context begins another task there."""

    context_id: str
    task_id: str
    reference_task_ids: Sequence[str]


class ReceiverOptions(TypedDict, total=False):
    """What a receiver of notifications takes from whom."""

    token: str
    """Good for configurations that somebody else makes, beside the token that each of ours has of its own."""
    authentication: AuthenticationInfo
    """What the agent is to authenticate with, beside the token."""
    signature: "Signature"
    """Verifies each notification; what was not signed is refused then."""
    any_task: bool
    """Takes what is pushed of tasks that nobody here has asked for, from senders who know `token`."""
    limits: "ReceiverLimits"
    """What it bears."""


class StartOptions(SendOptions, total=False):
    """What may go with a message whose outcome is heard of later."""

    webhook: "Receiver"
    """Has the agent push what happens to this receiver."""


_KNOWN = frozenset(StartOptions.__annotations__)


def request_of(content: Content, options: SendOptions, *, return_immediately: bool = False) -> SendMessageRequest:
    """The request that sends this, with a message id of its own. A whole message keeps its id; options win over it.

    Raises:
        TypeError: the content, or an item of it, is nothing that can be sent; or there is no such option.
        ValueError: there is no content.
    """
    unknown = options.keys() - _KNOWN
    if unknown:
        # One that is misspelt would begin another task where it was to continue one.
        raise TypeError(f"there is no option {', '.join(sorted(unknown))}")
    return SendMessageRequest(
        message=_message(content, options),
        configuration=SendMessageConfiguration(
            accepted_output_modes=tuple(options.get("output_modes", ())),
            history_length=options.get("history_length"),
            return_immediately=return_immediately,
        ),
        metadata=options.get("request_metadata"),
    )


def _message(content: Content, options: SendOptions) -> Message:
    given: dict[str, Any] = {
        "context_id": options.get("context_id"),
        "task_id": options.get("task_id"),
        "metadata": options.get("metadata"),
        "reference_task_ids": tuple(options.get("reference_task_ids", ())),
    }
    stated = {name: value for name, value in given.items() if value}
    if isinstance(content, Message):
        return msgspec.structs.replace(content, **stated)
    return Message(message_id=uuid.uuid4().hex, role=Role.USER, parts=_parts(content), **stated)


def _parts(content: SingleContent | Sequence[SingleContent]) -> tuple[Part, ...]:
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        if not content:
            raise ValueError("A message needs at least one part")
        return tuple(_part(item) for item in content)
    return (_part(content),)


def _part(item: Any) -> Part:
    match item:
        case Part():
            return item
        case str():
            return Part(text=item)
        case bytes():
            return Part.from_bytes(item, media_type="application/octet-stream")
        case Mapping():
            return Part(data=dict(cast("Mapping[str, Json]", item)))
        case PydanticModel() if not isinstance(item, type):
            return Part(data=item.model_dump(mode="json", by_alias=True))
        case msgspec.Struct() | _DataclassInstance() if not isinstance(item, type | Message):
            return Part(data=msgspec.to_builtins(item))
        case _:
            raise TypeError(f"{type(item).__name__} cannot be sent; use str, bytes, Part, a mapping or a model")
