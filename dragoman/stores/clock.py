"""The time of day where a store is told no other."""

from datetime import UTC, datetime

__all__ = ["WallClock"]


class WallClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)
