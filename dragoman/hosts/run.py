"""Runs the application on uvicorn, which does HTTP/1.1 with httptools and uvloop."""

import asyncio
import gc
import math
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

from dragoman.threads import LooseThreads

__all__ = ["run"]

LAST_SECONDS = 1.0
"""For cancelled asyncio tasks to end when the event loop does."""
MOST_THREADS = 32


class _Server(uvicorn.Server):
    """Tells when it can be called, and ends the streams before it waits for the connections."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[str], None], end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._end_streams = end_streams

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """As uvicorn has it, but a signal that was obeyed is not raised again: who ends as told ends with success."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only the main thread is told of signals
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _spare_the_collector()
        if self.started and not self.should_exit:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end_streams()
        await super().shutdown(sockets)


def _spare_the_collector() -> None:
    """Takes what is there for the life of the process out of garbage collection, and has the rest looked at less often.

    A request makes a few hundred objects and no cycles, so the default of a look every 700 costs a tenth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    gc.enable()


@contextmanager
def _loop(factory: Callable[[], asyncio.AbstractEventLoop] | None) -> Generator[asyncio.AbstractEventLoop]:
    """A new event loop. At the end it waits for what will not end no longer than `LAST_SECONDS`."""
    loop = asyncio.new_event_loop() if factory is None else factory()
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


async def _let_go() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    if left:
        _, left = await asyncio.wait(left, timeout=LAST_SECONDS)
    if not left:
        # Generators of tasks that still run cannot be closed.
        await asyncio.get_running_loop().shutdown_asyncgens()


def run(
    application: Any,
    host: str,
    port: int,
    *,
    ready: Callable[[str], None],
    end_streams: Callable[[], None],
    grace: float,
) -> None:
    """Serves until SIGINT or SIGTERM. Then streams end, open requests have `grace` seconds (in whole ones, at least 1),
    and the application closes. What runs on after that, on the event loop or in a thread, is let go.

    Raises:
        SystemExit: the address cannot be had, or the application cannot start.
    """
    config = uvicorn.Config(
        application,
        host=host,
        port=port,
        lifespan="on",
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=max(1, math.ceil(grace)),
    )
    server = _Server(config, ready, end_streams)
    with _loop(config.get_loop_factory()) as loop:
        loop.run_until_complete(server.serve())
    if not server.started:
        raise SystemExit(3)
