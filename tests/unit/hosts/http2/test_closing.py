"""How connections end: gently, at once, and because a peer takes too long."""

import asyncio
from typing import Any, cast

import pytest

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.http2 import frames as h2
from dragoman.hosts.http2.limits import Http2Limits
from dragoman.hosts.site import ConnectionLimits
from tests.unit.hosts.http2.apps import flood, forever, hello
from tests.unit.hosts.http2.peer import GET, POST, Peer, Server, frame, rst, serving, update

INITIAL_WINDOW = 4


class Gate:
    """Answers when it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.open.wait()
        await hello(scope, receive, send)


async def test_a_gentle_close_answers_what_was_begun_and_nothing_after() -> None:
    gate = Gate()
    async with serving(gate) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET))
        assert await peer.alive()
        server.connections[0].close_gently()
        server.connections[0].close_gently()
        farewell = await peer.next(h2.GOAWAY)
        assert (farewell.payload[:4], farewell.code) == (b"\0\0\0\1", h2.NO_ERROR)
        late = [peer.head(3, POST, h2.END_HEADERS), frame(h2.DATA, 0, 3, b"x"), peer.head(3, [("late", "x")])]
        await peer.write(*late)
        assert await peer.alive()
        gate.open.set()
        assert (await peer.answer(1))[1] == b"hello"
        assert await peer.rest() == []
        peer.close()
        await gone(server)


async def test_what_is_said_to_be_answered_does_not_grow_while_a_connection_closes() -> None:
    """A client may have sent the rest again elsewhere."""
    async with serving(forever) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET))
        assert await peer.alive()
        server.connections[0].close_gently()
        await peer.write(peer.head(3, GET), frame(h2.PING, 0, 1, bytes(8)))
        farewells = [found for found in await peer.rest() if found.kind == h2.GOAWAY]
        assert [(found.payload[:4], found.code) for found in farewells] == [
            (b"\0\0\0\1", h2.NO_ERROR),
            (b"\0\0\0\1", h2.PROTOCOL_ERROR),
        ]


async def test_a_gentle_close_is_at_once_when_nothing_is_open() -> None:
    async with serving(hello) as server, server.peer() as peer:
        await peer.get(1)
        server.connections[0].close_gently()
        assert [found.kind for found in await peer.rest()] == [h2.GOAWAY]


async def test_a_connection_that_comes_while_the_site_closes_is_sent_away() -> None:
    async with serving(hello) as server:
        server.site.closing = True
        async with server.peer() as peer:
            assert await peer.fault() == h2.NO_ERROR


async def test_a_client_that_leaves_is_answered_before() -> None:
    gate = Gate()
    async with serving(gate) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET), h2.goaway(0, 0))
        await peer.next(h2.GOAWAY)
        gate.open.set()
        assert (await peer.answer(1))[1] == b"hello"
        assert await peer.rest() == []


async def test_a_client_that_leaves_with_nothing_open_is_bidden_farewell() -> None:
    async with serving(hello) as server, server.peer() as peer:
        await peer.write(h2.goaway(0, 0))
        assert await peer.fault() == h2.NO_ERROR


async def test_an_abort_cancels_what_runs_and_closes() -> None:
    ended: asyncio.Queue[Any] = asyncio.Queue()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            ended.put_nowait(error)
            raise

    async with serving(app) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET))
        assert await peer.alive()
        server.connections[0].abort()
        assert isinstance(await ended.get(), asyncio.CancelledError)
        assert await peer.rest() == []


async def test_open_connections_are_known_to_the_site_and_lost_ones_are_not() -> None:
    async with serving(hello) as server:
        async with server.peer() as peer:
            await peer.get(1)
            assert set(server.site.connections) == set(server.connections)
        await gone(server)


async def gone(server: Server) -> None:
    while server.site.connections:  # noqa: ASYNC110 -- the site has no event for it
        await asyncio.sleep(0)


# Time, as the connections see it, passes here only as told.

LIMITS = ConnectionLimits(idle=100.0, head_timeout=20.0, stall=60.0)


async def closed_after(server: Server, peer: Peer, seconds: float, code: int) -> None:
    """A quarter of the shortest time is how exactly times are kept."""
    server.clock.advance(seconds - 0.1)
    await asyncio.sleep(0)
    assert not server.connections[0].over
    server.clock.advance(5.1)
    assert await peer.fault() == code


@pytest.mark.parametrize("greeting", [b"", h2.PREFACE[:10], h2.PREFACE, h2.PREFACE + frame(h2.SETTINGS, size=6)])
async def test_a_greeting_that_does_not_come_ends_the_connection(greeting: bytes) -> None:
    async with serving(hello, LIMITS, frozen=True) as server, server.raw() as peer:
        await peer.write(greeting)
        await peer.next(h2.SETTINGS)
        await closed_after(server, peer, 20, h2.ENHANCE_YOUR_CALM)


async def test_a_head_that_comes_too_slowly_ends_the_connection() -> None:
    async with serving(hello, LIMITS, frozen=True) as server, server.peer() as peer:
        await peer.alive()
        await peer.write(frame(h2.HEADERS, h2.END_STREAM, 1, b"\x82"))
        await received(server)
        server.clock.advance(15)
        await peer.write(frame(h2.CONTINUATION, 0, 1, b"\x84"))
        await received(server)
        await closed_after(server, peer, 5, h2.ENHANCE_YOUR_CALM)


async def received(server: Server) -> None:
    """Until what another connection sends later is answered: what was sent before has been read."""
    async with server.peer() as other:
        assert await other.alive()
        assert await other.alive()


async def test_a_frame_that_is_never_whole_ends_the_connection() -> None:
    async with serving(hello, LIMITS, frozen=True) as server, server.peer() as peer:
        await peer.write(frame(h2.PING, 0, 0, b"1234", size=8))
        await received(server)
        await closed_after(server, peer, 20, h2.ENHANCE_YOUR_CALM)


async def test_slow_frames_are_no_fault_while_each_comes_in_time() -> None:
    async with serving(forever, LIMITS, frozen=True) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST, h2.END_HEADERS))
        half = frame(h2.DATA, 0, 1, b"1234")
        await peer.write(half[:10])
        for _ in range(10):
            await received(server)
            server.clock.advance(15)
            await peer.write(half[10:] + half[:10])
        await peer.write(half[10:])
        assert await peer.alive()


async def test_an_idle_connection_is_closed_in_time() -> None:
    async with serving(hello, LIMITS, frozen=True) as server, server.peer() as peer:
        for stream in (1, 3):
            await peer.get(stream)
            server.clock.advance(90)
        assert await peer.alive()
        await closed_after(server, peer, 10, h2.NO_ERROR)


async def test_a_connection_with_a_request_is_not_idle() -> None:
    unasked = Http2Limits(keep_alive=100_000.0)
    async with serving(forever, LIMITS, unasked, frozen=True) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET))
        assert await peer.alive()
        server.clock.advance(10_000)
        assert await peer.alive()
        await peer.write(rst(1))
        assert await peer.alive()
        await closed_after(server, peer, 95, h2.NO_ERROR)


async def test_a_silent_peer_with_a_request_is_asked_and_stays_as_long_as_it_answers() -> None:
    async with serving(forever, LIMITS, frozen=True) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET))
        assert await peer.alive()
        for _ in range(20):
            server.clock.advance(50)
            asked = await peer.next(h2.PING)
            assert (asked.flags, len(asked.payload)) == (0, 8)
            await peer.write(frame(h2.PING, h2.ACK, 0, asked.payload))
            await received(server)
        assert (await peer.get(3, "/quick"))[1] == b"quick"


async def test_a_silent_peer_that_does_not_answer_is_cut_and_its_application_told() -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def wait(_scope: Scope, receive: Receive, _send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        told.put_nowait("http.disconnect")

    async with serving(wait, LIMITS, frozen=True) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET))
        assert await peer.alive()
        server.clock.advance(50)
        await peer.next(h2.PING)
        server.clock.advance(14)
        assert told.empty()
        assert not server.connections[0].over
        server.clock.advance(11)
        assert await asyncio.wait_for(told.get(), 5) == "http.disconnect"
        assert await peer.rest() == []


async def test_a_peer_without_a_request_is_not_asked() -> None:
    async with serving(hello, LIMITS, frozen=True) as server, server.peer() as peer:
        await peer.get(1)
        server.clock.advance(110)
        assert [found.kind for found in await peer.rest()] == [h2.GOAWAY]


async def test_a_response_that_nobody_takes_is_cancelled() -> None:
    async with serving(flood, LIMITS, frozen=True) as server, server.peer({INITIAL_WINDOW: 10}) as peer:
        await peer.write(peer.head(1, [*GET[:2], (":path", "/1000"), GET[3]]))
        assert await peer.alive()
        server.clock.advance(59)
        await peer.write(update(1, 10))
        assert await peer.alive()
        server.clock.advance(59)
        assert await peer.alive()
        server.clock.advance(6)
        found = await peer.next(h2.RST_STREAM)
        assert (found.stream, found.code) == (1, h2.CANCEL)
        assert (await peer.get(3, "/5"))[1] == b"x" * 5


async def test_a_peer_that_takes_no_bytes_at_all_is_dropped() -> None:
    async with serving(flood, LIMITS, frozen=True) as server, server.peer() as peer:
        assert await peer.alive()
        server.connections[0].outlet.pause()  # as the transport does when the peer reads nothing
        server.clock.advance(59)
        assert server.site.connections
        server.clock.advance(6)
        await peer.rest()
        assert not server.site.connections


async def test_a_peer_that_does_not_go_after_a_fault_is_dropped() -> None:
    async with serving(hello, LIMITS, frozen=True) as server, server.peer() as peer:
        await peer.write(frame(h2.PING, 0, 1, bytes(8)))
        assert await peer.fault() == h2.PROTOCOL_ERROR
        await peer.write(peer.head(1, GET))
        assert server.site.connections
        server.clock.advance(1)
        await gone(server)


@pytest.mark.parametrize("patient", [True, False])
async def test_a_gentle_close_waits_for_slow_readers_of_what_was_answered_but_not_for_ever(patient: bool) -> None:
    size, limits = 16_777_216, ConnectionLimits(idle=100.0, stall=60.0, high_water=1 << 30)
    async with serving(flood, limits, frozen=True) as server, server.peer({INITIAL_WINDOW: 2**31 - 1}) as peer:
        transport = cast("asyncio.Transport", peer.writer.transport)
        await peer.alive()
        transport.pause_reading()
        await peer.write(update(0, 2**31 - 1 - 65_535), peer.head(1, [*GET[:2], (":path", f"/{size}"), GET[3]]))
        await received(server)
        server.connections[0].close_gently()
        server.clock.advance(50 if patient else 62)
        await received(server)
        transport.resume_reading()
        if patient:
            assert len((await peer.answer(1))[1]) == size
        else:
            assert sum(len(found.payload) for found in await peer.rest()) < size
