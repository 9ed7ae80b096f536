"""What costs a peer nothing and us something: refused in time, by the right code, while others are served.

The time of these connections stands still, so that allowances do not grow on slow machines.
"""

import asyncio
import tracemalloc
from collections.abc import Callable
from struct import pack

import pytest
from hpack import Encoder

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.http2 import frames as h2
from dragoman.hosts.http2.limits import Allowance, Http2Limits
from dragoman.hosts.site import ConnectionLimits
from tests.unit.hosts.http2.apps import echo, forever, hello
from tests.unit.hosts.http2.peer import GET, POST, frame, rst, serving, update

WHOLE = h2.END_STREAM | h2.END_HEADERS
INITIAL_WINDOW = 4
OPEN = Encoder().encode([(*field, True) for field in GET])
"""Leaves the table alone, so that it may be sent any number of times."""


def rapid_reset(number: int) -> bytes:
    return frame(h2.HEADERS, WHOLE, 2 * number + 1, OPEN) + rst(2 * number + 1)


def made_you_reset(number: int) -> bytes:
    """The client has the server reset each stream, by an update of nothing."""
    return frame(h2.HEADERS, WHOLE, 2 * number + 1, OPEN) + update(2 * number + 1, 0)


def malformed(number: int) -> bytes:
    return frame(h2.HEADERS, WHOLE, 2 * number + 1, b"\x82")


def too_many_streams(number: int) -> bytes:
    return frame(h2.HEADERS, h2.END_HEADERS, 2 * number + 1, OPEN)


def large_head(number: int) -> bytes:
    block = OPEN + b"\x0f\x2b\xff\xff\x02" + bytes([97]) * 510  # one value too large for the limits below
    return frame(h2.HEADERS, WHOLE, 2 * number + 1, block)


FLOODS: dict[str, Callable[[int], bytes]] = {
    "resets": rapid_reset,
    "resets that the server is made to send": made_you_reset,
    "malformed heads": malformed,
    "streams beyond the limit": too_many_streams,
    "heads beyond the limit": large_head,
    "resets of a stream that is reset": lambda _: rst(3),
    "pings": lambda _: frame(h2.PING, 0, 0, bytes(8)),
    "acknowledgements of pings": lambda _: frame(h2.PING, h2.ACK, 0, bytes(8)),
    "settings": lambda _: h2.settings({INITIAL_WINDOW: 70_000}),
    "acknowledgements of settings": lambda _: frame(h2.SETTINGS, h2.ACK),
    "priorities": lambda _: frame(h2.PRIORITY, 0, 1, b"\0\0\0\3\xff"),
    "unknown frames": lambda _: frame(0x42, 0, 0),
    "farewells": lambda _: h2.goaway(0, 0),
    "updates of the connection": lambda _: update(0, 1),
    "updates of a stream": lambda _: update(1, 1),
    "empty data": lambda _: frame(h2.DATA, 0, 1),
    "data that is padding": lambda _: frame(h2.DATA, h2.PADDED, 1, b"\x00"),
    "data of a stream that was reset": lambda _: frame(h2.DATA, 0, 3, b"x"),
}
NEEDS_OPEN = {
    "resets of a stream that is reset",
    "updates of a stream",
    "empty data",
    "data that is padding",
    "data of a stream that was reset",
}


@pytest.mark.parametrize("what", FLOODS)
async def test_a_flood_ends_its_connection_and_no_other(what: str) -> None:
    limits = ConnectionLimits(max_head_bytes=400)
    async with serving(forever, limits, frozen=True) as server, server.peer() as other, server.peer() as peer:
        start = 0
        if what in NEEDS_OPEN:
            await peer.write(frame(h2.HEADERS, h2.END_HEADERS, 1, OPEN), frame(h2.HEADERS, h2.END_HEADERS, 3, OPEN))
            await peer.write(update(3, 0))
            start = 2
        flood = [FLOODS[what](number) for number in range(start, start + 3000)]
        await peer.write(*flood)
        assert await peer.fault() == h2.ENHANCE_YOUR_CALM
        assert (await other.get(1, "/quick"))[1] == b"quick"


async def test_streams_that_are_opened_towards_a_connection_that_closes_are_counted() -> None:
    async with serving(forever, frozen=True) as server, server.peer() as peer:
        await peer.write(frame(h2.HEADERS, WHOLE, 1, OPEN), h2.goaway(0, 0))
        await peer.next(h2.GOAWAY)
        await peer.write(*[frame(h2.HEADERS, WHOLE, 2 * number + 1, OPEN) for number in range(1, 1500)])
        assert await peer.fault() == h2.ENHANCE_YOUR_CALM


@pytest.mark.parametrize("what", ["pings", "settings", "priorities", "empty data", "updates of the connection"])
async def test_what_is_within_the_allowance_is_no_flood(what: str) -> None:
    async with serving(forever, frozen=True) as server, server.peer() as peer:
        await peer.write(frame(h2.HEADERS, h2.END_HEADERS, 1, OPEN))
        for _ in range(10):
            await peer.write(*[FLOODS[what](0) for _ in range(10)])
            assert await peer.alive() or what == "settings"
            server.clock.advance(10)


async def test_an_allowance_grows_again_with_time() -> None:
    limits = Http2Limits(pings=Allowance(10, 4))
    async with serving(hello, http2=limits, frozen=True) as server, server.peer() as peer:
        for _ in range(10):
            assert await peer.alive()
        server.clock.advance(0.5)
        for _ in range(2):
            assert await peer.alive()
        assert not await peer.alive()


async def test_pings_and_updates_that_answer_data_are_free() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        for _ in range(300):
            await send({"type": "http.response.body", "body": bytes(10), "more_body": True})
        await send({"type": "http.response.body"})

    limits = Http2Limits(pings=Allowance(1, 0), updates=Allowance(1, 0))
    async with serving(app, http2=limits, frozen=True) as server, server.peer() as peer:
        await peer.write(frame(h2.HEADERS, WHOLE, 1, OPEN))
        for _ in range(300):
            await peer.next(h2.DATA)
            await peer.write(update(0, 10), update(1, 10), frame(h2.PING, 0, 0, bytes(8)))
        assert await peer.alive()


@pytest.mark.parametrize("flags", [0, h2.END_HEADERS])
async def test_header_blocks_in_endless_small_frames_end_the_connection(flags: int) -> None:
    async with serving(hello, frozen=True) as server, server.peer() as other, server.peer() as peer:
        parts = [frame(h2.CONTINUATION, 0, 1, b"\x82") for _ in range(33)]
        await peer.write(frame(h2.HEADERS, h2.END_STREAM, 1, b"\x84"), *parts, frame(h2.CONTINUATION, flags, 1))
        assert await peer.fault() == h2.ENHANCE_YOUR_CALM
        assert (await other.get(1))[1] == b"hello"


async def test_empty_parts_of_header_blocks_are_counted() -> None:
    limits = Http2Limits(empties=Allowance(5, 0))
    async with serving(hello, http2=limits, frozen=True) as server, server.peer() as peer:
        await peer.write(frame(h2.HEADERS, h2.END_STREAM, 1), *[frame(h2.CONTINUATION, 0, 1) for _ in range(5)])
        assert await peer.fault() == h2.ENHANCE_YOUR_CALM


async def test_a_block_that_is_large_before_it_is_read_ends_the_connection() -> None:
    async with serving(hello, frozen=True) as server, server.peer() as other, server.peer() as peer:
        parts = [frame(h2.CONTINUATION, 0, 1, bytes(16_384)) for _ in range(4)]
        await peer.write(frame(h2.HEADERS, h2.END_STREAM, 1, bytes(100)), *parts)
        assert await peer.fault() == h2.ENHANCE_YOUR_CALM
        assert (await other.get(1))[1] == b"hello"


async def test_a_small_block_that_says_much_is_431_and_costs_no_memory() -> None:
    """An entry of four thousand bytes, named sixty thousand times: 240 MB, if it were believed."""
    async with serving(hello, frozen=True) as server, server.peer() as other, server.peer() as peer:
        entry = Encoder().encode([("bomb", "x" * 4000)], huffman=False)
        await peer.write(frame(h2.HEADERS, WHOLE, 1, OPEN + entry))
        await peer.answer(1)
        tracemalloc.start()
        head = frame(h2.HEADERS, h2.END_STREAM, 3, OPEN + b"\xbe" * 16_000)
        parts = [frame(h2.CONTINUATION, last, 3, b"\xbe" * 16_000) for last in (0, 0, h2.END_HEADERS)]
        await peer.write(head, *parts)
        assert (await peer.answer(3))[0][":status"] == "431"
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
        tracemalloc.stop()
        assert (await peer.get(5))[1] == b"hello"
        assert (await other.get(1))[1] == b"hello"


async def test_more_fields_than_allowed_are_431() -> None:
    async with serving(hello, ConnectionLimits(max_header_fields=10)) as server, server.peer() as peer:
        await peer.write(peer.head(1, [*GET, *[("n", "v")] * 7]))
        assert (await peer.answer(1))[0][":status"] == "431"
        assert (await peer.get(3))[1] == b"hello"


async def test_a_stream_beyond_the_limit_is_refused_and_the_next_is_not() -> None:
    async with serving(forever, http2=Http2Limits(max_concurrent_streams=2)) as server, server.peer() as peer:
        await peer.write(*[frame(h2.HEADERS, WHOLE, stream, OPEN) for stream in (1, 3, 5)])
        found = await peer.next(h2.RST_STREAM)
        assert (found.stream, found.code) == (5, h2.REFUSED_STREAM)
        await peer.write(rst(1))
        assert (await peer.get(7, "/quick"))[1] == b"quick"


async def test_requests_that_run_on_without_their_streams_are_counted() -> None:
    """Rapid reset, slow enough not to be a flood, towards an application that takes no notice."""
    async with serving(deaf, http2=Http2Limits(max_running=20), frozen=True) as server, server.peer() as peer:
        for stream in range(1, 61, 2):
            await peer.write(frame(h2.HEADERS, WHOLE, stream, OPEN), rst(stream))
        found = [await peer.next(h2.RST_STREAM) for _ in range(10)]
        assert {reset.code for reset in found} == {h2.REFUSED_STREAM}
        assert len(server.site.tasks) == 20


async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
    """Notices nothing."""
    await asyncio.Event().wait()


async def test_a_peer_that_takes_a_byte_at_a_time_is_cut_off() -> None:
    async with serving(large, frozen=True) as server, server.peer({INITIAL_WINDOW: 1}) as peer:
        await peer.write(frame(h2.HEADERS, WHOLE, 1, OPEN))
        found = None
        for _ in range(2000):
            found = await peer.next(h2.DATA, h2.GOAWAY)
            if found.kind == h2.GOAWAY:
                break
            await peer.write(update(1, 1))
        assert found is not None
        assert found.code == h2.ENHANCE_YOUR_CALM


async def large(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": bytes(1_000_000)})


async def test_a_connection_that_takes_a_byte_at_a_time_is_cut_off() -> None:
    async with serving(large, frozen=True) as server, server.peer({INITIAL_WINDOW: 2**31 - 1}) as peer:
        await peer.write(frame(h2.HEADERS, WHOLE, 1, OPEN))
        left = 65_535
        while left:
            left -= len((await peer.next(h2.DATA)).payload)
        await peer.write(*[update(0, 1) for _ in range(900)])
        assert await peer.fault() == h2.ENHANCE_YOUR_CALM


async def test_the_last_bytes_of_an_answer_may_be_few() -> None:
    limits, window = Http2Limits(dribbles=Allowance(0, 0)), 999_995
    async with serving(large, http2=limits, frozen=True) as server, server.peer({INITIAL_WINDOW: window}) as peer:
        await peer.write(update(0, 2_000_000), frame(h2.HEADERS, WHOLE, 1, OPEN))
        while window:
            window -= len((await peer.next(h2.DATA)).payload)
        await peer.write(update(1, 5))
        assert (await peer.next(h2.DATA, h2.GOAWAY)).payload == bytes(5)


async def test_heads_that_are_declined_one_by_one_are_counted() -> None:
    limits = Http2Limits(provoked=Allowance(5, 0))
    site = ConnectionLimits(max_head_bytes=400)
    async with serving(hello, site, limits, frozen=True) as server, server.peer() as peer:
        for number in range(5):
            await peer.write(large_head(number))
            assert (await peer.answer(2 * number + 1))[0][":status"] == "431"
        await peer.write(large_head(5))
        assert await peer.fault() == h2.ENHANCE_YOUR_CALM


async def test_the_windows_of_the_settings_are_moved_once_however_often_a_frame_says_so() -> None:
    async with serving(forever, frozen=True) as server, server.peer() as peer:
        await peer.write(*[frame(h2.HEADERS, WHOLE, 2 * number + 1, OPEN) for number in range(100)])
        values = b"".join(pack(">HL", INITIAL_WINDOW, number) for number in range(2700))
        await peer.write(*[frame(h2.SETTINGS, 0, 0, values) for _ in range(40)])
        assert await peer.alive()


async def test_answers_do_not_pile_up_for_a_peer_that_does_not_read() -> None:
    allowed = Allowance(10**9, 0)
    limits = Http2Limits(pings=allowed, linger=0.01, max_control_frames=50)
    site = ConnectionLimits(high_water=1000)
    async with serving(large, site, limits) as server, server.peer() as other, server.peer({4: 2**31 - 1}) as peer:
        connection = server.connections[1]
        connection.outlet.pause()  # as the transport does when the peer reads nothing
        await peer.write(*[frame(h2.PING, 0, 0, bytes(8)) for _ in range(51)])
        assert await peer.fault() == h2.ENHANCE_YOUR_CALM
        assert await other.alive()


async def test_answers_that_were_read_in_the_end_are_counted_no_more() -> None:
    limits = Http2Limits(max_control_frames=50)
    async with serving(hello, http2=limits, frozen=True) as server, server.peer() as peer:
        assert await peer.alive()
        outlet = server.connections[0].outlet
        for _ in range(3):
            outlet.pause()  # as the transport does when the peer reads nothing, and again when it has read
            await peer.write(*[frame(h2.PING, 0, 0, bytes(8)) for _ in range(30)])
            for _ in range(30):
                await peer.next(h2.PING)
            outlet.resume()
        assert await peer.alive()


async def test_bodies_of_all_connections_are_bounded() -> None:
    async with serving(deaf) as server, server.peer() as peer:
        await peer.write(*[frame(h2.HEADERS, h2.END_HEADERS, stream, OPEN) for stream in (1, 3, 5, 7, 9)])
        tracemalloc.start()
        parts = [frame(h2.DATA, 0, stream, b"ab") for stream in (1, 3, 5, 7, 9) for _ in range(13_107)]
        for begin in range(0, len(parts), 1000):
            await peer.write(*parts[begin : begin + 1000])
            assert await peer.alive()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 8_000_000  # the frames that this test made are among it


async def test_a_head_that_was_declined_may_have_a_body() -> None:
    async with serving(echo, ConnectionLimits(max_header_fields=5)) as server, server.peer() as peer:
        await peer.write(peer.head(1, [*POST, ("a", "b"), ("c", "d")], h2.END_HEADERS), frame(h2.DATA, 0, 1, b"x"))
        assert (await peer.answer(1))[0][":status"] == "431"
        assert (await peer.next(h2.RST_STREAM)).code == h2.NO_ERROR
        assert await peer.alive()
