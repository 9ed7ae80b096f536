"""How much of the event loop deliveries may take: what calls leave, and always a little.

How much calls, streams and handlers want is only to be seen while deliveries hold still: callers who wait for their
answers call less often if deliveries delay them, in the loop or in the store. So now and then, unless the thread is all
but idle, nothing is begun for some milliseconds. If others then take a part of the thread's time that is worth the
name, deliveries have a share until the next such look, which is small if others want much; else they run freely.
"""

import enum
from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

from dragoman.push.processor import Processor

__all__ = ["Metered", "Pace"]

T = TypeVar("T")

WINDOW = 0.3
"""Seconds from one look to the next."""
GLANCE = 0.05
"""Seconds after which it is looked at once if others already seem to want much."""
SETTLING, STILL = 0.01, 0.015
"""Seconds for which nothing is begun: until what is under way has ended, mostly, and to see what others want."""
AWAKE = 0.1
"""From this part of the thread's time on it is not all but idle."""
WANTED, MUCH = 0.05, 0.4
"""From this part on others are given way, and from that one on as far as can be."""
SHARE, MOST = 0.04, 0.5
"""The part of the thread's time that deliveries have all the same, when others want much; and when they want little."""
HOARD = 0.01
"""Seconds of it that can be saved up."""
HIDDEN = 2.0
"""What a delivery costs in all, as a multiple of what it is seen to: answers arrive, and are stored, elsewhere."""
SCARCE = 0.05
"""The least part of the time that the thread is thought to have had."""


class _Mode(enum.Enum):
    FREE = enum.auto()
    SHARED = enum.auto()
    SETTLING = enum.auto()
    STILL = enum.auto()


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
        self._share = MOST
        self._begin(_Mode.FREE)

    def spent(self, seconds: float) -> None:
        """A delivery has used so much of the thread's time."""
        own = seconds * HIDDEN
        self._own += own
        self._tokens -= own

    def wait(self) -> float:
        """Seconds until a delivery may begin, or until it is worth asking again; 0: now."""
        now = self._time()
        self._tokens = min(HOARD, self._tokens + (now - self._filled) * self._had * self._share)
        self._filled = now
        if now >= self._ends or (self._mode is _Mode.FREE and now >= self._glance):
            self._judge(now)
        if self._mode is _Mode.FREE:
            return 0.0
        if self._mode is not _Mode.SHARED:
            return max(0.001, self._ends - now)
        return 0.0 if self._tokens > 0 else min(GLANCE, max(0.001, -self._tokens / (self._had * self._share)))

    def _begin(self, mode: _Mode) -> None:
        self._mode = mode
        self._began = now = self._time()
        self._ends = now + {_Mode.SETTLING: SETTLING, _Mode.STILL: STILL}.get(mode, WINDOW)
        self._glance = now + GLANCE
        self._used = self._processor.used()
        self._waited = self._processor.waited()
        self._own = 0.0

    def _judge(self, now: float) -> None:
        """Looks at what the time since `_begin` was used for, and says what is next."""
        length = now - self._began
        had = max(length - max(0.0, self._processor.waited() - self._waited), length * SCARCE)
        self._had = had / length
        used = (self._processor.used() - self._used) / had
        others = used - self._own / had
        if self._mode is _Mode.SETTLING:
            self._begin(_Mode.STILL)
        elif self._mode is _Mode.STILL:
            self._share = max(SHARE, MOST - (MOST - SHARE) * (others - WANTED) / (MUCH - WANTED))
            self._begin(_Mode.SHARED if others > WANTED else _Mode.FREE)
        elif now < self._ends and others < MUCH:
            self._glance = now + GLANCE
        else:
            self._begin(_Mode.SETTLING if used > AWAKE or self._mode is _Mode.SHARED else _Mode.FREE)


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
