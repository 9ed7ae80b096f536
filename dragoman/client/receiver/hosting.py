"""A receiver on a socket of its own: this package's host, without the rest of a server."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from dragoman.client.receiver.route import Route
from dragoman.hosts.opening import Opening
from dragoman.hosts.site import ConnectionLimits, Site

__all__ = ["hosted"]

GRACE = 5.0
"""Seconds that requests in flight have at the end."""
BACKLOG = 128


@asynccontextmanager
async def hosted(route: Route, host: str, port: int, tls: ssl.SSLContext | None) -> AsyncGenerator[str, None]:
    """Takes connections while the context is open, which gives the origin that is listened on.

    Raises:
        OSError: the address cannot be had.
    """
    loop = asyncio.get_running_loop()
    site = Site(route, loop, limits=ConnectionLimits(), state={}, tls=tls)
    server = await loop.create_server(lambda: Opening(site), host, port, backlog=BACKLOG)
    try:
        address, number = server.sockets[0].getsockname()[:2]
        yield f"http{'' if tls is None else 's'}://{f'[{address}]' if ':' in address else address}:{number}"
    finally:
        server.close()
        await _ended(site)


async def _ended(site: Site) -> None:
    site.closing = True
    for connection in tuple(site.connections):
        connection.close_gently()
    if site.tasks:
        await asyncio.wait(tuple(site.tasks), timeout=GRACE)
    for connection in tuple(site.connections):
        connection.abort()
    for task in tuple(site.tasks):
        task.cancel()
