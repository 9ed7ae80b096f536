"""A connection until it is known what version of HTTP it speaks: both are served on one port.

Under TLS the caller says it by ALPN; without, HTTP/2 is begun with prior knowledge (RFC 9113 section 3.3).
"""

import asyncio
import logging
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

log = logging.getLogger("dragoman.hosts")


class Opening(asyncio.Protocol):
    """A connection that has said nothing yet; where the site has TLS it is secured first. It hands over to the protocol
    of the version that is spoken.
    """

    _transport: asyncio.Transport

    def __init__(self, site: Site) -> None:
        self._site = site
        self._seen = b""
        self._timer: asyncio.TimerHandle | None = None
        self._securing: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        site = self._site
        if not site.connections.enter(self, _address(transport)):
            if site.tls is None:
                self._transport.write(plain_answer(503, CROWDED))
            self._transport.close()
        elif site.tls is None or site.closing:
            self._begin()
        else:
            self._transport.pause_reading()
            self._securing = site.loop.create_task(self._secure())

    async def _secure(self) -> None:
        site = self._site
        assert site.tls is not None
        try:
            secured = await site.loop.start_tls(
                self._transport,
                self,
                site.tls,
                server_side=True,
                ssl_handshake_timeout=site.limits.handshake_timeout,
            )
        except OSError as error:
            log.debug("a connection could not be secured: %s", error)
            self._leave()
            return
        finally:
            self._securing = None
        # Who leaves at the wrong moment leaves no transport.
        if secured is None or secured.get_extra_info("ssl_object") is None:
            self._leave()
            return
        self._transport = secured
        self._begin()

    def _begin(self) -> None:
        """Waits for the first bytes, of which there may be some."""
        transport, site = self._transport, self._site
        self._timer = site.loop.call_later(site.limits.idle, transport.close)
        tls = transport.get_extra_info("ssl_object")
        if site.closing:  # a handshake may have taken until now
            transport.close()
        elif tls is not None and tls.selected_alpn_protocol() == "h2":
            self._become_http2()
        elif self._seen:
            self._choose()

    def data_received(self, data: bytes) -> None:
        self._seen += data
        if self._timer is not None and not self._transport.is_closing():
            self._choose()

    def _choose(self) -> None:
        if self._seen.startswith(HTTP2):
            self._become_http2()
        elif not HTTP2.startswith(self._seen):
            self._become(Http1(self._site))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- all the same why
        if self._securing is not None:
            self._securing.cancel()
        self._leave()

    def close_gently(self) -> None:
        if self._securing is None:
            self._transport.close()
        else:
            self._transport.abort()

    def abort(self) -> None:
        self._transport.abort()

    def _become_http2(self) -> None:
        # Most servers never see a connection of HTTP/2, and start without it.
        from dragoman.hosts.http2.connection import Http2

        self._become(Http2(self._site))

    def _become(self, protocol: "Http1 | Http2") -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._site.connections.succeed(self, protocol)
        self._transport.set_protocol(protocol)
        protocol.connection_made(self._transport)
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
