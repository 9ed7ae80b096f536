"""The first bytes of a connection, which say what version of HTTP it speaks: both are served on one port.

Under TLS the caller says it by ALPN; without, HTTP/2 is begun with prior knowledge (RFC 9113 section 3.3).
"""

import asyncio
from typing import TYPE_CHECKING, cast

from dragoman.hosts.http1.connection import Http1
from dragoman.hosts.http1.heads import plain_answer
from dragoman.hosts.site import Site

if TYPE_CHECKING:
    from dragoman.hosts.http2.connection import Http2

__all__ = ["Opening"]

HTTP2 = b"PRI "
"""How the preface of HTTP/2 begins, and no request of HTTP/1.1."""
CROWDED = b"retry-after: 1\r\n"


class Opening(asyncio.Protocol):
    """A connection that has said nothing yet. It hands over to the protocol of the version that is spoken."""

    _transport: asyncio.Transport | None = None
    _timer: asyncio.TimerHandle | None = None
    _entered = False
    securing: asyncio.Task[None] | None = None
    """What agrees with the caller upon TLS; nothing is said before."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._seen = b""

    def enter(self, address: str) -> bool:
        """Asks for a place among the connections, once; false if there is none for this address."""
        self._entered = self._site.connections.enter(self, address)
        return self._entered

    def secured(self) -> None:
        """Nothing is agreed upon any more: there has been a connection by now, or there is none."""
        self.securing = None
        if self._transport is None:
            self._leave()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast("asyncio.Transport", transport)
        if not self._entered and not self.enter(_address(transport)):
            transport.write(plain_answer(503, CROWDED))
            transport.close()
            return
        tls = transport.get_extra_info("ssl_object")
        self._timer = self._site.loop.call_later(self._site.limits.idle, transport.close)
        if self._site.closing:  # a handshake may have taken until now
            transport.close()
        elif tls is not None and tls.selected_alpn_protocol() == "h2":
            self._become_http2(transport)

    def data_received(self, data: bytes) -> None:
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self._seen += data
        if self._seen.startswith(HTTP2):
            self._become_http2(transport)
        elif not HTTP2.startswith(self._seen):
            self._become(Http1(self._site), transport)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- all the same why
        self._leave()

    def close_gently(self) -> None:
        if self._transport is not None:
            self._transport.close()
        elif self.securing is not None:
            self.securing.cancel()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()
        elif self.securing is not None:
            self.securing.cancel()

    def _become_http2(self, transport: asyncio.Transport) -> None:
        # Most servers never see a connection of HTTP/2, and start without it.
        from dragoman.hosts.http2.connection import Http2

        self._become(Http2(self._site), transport)

    def _become(self, protocol: "Http1 | Http2", transport: asyncio.Transport) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._site.connections.succeed(self, protocol)
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        if self._seen:
            protocol.data_received(self._seen)

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._site.connections.discard(self)


def _address(transport: asyncio.BaseTransport) -> str:
    """The caller's; empty where there is none, as on a socket in the file system."""
    name = transport.get_extra_info("peername")
    return cast("str", name[0]) if isinstance(name, tuple) else ""
