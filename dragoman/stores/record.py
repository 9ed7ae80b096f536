"""The stored form of values: JSON, each with the number of its form, so that later versions read what this one wrote.

A record is the array `[form, value]`. Members that a reader does not know are ignored; a form that it does not know
is refused. This is never a wire format: wires change without the database.
"""

from typing import Generic, TypeVar

import msgspec

from dragoman.errors import StoreUnavailable
from dragoman.ports.tasks import Entry, Memo, TurnStart
from dragoman.types.content import Artifact, Message
from dragoman.types.task import Task, TaskStatus

__all__ = [
    "FORM",
    "Letter",
    "check",
    "decode_artifacts",
    "decode_entries",
    "decode_letter",
    "decode_memo",
    "decode_message",
    "decode_start",
    "decode_status",
    "decode_task",
    "encode",
    "encode_task",
    "intact",
]

FORM = 1
"""The form that is written, and the highest that is read."""

T = TypeVar("T")


class Letter(msgspec.Struct, frozen=True):
    """A message in an inbox, with what will begin its turn."""

    message: Message
    start: TurnStart


class _Record(msgspec.Struct, Generic[T], array_like=True):
    form: int
    value: T


_encoder = msgspec.json.Encoder()
_encode = _encoder.encode
_encode_into = _encoder.encode_into
_unused = bytearray()
_tasks = msgspec.json.Decoder(_Record[Task])
_artifacts = msgspec.json.Decoder(_Record[tuple[Artifact, ...]])
_entries = msgspec.json.Decoder(_Record[tuple[Entry, ...]])
_starts = msgspec.json.Decoder(_Record[TurnStart])
_memos = msgspec.json.Decoder(_Record[Memo])
_letters = msgspec.json.Decoder(_Record[Letter])
_any = msgspec.json.Decoder(_Record[msgspec.Raw])
_messages = msgspec.json.Decoder(_Record[Message])
_statuses = msgspec.json.Decoder(_Record[TaskStatus])


def encode(value: tuple[Entry, ...] | TurnStart | Memo | Letter | Message | TaskStatus) -> bytes:
    """The record of a value."""
    return _encode((FORM, value))


def check(value: object) -> None:
    """Raises what `encode` raises for a value that has no record."""
    _encode_into(value, _unused)


def intact(body: bytes) -> bytes:
    """The record itself, whatever it holds.

    Raises:
        StoreUnavailable: it is no record at all.
    """
    _value(_any, body)
    return body


def encode_task(task: Task) -> tuple[bytes, bytes]:
    """The records of a task without its artifacts, and of its artifacts: nothing at all if there are none."""
    if not task.artifacts:
        return _encode((FORM, task)), b""
    return _encode((FORM, msgspec.structs.replace(task, artifacts=()))), _encode((FORM, task.artifacts))


def decode_task(body: bytes, artifacts: bytes = b"") -> Task:
    """The task; without artifacts if their record is not given."""
    task = _value(_tasks, body)
    return msgspec.structs.replace(task, artifacts=decode_artifacts(artifacts)) if artifacts else task


def decode_artifacts(body: bytes) -> tuple[Artifact, ...]:
    return _value(_artifacts, body)


def decode_entries(body: bytes) -> tuple[Entry, ...]:
    return _value(_entries, body)


def decode_start(body: bytes) -> TurnStart:
    return _value(_starts, body)


def decode_memo(body: bytes) -> Memo:
    return _value(_memos, body)


def decode_message(body: bytes) -> Message:
    return _value(_messages, body)


def decode_status(body: bytes) -> TaskStatus:
    return _value(_statuses, body)


def decode_letter(body: bytes) -> Letter:
    return _value(_letters, body)


def _value(decoder: msgspec.json.Decoder[_Record[T]], body: bytes) -> T:
    try:
        record = decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StoreUnavailable("A stored record is damaged, or was written by a later version") from error
    if record.form > FORM:
        raise StoreUnavailable(f"A stored record has form {record.form}; this version reads up to {FORM}")
    return record.value
