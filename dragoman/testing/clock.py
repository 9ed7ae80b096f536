"""A clock that stands still and identifiers that count, for tests that want to know both beforehand."""

from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from uuid import UUID

__all__ = ["FakeClock", "FakeIds"]


class FakeClock:
    """A `Clock` that moves by hand only, and never back."""

    def __init__(self, start: datetime = datetime(2030, 1, 1, 12, tzinfo=UTC)) -> None:
        if start.tzinfo is None:
            raise ValueError("The start needs a time zone")
        self._now = _whole_milliseconds(start.astimezone(UTC))

    def now(self) -> datetime:
        return self._now

    def advance(self, seconds: float) -> datetime:
        """Moves on by so much, cut to whole milliseconds, and tells the time then."""
        if seconds < 0:
            raise ValueError("This clock does not run backwards")
        self._now = _whole_milliseconds(self._now + timedelta(seconds=seconds))
        return self._now


class FakeIds:
    """`Ids` in a fixed sequence: the count is in the last bytes, and rises with each id of either kind."""

    def __init__(self) -> None:
        self._count = 0

    def new(self) -> str:
        return str(self._next(shard=0))

    def task(self, tenant: str, context_id: str) -> str:
        """An id whose first byte depends on the tenant and the context and on nothing else."""
        return str(self._next(shard=blake2b(f"{tenant}\0{context_id}".encode(), digest_size=1).digest()[0]))

    def _next(self, shard: int) -> UUID:
        self._count += 1
        return UUID(int=shard << 120 | self._count, version=4)


def _whole_milliseconds(time: datetime) -> datetime:
    return time.replace(microsecond=time.microsecond // 1000 * 1000)
