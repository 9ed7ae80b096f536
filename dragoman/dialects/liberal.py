"""Reads JSON the way ProtoJSON asks for, into the shape of a wire struct, and says everything that is wrong with it.

The well-formed case is decoded by msgspec alone. This reader is for the rest: members in camelCase or snake_case,
numbers as strings, whole floats as integers, null as absent, enums in any spelling or as numbers, base64 of either
alphabet. It is built from the fields of the wire structs, so a struct is described once.

A wire struct can say more than its types with `Meta(extra=...)`:
`filled` (a string or list that must not be empty), `base64` and `time` (what the string holds), `names` (of an enum, in
the order of their numbers), `absent` (the name that counts as not being there), `alias` (a further name of the member).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import msgspec
import msgspec.inspect as mi
from msgspec import UNSET

from dragoman.dialects.scalars import (
    AnyReader,
    Base64Reader,
    BoolReader,
    EnumReader,
    Findings,
    IntReader,
    Reader,
    StrReader,
    TimeReader,
)
from dragoman.errors import FieldViolation

__all__ = ["Irregular", "Rule", "StructReader", "member_names", "nested_too_deeply", "reader_of"]

MAX_DEPTH = 100
"""How deep objects and arrays may be nested; ProtoJSON readers stop there too."""

Rule = Callable[[dict[str, Any]], str | FieldViolation | None]
"""A check over the members of one struct, which it may tidy up; what is wrong with the whole or with a member."""


class Irregular(Exception):
    """What came does not have the plain form; only the liberal reader can tell what is the matter.

    Where that cannot tell either, the arguments are the member and what is wrong with it.
    """


class _ListReader(Reader):
    blank = ()

    def __init__(self, item: Reader, *, filled: bool) -> None:
        self.item = item
        self.filled = filled

    def read(self, value: Any, path: str, found: Findings) -> Any:
        if not isinstance(value, list):
            found.add(path, "must be an array")
            return UNSET
        items = cast("Sequence[Any]", value)
        if not items and self.filled and found.strict:
            found.add(path, "must not be empty")
            return UNSET
        return [self.item.read(item, f"{path}[{index}]", found) for index, item in enumerate(items)]


class _MapReader(Reader):
    blank: Any = {}  # noqa: RUF012 -- copied into the struct

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
        before = len(found.violations)
        for member in self.members:
            self._read_member(member, given, path, found, result)
        if self.rule is not None and len(found.violations) == before:
            complaint = self.rule(result)
            if isinstance(complaint, FieldViolation):
                found.add(f"{path}.{complaint.field}" if path else complaint.field, complaint.description)
            elif complaint is not None:
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
            return _ListReader(_reader(info.item_type, rules)[0], filled=bool(extra.get("filled")))
        case mi.DictType():
            return _MapReader(_reader(info.value_type, rules)[0])
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
    if "names" in extra:
        return EnumReader(extra["names"], extra.get("absent"))
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
    elif isinstance(reader, _ListReader | _MapReader):
        yield from member_names(reader.item)


def nested_too_deeply(value: Any, most: int = MAX_DEPTH) -> bool:
    """Whether objects and arrays are nested deeper than this."""
    level: list[Any] = [value]
    for _ in range(most + 1):
        level = [item for holder in level for item in _items(holder)]
        if not level:
            return False
    return True


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value).values()
    return cast("Sequence[Any]", value) if isinstance(value, list) else ()
