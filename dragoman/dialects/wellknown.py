"""The well-known messages Timestamp, Struct and Value.

Numbers in a Value are doubles: whole ones below 2**53 come back as integers, larger integers lose their last digits.
The order of members in a Struct is not kept.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, cast

__all__ = ["EPOCH", "moment_of", "read_json", "read_members", "write_json", "write_members", "write_moment"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = 2**53


def moment_of(stamp: Any, unit: int = 1_000) -> datetime:
    """The moment of a Timestamp, cut to units of so many nanoseconds.

    Raises:
        ValueError: its nanoseconds are no fraction of a second.
        OverflowError: it is beyond the years that there are.
    """
    nanos: int = stamp.nanos
    if not 0 <= nanos < 1_000_000_000:  # noqa: PLR2004 -- nanoseconds of a second
        raise ValueError(nanos)
    return EPOCH + timedelta(seconds=stamp.seconds, microseconds=nanos // unit * unit // 1_000)


def write_moment(moment: datetime, stamp: Any, unit: int = 1_000) -> None:
    """Writes an aware moment, cut in the same way."""
    since = moment - EPOCH
    stamp.SetInParent()
    stamp.seconds = since.days * 86_400 + since.seconds
    stamp.nanos = since.microseconds * 1_000 // unit * unit


def read_members(struct: Any) -> dict[str, Any]:
    """The JSON object of a Struct; raises as `read_json` does."""
    return {name: read_json(value) for name, value in struct.fields.items()}


def read_json(value: Any) -> Any:
    """The JSON of a Value; one without a kind is null.

    Raises:
        ValueError: it holds a number that is none in JSON.
    """
    match value.WhichOneof("kind"):
        case "string_value":
            return value.string_value
        case "number_value":
            return _read_number(value.number_value)
        case "struct_value":
            return read_members(value.struct_value)
        case "list_value":
            return [read_json(item) for item in value.list_value.values]
        case "bool_value":
            return value.bool_value
        case _:
            return None


def _read_number(number: float) -> int | float:
    if -_WHOLE < number < _WHOLE:
        return int(number) if number.is_integer() else number
    if number - number != 0:
        raise ValueError("must not hold a number that is not finite")
    return number


def write_members(members: Mapping[str, Any], struct: Any) -> None:
    """Writes a JSON object into a Struct."""
    struct.SetInParent()
    fields = struct.fields
    for name, item in members.items():
        write_json(item, fields[name])


def write_json(item: Any, value: Any) -> None:
    """Writes any JSON into a Value."""
    if isinstance(item, str):
        value.string_value = item
    elif item is None:
        value.null_value = 0
    elif isinstance(item, bool):
        value.bool_value = item
    elif isinstance(item, int | float):
        value.number_value = item
    elif isinstance(item, Mapping):
        write_members(cast("Mapping[str, Any]", item), value.struct_value)
    else:
        values = value.list_value
        values.SetInParent()
        for inner in item:
            write_json(inner, values.values.add())
