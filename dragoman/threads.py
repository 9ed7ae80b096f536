"""Threads for work that may never end: they do not keep the process from ending."""

import concurrent.futures
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, ParamSpec, TypeVar

__all__ = ["LooseThreads"]

P = ParamSpec("P")
T = TypeVar("T")

_Call = tuple["concurrent.futures.Future[Any]", Callable[[], Any]]


class LooseThreads(concurrent.futures.ThreadPoolExecutor):
    """Up to `most` threads, made when they are needed; further work waits for a free one.

    An executor, fit to be the default of an event loop. Those of the standard library are joined when the interpreter
    exits, so that one call that hangs holds the process for ever; these are left where they are. `shutdown` waits for
    nobody either.
    """

    def __init__(self, most: int, name: str) -> None:
        super().__init__(most)  # which makes no thread as long as its own `submit` is not called
        self._most = most
        self._name = name
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._guard = threading.Lock()
        self._made = 0
        self._free = 0
        self._ended = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "concurrent.futures.Future[T]":
        future: concurrent.futures.Future[T] = concurrent.futures.Future()
        with self._guard:
            if self._ended:
                raise RuntimeError("no work is taken after the shutdown")
            self._calls.put((future, partial(fn, *args, **kwargs)))
            if self._free:
                self._free -= 1
            elif self._made < self._most:
                self._made += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._made}", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 -- never waits
        """Takes no more work; what waits for a thread is done, or with `cancel_futures` cancelled."""
        with self._guard:
            self._ended = True
            while cancel_futures and not self._calls.empty():
                call = self._calls.get()
                if call is not None:
                    call[0].cancel()
            self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            _do(*call)
            del call
            with self._guard:
                self._free += 1
        self._calls.put(None)  # for the others


def _do(future: "concurrent.futures.Future[Any]", work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 -- raised where the result is awaited
        future.set_exception(error)
    else:
        future.set_result(result)
