"""The first bytes of a connection, which say what version of HTTP it speaks: both are served on one port.

Under TLS the caller says it by ALPN; without, HTTP/2 is begun with prior knowledge (RFC 9113 section 3.3).
"""

import asyncio
from typing import cast

from dragoman.hosts.http1.connection import Http1
from dragoman.hosts.site import Site

__all__ = ["Opening"]

HTTP2 = b"PRI "
"""How the preface of HTTP/2 begins, and no request of HTTP/1.1."""


class Opening(asyncio.Protocol):
    """A connection that has said nothing yet. It hands over to the protocol of the version that is spoken."""

    _transport: asyncio.Transport
    _timer: asyncio.TimerHandle

    def __init__(self, site: Site) -> None:
        self._site = site
        self._seen = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._site.connections.add(self)
        tls = transport.get_extra_info("ssl_object")
        self._timer = self._site.loop.call_later(self._site.limits.idle, transport.close)
        if self._site.closing:  # a handshake may have taken until now
            transport.close()
        elif tls is not None and tls.selected_alpn_protocol() == "h2":
            self._become_http2()

    def data_received(self, data: bytes) -> None:
        self._seen += data
        if self._seen.startswith(HTTP2):
            self._become_http2()
        elif not HTTP2.startswith(self._seen):
            self._become(Http1(self._site))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- all the same why
        self._leave()

    def close_gently(self) -> None:
        self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def _become_http2(self) -> None:
        # Most servers never see a connection of HTTP/2, and start without it.
        from dragoman.hosts.http2.connection import Http2

        self._become(Http2(self._site))

    def _become(self, protocol: asyncio.Protocol) -> None:
        self._leave()
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
        if self._seen:
            protocol.data_received(self._seen)

    def _leave(self) -> None:
        self._timer.cancel()
        self._site.connections.discard(self)
