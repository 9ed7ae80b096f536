"""Reads the single values of ProtoJSON in every spelling that is allowed, and says what is wrong with others."""

import re
from abc import ABC, abstractmethod
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec
import pybase64
from msgspec import UNSET

from dragoman.errors import FieldViolation, InvalidParamsError, ReplyMalformed

__all__ = [
    "AnyReader",
    "Base64Reader",
    "BoolReader",
    "EnumReader",
    "Findings",
    "IntReader",
    "Reader",
    "StrReader",
    "TimeReader",
]

MAX_VIOLATIONS = 20
INT32 = 2**31 - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Findings:
    """What a reading finds. `strict` is for requests; replies are read without asking whether they are complete.

    `text` says that all scalars are strings, as in a query.
    """

    def __init__(self, *, strict: bool, text: bool = False) -> None:
        self.strict = strict
        self.text = text
        self.violations: list[FieldViolation] = []
        self.older = False
        """Whether a name was spelled in another way than 1.0 has it."""

    def add(self, path: str, description: str) -> None:
        if len(self.violations) < MAX_VIOLATIONS:
            self.violations.append(FieldViolation(path, description))

    def refusal(self) -> InvalidParamsError | ReplyMalformed:
        """What to raise for the violations that there are: for a request, or for a reply."""
        first = self.violations[0]
        more = f" (and {len(self.violations) - 1} more)" if len(self.violations) > 1 else ""
        what = f"{first.field or 'the whole'} {first.description}{more}"
        if not self.strict:
            return ReplyMalformed(f"The agent's answer cannot be read: {what}")
        return InvalidParamsError(f"Invalid parameters: {what}", violations=self.violations)


class Reader(ABC):
    """Reads one type. `read` returns the plain form, or UNSET where there is none (absent, or a violation)."""

    blank: Any = UNSET
    """What stands for a missing required member in a reply."""

    @abstractmethod
    def read(self, value: Any, path: str, found: Findings) -> Any:
        """The plain form of `value`; says under `path` what is wrong with it."""


class AnyReader(Reader):
    def read(self, value: Any, path: str, found: Findings) -> Any:  # noqa: ARG002 -- any JSON will do
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
        return _EPOCH + timedelta(milliseconds=milliseconds)
    moment: datetime = msgspec.convert(value, Annotated[datetime, msgspec.Meta(tz=True)])
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
            found.older |= name is not None and name != value
        if name is None and not found.strict:
            return self.blank
        if name is None:
            found.add(path, self.expected)
        return UNSET if name is None or name == self.absent else name


def _spelling(name: str) -> str:
    return name.upper().replace("-", "_").replace("CANCELLED", "CANCELED")
