"""The same over TLS."""

import asyncio
import ssl

import trustme

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.http2 import frames as h2
from tests.unit.hosts.http2.apps import flood
from tests.unit.hosts.http2.peer import GET, Peer, frame, serving


async def test_a_connection_over_tls_is_served_and_ended_by_the_right_code() -> None:
    schemes: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        schemes.append(scope["scheme"])
        await flood(scope, receive, send)

    authority = trustme.CA()
    theirs, ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(theirs)
    authority.configure_trust(ours)
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
