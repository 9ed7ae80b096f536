"""The extension for callers who lose their connection: numbered events, and messages that are known again.

What it is in full is in `docs/reliable.md`.
"""

from typing import Any, TypeVar

import msgspec

from dragoman.types.events import StreamEvent, TaskUpdate
from dragoman.types.task import Task

__all__ = ["RELIABLE", "number_of", "numbered", "renumbered", "unnumbered"]

RELIABLE = "https://dragoman.dev/extensions/reliable/v1"
"""What cards declare and callers name."""

Numbered = TypeVar("Numbered", bound=Task | TaskUpdate)


def numbered(event: Numbered, seq: int) -> Numbered:
    """The event with its number in its metadata, as a caller gets it who has named the extension."""
    return msgspec.structs.replace(event, metadata={**(event.metadata or {}), RELIABLE: {"seq": seq}})


def unnumbered(event: Any) -> Any:
    """The event as it is without its number; the same one if it has none."""
    stated = event.metadata
    if not stated or RELIABLE not in stated:
        return event
    others = {name: value for name, value in stated.items() if name != RELIABLE}
    return msgspec.structs.replace(event, metadata=others or None)


def renumbered(event: Any, before: StreamEvent) -> Any:
    """The event with the number of the one that it was made of, if that had one."""
    number = number_of(before)
    return event if number is None else numbered(event, number)


def number_of(event: StreamEvent) -> int | None:
    """The number in the metadata of an event; None if it has none."""
    stated = (event.metadata or {}).get(RELIABLE)
    seq = stated.get("seq") if isinstance(stated, dict) else None
    # JSON made from protobuf may say a whole number as 7.0.
    if isinstance(seq, float) and seq.is_integer():
        seq = int(seq)
    return seq if isinstance(seq, int) and not isinstance(seq, bool) and seq > 0 else None
