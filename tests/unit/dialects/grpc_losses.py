"""What gRPC cannot say, by name: the value that a reader finds instead of the one that was written."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from dragoman import types
from dragoman.dialects.grpc import GrpcBinding

__all__ = ["kept", "like"]


def kept(dialect: GrpcBinding, value: Any) -> Any:
    """The value as the dialect's reader finds it."""
    if isinstance(value, types.ListTasksResponse):
        # A page without artifacts does not say whether they were asked for.
        shown = value.with_artifacts and any(task.artifacts for task in value.tasks)
        value = msgspec.structs.replace(value, with_artifacts=shown)
    if isinstance(value, msgspec.Struct):
        return msgspec.structs.replace(
            value, **{name: kept(dialect, getattr(value, name)) for name in value.__struct_fields__}
        )
    if isinstance(value, tuple):
        return tuple(kept(dialect, item) for item in cast("Sequence[Any]", value))
    return value


def like(one: Any, other: Any) -> bool:
    """Equal, numbers beyond 2**53 as near as doubles are."""
    if isinstance(one, msgspec.Struct):
        return type(one) is type(other) and all(
            like(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__
        )
    if isinstance(one, Mapping):
        members, others = cast("Mapping[str, Any]", one), cast("Mapping[str, Any]", other)
        return members.keys() == others.keys() and all(like(members[key], others[key]) for key in members)
    if isinstance(one, list | tuple):
        items, further = cast("Sequence[Any]", one), cast("Sequence[Any]", other)
        return len(items) == len(further) and all(map(like, items, further))
    if isinstance(one, float) or (isinstance(one, int) and abs(one) >= 2**53):
        return math.isclose(one, other, rel_tol=1e-15)
    return bool(one == other)
