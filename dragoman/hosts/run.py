"""Runs the application on uvicorn, which does HTTP/1.1 with httptools and uvloop."""

import asyncio
import gc
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

__all__ = ["run"]


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


def run(
    application: Any,
    host: str,
    port: int,
    *,
    ready: Callable[[str], None],
    end_streams: Callable[[], None],
    grace: float,
) -> None:
    """Serves until SIGINT or SIGTERM. Then streams end, open requests have `grace` seconds, and the store is closed.

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
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    server = _Server(config, ready, end_streams)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(server.serve())
    if not server.started:
        raise SystemExit(3)
