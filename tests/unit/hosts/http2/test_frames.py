"""What RFC 9113 says of frames and streams, told by what happens to those who break it."""

from struct import pack

import pytest

from dragoman.hosts.http2 import frames as h2
from tests.unit.hosts.http2.apps import echo, forever, hello
from tests.unit.hosts.http2.peer import GET, POST, Peer, frame, rst, serving, update

END = h2.END_STREAM
WHOLE = h2.END_STREAM | h2.END_HEADERS


def setting(name: int, value: int) -> bytes:
    return frame(h2.SETTINGS, 0, 0, pack(">HL", name, value))


FATAL: dict[str, tuple[int, bytes]] = {
    "a frame larger than 16 KiB": (h2.FRAME_SIZE_ERROR, frame(h2.DATA, 0, 1, size=16_385)),
    "a header of an unknown frame that is too large": (h2.FRAME_SIZE_ERROR, frame(0x77, 0, 1, size=2**24 - 1)),
    "DATA of no stream": (h2.PROTOCOL_ERROR, frame(h2.DATA, 0, 0, b"x")),
    "DATA of an idle stream": (h2.PROTOCOL_ERROR, frame(h2.DATA, 0, 5, b"x")),
    "DATA of a stream of the server": (h2.PROTOCOL_ERROR, frame(h2.DATA, 0, 2, b"x")),
    "HEADERS of no stream": (h2.PROTOCOL_ERROR, frame(h2.HEADERS, WHOLE, 0, b"\x82\x84\x86")),
    "HEADERS of an even stream": (h2.PROTOCOL_ERROR, frame(h2.HEADERS, WHOLE, 2, b"\x82\x84\x86")),
    "HEADERS without room for the priority": (h2.FRAME_SIZE_ERROR, frame(h2.HEADERS, WHOLE | 0x20, 1, b"\0\0\0")),
    "HEADERS that are padding only": (h2.PROTOCOL_ERROR, frame(h2.HEADERS, WHOLE | h2.PADDED, 1, b"\x01")),
    "HEADERS padded without a length": (h2.PROTOCOL_ERROR, frame(h2.HEADERS, WHOLE | h2.PADDED, 1)),
    "PRIORITY of no stream": (h2.PROTOCOL_ERROR, frame(h2.PRIORITY, 0, 0, b"\0\0\0\0\0")),
    "PRIORITY of a wrong size": (h2.FRAME_SIZE_ERROR, frame(h2.PRIORITY, 0, 1, b"\0\0\0\0")),
    "RST_STREAM of an idle stream": (h2.PROTOCOL_ERROR, rst(1)),
    "RST_STREAM of no stream": (h2.PROTOCOL_ERROR, rst(0)),
    "RST_STREAM of a wrong size": (h2.FRAME_SIZE_ERROR, frame(h2.RST_STREAM, 0, 1, b"\0\0\0")),
    "SETTINGS of a stream": (h2.PROTOCOL_ERROR, frame(h2.SETTINGS, 0, 1)),
    "SETTINGS of a wrong size": (h2.FRAME_SIZE_ERROR, frame(h2.SETTINGS, 0, 0, b"\0\0\0")),
    "SETTINGS that acknowledge something": (h2.FRAME_SIZE_ERROR, frame(h2.SETTINGS, h2.ACK, 0, b"\0\1\0\0\0\0")),
    "ENABLE_PUSH of 2": (h2.PROTOCOL_ERROR, setting(2, 2)),
    "INITIAL_WINDOW_SIZE above the highest": (h2.FLOW_CONTROL_ERROR, setting(4, 2**31)),
    "MAX_FRAME_SIZE below the lowest": (h2.PROTOCOL_ERROR, setting(5, 16_383)),
    "MAX_FRAME_SIZE above the highest": (h2.PROTOCOL_ERROR, setting(5, 2**24)),
    "PUSH_PROMISE": (h2.PROTOCOL_ERROR, frame(h2.PUSH_PROMISE, h2.END_HEADERS, 1, b"\0\0\0\2\x82")),
    "PING of a stream": (h2.PROTOCOL_ERROR, frame(h2.PING, 0, 1, bytes(8))),
    "PING of a wrong size": (h2.FRAME_SIZE_ERROR, frame(h2.PING, 0, 0, bytes(7))),
    "GOAWAY of a stream": (h2.PROTOCOL_ERROR, frame(h2.GOAWAY, 0, 1, bytes(8))),
    "GOAWAY of a wrong size": (h2.FRAME_SIZE_ERROR, frame(h2.GOAWAY, 0, 0, bytes(7))),
    "WINDOW_UPDATE of a wrong size": (h2.FRAME_SIZE_ERROR, frame(h2.WINDOW_UPDATE, 0, 0, b"\0\0\1")),
    "WINDOW_UPDATE of nothing": (h2.PROTOCOL_ERROR, update(0, 0)),
    "WINDOW_UPDATE of an idle stream": (h2.PROTOCOL_ERROR, update(3, 1)),
    "a window above the highest": (h2.FLOW_CONTROL_ERROR, update(0, 2**31 - 1)),
    "CONTINUATION of nothing": (h2.PROTOCOL_ERROR, frame(h2.CONTINUATION, h2.END_HEADERS, 1, b"\x82")),
    "CONTINUATION of another stream": (
        h2.PROTOCOL_ERROR,
        frame(h2.HEADERS, END, 1, b"\x82") + frame(h2.CONTINUATION, h2.END_HEADERS, 3, b"\x84"),
    ),
    "a frame between HEADERS and CONTINUATION": (
        h2.PROTOCOL_ERROR,
        frame(h2.HEADERS, END, 1, b"\x82") + frame(h2.PING, 0, 0, bytes(8)),
    ),
    "an unknown frame between HEADERS and CONTINUATION": (
        h2.PROTOCOL_ERROR,
        frame(h2.HEADERS, END, 1, b"\x82") + frame(0x55),
    ),
    "a header block that is none": (h2.COMPRESSION_ERROR, frame(h2.HEADERS, WHOLE, 1, b"\x80")),
    "an entry that the table does not have": (h2.COMPRESSION_ERROR, frame(h2.HEADERS, WHOLE, 1, b"\xff\x7f")),
    "a header block that ends too early": (h2.COMPRESSION_ERROR, frame(h2.HEADERS, WHOLE, 1, b"\x00\x05ab")),
    "a table larger than allowed": (h2.COMPRESSION_ERROR, frame(h2.HEADERS, WHOLE, 1, b"\x3f\xe2\x1f\x82")),
    "a table resized behind a field": (h2.COMPRESSION_ERROR, frame(h2.HEADERS, WHOLE, 1, b"\x82\x20")),
    "a table resized three times": (h2.COMPRESSION_ERROR, frame(h2.HEADERS, WHOLE, 1, b"\x20\x20\x20\x82")),
    "an integer without end": (h2.COMPRESSION_ERROR, frame(h2.HEADERS, WHOLE, 1, b"\xff" + b"\x80" * 9 + b"\x01")),
    "a Huffman code that is none": (h2.COMPRESSION_ERROR, frame(h2.HEADERS, WHOLE, 1, b"\x00\x84\xff\xff\xff\xff\x00")),
}


@pytest.mark.parametrize("what", FATAL)
async def test_what_breaks_the_connection_is_answered_by_the_right_code(what: str) -> None:
    code, wrong = FATAL[what]
    async with serving(hello) as server, server.peer() as bystander, server.peer() as peer:
        await peer.write(wrong)
        assert await peer.fault() == code
        assert (await bystander.get(1))[1] == b"hello"


@pytest.mark.parametrize(
    "greeting",
    [
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nXX",
        h2.PREFACE + frame(h2.PING, 0, 0, bytes(8)),
        h2.PREFACE + frame(h2.SETTINGS, h2.ACK),
    ],
)
async def test_a_greeting_that_is_none_ends_the_connection(greeting: bytes) -> None:
    async with serving(hello) as server, server.raw() as peer:
        await peer.write(greeting)
        assert await peer.fault() == h2.PROTOCOL_ERROR


async def test_a_greeting_may_come_byte_by_byte() -> None:
    async with serving(hello) as server, server.raw() as peer:
        greeting = h2.PREFACE + h2.settings({}) + peer.head(1, GET)
        for connection in server.connections:
            assert connection is not None
        for at in range(len(greeting)):
            await peer.write(greeting[at : at + 1])
        assert (await peer.answer(1))[1] == b"hello"


async def test_settings_are_announced_and_acknowledged() -> None:
    async with serving(hello) as server, server.peer() as peer:
        first = await peer.next(h2.SETTINGS)
        assert not first.flags
        assert len(first.payload) == 18
        assert (await peer.next(h2.SETTINGS)).flags == h2.ACK


async def opened(peer: Peer) -> None:
    """Stream 1 is open, its request not whole."""
    await peer.write(peer.head(1, POST, h2.END_HEADERS))


STREAM_FAULTS: dict[str, tuple[int, bytes]] = {
    "a window above the highest": (h2.FLOW_CONTROL_ERROR, update(1, 2**31 - 1)),
    "an update of nothing": (h2.PROTOCOL_ERROR, update(1, 0)),
    "trailers that end nothing": (h2.PROTOCOL_ERROR, frame(h2.HEADERS, h2.END_HEADERS, 1, b"\x00\x01a\x01b")),
    "a pseudo-header in trailers": (h2.PROTOCOL_ERROR, frame(h2.HEADERS, WHOLE, 1, b"\x82")),
}


@pytest.mark.parametrize("what", STREAM_FAULTS)
async def test_what_breaks_a_stream_leaves_the_connection_alone(what: str) -> None:
    code, wrong = STREAM_FAULTS[what]
    async with serving(echo) as server, server.peer() as peer:
        await opened(peer)
        await peer.write(wrong)
        found = await peer.next(h2.RST_STREAM)
        assert (found.stream, found.code) == (1, code)
        assert await peer.alive()


async def test_data_behind_the_end_of_a_request_closes_its_stream() -> None:
    async with serving(forever) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST), frame(h2.DATA, END, 1, b"more"))
        assert (await peer.next(h2.RST_STREAM)).code == h2.STREAM_CLOSED
        assert await peer.alive()


async def test_a_second_head_behind_the_end_of_a_request_closes_its_stream() -> None:
    async with serving(forever) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST), peer.head(1, [("late", "trailer")]))
        assert (await peer.next(h2.RST_STREAM)).code == h2.STREAM_CLOSED
        assert await peer.alive()


@pytest.mark.parametrize("kind", [h2.DATA, h2.HEADERS])
async def test_a_stream_that_both_sides_have_ended_takes_nothing(kind: int) -> None:
    async with serving(hello) as server, server.peer() as peer:
        await peer.get(1)
        await peer.write(frame(kind, WHOLE, 1))
        assert await peer.fault() == h2.STREAM_CLOSED


async def test_a_stream_that_the_client_reset_takes_nothing() -> None:
    async with serving(forever) as server, server.peer() as peer:
        await opened(peer)
        await peer.write(rst(1), frame(h2.DATA, 0, 1, b"x"))
        assert await peer.fault() == h2.STREAM_CLOSED


async def test_streams_are_opened_in_order() -> None:
    async with serving(hello) as server, server.peer() as peer:
        await peer.get(5)
        await peer.write(peer.head(3, GET))
        assert await peer.fault() == h2.PROTOCOL_ERROR


async def test_what_was_on_its_way_when_the_server_reset_a_stream_is_forgiven() -> None:
    async with serving(hello) as server, server.peer() as peer:
        await opened(peer)
        assert (await peer.next(h2.RST_STREAM)).code == h2.NO_ERROR
        late = [frame(h2.DATA, 0, 1, b"x"), update(1, 5), peer.head(1, [("some", "trailer")]), rst(1)]
        await peer.write(*late)
        assert (await peer.get(3))[1] == b"hello"


@pytest.mark.parametrize("kind", [h2.DATA, h2.HEADERS])
async def test_however_many_streams_have_closed_since_then(kind: int) -> None:
    async with serving(hello) as server, server.peer() as peer:
        await opened(peer)
        assert (await peer.next(h2.RST_STREAM)).code == h2.NO_ERROR
        for stream in range(3, 700, 2):
            await peer.get(stream)
        await peer.write(frame(h2.DATA, 0, 1, b"x") if kind == h2.DATA else peer.head(1, [("some", "trailer")]))
        assert await peer.alive()


async def test_what_is_unknown_or_of_no_consequence_is_passed_over() -> None:
    async with serving(hello) as server, server.peer() as peer:
        await peer.write(
            frame(0x10, 0, 0, b"u=1"),
            frame(0xFE, 0xFF, 7, b"anything"),
            frame(h2.PRIORITY, 0, 9, b"\0\0\0\3\xff"),
            setting(0x99, 1),
            frame(h2.SETTINGS, h2.ACK),
            frame(h2.PING, h2.ACK, 0, bytes(8)),
            frame(h2.PING, 0xFE, 0, b"flagsset"),
        )
        assert (await peer.next(h2.PING)).payload == b"flagsset"
        await peer.get(1)
        await peer.write(update(1, 1), rst(1))
        assert await peer.alive()


async def test_a_reserved_bit_of_a_stream_is_ignored() -> None:
    async with serving(hello) as server, server.peer() as peer:
        await peer.write(frame(h2.HEADERS, WHOLE, 1 | 0x80000000, peer.encoder.encode(GET)))
        assert (await peer.answer(1))[1] == b"hello"


async def test_padding_and_priority_are_taken_off() -> None:
    async with serving(echo) as server, server.peer() as peer:
        block = peer.encoder.encode(POST)
        await peer.write(
            frame(
                h2.HEADERS, h2.END_HEADERS | h2.PADDED | h2.PRIORITY_FLAG, 1, b"\x03\0\0\0\0\x10" + block + b"\0\0\0"
            ),
            frame(h2.DATA, END | h2.PADDED, 1, b"\x02hi\0\0"),
        )
        assert (await peer.answer(1))[1] == b"hi"


async def test_a_header_block_may_come_in_several_frames() -> None:
    async with serving(hello) as server, server.peer() as peer:
        block = peer.encoder.encode([*GET, ("long", "x" * 15_000)])
        await peer.write(
            frame(h2.HEADERS, END, 1, block[:5]),
            frame(h2.CONTINUATION, 0, 1, block[5:9]),
            frame(h2.CONTINUATION, h2.END_HEADERS, 1, block[9:]),
        )
        assert (await peer.answer(1))[1] == b"hello"


async def test_a_size_of_the_table_that_the_client_sets_is_confirmed_in_the_next_head() -> None:
    async with serving(hello) as server, server.peer() as peer:
        begins: list[bool] = []
        for stream in (1, 3, 5):
            if stream == 5:
                await peer.write(h2.settings({1: 0}))
            await peer.write(peer.head(stream, GET))
            begins.append((await peer.next(h2.HEADERS)).payload[:1] == b"\x20")
        assert begins == [True, False, True]
