"""Time and identifiers, so that tests can hold them in their hands."""

from datetime import datetime
from typing import Protocol

__all__ = ["Clock", "Ids"]


class Clock(Protocol):
    """The time of day."""

    def now(self) -> datetime:
        """Aware, UTC, cut to whole milliseconds, and never earlier than the answer before."""
        ...


class Ids(Protocol):
    """Makes identifiers that nobody can guess."""

    def new(self) -> str:
        """A fresh identifier in the form of a UUID."""
        ...

    def task(self, tenant: str, context_id: str) -> str:
        """A fresh task id in the form of a UUID whose first byte is the logical shard of (tenant, context)."""
        ...
