"""An event loop with virtual time, on which several processes take turns as a seed says.

A process is all that runs in a context in which `PROCESS` names it. Each has its own queue, first come first served as
asyncio promises; which process has the next turn is chance. So a process can be paused, and one that has died never
has another turn. When nobody has anything to do, time moves on to the next timer. No sockets, no threads.
"""

import asyncio
import contextvars
import heapq
import sys
from asyncio import events
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from random import Random
from typing import Any, TypeVar, TypeVarTuple, Unpack

__all__ = ["PROCESS", "Deadlock", "SeededLoop"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Work = Generator[Any, None, T] | Coroutine[Any, Any, T]
PROCESS: contextvars.ContextVar[str] = contextvars.ContextVar("PROCESS", default="")


class Deadlock(Exception):
    """Nobody has anything to do, now or later, or there is no end to it."""


class _Call:
    """A callback that waits for its turn, with the process that it belongs to."""

    __slots__ = ("_args", "_callback", "_context", "handle", "process")

    def __init__(
        self, handle: asyncio.Handle, callback: Callable[..., object], args: Any, context: contextvars.Context
    ) -> None:
        self.handle = handle
        self.process = context.get(PROCESS, "")
        self._callback = callback
        self._args = args
        self._context = context

    def __call__(self) -> None:
        self._context.run(self._callback, *self._args)


class SeededLoop(asyncio.AbstractEventLoop):
    """Runs until the work that it is given is done. `most` bounds the turns that are taken."""

    def __init__(self, random: Random, most: int = 200_000) -> None:
        self.turns = 0
        self._random = random
        self._most = most
        self._now = 0.0
        self._queues: dict[str, deque[_Call]] = {}
        self._timers: list[tuple[float, int, _Call]] = []
        self._count = 0
        self._paused: set[str] = set()
        self._dead: set[str] = set()
        self._running = False
        self._generators: set[AsyncGenerator[Any, Any]] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        """All that have not ended, those of the dead too: to be collected would wake them."""
        self.broken: list[str] = []
        """What was reported as gone wrong, outside of every task that somebody waits for."""

    @classmethod
    def of(cls, random: Random) -> "SeededLoop":
        """A loop for this randomness. It has no sockets, so to a type checker the class is never whole."""
        return cls(random)

    # Processes.

    def pause(self, process: str) -> None:
        """It has no turn until `resume`; its timers go off, and wait."""
        self._paused.add(process)

    def resume(self, process: str) -> None:
        self._paused.discard(process)

    def kill(self, process: str) -> None:
        """It never has a turn again."""
        self._dead.add(process)
        self._queues.pop(process, None)

    def dead(self, process: str) -> bool:
        return process in self._dead

    # The loop.

    def time(self) -> float:
        return self._now

    def run_until_complete(self, future: Any) -> Any:
        """Takes turns until this is done.

        Raises:
            Deadlock: it never will be.
        """
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._generators.add, finalizer=self._generators.discard)
        events._set_running_loop(self)
        self._running = True
        try:
            work = asyncio.ensure_future(future, loop=self)
            while not work.done():
                self._turn()
            return work.result()
        finally:
            self._running = False
            events._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    def _turn(self) -> None:
        self.turns += 1
        able = [process for process in self._queues if process not in self._paused] if self._paused else None
        names = list(self._queues) if able is None else able
        if not names:
            self._move_on()
            return
        name = names[0] if len(names) == 1 else names[int(self._random.random() * len(names))]
        queue = self._queues[name]
        call = queue.popleft()
        if not queue:
            del self._queues[name]
        if not call.handle.cancelled():
            call()
        if self.turns > self._most:
            raise Deadlock(f"no end after {self.turns} turns")

    def _move_on(self) -> None:
        """To the time of the next timer; all that are due then go into the queues of their processes."""
        while self._timers and self._timers[0][2].handle.cancelled():
            heapq.heappop(self._timers)
        if not self._timers:
            raise Deadlock("everybody waits, and nothing will happen")
        self._now = max(self._now, self._timers[0][0])
        while self._timers and self._timers[0][0] <= self._now:
            self._queue(heapq.heappop(self._timers)[2])

    def _queue(self, call: _Call) -> None:
        if call.process in self._dead or call.handle.cancelled():
            return
        queue = self._queues.get(call.process)
        if queue is None:
            self._queues[call.process] = deque([call])
        else:
            queue.append(call)

    # What asyncio asks of a loop.

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        context = context or contextvars.copy_context()
        handle = asyncio.Handle(callback, args, self, context)
        self._queue(_Call(handle, callback, args, context))
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        context = context or contextvars.copy_context()
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        self._count += 1
        heapq.heappush(self._timers, (when, self._count, _Call(timer, callback, args, context)))
        return timer

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        return self.call_at(self._now + delay, callback, *args, context=context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Work[T], *, name: str | None = None, context: contextvars.Context | None = None
    ) -> asyncio.Task[T]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.broken.append(f"{context['message']}: {context.get('exception')!r}")

    def is_running(self) -> bool:
        return self._running

    def is_closed(self) -> bool:
        return False

    def get_debug(self) -> bool:
        return False

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """A cancelled timer is passed over when its time comes."""
