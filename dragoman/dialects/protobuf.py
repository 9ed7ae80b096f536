"""Protobuf messages to canonical values and back, by tables.

A `Record` is one message type with a row for each field; a `Union` is one whose fields are alternatives. They read a
message into the value it stands for, and write a value into an empty message. As in JSON, an empty string is the same
as none unless the field has presence, and what is wrong with a request is said for each field by its path, in proto
names. Most readers, this one among them, stop at 100 nested messages, which are 33 nested objects of JSON; writers do
not.
"""

from collections.abc import Callable
from typing import Any, Protocol

from msgspec import UNSET

from dragoman import _proto
from dragoman.dialects.scalars import Findings
from dragoman.errors import ParseError, ReplyMalformed

__all__ = [
    "ALWAYS",
    "NEVER",
    "STRICT",
    "Codec",
    "Field",
    "Flag",
    "Path",
    "Record",
    "Row",
    "Shape",
    "Text",
    "Union",
    "say",
]

Path = tuple[Any, "str | int"] | None
"""Where a message stands, inside out: the path of what holds it, and a field name or an index. Spelled only in need."""

NEVER, STRICT, ALWAYS = range(3)
"""When a field that is missing is a fault: never, in requests, in replies too."""


def say(found: Findings, path: Path, description: str) -> None:
    """Notes what is wrong with the field at the path."""
    names: list[str] = []
    while path is not None:
        path, name = path
        names.append(f"[{name}]" if isinstance(name, int) else f".{name}")
    found.add("".join(reversed(names)).removeprefix("."), description)


class Shape(Protocol):
    """What reads and writes a whole message. `read` gives something unusable once there are violations."""

    def read(self, message: Any, found: Findings, path: Path) -> Any: ...

    def write(self, value: Any, message: Any) -> None: ...


class Field(Protocol):
    """What reads and writes one field: into the members of a value, from the value that holds them."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None: ...

    def write(self, value: Any, message: Any) -> None: ...


class Row:
    """A field with a name on each side. `missing` stands for an absent field, unless `need` makes that a fault."""

    def __init__(self, name: str, wire: str = "", *, need: int = NEVER, missing: Any = UNSET) -> None:
        self.name = name
        self.wire = wire or name
        self.need = need
        self.missing = missing


class Text(Row):
    """A string without presence; an empty one is absent. The record itself reads and writes it."""


class Flag(Row):
    """A bool or a number without presence; likewise."""


class Record:
    """A message that is one value, made by `make` from its members; `tidy` has a look at them before."""

    def __init__(
        self, make: Callable[..., Any], *fields: Row | Field, tidy: Callable[[dict[str, Any]], None] | None = None
    ) -> None:
        self._make = make
        self._tidy = tidy
        self._plain = [(field.name, field.wire) for field in fields if isinstance(field, Text | Flag)]
        self._fields: list[Any] = [field for field in fields if not isinstance(field, Text | Flag)]
        rows = [field for field in fields if isinstance(field, Row)]
        self._required = {
            strict: tuple((row.name, row.wire) for row in rows if row.need >= (STRICT if strict else ALWAYS))
            for strict in (True, False)
        }
        self._missing = {
            strict: {
                row.name: row.missing
                for row in rows
                if row.missing is not UNSET and (row.name, row.wire) not in self._required[strict]
            }
            for strict in (True, False)
        }

    def read(self, message: Any, found: Findings, path: Path) -> Any:
        members = self._missing[found.strict].copy()
        for name, wire in self._plain:
            if value := getattr(message, wire):
                members[name] = value
        for field in self._fields:
            field.read(message, members, found, path)
        for name, wire in self._required[found.strict]:
            if name not in members:
                say(found, (path, wire), "is required")
        if found.violations:
            return None
        if self._tidy is not None:
            self._tidy(members)
        return self._make(**members)

    def write(self, value: Any, message: Any) -> None:
        for name, wire in self._plain:
            if given := getattr(value, name):
                setattr(message, wire, given)
        for field in self._fields:
            field.write(value, message)


class Union:
    """A message that is one of several values, each in a field of its own; which one says the type of the value."""

    def __init__(self, oneof: str, **choices: tuple[type, Shape]) -> None:
        self.oneof = oneof
        self._shapes = {wire: shape for wire, (_, shape) in choices.items()}
        self._by_type = {kind: (wire, shape) for wire, (kind, shape) in choices.items()}
        self._complaint = "must have one of " + ", ".join(choices)

    def has(self, value: Any) -> bool:
        """Whether the value is one of them."""
        return type(value) in self._by_type

    def read(self, message: Any, found: Findings, path: Path) -> Any:
        wire = message.WhichOneof(self.oneof)
        if wire is None:
            say(found, path, self._complaint)
            return None
        return self._shapes[wire].read(getattr(message, wire), found, (path, wire))

    def write(self, value: Any, message: Any) -> None:
        wire, shape = self._by_type[type(value)]
        inner = getattr(message, wire)
        inner.SetInParent()
        shape.write(value, inner)


class Codec:
    """The values of one message as bytes. `strict` codecs read requests, the others read replies leniently."""

    def __init__(self, message: str, shape: Shape, *, strict: bool = False) -> None:
        self.message = message
        self._shape = shape
        self._strict = strict

    def decode(self, body: bytes) -> Any:
        """The value of a serialized message. Unknown fields are ignored.

        Raises:
            ParseError: the bytes are no such message (strict).
            InvalidParamsError: names every field that is wrong (strict).
            ReplyMalformed: either, in a reply.
        """
        found = Findings(strict=self._strict)
        try:
            value = self._shape.read(_proto.parse(self.message, body), found, None)
        except ValueError as error:
            if self._strict:
                raise ParseError(f"Invalid message: {error}") from None
            raise ReplyMalformed(f"The agent's answer cannot be read: {error}") from None
        if found.violations:
            raise found.refusal()
        return value

    def encode(self, value: Any) -> bytes:
        """The serialized message; the same value gives the same message, but not always the same bytes."""
        message = _proto.message(self.message)()
        self._shape.write(value, message)
        body: bytes = message.SerializeToString()
        return body
