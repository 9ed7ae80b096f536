"""Counts what costs us something and a peer nothing; a flood of it ends the connection."""

from collections.abc import Callable

from dragoman.hosts.http2.frames import ENHANCE_YOUR_CALM, ConnectionFault
from dragoman.hosts.http2.limits import Allowance, Http2Limits

__all__ = ["Bucket", "Guard"]


class Bucket:
    """An allowance being used up. The clock is asked when it seems empty, so what is seldom costs next to nothing."""

    __slots__ = ("_burst", "_clock", "_left", "_name", "_rate", "_since")

    def __init__(self, name: str, allowance: Allowance, clock: Callable[[], float]) -> None:
        self._name = name
        self._burst = allowance.burst
        self._rate = allowance.rate
        self._left = float(allowance.burst)
        self._clock = clock
        self._since = clock()

    def take(self) -> None:
        """:raises ConnectionFault: there is nothing left."""
        self._left -= 1.0
        if self._left >= 0.0:
            return
        now = self._clock()
        self._left = min(self._left + (now - self._since) * self._rate, self._burst)
        self._since = now
        if self._left < 0.0:
            raise ConnectionFault(ENHANCE_YOUR_CALM, f"too many {self._name}")


class Guard:
    """All that is counted of one connection; each method that counts raises ConnectionFault for a flood."""

    def __init__(self, limits: Http2Limits, clock: Callable[[], float]) -> None:
        self.opened = 0
        """Streams that the peer opened."""
        self._pings_seen = 0
        self._updates_seen = 0
        self.resets = Bucket("resets", limits.resets, clock)
        self.provoked = Bucket("streams in error", limits.provoked, clock)
        self.settings = Bucket("settings", limits.settings, clock)
        self.dribbles = Bucket("small windows", limits.dribbles, clock)
        self.empties = Bucket("empty frames", limits.empties, clock)
        self.ignored = Bucket("frames without use", limits.ignored, clock)
        self._pings = Bucket("pings", limits.pings, clock)
        self._updates = Bucket("window updates", limits.updates, clock)

    def ping(self, sent: int) -> None:
        """`sent` DATA frames went out so far: what the peer may send because of them is free."""
        self._pings_seen += 1
        if self._pings_seen > sent:
            self._pings.take()

    def update(self, sent: int) -> None:
        """As `ping`."""
        self._updates_seen += 1
        if self._updates_seen > 2 * (sent + self.opened):
            self._updates.take()
