"""Clients that wait to be asked before they send a body (RFC 9110 section 10.1.1)."""

from typing import cast

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.http2 import frames as h2
from tests.unit.hosts.http2.apps import echo, read
from tests.unit.hosts.http2.peer import POST, Headers, Peer, frame, serving


async def waiting(peer: Peer) -> None:
    await peer.write(peer.head(1, [*POST, ("expect", "100-continue")], h2.END_HEADERS))


async def status(peer: Peer) -> str:
    """Of the next head."""
    found = await peer.next(h2.HEADERS)
    assert not found.flags & h2.END_STREAM
    return str(dict(cast("Headers", peer.decoder.decode(found.payload)))[":status"])


async def test_a_client_that_waits_to_be_asked_for_the_body_is_asked_once() -> None:
    async with serving(echo) as server, server.peer() as peer:
        await waiting(peer)
        assert await status(peer) == "100"
        await peer.write(frame(h2.DATA, 0, 1, b"h"))
        assert await peer.alive()
        await peer.write(frame(h2.DATA, h2.END_STREAM, 1, b"i"))
        assert await status(peer) == "200"
        assert (await peer.next(h2.DATA)).payload == b"hi"


async def test_a_client_that_has_its_answer_already_is_not_asked() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 413})
        await send({"type": "http.response.body", "body": await read(receive)})

    async with serving(app) as server, server.peer() as peer:
        await waiting(peer)
        assert await status(peer) == "413"
        await peer.write(frame(h2.DATA, h2.END_STREAM, 1, b"hi"))
        assert (await peer.next(h2.HEADERS, h2.DATA)).payload == b"hi"
