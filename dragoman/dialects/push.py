"""Notifications that are posted to webhooks (section 4.3.3): written in the dialect of a registration, read from all.

1.0 and the draft post a StreamResponse, each in its spelling. 0.3 posts the bare Task whatever has happened, so that is
what a pusher gives here; other events are written as bare as some of its servers post them, and read so.
"""

from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from dragoman.dialects.codec import Codec
from dragoman.dialects.draft.codecs import RESULTS as DRAFT_RESULTS
from dragoman.dialects.failures import JSON_TYPES, media_type
from dragoman.dialects.sniff import DRAFT, FINAL, OLD, Line
from dragoman.dialects.v0_3.codecs import RPC_RESULTS as OLD_RESULTS
from dragoman.dialects.v1_0.codecs import RESULTS as FINAL_RESULTS
from dragoman.errors import ContentTypeNotSupportedError, InvalidParamsError, ParseError, ReplyMalformed
from dragoman.operations import SUBSCRIBE_TO_TASK
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.task import Task

__all__ = ["posts_whole_tasks", "push_version", "read_push", "write_push"]

_MEDIA_TYPES: dict[Line, str] = {FINAL: "application/a2a+json", DRAFT: "application/json", OLD: "application/json"}
_LINES: dict[str, Line] = {FINAL: FINAL, DRAFT: DRAFT, OLD: OLD}
_CANNOT = "The agent's answer cannot be read: "
_VERSIONS: dict[Line, str] = {FINAL: "1.0", DRAFT: "1.0", OLD: "0.3"}
_CODECS: dict[Line, Codec[Any, Any] | None] = {
    FINAL: FINAL_RESULTS[SUBSCRIBE_TO_TASK],
    DRAFT: DRAFT_RESULTS[SUBSCRIBE_TO_TASK],
    OLD: OLD_RESULTS[SUBSCRIBE_TO_TASK],
}


def _codec(line: Line) -> Codec[Any, Any]:
    codec = _CODECS[line]
    assert codec is not None
    return codec


_encode = msgspec.json.Encoder().encode


class _Kind(msgspec.Struct):
    """What bodies of 0.3 say, and only they."""

    kind: str | None = None


_kind = msgspec.json.Decoder(_Kind).decode
_value = msgspec.json.Decoder[Any]().decode


def _line(dialect_key: str) -> Line:
    return _LINES[dialect_key.partition("/")[0]]


def posts_whole_tasks(dialect_key: str) -> bool:
    """Whether notifications of this dialect are always the task as it is; not of one that there is not."""
    return dialect_key.partition("/")[0] == OLD


def push_version(dialect_key: str) -> str:
    """What the header `A2A-Version` of a notification says; raises as `write_push` does."""
    return _VERSIONS[_line(dialect_key)]


def write_push(dialect_key: str, event: StreamEvent) -> tuple[str, bytes]:
    """The media type and the body of a notification for whoever has registered in this dialect.

    Raises:
        KeyError: there is no such dialect here.
    """
    line = _line(dialect_key)
    return _MEDIA_TYPES[line], _encode(_codec(line).write(event))


def read_push(body: bytes, content_type: str, dialect_key: str = "") -> StreamEvent:
    """What a notification says, in whatever dialect it is.

    Servers post in other dialects than that of the registration too, so what the body is spelled in counts, and
    `dialect_key` only where that does not tell.

    Raises:
        ContentTypeNotSupportedError: a media type is stated, and it is not one of JSON.
        ParseError: the body is not JSON.
        InvalidParamsError: it is not an event, or not one of anything that has an id.
    """
    stated = media_type({"content-type": content_type})
    if stated and stated not in JSON_TYPES:
        raise ContentTypeNotSupportedError("A notification is application/json or application/a2a+json")
    try:
        kind = _kind(body).kind
        event: StreamEvent = _codec(OLD if kind else _spelled(body, dialect_key)).decode(body)
    except msgspec.ValidationError:
        raise InvalidParamsError("The notification is not an object with an event in it") from None
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise ParseError("The notification is not JSON") from None
    except ReplyMalformed as error:
        # What the sender has sent is not said back to it.
        why = str(error).removesuffix(f": {error.excerpt}").removeprefix(_CANNOT)
        raise InvalidParamsError(f"The notification cannot be read: {why}") from None
    if not _names_something(event):
        raise InvalidParamsError("The notification does not say what it is about")
    return event


def _names_something(event: StreamEvent) -> bool:
    match event:
        case Task():
            return bool(event.id)
        case Message():
            return bool(event.message_id)
        case _:
            return bool(event.task_id)


def _spelled(body: bytes, dialect_key: str) -> Line:
    """1.0 or the draft. What is read otherwise are data in parts, so only where there are some it matters."""
    if b'"data"' not in body:
        return FINAL
    words = [word for word in _words(_value(body)) if isinstance(word, str)]
    if any(word.islower() for word in words):
        return DRAFT
    return FINAL if words or not dialect_key else _line(dialect_key)


def _words(value: Any) -> Iterator[Any]:
    """The names of states and roles, which the draft has in lower case."""
    given = _objects([value])
    for event in _objects([*given, *[member for one in given for member in one.values()]]):
        yield event.get("role")
        for status in _objects([event.get("status")]):
            yield status.get("state")
        for message in _objects(event.get("history")):
            yield message.get("role")


def _objects(values: Any) -> list[dict[str, Any]]:
    listed = cast("Sequence[Any]", values if isinstance(values, list) else ())
    return [cast("dict[str, Any]", one) for one in listed if isinstance(one, dict)]
