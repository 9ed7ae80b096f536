"""What the connections of one server share, and what the server asks of each."""

import ssl
from asyncio import AbstractEventLoop, BaseTransport, Task
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, cast, runtime_checkable

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.connections import Connection, ConnectionLimits, Connections
from dragoman.hosts.tls import described
from dragoman.ports.auth import Peer

__all__ = ["AsgiApplication", "Connection", "ConnectionLimits", "Exchanging", "Site", "about"]

AsgiApplication = Callable[[Scope, Receive, Send], Awaitable[None]]


@runtime_checkable
class Exchanging(Protocol):
    """An application that takes requests as they are which are there in full: to say them piece by piece, as ASGI has
    it, costs a twentieth of an answer.
    """

    def takes(self, request: HttpRequest) -> bool:
        """Whether this request may come by `exchange`."""
        ...

    async def exchange(
        self, request: HttpRequest, peer: Peer, about: Mapping[str, Any], receive: Receive, send: Send
    ) -> HttpReply | None:
        """The answer, to be written as it is; None if it was sent by `send`. `peer` is who is connected, `about` what
        the ASGI scope of every request of the connection has.
        """
        ...


class Site:
    """The application and what its connections share. Belongs to one event loop. `uncounted` says from which addresses
    any number of connections may come.
    """

    def __init__(
        self,
        application: AsgiApplication,
        loop: AbstractEventLoop,
        *,
        limits: ConnectionLimits,
        state: dict[str, Any],
        hsts: bytes | None = None,
        tls: ssl.SSLContext | None = None,
        uncounted: Callable[[str], bool] = lambda _: False,
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
        self.tls = tls
        """By which connections are secured before anything else."""
        self.connections = Connections(limits, uncounted, loop.time)
        self.tasks: set[Task[None]] = set()
        """One for each request in flight."""
        self.closing = False


def about(transport: BaseTransport) -> dict[str, Any]:
    """What the ASGI scope of every request of a connection has."""
    secured: ssl.SSLObject | None = transport.get_extra_info("ssl_object")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "scheme": "http" if secured is None else "https",
        "extensions": {} if secured is None else {"tls": described(secured)},
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
