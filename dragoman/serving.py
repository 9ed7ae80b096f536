"""A server on a port of its own: where it listens, and what it says of itself when it starts."""

import gc
import logging
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from dragoman.errors import ConfigurationError
from dragoman.hosts.connections import ConnectionLimits
from dragoman.hosts.tls import TlsFiles
from dragoman.server import Server

if TYPE_CHECKING:
    from ssl import SSLContext

__all__ = ["ConnectionLimits", "Port", "TlsFiles", "serve"]

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})

log = logging.getLogger("dragoman.server")


class Port(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server listens, and by what callers reach it; what each means is told at `Agent.run`."""

    host: str
    number: int
    tls: TlsFiles | None = None
    client_ca: str | PathLike[str] | None = None
    connections: ConnectionLimits = ConnectionLimits()

    def security(self) -> "SSLContext | None":
        """What connections are secured by, if they are.

        Raises:
            ConfigurationError: files cannot be used, or callers are asked for certificates without TLS.
        """
        if self.tls is None:
            if self.client_ca is not None:
                raise ConfigurationError("callers are asked for certificates by TLS: client_ca= goes with tls=")
            return None
        from dragoman.hosts.tls import tls_context

        return tls_context(self.tls, self.client_ca)


def serve(server: Server, port: Port, announce: Callable[[str], None]) -> None:
    """Runs the server until it is told to stop; with TLS, all bindings are under it."""
    gc.disable()  # nothing that the start makes is garbage; a server that runs enables it again
    try:
        _serve(server, port, announce)
    finally:
        gc.enable()


def _serve(server: Server, port: Port, announce: Callable[[str], None]) -> None:
    from dragoman.hosts.run import Serving, run

    def ready(url: str) -> None:
        announce(f"Agent  {url}")
        announce(f"Store  {server.store.description}")
        announce(f"Card   {url}/.well-known/agent-card.json")
        if not server.knows_callers:
            announce("Access anyone: without auth= all callers share one anonymous scope")
            if urlsplit(url).hostname not in LOOPBACK:
                log.warning("anybody who reaches %s can call this agent and read its tasks: it has no auth=", url)
        elif port.client_ca is None and server.wants_certificates:
            log.warning("nobody is asked for the certificate by which callers are to be known: there is no client_ca=")

    server.offer_http2()
    serving = Serving(
        application=server.application,
        open=server.open,
        close=server.close,
        ready=ready,
        end_streams=server.service.end_streams,
        grace=server.service.limits.drain_grace,
        trusts=server.trusts,
    )
    run(serving, port.host, port.number, port.security(), port.connections)
