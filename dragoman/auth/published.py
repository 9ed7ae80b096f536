"""What an issuer publishes, as it is at the moment."""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from dragoman.errors import DragomanError, UnavailableError

__all__ = ["FIRST_PAUSE", "FRESH", "GOOD", "PAUSE", "Published"]

FRESH = 600.0
"""Seconds after which it is fetched again."""
PAUSE = 30.0
"""Seconds between two attempts to fetch what is old, and between two because of what is missed, whoever misses what."""
FIRST_PAUSE = 2.0
"""Seconds between two attempts as long as there is nothing at all."""
GOOD = 86_400.0
"""Seconds for which it counts when nothing newer can be had."""

T = TypeVar("T")

log = logging.getLogger("dragoman.auth")


class Published(Generic[T]):
    """What `fetch` gives. It is fetched when it is first needed, every ten minutes, and when something is missed in it,
    which counts once in half a minute; while it cannot be had, the last one counts for a day.

    When it is old, one of those who need it waits until it has come, and the others go on with what there is; who
    misses something in it waits too. It comes also if nobody waits any more: callers who are in a hurry cannot keep it
    away, nor have the issuer asked again and again. `now` stands in for the clock; `what` is its name in the log.
    """

    def __init__(self, what: str, fetch: Callable[[], Awaitable[T]], now: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._fetch = fetch
        self._now = now
        self._latest: T | None = None
        self._edition = 0
        self._fetched = 0.0
        self._tried = -math.inf
        self._missed = -math.inf
        self._turn = asyncio.Lock()
        self._renewing: asyncio.Task[None] | None = None

    async def current(self, is_missed: Callable[[T], bool] | None = None) -> tuple[T, int]:
        """The latest, and a number that is another once it may be another. `is_missed` says whether a newer one is
        needed than the one that it is shown.

        Raises:
            UnavailableError: there is none now.
        """
        if self._latest is None:
            async with self._turn:
                if self._is_first_due():
                    await self._renew()
        elif is_missed is not None or self._now() - self._fetched >= FRESH:
            await self._renewed(is_missed is not None and is_missed(self._latest))
        if self._latest is None or self._now() - self._fetched > GOOD:
            error = UnavailableError("What the issuer publishes cannot be had now")
            error.retry_after = FIRST_PAUSE if self._latest is None else PAUSE
            raise error
        return self._latest, self._edition

    async def _renewed(self, missed: bool) -> None:
        """Waits for a newer one, if it is for this caller to wait."""
        under_way = self._renewing is not None and not self._renewing.done()
        if not under_way and self._is_due(missed):
            self._renewing = asyncio.get_running_loop().create_task(self._renew())
        elif not (under_way and missed):
            return
        if self._renewing is not None:
            await asyncio.shield(self._renewing)

    def _is_first_due(self) -> bool:
        return self._latest is None and self._now() - self._tried >= FIRST_PAUSE

    def _is_due(self, missed: bool) -> bool:
        now = self._now()
        if now - self._fetched >= FRESH:
            return now - self._tried >= PAUSE
        if not missed or now - self._missed < PAUSE:
            return False
        self._missed = now
        return True

    async def _renew(self) -> None:
        before, self._tried = self._tried, self._now()
        try:
            self._latest = await self._fetch()
        except asyncio.CancelledError:
            # Whoever fetched has gone; the next does it.
            self._tried = before
            raise
        except DragomanError as error:
            log.warning("%s cannot be had: %s", self._what, error)
            return
        self._fetched = self._now()
        self._edition += 1
