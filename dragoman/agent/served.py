"""Where an agent is served."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from os import PathLike
from typing import Any

from dragoman.agent.owned import Owned
from dragoman.ports.audit import Audit
from dragoman.server import Application, CardShape, LocalCalls, Server
from dragoman.serving import ConnectionLimits, Port, TlsFiles, serve

__all__ = ["ConnectionLimits", "Served"]


class Served(Owned, ABC):
    """The part of `Agent` that puts it where it can be called."""

    def run(
        self,
        host: str = "127.0.0.1",
        port: int = 9999,
        *,
        store: str | None = None,
        tls: TlsFiles | None = None,
        client_ca: str | PathLike[str] | None = None,
        connections: ConnectionLimits | None = None,
        card_shape: CardShape | None = None,
        audit: Audit | None = None,
        announce: Callable[[str], None] = print,
    ) -> None:
        """Serves the agent until SIGINT or SIGTERM; port 0 takes any free one.

        `tls` names the files of a certificate chain and of its private key, both PEM; then all bindings are under TLS,
        1.2 or newer. `client_ca` names the authorities (PEM) of callers, who are asked for a certificate then, and may
        have none: `MutualTls` knows them by it. `connections` says how many there may be, and what each may cost
        (`docs/limits.md`). `card_shape` and `audit` stand in for those of the agent. `announce` is given the lines that
        tell the URL, the store and the card's URL, once the agent can be called.

        Raises:
            ConfigurationError: the files of `tls` or of `client_ca` cannot be used, or there is only the latter.
            SystemExit: the address cannot be had, or the store cannot be opened; why is on the standard error.
        """
        server = self._served(store, card_shape=card_shape, audit=audit)
        limits = connections or ConnectionLimits()
        serve(server, Port(host=host, number=port, tls=tls, client_ca=client_ca, connections=limits), announce)

    def asgi(self, *, store: str | None = None, http2: bool = False) -> Application:
        """The ASGI application, for any server and under any path. Without lifespan events it opens on first use.

        `http2` says that the server speaks HTTP/2 with trailers: then the card declares gRPC too, unless the agent is
        under a path.
        """
        server = self._served(store)
        if http2:
            server.offer_http2()
        return server.application

    def mount(self, app: Any, path: str, *, store: str | None = None) -> None:
        """Mounts the agent in a Starlette or FastAPI application, under `path`, with and without a slash at its end.

        The agent opens and closes with the application.
        """
        self.asgi(store=store).mount_on(app, path)

    @asynccontextmanager
    async def local(self) -> AsyncGenerator[LocalCalls]:
        """The agent in this process, without a socket: the one that is being served, else one on its own store,
        which is in memory unless given.
        """
        if self._live:
            yield self._live[-1].local
            return
        server = self._in_process()
        await server.open()
        try:
            yield server.local
        finally:
            await server.close()

    @abstractmethod
    def _served(self, store: str | None, **changes: Any) -> Server:
        """A server on this store, else on the agent's own, else on its default one. What is given among the changes,
        which are settings, and is not None stands in for what the agent says.
        """

    @abstractmethod
    def _in_process(self) -> Server:
        """A server on the agent's own store, else in memory."""
