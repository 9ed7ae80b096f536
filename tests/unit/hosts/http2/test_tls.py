"""The same over TLS."""

import asyncio
import ssl
from typing import cast

import trustme

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.http2 import frames as h2
from dragoman.hosts.site import ConnectionLimits
from tests.unit.hosts.http2.apps import flood
from tests.unit.hosts.http2.peer import GET, Peer, frame, serving, update


def contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """Of the server and of its clients."""
    authority = trustme.CA()
    theirs, ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(theirs)
    authority.configure_trust(ours)
    return theirs, ours


async def test_a_connection_over_tls_is_served_and_ended_by_the_right_code() -> None:
    schemes: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        schemes.append(scope["scheme"])
        await flood(scope, receive, send)

    theirs, ours = contexts()
    async with serving(app, ssl=theirs) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=ours)
        peer = Peer(reader, writer)
        await peer.greet()
        await peer.write(peer.head(1, [*GET[:1], (":scheme", "https"), (":path", "/50000"), GET[3]]))
        assert (await peer.answer(1))[1] == b"x" * 50_000
        await peer.write(frame(h2.PING, 0, 1, bytes(8)))
        assert await peer.fault() == h2.PROTOCOL_ERROR
        writer.close()
    assert schemes == ["https"]


async def test_a_gentle_close_over_tls_leaves_slow_readers_their_time() -> None:
    """The transport has handed on what waits for them, and counts it no more."""
    size = 16_777_216
    theirs, ours = contexts()
    async with serving(flood, ConnectionLimits(high_water=1 << 30), frozen=True, ssl=theirs) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=ours, limit=1 << 22)
        peer = Peer(reader, writer)
        await peer.greet({4: 2**31 - 1})
        assert await peer.alive()
        transport = cast("asyncio.Transport", writer.transport)
        transport.pause_reading()
        await peer.write(update(0, 2**31 - 1 - 65_535), peer.head(1, [*GET[:2], (":path", f"/{size}"), GET[3]]))
        while server.connections[0].outlet.sent * h2.MAX_FRAME < size:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)
        server.connections[0].close_gently()
        server.clock.advance(50)
        await asyncio.sleep(0)
        transport.resume_reading()
        assert len((await peer.answer(1))[1]) == size
        writer.close()
