"""Kinds of fields of protobuf messages, as rows of tables."""

from typing import Any

from msgspec import UNSET

from dragoman.dialects.protobuf import NEVER, Path, Row, Shape, say
from dragoman.dialects.scalars import INT32, Findings
from dragoman.dialects.wellknown import moment_of, read_members, write_members, write_moment

__all__ = ["Enum", "Items", "JsonMembers", "Number", "Stated", "Sub", "TextMap", "Time", "Words"]


class Words(Row):
    """Repeated strings."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:  # noqa: ARG002 -- the protocol's
        if words := getattr(message, self.wire):
            members[self.name] = tuple(words)

    def write(self, value: Any, message: Any) -> None:
        if words := getattr(value, self.name):
            getattr(message, self.wire).extend(words)


class TextMap(Row):
    """A map of strings to strings."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:  # noqa: ARG002 -- the protocol's
        members[self.name] = dict(getattr(message, self.wire))

    def write(self, value: Any, message: Any) -> None:
        getattr(message, self.wire).update(getattr(value, self.name))


class Stated(Row):
    """A string or a bool with presence: an empty or false one is there."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:  # noqa: ARG002 -- the protocol's
        if message.HasField(self.wire):
            members[self.name] = getattr(message, self.wire)

    def write(self, value: Any, message: Any) -> None:
        given = getattr(value, self.name)
        if given is not None:
            setattr(message, self.wire, given)


class Number(Row):
    """A number that requests must keep between `least` and `most`. Without `presence`, 0 is an absent one."""

    def __init__(self, name: str, *, least: int, most: int = INT32, presence: bool = True) -> None:
        super().__init__(name)
        self.least, self.most, self.presence = least, most, presence

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        number = getattr(message, self.wire)
        if not (message.HasField(self.wire) if self.presence else number):
            return
        if found.strict and not self.least <= number <= self.most:
            bounds = "must not be negative" if self.most == INT32 else f"must be between {self.least} and {self.most}"
            say(found, (path, self.wire), bounds)
        members[self.name] = number

    def write(self, value: Any, message: Any) -> None:
        number = getattr(value, self.name)
        if number is not None:
            setattr(message, self.wire, number)


class Enum(Row):
    """An enum whose canonical members stand in the order of their numbers. Requests must not have another number.

    `blank` is what number 0 means where it may stand, UNSET for nothing; in replies unknown numbers mean it too.
    """

    def __init__(self, name: str, values: tuple[Any, ...], *, blank: Any = UNSET, need: int = NEVER) -> None:
        super().__init__(name, need=need)
        self.blank = blank
        self.values = dict(enumerate(values))
        self.numbers = {value: number for number, value in enumerate(values)}

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        number = getattr(message, self.wire)
        if number in self.values and number:
            members[self.name] = self.values[number]
        elif number and found.strict:
            members[self.name] = None
            say(found, (path, self.wire), f"must not be {number}")
        elif self.blank is not UNSET and not (found.strict and self.need):
            members[self.name] = self.blank

    def write(self, value: Any, message: Any) -> None:
        given = getattr(value, self.name)
        if given is not None:
            setattr(message, self.wire, self.numbers[given])


class Sub(Row):
    """A message in a message; one without fields is there all the same."""

    def __init__(self, name: str, shape: Shape, wire: str = "", *, need: int = NEVER, missing: Any = UNSET) -> None:
        super().__init__(name, wire, need=need, missing=missing)
        self.shape = shape

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        if message.HasField(self.wire):
            members[self.name] = self.shape.read(getattr(message, self.wire), found, (path, self.wire))

    def write(self, value: Any, message: Any) -> None:
        given = getattr(value, self.name)
        if given is not None:
            inner = getattr(message, self.wire)
            inner.SetInParent()
            self.shape.write(given, inner)


class Items(Row):
    """Repeated messages."""

    def __init__(self, name: str, shape: Shape, wire: str = "", *, need: int = NEVER, missing: Any = UNSET) -> None:
        super().__init__(name, wire, need=need, missing=missing)
        self.shape = shape

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        if items := getattr(message, self.wire):
            read, where = self.shape.read, (path, self.wire)
            members[self.name] = tuple([read(item, found, (where, index)) for index, item in enumerate(items)])

    def write(self, value: Any, message: Any) -> None:
        if given := getattr(value, self.name):
            items = getattr(message, self.wire)
            for item in given:
                self.shape.write(item, items.add())


class JsonMembers(Row):
    """A Struct."""

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        if message.HasField(self.wire):
            try:
                members[self.name] = read_members(getattr(message, self.wire))
            except ValueError as error:
                say(found, (path, self.wire), str(error))

    def write(self, value: Any, message: Any) -> None:
        given = getattr(value, self.name)
        if given is not None:
            write_members(given, getattr(message, self.wire))


class Time(Row):
    """A Timestamp, cut to milliseconds if `whole` says so."""

    def __init__(self, name: str, *, whole: bool) -> None:
        super().__init__(name)
        self.unit = 1_000_000 if whole else 1_000

    def read(self, message: Any, members: dict[str, Any], found: Findings, path: Path) -> None:
        if message.HasField(self.wire):
            try:
                members[self.name] = moment_of(getattr(message, self.wire), self.unit)
            except (ValueError, OverflowError):
                say(found, (path, self.wire), "must be a time between the years 1 and 9999")

    def write(self, value: Any, message: Any) -> None:
        moment = getattr(value, self.name)
        if moment is not None:
            write_moment(moment, getattr(message, self.wire), self.unit)
