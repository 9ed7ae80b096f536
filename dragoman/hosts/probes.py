"""What balancers and orchestrators ask over HTTP: whether the process lives, and whether it takes calls."""

from collections.abc import Awaitable, Callable

from dragoman.dialects.base import HttpReply
from dragoman.engine.service import Service

__all__ = ["PROBE_PATHS", "Probes"]

PROBE_PATHS = frozenset({"/healthz", "/readyz"})
"""Relative to where the application is mounted."""


class Probes:
    """Answers 200 or 503 with `{"status":"ok"}` or `{"status":"unavailable"}`, and nothing else about the server.

    `/healthz` is 200 for as long as the process answers at all: who restarts it for less loses tasks. `/readyz` is 200
    while the store is open and the server has not begun to stop; an application that has not been opened is, first.
    """

    def __init__(self, service: Service, first: Callable[[], Awaitable[None]]) -> None:
        self._service = service
        self._first = first

    async def reply(self, method: str, path: str) -> HttpReply:
        """The answer to a request of one of the paths; 405 for other verbs than GET and HEAD."""
        if method not in ("GET", "HEAD"):
            return HttpReply(405, {"allow": "GET, HEAD"})
        well = path == "/healthz" or await self._ready()
        body = b'{"status":"ok"}' if well else b'{"status":"unavailable"}'
        about = {"content-type": "application/json", "cache-control": "no-store", "content-length": str(len(body))}
        return HttpReply(200 if well else 503, about, b"" if method == "HEAD" else body)

    async def _ready(self) -> bool:
        try:
            await self._first()
        except Exception:  # noqa: BLE001 -- a request will be told why; here it is enough that it does not open
            return False
        return self._service.ready
