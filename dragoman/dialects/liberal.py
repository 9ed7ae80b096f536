"""Reads JSON the way ProtoJSON asks for, into the shape of a wire struct, and says everything that is wrong with it.

The well-formed case is decoded by msgspec alone. This reader is for the rest: members in camelCase or snake_case,
numbers as strings, whole floats as integers, null as absent, enums in any spelling or as numbers, base64 of either
alphabet. It is built from the fields of the wire structs, so a struct is described once.

A wire struct can say more than its types with `Meta(extra=...)`:
`filled` (a string or list that must not be empty), `base64` and `time` (what the string holds), `names` (of an enum, in
the order of their numbers), `absent` (the name that counts as not being there), `alias` (a further name of the member).
"""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import msgspec
import msgspec.inspect as mi
import pybase64
from msgspec import UNSET

from dragoman.errors import FieldViolation

__all__ = ["Findings", "Irregular", "Reader", "Rule", "StructReader", "member_names", "nested_too_deeply", "reader_of"]

MAX_DEPTH = 100
"""How deep objects and arrays may be nested; ProtoJSON readers stop there too."""
MAX_VIOLATIONS = 20
INT32 = 2**31 - 1

Rule = Callable[[dict[str, Any]], str | None]
"""A check over the members of one struct, which it may tidy up; the description of what is wrong, if anything."""


class Irregular(Exception):
    """What came does not have the plain form; only the liberal reader can tell what is the matter."""


class Findings:
    """What a reading finds. `strict` is for requests; replies are read without asking whether they are complete.

    `text` says that all scalars are strings, as in a query.
    """

    def __init__(self, *, strict: bool, text: bool = False) -> None:
        self.strict = strict
        self.text = text
        self.violations: list[FieldViolation] = []

    def add(self, path: str, description: str) -> None:
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(FieldViolation(path, description))


class Reader:
    """Reads one type. `read` returns the plain form, or UNSET where there is none (absent, or a violation)."""

    blank: Any = UNSET
    """What stands for a missing required member in a reply."""

    def read(self, value: Any, path: str, found: Findings) -> Any:
        raise NotImplementedError


class AnyReader(Reader):
    def read(self, value: Any, path: str, found: Findings) -> Any:
        return value


class BoolReader(Reader):
    blank = False

    def read(self, value: Any, path: str, found: Findings) -> Any:
        if found.text:
            value = {"true": True, "false": False}.get(value, value)
        if isinstance(value, bool):
            return value
        found.add(path, "must be true or false")
        return UNSET


class IntReader(Reader):
    blank = 0

    def __init__(self, minimum: int | None, maximum: int | None) -> None:
        self.minimum = -INT32 - 1 if minimum is None else minimum
        self.maximum = INT32 if maximum is None else maximum

    def read(self, value: Any, path: str, found: Findings) -> Any:
        number = _whole(value)
        if number is None:
            found.add(path, "must be an integer")
        elif self.minimum <= number <= self.maximum:
            return number
        elif self.maximum == INT32 and self.minimum == 0:
            found.add(path, "must not be negative" if number < 0 else "must fit into 32 bits")
        else:
            found.add(path, f"must be between {self.minimum} and {self.maximum}")
        return UNSET


_INTEGER = re.compile(r"-?[0-9]{1,15}(?:\.0{1,15})?")


def _whole(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value.partition(".")[0]) if _INTEGER.fullmatch(value) else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


class StrReader(Reader):
    blank = ""

    def __init__(self, *, filled: bool) -> None:
        self.filled = filled

    def read(self, value: Any, path: str, found: Findings) -> Any:
        if not isinstance(value, str):
            found.add(path, "must be a string")
        elif value or not (self.filled and found.strict):
            return value
        else:
            found.add(path, "must not be empty")
        return UNSET


_URL_SAFE = str.maketrans("-_", "+/")


class Base64Reader(Reader):
    """Base64 in the standard or the URL-safe alphabet, padded or not; read as standard and padded."""

    blank = ""

    def read(self, value: Any, path: str, found: Findings) -> Any:
        if isinstance(value, str):
            text = value.translate(_URL_SAFE).rstrip("=")
            try:
                padded = text + "=" * (-len(text) % 4)
                return pybase64.b64encode(pybase64.b64decode(padded, validate=True)).decode()
            except ValueError:
                pass
        found.add(path, "must be base64")
        return UNSET


class TimeReader(Reader):
    """An RFC 3339 time with an offset, or milliseconds since 1970; read as UTC with a `Z`."""

    def read(self, value: Any, path: str, found: Findings) -> Any:
        try:
            return _utc(value).isoformat().replace("+00:00", "Z")
        except (ValueError, OverflowError, OSError):
            found.add(path, "must be a time as in 2026-01-31T12:00:00.000Z")
            return UNSET


def _utc(value: Any) -> datetime:
    milliseconds = _whole(value)
    if milliseconds is not None:
        return datetime.fromtimestamp(milliseconds / 1000, UTC)
    moment = msgspec.convert(value, Annotated[datetime, msgspec.Meta(tz=True)])
    return moment.astimezone(UTC)


class EnumReader(Reader):
    """A name out of several, in any spelling: case, `-` or `_`, with or without the prefix, one L or two, or number."""

    def __init__(self, names: tuple[str, ...], absent: str | None) -> None:
        self.blank = names[0]
        self.absent = absent
        self.by_number = dict(enumerate(names))
        prefix = len(names[0].rpartition("_")[0]) + 1
        self.by_name = {_spelling(name): name for name in names}
        self.by_name |= {_spelling(name[prefix:]): name for name in names}
        self.by_name["UNKNOWN"] = names[0]
        self.expected = "must be one of " + ", ".join(name for name in names if name != absent)

    def read(self, value: Any, path: str, found: Findings) -> Any:
        number = _whole(value)
        name = self.by_number.get(number) if number is not None else None
        if name is None and isinstance(value, str):
            name = self.by_name.get(_spelling(value))
        if name is None and not found.strict:
            return self.blank
        if name is None:
            found.add(path, self.expected)
        return UNSET if name is None or name == self.absent else name


def _spelling(name: str) -> str:
    return name.upper().replace("-", "_").replace("CANCELLED", "CANCELED")


class ListReader(Reader):
    blank = ()

    def __init__(self, item: Reader, *, filled: bool) -> None:
        self.item = item
        self.filled = filled

    def read(self, value: Any, path: str, found: Findings) -> Any:
        if not isinstance(value, list):
            found.add(path, "must be an array")
            return UNSET
        items = cast("list[Any]", value)
        if not items and self.filled and found.strict:
            found.add(path, "must not be empty")
            return UNSET
        return [self.item.read(item, f"{path}[{index}]", found) for index, item in enumerate(items)]


class MapReader(Reader):
    def __init__(self, item: Reader) -> None:
        self.item = item

    def read(self, value: Any, path: str, found: Findings) -> Any:
        if not isinstance(value, dict):
            found.add(path, "must be an object")
            return UNSET
        members = cast("dict[str, Any]", value)
        if isinstance(self.item, AnyReader):
            return members
        return {key: self.item.read(item, f"{path}.{key}", found) for key, item in members.items()}


class _Member(msgspec.Struct, frozen=True):
    name: str
    spellings: tuple[str, ...]
    required: bool
    reader: Reader

    def pick(self, members: dict[str, Any]) -> Any:
        """What stands under the first of the names that is there; null counts as absent unless any JSON may stand."""
        for name in self.spellings:
            value = members.get(name, UNSET)
            if value is not UNSET and (value is not None or isinstance(self.reader, AnyReader)):
                return value
        return UNSET


class StructReader(Reader):
    """Reads the members of a wire struct, in the order of its fields; unknown members are ignored."""

    def __init__(self, members: tuple[_Member, ...], rule: Rule | None) -> None:
        self.members = members
        self.rule = rule

    def read(self, value: Any, path: str, found: Findings) -> Any:
        if not isinstance(value, dict):
            found.add(path, "must be an object")
            return UNSET
        given = cast("dict[str, Any]", value)
        result: dict[str, Any] = {}
        for member in self.members:
            self._read_member(member, given, path, found, result)
        complaint = self.rule(result) if self.rule is not None else None
        if complaint is not None:
            found.add(path, complaint)
        return result

    @staticmethod
    def _read_member(
        member: _Member, given: dict[str, Any], path: str, found: Findings, result: dict[str, Any]
    ) -> None:
        where = f"{path}.{member.name}" if path else member.name
        before = len(found.violations)
        value = member.pick(given)
        read = UNSET if value is UNSET else member.reader.read(value, where, found)
        if read is UNSET and member.required and len(found.violations) == before:
            read = UNSET if found.strict else member.reader.blank
            if read is UNSET:
                found.add(where, "is required")
        if read is not UNSET:
            result[member.name] = read


def reader_of(wire: type[msgspec.Struct], rules: dict[type[msgspec.Struct], Rule]) -> StructReader:
    """The reader of a wire struct; `rules` are the checks that concern several members of one struct."""
    info = mi.type_info(wire)
    assert isinstance(info, mi.StructType)
    return _struct_reader(info, rules)


def _struct_reader(info: mi.StructType, rules: dict[type[msgspec.Struct], Rule]) -> StructReader:
    members: list[_Member] = []
    for field in info.fields:
        reader, extra = _reader(field.type, rules)
        alias = extra.get("alias")
        names = (field.encode_name, field.name, *((alias,) if alias else ()))
        members.append(_Member(field.encode_name, tuple(dict.fromkeys(names)), field.required, reader))
    return StructReader(tuple(members), rules.get(info.cls))


def _reader(info: mi.Type, rules: dict[type[msgspec.Struct], Rule]) -> tuple[Reader, dict[str, Any]]:
    extra: dict[str, Any] = {}
    while isinstance(info, mi.UnionType | mi.Metadata):
        if isinstance(info, mi.Metadata):
            extra |= info.extra or {}
            info = info.type
        else:
            info = next(choice for choice in info.types if not isinstance(choice, mi.NoneType))
    return _plain_reader(info, extra, rules), extra


def _plain_reader(info: mi.Type, extra: dict[str, Any], rules: dict[type[msgspec.Struct], Rule]) -> Reader:  # noqa: PLR0911 -- one return for each kind of type
    match info:
        case mi.StructType():
            return _struct_reader(info, rules)
        case mi.VarTupleType():
            return ListReader(_reader(info.item_type, rules)[0], filled=bool(extra.get("filled")))
        case mi.DictType():
            return MapReader(_reader(info.value_type, rules)[0])
        case mi.LiteralType():
            return EnumReader(extra["names"], extra.get("absent"))
        case mi.IntType():
            return IntReader(info.ge, info.le)
        case mi.BoolType():
            return BoolReader()
        case mi.StrType():
            return _str_reader(info, extra)
        case _:
            return AnyReader()


def _str_reader(info: mi.StrType, extra: dict[str, Any]) -> Reader:
    if extra.get("base64"):
        return Base64Reader()
    if extra.get("time"):
        return TimeReader()
    return StrReader(filled=bool(info.min_length or extra.get("filled")))


def member_names(reader: Reader) -> Iterator[str]:
    """All names under which members are known in and below this reader, beyond those of the plain form."""
    if isinstance(reader, StructReader):
        for member in reader.members:
            yield from member.spellings[1:]
            yield from member_names(member.reader)
    elif isinstance(reader, ListReader | MapReader):
        yield from member_names(reader.item)


def nested_too_deeply(value: Any) -> bool:
    """Whether objects and arrays are nested deeper than `MAX_DEPTH`."""
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [item for holder in level if isinstance(holder, dict | list) for item in _items(holder)]
        if not level:
            return False
    return True


def _items(holder: "dict[str, Any] | list[Any]") -> Iterable[Any]:
    return holder.values() if isinstance(holder, dict) else holder
