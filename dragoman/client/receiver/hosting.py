"""A receiver on a socket of its own: this package's host, without the rest of a server."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from dragoman.client.receiver.route import Route
from dragoman.hosts.listening import Listener
from dragoman.hosts.site import ConnectionLimits, Site

__all__ = ["hosted"]

GRACE = 5.0
"""Seconds that requests in flight have at the end."""


@asynccontextmanager
async def hosted(route: Route, host: str, port: int, tls: ssl.SSLContext | None) -> AsyncGenerator[str, None]:
    """Takes connections while the context is open, which gives the origin that is listened on.

    Raises:
        OSError: the address cannot be had.
    """
    loop = asyncio.get_running_loop()
    site = Site(route, loop, limits=ConnectionLimits(), state={}, tls=tls)
    listener = Listener(site)
    address, number = await listener.bind(host, port)
    try:
        await listener.start()
        yield f"http{'' if tls is None else 's'}://{f'[{address}]' if ':' in address else address}:{number}"
    finally:
        listener.close()
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
