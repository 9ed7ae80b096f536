"""The type of JSON values, precise for type checkers and cheap at run time."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
    JsonObject = Mapping[str, Json]
else:
    # msgspec resolves annotations when it builds a decoder, and has no recursive aliases.
    Json = Any
    JsonObject = dict[str, Any]

__all__ = ["Json", "JsonObject"]
