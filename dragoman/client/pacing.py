"""How long a client waits between attempts, and how long servers ask it to."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

__all__ = ["Pauses", "seconds_until"]

SLOWEST = 10
"""The longest pause is this many times the shortest."""
FIRST = 0.1
"""What the first pause after news is, as part of the shortest: a cut alone is made good at once."""
JITTER = 0.1
LONGEST_WISH = 600.0
"""Seconds that an agent can have its caller wait; its word may be a mistake."""


class Pauses:
    """Pauses between attempts to get news of one task, each said by how the attempt before it went.

    After a failure, or a stream that ended early, the pause is a random part of a limit that doubles, so that clients
    which lost the same server do not come back together. Between looks at a task it grows likewise, is never shorter
    than `interval` seconds, and varies a little. News begins it all anew.
    """

    def __init__(
        self,
        interval: float,
        *,
        chance: Callable[[], float] = random.random,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._interval = interval
        self._chance = chance
        self._sleep = sleep
        self._clock = asyncio.get_running_loop().time
        self.news()

    def news(self) -> None:
        self._doublings = 0
        self._heard = self._clock()

    @property
    def quiet_seconds(self) -> float:
        """How long there has been no news."""
        return self._clock() - self._heard

    async def after_look(self) -> None:
        """Waits after a look at the task."""
        limit = self._interval * min(2**self._doublings, SLOWEST)
        self._doublings = min(self._doublings + 1, SLOWEST)
        await self._sleep(limit * (1 + JITTER * self._chance()))

    async def after_cut(self, wish: float | None = None) -> None:
        """Waits after anything else; `wish` is the least that the agent asked for, in seconds."""
        limit = self._interval * (min(2 ** (self._doublings - 1), SLOWEST) if self._doublings else FIRST)
        self._doublings = min(self._doublings + 1, SLOWEST)
        await self._sleep(min(wish or 0.0, LONGEST_WISH) + limit * self._chance())


def seconds_until(retry_after: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> float | None:
    """What a `Retry-After` field asks for, be it a number or a date (RFC 9110, section 10.2.3); None if nothing."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
        seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now()
    except (ValueError, OverflowError):
        return None
    return max(seconds.total_seconds(), 0.0)
