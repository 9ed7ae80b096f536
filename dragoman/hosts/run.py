"""Runs the application on sockets: one port, both versions of HTTP, with or without TLS, until it is told to stop."""

import asyncio
import contextlib
import gc
import logging
import signal
import ssl
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

import msgspec

from dragoman.hosts.connections import ConnectionLimits
from dragoman.hosts.listening import Listener
from dragoman.hosts.site import AsgiApplication, Site
from dragoman.hosts.tls import HSTS
from dragoman.threads import LooseThreads

__all__ = ["Serving", "run"]

LAST_SECONDS = 1.0
"""For cancelled asyncio tasks to end when the event loop does."""
GLANCE = 0.02
"""Seconds between two looks at whether all connections have ended."""
MOST_THREADS = 32
OTHER_FILES = 128
"""That a process may need beside its connections: the store, webhooks, what handlers open."""
DEFAULTS = ConnectionLimits()

log = logging.getLogger("dragoman.hosts")

T = TypeVar("T")


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """What is served, and who is told what when."""

    application: AsgiApplication
    open: Callable[[], Awaitable[None]]
    """Called before the first connection is taken."""
    close: Callable[[], Awaitable[None]]
    """Called after the last one has ended."""
    ready: Callable[[str], None]
    """Given the URL, once the application can be called."""
    end_streams: Callable[[], None]
    """Called when the process has been told to stop."""
    grace: float
    """Seconds that requests in flight have then."""
    trusts: Callable[[str], bool] = lambda _: False
    """Whether an address is that of a proxy, from which the connections of many callers come."""


class _Stop:
    """Whether the process has been told to stop, and whether it was told twice."""

    def __init__(self) -> None:
        self.told = asyncio.Event()
        self.again = asyncio.Event()

    def tell(self) -> None:
        (self.again if self.told.is_set() else self.told).set()


def run(
    serving: Serving,
    host: str,
    port: int,
    tls: ssl.SSLContext | None = None,
    limits: ConnectionLimits = DEFAULTS,
) -> None:
    """Serves until SIGINT or SIGTERM; then streams end, open requests have their grace, and the application closes.
    What runs on after that, on the event loop or in a thread, is let go. A second signal cuts the grace short.

    Raises:
        SystemExit: the address cannot be had, or the application cannot start; why is on the standard error.
    """
    with _loop() as loop:
        site = Site(
            serving.application,
            loop,
            limits=_possible(limits),
            state={},
            hsts=None if tls is None else HSTS,
            tls=tls,
            uncounted=serving.trusts,
        )
        loop.run_until_complete(_serve(serving, site, host, port))


def _possible(limits: ConnectionLimits) -> ConnectionLimits:
    """The limits, with no more connections than the process may have files open beside `OTHER_FILES`."""
    if sys.platform == "win32":
        return limits
    import resource

    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    possible = max(1, files - OTHER_FILES)
    if files == resource.RLIM_INFINITY or limits.most <= possible:
        return limits
    log.info("%d connections are taken, not %d: the process may have %d files open", possible, limits.most, files)
    return msgspec.structs.replace(limits, most=possible)


async def _serve(serving: Serving, site: Site, host: str, port: int) -> None:
    loop = site.loop
    stop, listener = _Stop(), Listener(site)
    with _signals(loop, stop):
        own, number = await _had(listener.bind(host, port), f"{host}:{port}")
        try:
            await serving.open()
        except Exception as error:  # whatever it is, it is told and the process ends
            listener.close()
            raise _cannot(str(error), 3) from error
        try:
            if not stop.told.is_set():
                await _had(listener.start(), f"{host}:{port}")
                _spare_the_collector()
                own = f"[{own}]" if ":" in own else own
                serving.ready(f"http{'' if site.tls is None else 's'}://{own}:{number}")
                await _answer(serving, site, listener, stop)
        finally:
            listener.close()
            await serving.close()


async def _had(listening: Awaitable[T], address: str) -> T:
    """What comes of it; another process may have the port, or take it just now."""
    try:
        return await listening
    except OSError as error:
        raise _cannot(f"{address} cannot be listened on: {error.strerror or error}", 1) from error


def _cannot(why: str, code: int) -> SystemExit:
    print(f"error: {why}", file=sys.stderr)  # noqa: T201 -- this is a program's word to who started it
    return SystemExit(code)


async def _answer(serving: Serving, site: Site, listener: Listener, stop: _Stop) -> None:
    """Takes connections until it is told to stop; then gives what is in flight its grace."""
    await stop.told.wait()
    listener.close()
    site.closing = True
    serving.end_streams()
    for connection in tuple(site.connections):
        connection.close_gently()
    end = site.loop.time() + serving.grace
    while site.connections and not stop.again.is_set() and (left := end - site.loop.time()) > 0:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.again.wait(), min(left, GLANCE))
    for connection in tuple(site.connections):
        connection.abort()
    for task in tuple(site.tasks):
        task.cancel()


@contextmanager
def _signals(loop: asyncio.AbstractEventLoop, stop: _Stop) -> Generator[None]:
    """SIGINT and SIGTERM tell to stop, and are not raised: who ends as told ends with success."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is told of signals
        return

    def obey(_number: int, _frame: Any) -> None:
        loop.call_soon_threadsafe(stop.tell)

    before = {number: signal.signal(number, obey) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _spare_the_collector() -> None:
    """Takes what is there for the life of the process out of garbage collection, and has the rest looked at less often.

    A request makes a few hundred objects and no cycles, so the default of a look every 700 costs a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@contextmanager
def _loop() -> Generator[asyncio.AbstractEventLoop]:
    """A new event loop. At the end it waits for what will not end no longer than `LAST_SECONDS`."""
    loop = _new_loop()
    loop.set_default_executor(LooseThreads(MOST_THREADS, "dragoman-loop"))
    asyncio.set_event_loop(loop)
    try:
        yield loop
    finally:
        try:
            loop.run_until_complete(_let_go())
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    if sys.platform == "win32":
        return asyncio.new_event_loop()
    import uvloop

    return uvloop.new_event_loop()


async def _let_go() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        _, left = await asyncio.wait(left, timeout=LAST_SECONDS)
    if not left:
        # Generators of tasks that still run cannot be closed.
        await asyncio.get_running_loop().shutdown_asyncgens()
