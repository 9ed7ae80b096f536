"""What the connections of one server share, and what the server asks of each."""

from asyncio import AbstractEventLoop, BaseTransport, Task
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, cast, runtime_checkable

import msgspec

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.ports.auth import Peer

__all__ = ["AsgiApplication", "Connection", "ConnectionLimits", "Exchanging", "Site", "about"]

AsgiApplication = Callable[[Scope, Receive, Send], Awaitable[None]]


class ConnectionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one connection may cost. Times in seconds, sizes in bytes."""

    idle: float = 75.0
    """Without a request in flight; then it is closed."""
    head_timeout: float = 20.0
    """From the first byte of a request's head to its last."""
    max_head_bytes: int = 64 * 1024
    """Request line and header fields together, decoded."""
    max_header_fields: int = 128
    stall: float = 60.0
    """Without a caller taking anything of what waits for it; then the connection is cut."""
    high_water: int = 64 * 1024
    """Bytes that wait for a slow reader before the application is made to wait."""


@runtime_checkable
class Exchanging(Protocol):
    """An application that takes requests as they are which are there in full: to say them piece by piece, as ASGI has
    it, costs a twentieth of an answer.
    """

    def takes(self, request: HttpRequest) -> bool:
        """Whether this request may come by `exchange`."""
        ...

    async def exchange(self, request: HttpRequest, peer: Peer, receive: Receive, send: Send) -> HttpReply | None:
        """The answer, to be written as it is; None if it was sent by `send`. `peer` is who is connected."""
        ...


class Connection(Protocol):
    """One connection, of either version of HTTP."""

    def close_gently(self) -> None:
        """Takes no new request; closes when those in flight are answered, at once if there are none."""
        ...

    def abort(self) -> None:
        """Closes at once, and cancels what is in flight."""
        ...


class Site:
    """The application and what its connections share. Belongs to one event loop."""

    def __init__(
        self,
        application: AsgiApplication,
        loop: AbstractEventLoop,
        *,
        limits: ConnectionLimits,
        state: dict[str, Any],
        hsts: bytes | None = None,
    ) -> None:
        self.application = application
        same: object = application
        self.exchanging = same if isinstance(same, Exchanging) else None
        self.loop = loop
        self.limits = limits
        self.state = state
        """Of the lifespan; each request's scope gets a shallow copy."""
        self.hsts = hsts
        """The value of `strict-transport-security`, which every answer over TLS carries; None without TLS."""
        self.connections: set[Connection] = set()
        self.tasks: set[Task[None]] = set()
        """One for each request in flight."""
        self.closing = False


def about(transport: BaseTransport) -> dict[str, Any]:
    """What the ASGI scope of every request of a connection has."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "scheme": "http" if transport.get_extra_info("ssl_object") is None else "https",
        "server": _address(transport.get_extra_info("sockname")),
        "client": _address(transport.get_extra_info("peername")),
        "root_path": "",
    }


def _address(name: Any) -> tuple[str, int | None] | None:
    """A socket's name as ASGI has it: host and port, or the path of a Unix socket."""
    if isinstance(name, tuple):
        host, port = cast("tuple[str, int]", name)[:2]
        return host, port
    return (name, None) if isinstance(name, str) and name else None
