"""How much of the event loop deliveries may take: what calls leave, and always a little.

While the loop has time, deliveries run freely. When calls, streams and handlers take a good part of the thread's time,
deliveries get a small share of it. How much the others want is only to be seen while deliveries hold still: callers
who wait for their answers call less often if deliveries delay them. So now and then, when the thread is busy, nothing
is begun for some milliseconds.
"""

import enum
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from dragoman.push.processor import Processor

__all__ = ["Metered", "Pace"]

T = TypeVar("T")

WINDOW = 0.05
"""Seconds over which the thread's time is looked at."""
STILL = 0.01
"""Seconds for which nothing is begun, to see what others want; of these the first part is for what is under way."""
SETTLING = 0.004
FREE = 0.2
"""Seconds between two such looks."""
CROWDED = 0.5
"""The part of the thread's time from which on it is worth a look."""
WANTED = 0.2
"""From this part on others are given way."""
LITTLE = 0.1
"""Under this part they are not any more."""
SHARE = 0.08
"""The part of the thread's time that deliveries have all the same."""
HOARD = 0.01
"""Seconds of it that can be saved up."""
HIDDEN = 2.0
"""What a delivery costs in all, as a multiple of what it is seen to: answers arrive, and are stored, elsewhere."""
SCARCE = 0.05
"""The least part of the time that the thread is thought to have had."""
STALE = 1.0
"""Seconds after which a window says nothing."""


class _Mode(enum.Enum):
    FREE = enum.auto()
    STILL = enum.auto()
    SHARED = enum.auto()


class Pace:
    """Says when the next delivery may begin. `time` is that of the event loop, `processor` that of its thread: what
    counts is not the time that passes, but the time that the thread could have had.
    """

    def __init__(self, time: Callable[[], float], processor: Processor) -> None:
        self._time = time
        self._processor = processor
        self._mode = _Mode.FREE
        self._own = 0.0
        self._tokens = HOARD
        self._filled = time()
        self._had = 1.0
        """The part of the time that the thread could have had lately."""
        self._looked = -FREE
        self._begin()

    def spent(self, seconds: float) -> None:
        """A delivery has used so much of the thread's time."""
        own = seconds * HIDDEN
        self._own += own
        self._tokens -= own

    def wait(self) -> float:
        """Seconds until a delivery may begin, or until it is worth asking again; 0: now."""
        now = self._time()
        self._fill(now)
        length = self._length()
        if now - self._began >= length:
            self._judge(now)
        if self._mode is _Mode.FREE:
            return 0.0
        if self._mode is _Mode.STILL:
            return max(0.001, self._began + self._length() - now)
        return 0.0 if self._tokens > 0 else min(WINDOW, max(0.001, -self._tokens / (self._had * SHARE)))

    def _length(self) -> float:
        if self._mode is not _Mode.STILL:
            return WINDOW
        return STILL - SETTLING if self._settled else SETTLING

    def _fill(self, now: float) -> None:
        self._tokens = min(HOARD, self._tokens + (now - self._filled) * self._had * SHARE)
        self._filled = now

    def _begin(self) -> None:
        self._began = self._time()
        self._used = self._processor.used()
        self._waited = self._processor.waited()
        self._own = 0.0
        self._settled = False

    def _judge(self, now: float) -> None:
        """Ends a window, and says what the next is."""
        length = now - self._began
        had = max(length - max(0.0, self._processor.waited() - self._waited), length * SCARCE)
        self._had = had / length
        used = (self._processor.used() - self._used) / had
        others = used - self._own / had
        mode, settled = self._mode, False
        if mode is _Mode.STILL and not self._settled:
            settled = True
        elif mode is _Mode.STILL or length > STALE:
            self._looked = now
            mode = _Mode.SHARED if others > WANTED and mode is _Mode.STILL else _Mode.FREE
        elif mode is _Mode.SHARED:
            mode = _Mode.FREE if others < LITTLE else mode
        elif used > CROWDED and now - self._looked >= FREE:
            mode = _Mode.STILL
        self._mode = mode
        self._begin()
        self._settled = settled


class Metered(Generic[T]):
    """Awaits work, and tells `spent` what of the thread's time its steps have used."""

    def __init__(self, work: Coroutine[Any, Any, T], cpu: Callable[[], float], spent: Callable[[float], None]) -> None:
        self._work = work
        self._cpu = cpu
        self._spent = spent

    def __await__(self) -> Generator[Any, Any, T]:
        given: Any = None
        raised: BaseException | None = None
        while True:
            began = self._cpu()
            try:
                waited = self._work.send(given) if raised is None else self._work.throw(raised)
            except StopIteration as end:
                result: T = end.value
                return result
            finally:
                self._spent(self._cpu() - began)
            given, raised = None, None
            try:
                given = yield waited
            except GeneratorExit:
                self._work.close()
                raise
            except BaseException as error:  # noqa: BLE001 -- it is the work's, which may catch it
                raised = error
