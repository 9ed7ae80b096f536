"""One type of a dialect, both ways: bytes or members to the canonical value, the canonical value to its wire struct."""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Generic, TypeVar

import msgspec

from dragoman.dialects.liberal import (
    MAX_DEPTH,
    Irregular,
    Rule,
    StructReader,
    member_names,
    nested_too_deeply,
    reader_of,
)
from dragoman.dialects.older import noticing
from dragoman.dialects.scalars import Findings
from dragoman.errors import A2AError, InvalidParamsError, ParseError, ReplyMalformed

__all__ = ["Codec", "parse_json"]

W = TypeVar("W", bound=msgspec.Struct)
T = TypeVar("T")

AROUND = 10
"""How much deeper a reply may be nested: what a request has brought stands there in a message of a history of a task of
a list, and whatever was taken can be read again.
"""

_SNAKE = re.compile(rb"_[a-z]")
_NOT_PLAIN = (Irregular, msgspec.MsgspecError, ValueError, OverflowError, RecursionError)
_any_decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def parse_json(body: bytes | msgspec.Raw, most: int = MAX_DEPTH) -> Any:
    """The JSON value, however it is spelled, nested `most` levels deep at most.

    Raises:
        ParseError: it is not JSON in UTF-8.
        InvalidParamsError: it is, but nested too deeply, or with a number that nobody can hold.
    """
    try:
        value = _any_decoder.decode(body)
    except RecursionError:
        raise _too_deep(most) from None
    except msgspec.ValidationError as error:
        raise InvalidParamsError(f"Invalid parameters: {error}") from None
    except (msgspec.MsgspecError, ValueError) as error:
        raise ParseError(f"Invalid JSON payload: {error}") from None
    if nested_too_deeply(value, most):
        raise _too_deep(most)
    return value


def _too_deep(most: int) -> A2AError:
    return InvalidParamsError(f"Invalid parameters: nested deeper than {most} levels")


class Codec(Generic[W, T]):
    """A wire struct and its canonical value. `strict` codecs read requests, the others read replies leniently.

    `rules` are checks over several members of one struct; `shape` turns older forms of the JSON into this one.
    `aliased` says that a member has further names than those in camelCase and snake_case; without `plain`, what
    looks well-formed goes through `shape` too, since peers mean other things with it.
    """

    def __init__(
        self,
        wire: type[W],
        read: Callable[[W], T],
        write: Callable[[T], Any],
        *,
        strict: bool = False,
        rules: Mapping[type[msgspec.Struct], Rule] | None = None,
        shape: Callable[[Any], Any] = lambda value: value,
        aliased: bool = False,
        plain: bool = True,
    ) -> None:
        self.wire = wire
        self.write = write
        self._read = read
        self._strict = strict
        self._most = MAX_DEPTH if strict else MAX_DEPTH + AROUND
        self._rules = dict(rules or {})
        self._shape = shape
        self._aliased = aliased
        self._plain = plain
        self._decoder = msgspec.json.Decoder(wire)
        self._plain_names = frozenset(wire.__struct_encode_fields__)

    @cached_property
    def _reader(self) -> StructReader:
        return reader_of(self.wire, self._rules)

    @cached_property
    def _other_names(self) -> re.Pattern[bytes]:
        names = "|".join(sorted({name for name in member_names(self._reader) if name}))
        return re.compile(f'"(?:{names or "_"})"'.encode())

    @cached_property
    def _aliases(self) -> tuple[bytes, ...]:
        return tuple(f'"{name}"'.encode() for name in {*member_names(self._reader)} if "_" not in name)

    def _has_alias(self, raw: bytes) -> bool:
        for alias in self._aliases:  # noqa: SIM110 -- it is run with every text, and `any` would make a generator
            if alias in raw:
                return True
        return False

    def decode(self, body: bytes | msgspec.Raw) -> T:
        """The canonical value of a JSON text.

        Raises:
            ParseError: not JSON (strict).
            InvalidParamsError: names every member that is wrong (strict).
            ReplyMalformed: any of this, in a reply.
        """
        raw = bytes(body)
        plain = self._plain and (raw.count(b"{") + raw.count(b"[") <= self._most or not self._deep(raw))
        if (
            plain
            and not (_SNAKE.search(raw) and self._other_names.search(raw))
            and not (self._aliased and self._has_alias(raw))
        ):
            try:
                return self._read(self._decoder.decode(raw))
            except _NOT_PLAIN:
                pass
        return self._decode_liberally(raw)

    def _deep(self, raw: bytes) -> bool:
        try:
            return nested_too_deeply(_any_decoder.decode(raw), self._most)
        except _NOT_PLAIN:
            return True

    def _decode_liberally(self, raw: bytes) -> T:
        try:
            return self.convert(parse_json(raw, self._most))
        except A2AError as error:
            if self._strict:
                raise
            raise ReplyMalformed(error.message, raw[:200].decode(errors="replace")) from None
        except ReplyMalformed as error:
            raise ReplyMalformed(str(error), raw[:200].decode(errors="replace")) from None

    def convert(self, members: Any, *, text: bool = False) -> T:
        """The canonical value of JSON that is already read; `text` says that scalars are strings, as in a query.

        Raises as `decode` does.
        """
        given, members = members, self._shape(members)
        if text and self._plain and members.keys() <= self._plain_names:
            try:
                return self._read(msgspec.convert(members, self.wire))
            except _NOT_PLAIN:
                pass
        found = Findings(strict=self._strict, text=text)
        normal = self._reader.read(members, "", found)
        notice = None if self._strict else noticing.get()
        if notice is not None and (found.older or given != members):
            notice()
        if not found.violations:
            try:
                return self._read(msgspec.convert(normal, self.wire))
            except _NOT_PLAIN as error:
                named = len(error.args) == 2 and isinstance(error, Irregular)  # noqa: PLR2004 -- member and description
                found.add(*error.args) if named else found.add("", f"cannot be read: {error}".rstrip(": "))
        raise found.refusal()

    def respelled(self, read: Callable[[Any], Any], write: Callable[[Any], Any]) -> "Codec[Any, T]":
        """The codec of a dialect that spells this one's members in another way.

        `read` makes JSON of this dialect out of the other's, `write` does the opposite; both get JSON that is read.
        """

        def written(value: T) -> Any:
            return write(msgspec.to_builtins(self.write(value)))

        return Codec(self.wire, self._read, written, strict=self._strict, rules=self._rules, shape=read, plain=False)
