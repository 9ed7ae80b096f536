"""How often something may happen."""

from collections.abc import Callable

__all__ = ["Rate"]


class Rate:
    """A bucket of `burst` tokens that fills with `rate` tokens a second; full at first."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._left = self._burst
        self._seen: float | None = None

    def take(self) -> float:
        """Takes a token and gives 0; else the seconds until there is one, and takes nothing."""
        now = self._clock()
        passed = 0.0 if self._seen is None else now - self._seen
        self._left = min(self._burst, self._left + passed * self._rate)
        self._seen = now
        if self._left < 1.0:
            return (1.0 - self._left) / self._rate
        self._left -= 1.0
        return 0.0
