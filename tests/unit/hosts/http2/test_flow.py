"""Windows in both directions: slow readers slow themselves only, and bodies that nobody reads stay small."""

import asyncio
from typing import Any, cast

import pytest

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.http2 import frames as h2
from dragoman.hosts.http2.limits import Http2Limits
from dragoman.hosts.site import ConnectionLimits
from tests.unit.hosts.http2.apps import echo, flood, forever, hello, read
from tests.unit.hosts.http2.peer import GET, POST, Peer, frame, rst, serving, update

INITIAL_WINDOW = 4
HUGE = 2**31 - 1


def asking(peer: Peer, stream: int, size: int) -> bytes:
    return peer.head(stream, [*GET[:2], (":path", f"/{size}"), GET[3]])


async def taken(peer: Peer, size: int) -> list[tuple[int, int, bool]]:
    """DATA frames until so many bytes are there: stream, size, whether it is the last."""
    found: list[tuple[int, int, bool]] = []
    while sum(part[1] for part in found) < size:
        data = await peer.next(h2.DATA, h2.GOAWAY)
        assert data.kind == h2.DATA
        found.append((data.stream, len(data.payload), bool(data.flags & h2.END_STREAM)))
    return found


async def test_a_response_stops_at_the_window_of_its_stream() -> None:
    async with serving(flood) as server, server.peer({INITIAL_WINDOW: 10}) as peer:
        await peer.write(asking(peer, 1, 25))
        assert await taken(peer, 10) == [(1, 10, False)]
        assert await peer.alive()
        await peer.write(update(1, 14))
        assert await taken(peer, 14) == [(1, 14, False)]
        await peer.write(update(1, 100))
        assert await taken(peer, 1) == [(1, 1, True)]


async def test_a_response_stops_at_the_window_of_the_connection() -> None:
    async with serving(flood) as server, server.peer({INITIAL_WINDOW: HUGE}) as peer:
        await peer.write(asking(peer, 1, 70_000))
        assert sum(size for _, size, _ in await taken(peer, 65_535)) == 65_535
        assert await peer.alive()
        await peer.write(update(0, 100_000))
        assert await taken(peer, 4465) == [(1, 4465, True)]


async def test_a_window_that_the_settings_close_and_open_again() -> None:
    async with serving(flood) as server, server.peer({INITIAL_WINDOW: 100}) as peer:
        await peer.write(asking(peer, 1, 300))
        await taken(peer, 100)
        await peer.write(h2.settings({INITIAL_WINDOW: 0}), update(1, 50))
        assert await peer.alive()  # a hundred below zero, and fifty given
        await peer.write(h2.settings({INITIAL_WINDOW: 60}))
        assert await taken(peer, 10) == [(1, 10, False)]
        await peer.write(h2.settings({INITIAL_WINDOW: 1000}))
        assert await taken(peer, 190) == [(1, 190, True)]


async def test_settings_are_acknowledged_before_what_they_allow_is_sent() -> None:
    async with serving(flood) as server, server.peer({INITIAL_WINDOW: 10}) as peer:
        await peer.write(asking(peer, 1, 30))
        await taken(peer, 10)
        await peer.write(h2.settings({INITIAL_WINDOW: 30}))
        assert (await peer.next(h2.SETTINGS, h2.DATA)).kind == h2.SETTINGS
        await taken(peer, 20)


async def test_settings_that_would_overflow_a_window_end_the_connection() -> None:
    async with serving(forever) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET), update(1, HUGE - 65_535), h2.settings({INITIAL_WINDOW: 65_536}))
        assert await peer.fault() == h2.FLOW_CONTROL_ERROR


async def test_nothing_needs_no_window() -> None:
    async with serving(flood) as server, server.peer({INITIAL_WINDOW: 0}) as peer:
        await peer.write(asking(peer, 1, 0))
        assert (await peer.answer(1))[1] == b""


async def test_those_who_wait_for_the_connection_take_turns() -> None:
    async with serving(flood) as server, server.peer({INITIAL_WINDOW: HUGE}) as peer:
        await peer.write(*[asking(peer, stream, 200_000) for stream in (1, 3, 5)])
        await taken(peer, 65_535)
        await peer.write(update(0, 16_384 * 9))
        order = [stream for stream, _, _ in await taken(peer, 16_384 * 9)]
        assert {stream: order.count(stream) for stream in (1, 3, 5)} == {1: 3, 3: 3, 5: 3}


async def test_a_stream_that_reads_nothing_keeps_nobody_else_from_it() -> None:
    async with serving(flood) as server, server.peer({INITIAL_WINDOW: 1000}) as peer:
        await peer.write(update(0, 1 << 20), asking(peer, 1, 100_000))
        await taken(peer, 1000)
        await peer.write(asking(peer, 3, 500))
        assert await taken(peer, 500) == [(3, 500, True)]
        await peer.write(rst(1))
        assert await peer.alive()


async def test_an_answer_that_waits_for_a_window_ends_when_its_client_does() -> None:
    ended: asyncio.Queue[BaseException] = asyncio.Queue()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await flood(scope, receive, send)
        except OSError as error:
            ended.put_nowait(error)
            raise

    async with serving(app) as server:
        async with server.peer({INITIAL_WINDOW: 10}) as peer:
            await peer.write(asking(peer, 1, 100), asking(peer, 3, 100))
            await taken(peer, 20)
            await peer.write(rst(1))
            assert isinstance(await ended.get(), ConnectionResetError)
        assert isinstance(await ended.get(), ConnectionResetError)


async def test_a_send_that_is_given_up_resets_its_stream() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        sending = asyncio.ensure_future(send({"type": "http.response.body", "body": bytes(100)}))
        await read(receive)
        sending.cancel()
        await asyncio.wait([sending])

    async with serving(app) as server, server.peer({INITIAL_WINDOW: 10}) as peer:
        await peer.write(peer.head(1, POST, h2.END_HEADERS))
        await taken(peer, 10)
        await peer.write(frame(h2.DATA, h2.END_STREAM, 1))
        assert (await peer.next(h2.RST_STREAM)).code == h2.CANCEL
        assert await peer.alive()


async def test_a_peer_that_reads_nothing_makes_the_application_wait() -> None:
    sent = 0

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal sent
        await send({"type": "http.response.start", "status": 200})
        for _ in range(4000):
            await send({"type": "http.response.body", "body": bytes(16_384), "more_body": True})
            sent += 16_384
        await send({"type": "http.response.body"})

    limits = ConnectionLimits(high_water=20_000)
    async with serving(app, limits) as server, server.peer({INITIAL_WINDOW: HUGE}) as peer, server.peer() as other:
        transport = cast("asyncio.Transport", peer.writer.transport)
        transport.pause_reading()
        await peer.write(update(0, HUGE - 65_535), peer.head(1, GET))
        before = -1
        while before < sent:
            before = sent
            for _ in range(50):
                assert await other.alive()
        assert server.connections[0].outlet.paused
        assert sent < 4000 * 16_384
        transport.resume_reading()
        assert sum(size for _, size, _ in await taken(peer, 4000 * 16_384)) == 4000 * 16_384


@pytest.mark.parametrize("size", [100, 1_000_000, 5_000_000])
async def test_an_upload_of_any_size_arrives(size: int) -> None:
    async with serving(echo) as server, server.peer({INITIAL_WINDOW: HUGE}) as peer:
        body = bytes(range(256)) * (size // 256 + 1)
        await peer.write(update(0, HUGE - 65_535), peer.head(1, POST, h2.END_HEADERS))
        windows = {0: 65_535, 1: 256 * 1024}
        at = 0
        while at < size:
            room = min(16_384, size - at, *windows.values())
            if room <= 0:
                given = await peer.next(h2.WINDOW_UPDATE)
                windows[given.stream] += int.from_bytes(given.payload, "big")
                continue
            await peer.write(frame(h2.DATA, h2.END_STREAM if at + room == size else 0, 1, body[at : at + room]))
            at += room
            windows = {stream: left - room for stream, left in windows.items()}
        assert (await peer.answer(1))[1] == body[:size]


SMALL = Http2Limits(stream_window=70_000, connection_window=100_000)


async def test_a_body_that_nobody_reads_stays_within_the_window_of_its_stream() -> None:
    async with serving(hold, http2=SMALL) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST, h2.END_HEADERS))
        await peer.write(*[frame(h2.DATA, 0, 1, bytes(10_000)) for _ in range(7)])
        assert await peer.alive()
        await peer.write(frame(h2.DATA, 0, 1, b"x"))
        assert (await peer.next(h2.RST_STREAM)).code == h2.FLOW_CONTROL_ERROR
        assert await peer.alive()


async def test_bodies_that_nobody_reads_stay_within_the_window_of_the_connection() -> None:
    async with serving(hold, http2=SMALL) as server, server.peer() as peer, server.peer() as other:
        await peer.write(*[peer.head(stream, POST, h2.END_HEADERS) for stream in (1, 3)])
        await peer.write(*[frame(h2.DATA, 0, stream, bytes(10_000)) for stream in (1, 3) for _ in range(5)])
        assert await peer.alive()
        await peer.write(frame(h2.DATA, 0, 3, b"x"))
        assert await peer.fault() == h2.FLOW_CONTROL_ERROR
        assert await other.alive()


async def test_padding_is_given_back_at_once() -> None:
    async with serving(hold, http2=SMALL) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST, h2.END_HEADERS))
        await peer.write(*[frame(h2.DATA, h2.PADDED, 1, b"\xff" + bytes(256)) for _ in range(600)])
        assert await peer.alive()


async def hold(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads nothing."""
    await asyncio.Event().wait()


@pytest.mark.parametrize("end", ["answer", "reset", "failure", "padding"])
async def test_what_was_not_read_is_given_back_to_the_connection(end: str) -> None:
    """Otherwise the third body would find no window."""
    gate = asyncio.Semaphore(0)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await gate.acquire()
        await (read(receive) if end == "padding" else hello(scope, receive, send))

    async with serving(app, http2=SMALL) as server, server.peer() as peer:
        for stream in (1, 3, 5, 7, 9, 11):
            await peer.write(peer.head(stream, [*POST, ("content-length", "60000")], h2.END_HEADERS))
            for _ in range(4):
                padded = frame(h2.DATA, h2.PADDED, stream, b"\xff" + bytes(14_999))
                await peer.write(padded if end == "padding" else frame(h2.DATA, 0, stream, bytes(15_000)))
            if end == "answer":
                gate.release()
                assert (await peer.next(h2.RST_STREAM)).code == h2.NO_ERROR
            elif end == "failure":
                await peer.write(frame(h2.DATA, 0, stream, bytes(10_000)))
                assert (await peer.next(h2.RST_STREAM)).code == h2.PROTOCOL_ERROR
            elif end == "reset":
                await peer.write(rst(stream))
            else:
                gate.release()
                await peer.next(h2.WINDOW_UPDATE)
                await peer.write(rst(stream))
            assert await peer.alive()
        for _ in range(6):
            gate.release()


async def test_what_comes_for_a_stream_that_is_closed_is_given_back_to_the_connection() -> None:
    async with serving(hello, http2=SMALL) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST, h2.END_HEADERS))
        assert (await peer.next(h2.RST_STREAM)).code == h2.NO_ERROR
        await peer.write(*[frame(h2.DATA, 0, 1, bytes(15_000)) for _ in range(20)])
        assert await peer.alive()


async def test_a_body_of_many_small_parts_costs_what_it_is_long() -> None:
    reading = asyncio.Event()
    bodies: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await reading.wait()
        bodies.append(await receive())
        await hello(scope, receive, send)

    async with serving(app) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST, h2.END_HEADERS))
        await peer.write(*[frame(h2.DATA, 0, 1, b"ab") for _ in range(20_000)])
        assert await peer.alive()
        reading.set()
        await peer.answer(1)
    assert bodies == [{"type": "http.request", "body": b"ab" * 20_000, "more_body": True}]
