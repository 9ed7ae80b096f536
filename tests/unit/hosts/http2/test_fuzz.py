"""Whatever bytes come: the connection lives and answers a ping, or ends with GOAWAY. It never hangs, and nothing falls
through to the loop."""

import asyncio
from contextlib import suppress
from struct import pack
from typing import Any

from hpack import Encoder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.http2 import frames as h2
from tests.unit.hosts.http2.apps import grpc_echo
from tests.unit.hosts.http2.peer import GET, POST, Headers, Peer, Server, frame, rst, serving, update

LONGEST = 10.0
SESSION: Headers = [*POST[:2], (":path", "/echo/Many"), POST[3], ("te", "trailers")]


def session() -> bytes:
    """What a well-behaved client says: a call with a body in two parts, a ping, another call, one that is cancelled."""
    encoder = Encoder()
    parts = [
        frame(h2.HEADERS, h2.END_HEADERS, 1, encoder.encode(SESSION)),
        frame(h2.DATA, 0, 1, b"\0\0\0\0\x05he"),
        frame(h2.PING, 0, 0, b"12345678"),
        frame(h2.DATA, h2.END_STREAM, 1, b"llo"),
        update(0, 1000),
        frame(h2.HEADERS, h2.END_STREAM | h2.END_HEADERS, 3, encoder.encode(GET)),
        frame(h2.HEADERS, h2.END_HEADERS | h2.PRIORITY_FLAG, 5, b"\0\0\0\1\7" + encoder.encode(SESSION)),
        frame(h2.DATA, h2.PADDED, 5, b"\x02hi\0\0"),
        h2.settings({4: 500, 1: 0}),
        rst(5),
        frame(h2.HEADERS, 0, 7, encoder.encode(SESSION)[:3]),
        frame(h2.CONTINUATION, h2.END_HEADERS, 7, encoder.encode(SESSION)[3:]),
        frame(h2.DATA, h2.END_STREAM, 7, b"\0\0\0\0\x02hi"),
    ]
    return b"".join(parts)


RECORDED = session()
blocks = st.one_of(
    st.binary(max_size=40),
    st.lists(st.sampled_from([*GET, *SESSION, ("a", "b"), ("content-length", "3"), ("host", "x")]), max_size=8).map(
        lambda fields: Encoder().encode([(*field, True) for field in fields])
    ),
)
numbers = st.one_of(st.integers(0, 9), st.integers(0, 2**31 - 1))
words = st.one_of(numbers, st.integers(2**31 - 3, 2**32 - 1)).map(lambda number: pack(">L", number))
payloads = st.one_of(
    blocks,
    words,
    st.binary(min_size=8, max_size=8),
    st.tuples(st.integers(0, 7), words).map(lambda pair: pack(">H", pair[0]) + pair[1]),
)
flags = st.one_of(st.sampled_from([0, 1, 4, 5, 8, 13, 0x20, 0x24, 0x2D]), st.integers(0, 255))
anything = st.builds(frame, st.integers(0, 11), flags, numbers, payloads)
requests = st.builds(frame, st.just(h2.HEADERS), st.sampled_from([4, 5]), st.sampled_from([1, 3, 5, 7, 9]), blocks)
lies = st.builds(frame, st.integers(0, 11), flags, numbers, payloads, size=st.integers(0, 40))
stories = st.lists(st.one_of(anything, requests, lies), min_size=1, max_size=30).map(b"".join)
mutations = st.lists(
    st.tuples(st.integers(0, len(RECORDED) - 1), st.sampled_from(["flip", "drop", "double"]), st.integers(0, 255)),
    min_size=1,
    max_size=6,
)
cuts = st.lists(st.integers(0, 400), max_size=4)


def mutated(changes: list[tuple[int, str, int]]) -> bytes:
    session = bytearray(RECORDED)
    for at, how, value in changes:
        place = at % len(session)
        if how == "flip":
            session[place] ^= value
        elif how == "drop":
            del session[place : place + value % 16]
        else:
            session[place:place] = session[place : place + value % 16]
        session = session or bytearray(b"\0")
    return bytes(session)


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/":
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": bytes(100_000)})
    elif scope["path"].startswith("/echo/Many"):
        await grpc_echo(scope, receive, send)


async def survived(server: Server, story: bytes, cut: list[int]) -> None:
    async with server.peer() as peer, server.peer() as other:
        begin = 0
        for end in [*sorted(cut), len(story)]:
            await peer.write(story[begin:end])
            assert await other.alive()
            begin = max(begin, end)
        await ended_or_alive(peer)
        assert await other.alive()


async def ended_or_alive(peer: Peer) -> None:
    """A frame that is not whole swallows what comes next: then so many bytes are sent that some of them are whole."""
    mark = b"\xffat last"
    with suppress(ConnectionResetError):
        await peer.write(*[frame(h2.PING, 0, 0, mark)] * 1000)
        found = await peer.next(h2.PING, h2.GOAWAY)
        while found.kind == h2.PING and found.payload != mark:
            found = await peer.next(h2.PING, h2.GOAWAY)


def run(story: bytes, cut: list[int]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(LONGEST), serving(app) as server:
            await survived(server, story, cut)

    asyncio.run(bounded())


RELAXED: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck), "max_examples": 100}


@settings(**RELAXED)
@given(stories, cuts)
def test_any_frames_are_taken_or_refused(story: bytes, cut: list[int]) -> None:
    run(story, cut)


@settings(**RELAXED)
@given(mutations, cuts)
def test_a_session_with_any_damage_is_taken_or_refused(changes: list[tuple[int, str, int]], cut: list[int]) -> None:
    run(mutated(changes), cut)


def test_the_session_without_damage_is_answered() -> None:
    async def whole() -> None:
        async with asyncio.timeout(LONGEST), serving(app) as server, server.peer() as peer:
            await peer.write(RECORDED)
            fields, body = await peer.answer(1)
            assert (fields["grpc-status"], body) == ("0", b"\0\0\0\0\x05hello" * 5)
            assert await peer.alive()

    asyncio.run(whole())
