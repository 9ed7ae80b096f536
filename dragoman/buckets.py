"""Token buckets, one for each key, in a table that is bounded and forgets those first who have asked least."""

from collections.abc import Callable, Hashable
from heapq import nlargest
from operator import itemgetter
from time import monotonic
from typing import Generic, TypeVar

from dragoman.ports.limits import Rate

__all__ = ["MOST_KEYS", "Buckets"]

K = TypeVar("K", bound=Hashable)

MOST_KEYS = 10_000
"""Keys of a table, at some 150 bytes."""


class Buckets(Generic[K]):
    """A bucket of tokens for each key, full at first.

    Kept is when a bucket will be full again, and nothing of those that are: a table can be filled only by keys that
    have all asked lately. Then the half goes that will be full soonest, and whoever has used up most is remembered to
    the last. Nobody is refused because there is no room.
    """

    def __init__(self, rate: Rate, clock: Callable[[], float] = monotonic, *, most: int = MOST_KEYS) -> None:
        self._interval = 1.0 / rate.per_second
        # A thousandth of a token is what sums of floats may be off by.
        self._slack = (rate.burst - 0.999) * self._interval
        self._clock = clock
        self._most = most
        self._full_at: dict[K, float] = {}

    def __len__(self) -> int:
        return len(self._full_at)

    def __contains__(self, key: K) -> bool:
        """Whether a token of this key is missing."""
        return self._full_at.get(key, 0.0) > self._clock()

    def take(self, key: K) -> float:
        """Takes a token and gives 0; else the seconds until there is one, and takes nothing."""
        now = self._clock()
        full_at = self._full_at.get(key)
        if full_at is None:
            if len(self._full_at) >= self._most:
                self._make_room(now)
            self._full_at[key] = now + self._interval
            return 0.0
        if full_at < now:
            full_at = now
        elif full_at - now > self._slack:
            return full_at - now - self._slack
        self._full_at[key] = full_at + self._interval
        return 0.0

    def wait(self, key: K, others: int = 0) -> float:
        """The seconds until there is a token, if so many others are taken before it; takes nothing."""
        full_at = self._full_at.get(key)
        if full_at is None and not others:
            return 0.0
        now = self._clock()
        return max(0.0, max(full_at or 0.0, now) + others * self._interval - now - self._slack)

    def _make_room(self, now: float) -> None:
        lately = [item for item in self._full_at.items() if item[1] > now]
        if len(lately) > self._most // 2:
            lately = nlargest(self._most // 2, lately, key=itemgetter(1))
        self._full_at = dict(lately)
