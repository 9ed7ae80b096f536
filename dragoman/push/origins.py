"""Which line is next: origins take turns, each within its own limits, so that none notices the troubles of another."""

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from dragoman.push.attempt import OriginState
from dragoman.push.line import Line
from dragoman.push.options import Retry

__all__ = ["Origin", "Origins"]

PAUSE = 8.0
"""How long an origin is left alone at first, as a multiple of the first wait between two attempts; then doubled."""
FAR = 10.0
"""Seconds from which on nobody waits in memory for something: the store knows when it is due."""
MOST = 20_000
"""How many origins are known at most, unless something is to be delivered to more of them."""


class Origin:
    """Lines that could be delivered to now, in order of arrival, and whether the origin is in order."""

    __slots__ = ("failures", "name", "offered", "opened", "under_way", "until", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting: OrderedDict[Line, None] = OrderedDict()
        self.under_way = 0
        self.failures = 0
        """In a row."""
        self.opened = 0
        """How often in a row its breaker has opened."""
        self.until = 0.0
        """Until when it is left alone, by the clock of the event loop."""
        self.offered = False
        """Whether it stands in line for a turn."""

    def closed_for(self, now: float) -> float:
        """Seconds for which it is still left alone."""
        return max(0.0, self.until - now)

    @property
    def quiet(self) -> bool:
        return not (self.waiting or self.under_way)


class Origins:
    """All origins that something is to be delivered to. `wake` is called when one can be asked again; `at` calls it
    then. The origin without a name is that of lines that were not read yet: it has no breaker.
    """

    def __init__(
        self,
        per_host: int,
        breaker: int,
        retry: Retry,
        *,
        time: Callable[[], float],
        at: Callable[[float, Callable[[], None]], object],
        wake: Callable[[], None],
    ) -> None:
        self._per_host = per_host
        self._breaker = breaker
        self._retry = retry
        self._time = time
        self._at = at
        self._wake = wake
        self._origins: dict[str, Origin] = {}
        self._turns: deque[Origin] = deque()
        self.waiting = 0
        """Lines in all queues."""

    def add(self, line: Line) -> None:
        """Puts a line at the end of the queue of its origin."""
        origin = self.of(line.origin)
        if not line.waiting:
            line.waiting = True
            origin.waiting[line] = None
            self.waiting += 1
            self._offer(origin)

    def remove(self, line: Line) -> None:
        """Takes a line out of its queue, if it is in one."""
        if line.waiting:
            line.waiting = False
            origin = self.of(line.origin)
            del origin.waiting[line]
            self.waiting -= 1
            self._let_go(origin)

    def next(self) -> Line | None:
        """The next line, whose attempt begins; the one after it is another origin's, if there is one."""
        while self._turns:
            origin = self._turns.popleft()
            origin.offered = False
            if not self._able(origin):
                continue
            line, _ = origin.waiting.popitem(last=False)
            line.waiting = False
            self.waiting -= 1
            origin.under_way += 1
            self._offer(origin)
            return line
        return None

    @property
    def ready(self) -> bool:
        """Whether there may be a next line."""
        return bool(self._turns)

    def done(self, name: str, alive: bool | None) -> None:
        """An attempt has ended: the origin was in order, or not, or nothing was learnt."""
        origin = self.of(name)
        origin.under_way -= 1
        if alive:
            origin.failures = origin.opened = 0
            origin.until = 0.0
        elif alive is False:
            self._failed(origin)
        self._offer(origin)
        self._let_go(origin)

    def of(self, name: str) -> Origin:
        """The origin of this name."""
        origin = self._origins.get(name)
        if origin is None:
            origin = self._origins[name] = Origin(name)
        return origin

    def crowd(self, name: str) -> int:
        """How many lines wait for an origin, or are under way to it."""
        origin = self._origins.get(name)
        return 0 if origin is None else len(origin.waiting) + origin.under_way

    def states(self) -> Iterator[OriginState]:
        """How each stands, in no order."""
        now = self._time()
        for origin in self._origins.values():
            if origin.name:
                yield OriginState(
                    origin=origin.name,
                    waiting=len(origin.waiting),
                    under_way=origin.under_way,
                    failures=origin.failures,
                    closed_for=origin.closed_for(now),
                )

    def _let_go(self, origin: Origin) -> None:
        """Forgets an origin of which there is nothing to be known, and others if they are too many."""
        if not origin.quiet:
            return
        if not origin.failures:
            del self._origins[origin.name]
        elif len(self._origins) > MOST:
            self._tidy()

    def _tidy(self) -> None:
        """Forgets half of the origins that are known for their failures alone, those that were met first."""
        quiet = [name for name, origin in self._origins.items() if origin.quiet]
        for name in quiet[: len(quiet) // 2 + 1]:
            del self._origins[name]

    def _failed(self, origin: Origin) -> None:
        origin.failures += 1
        now = self._time()
        if origin.failures < self._breaker or origin.until > now:
            return
        pause = min(self._retry.most, PAUSE * self._retry.first * 2.0 ** min(origin.opened, 64))
        origin.opened += 1
        origin.until = now + pause
        self._at(origin.until, lambda: self._reopened(origin))

    def _reopened(self, origin: Origin) -> None:
        self._offer(origin)
        self._wake()

    def _offer(self, origin: Origin) -> None:
        if not origin.offered and self._able(origin):
            origin.offered = True
            self._turns.append(origin)

    def _able(self, origin: Origin) -> bool:
        """Whether one of its lines can have a turn now: an attempt or, while it is left alone for long, its being put
        off. An origin that has failed gets one attempt at a time.
        """
        if not origin.waiting or origin.under_way >= self._per_host:
            return False
        if origin.failures < self._breaker or not origin.name:
            return True
        closed_for = origin.closed_for(self._time())
        return closed_for > FAR or (closed_for <= 0 and origin.under_way == 0)
