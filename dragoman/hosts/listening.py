"""The sockets that a server listens on. Under TLS it takes connections itself: an event loop's own server says nothing
of those that are still being secured, and these have to be counted too.
"""

import asyncio
import logging
import socket
import sys
from contextlib import suppress

from dragoman.hosts.opening import Opening
from dragoman.hosts.site import Site

__all__ = ["Listener"]

BACKLOG = 2048
PAUSE = 1.0
"""Seconds without taking connections, when no more can be taken: the process has all the files open that it may."""

log = logging.getLogger("dragoman.hosts")


class Listener:
    """Listens for a site at every address that a host has. Connections are refused until it is started."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._sockets: list[socket.socket] = []
        self._servers: list[asyncio.Server] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._securing: set[asyncio.Task[None]] = set()

    async def bind(self, host: str, port: int) -> tuple[str, int]:
        """Takes the port, any free one for 0, and gives the first address of it.

        Raises:
            OSError: there is no such address, or it cannot be had.
        """
        found = await self._site.loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        try:
            for family, kind, number, _, address in dict.fromkeys(found):
                self._sockets.append(_bound(family, kind, number, address))
        except OSError:
            self.close()
            raise
        first: tuple[str, int] = self._sockets[0].getsockname()[:2]
        return first

    async def start(self) -> None:
        """Takes connections from now on."""
        loop, site = self._site.loop, self._site
        for one in self._sockets:
            if site.tls is None:
                self._servers.append(await loop.create_server(lambda: Opening(site), sock=one, backlog=BACKLOG))
            else:
                one.listen(BACKLOG)
                self._accepting.append(loop.create_task(self._accept(one)))

    def close(self) -> None:
        """Takes no more connections; those that are there stay."""
        for server in self._servers:
            server.close()
        for task in self._accepting:
            task.cancel()
        for one in self._sockets:
            one.close()

    async def _accept(self, listening: socket.socket) -> None:
        site = self._site
        while True:
            try:
                taken, address = await site.loop.sock_accept(listening)
            except OSError as error:
                log.warning("connections cannot be taken now: %s", error)
                await asyncio.sleep(PAUSE)
                continue
            opening = Opening(site)
            if not opening.enter(address[0]):
                taken.close()
                continue
            securing = opening.securing = site.loop.create_task(self._secure(opening, taken))
            self._securing.add(securing)
            securing.add_done_callback(self._securing.discard)

    async def _secure(self, opening: Opening, taken: socket.socket) -> None:
        site = self._site
        try:
            await site.loop.connect_accepted_socket(
                lambda: opening, taken, ssl=site.tls, ssl_handshake_timeout=site.limits.handshake_timeout
            )
        except OSError as error:
            log.debug("a connection could not be secured: %s", error)
        finally:
            opening.secured()


def _bound(family: int, kind: int, number: int, address: tuple[str | int, ...] | tuple[int, bytes]) -> socket.socket:
    bound = socket.socket(family, kind, number)
    try:
        if sys.platform != "win32":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            with suppress(OSError):
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.setblocking(False)
        bound.bind(address)
    except OSError:
        bound.close()
        raise
    return bound
