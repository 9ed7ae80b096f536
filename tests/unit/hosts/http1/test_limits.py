"""Connections that cost too much end; slow ones slow nobody else."""

import asyncio
import contextlib
import random

import pytest

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.connections import Connection, ConnectionLimits, Connections
from dragoman.hosts.http1 import connection
from dragoman.hosts.http1.connection import Http1
from tests.unit.hosts.http1.serving import answer, body_of, echo, request, serving, status_of, whole

CLOSE = "connection: close"


async def test_a_head_that_does_not_end_is_answered_408() -> None:
    async with serving(echo, head_timeout=0.05) as served:
        assert status_of(await served.said(b"GET / HTTP/1.1\r\nhost:")) == 408


@pytest.mark.parametrize("first", [b"", request("/", b"x")], ids=["silent", "after a request"])
async def test_an_idle_connection_is_closed(first: bytes) -> None:
    async with serving(echo, idle=0.05, head_timeout=0.05) as served:
        reply = await served.said(first)
        assert reply.count(b"HTTP/1.1 200") == (1 if first else 0)
        assert b"HTTP/1.1 4" not in reply


async def test_a_request_in_flight_is_not_idle() -> None:
    going = asyncio.Event()

    async def wait(_scope: Scope, receive: Receive, send: Send) -> None:
        await whole(receive)
        await going.wait()
        await answer(send, b"late")

    async with serving(wait, idle=0.02, head_timeout=0.02) as served, served.caller() as (reader, writer):
        writer.write(request("/", b"x", "POST", CLOSE))
        asyncio.get_running_loop().call_later(0.2, going.set)
        assert body_of(await reader.read()) == b"late"


async def test_a_caller_who_takes_nothing_holds_little_and_is_cut_in_the_end() -> None:
    written = 0
    over = asyncio.Event()

    async def pour(scope: Scope, _receive: Receive, send: Send) -> None:
        nonlocal written
        if scope["path"] == "/other":
            await answer(send, b"meanwhile")
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while True:
                await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})
                written += 65536
        except OSError:
            over.set()

    async with serving(pour, stall=0.2, head_timeout=0.05) as served, served.caller() as (_, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue] -- a socket's
        writer.write(request("/", b"", "GET"))
        async with served.caller() as (reader, other):
            other.write(request("/other", b"", "GET", CLOSE))
            assert body_of(await reader.read()) == b"meanwhile"
        await asyncio.wait_for(over.wait(), 5)
    assert written < 32 * 1024 * 1024


async def test_of_a_body_that_nobody_takes_little_is_read() -> None:
    begun, going = asyncio.Event(), asyncio.Event()

    async def wait(_scope: Scope, receive: Receive, send: Send) -> None:
        begun.set()
        await going.wait()
        await answer(send, b"%d" % len(await whole(receive)))

    size = 12 * 1024 * 1024
    async with serving(wait) as served, served.caller() as (reader, writer):
        writer.write(request("/", b"", "POST", CLOSE, f"content-length: {size}", length=False))
        writer.write(bytes(size))
        await begun.wait()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.drain(), 0.3)
        going.set()
        assert body_of(await reader.read()) == b"%d" % size


async def test_when_the_server_closes_idle_connections_end_and_answers_are_finished() -> None:
    begun, going = asyncio.Event(), asyncio.Event()

    async def wait(_scope: Scope, receive: Receive, send: Send) -> None:
        await whole(receive)
        begun.set()
        await going.wait()
        await answer(send, b"done")

    async with (
        serving(wait) as served,
        served.caller() as (idle, _),
        served.caller() as (reader, writer),
    ):
        writer.write(request("/", b"x"))
        await begun.wait()
        served.site.closing = True
        for connection in tuple(served.site.connections):
            connection.close_gently()
        assert await idle.read() == b""
        going.set()
        reply = await reader.read()
    assert body_of(reply) == b"done"
    assert b"connection: close" in reply


ENDLESS = {
    "a value": b"POST / HTTP/1.1\r\nhost: x\r\na: ",
    "a name": b"POST / HTTP/1.1\r\nhost: x\r\na",
    "what a chunk adds": request("/", b"", "POST", "transfer-encoding: chunked", length=False) + b"3;",
    "a value behind the body": request("/", b"", "POST", "transfer-encoding: chunked", length=False) + b"0\r\na: ",
}


@pytest.mark.parametrize("what", ENDLESS)
async def test_what_does_not_end_is_refused_while_it_comes(what: str) -> None:
    async with serving(echo, max_head_bytes=10_000) as served, served.caller() as (reader, writer):
        writer.write(ENDLESS[what])
        for _ in range(15):
            await writer.drain()
            writer.write(b"b" * 1000)
            await asyncio.sleep(0)
        assert status_of(await reader.read()) == 431


async def test_what_many_chunks_add_is_no_more_than_a_head_however_little_each_of_them_does() -> None:
    head = request("/", b"", "POST", "transfer-encoding: chunked", length=False)
    async with serving(echo, max_head_bytes=10_000) as served, served.caller() as (reader, writer):
        writer.write(head)
        for _ in range(300):
            writer.write(b"1;" + b"a" * 100 + b"\r\nx\r\n")
            await writer.drain()
            await asyncio.sleep(0)
        assert status_of(await reader.read()) == 431


async def test_small_chunks_that_add_nothing_are_taken_however_many() -> None:
    head = request("/", b"", "POST", CLOSE, "transfer-encoding: chunked", length=False)
    async with serving(echo, max_head_bytes=1_000) as served, served.caller() as (reader, writer):
        writer.write(head)
        for _ in range(300):
            writer.write(b"0001\r\nx\r\n" * 10)
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")
        assert body_of(await reader.read()) == b"POST / " + b"x" * 3000


async def test_many_fields_behind_a_body_are_refused() -> None:
    head = request("/", b"", "POST", "transfer-encoding: chunked", length=False)
    async with serving(echo, max_header_fields=10) as served:
        assert status_of(await served.said(head + b"0\r\n" + b"a: b\r\n" * 10 + b"\r\n")) == 431


async def test_a_large_body_may_come_in_large_and_small_parts() -> None:
    async with serving(echo, max_head_bytes=1000) as served:
        reply = await served.said(request("/", bytes(300_000), "POST", CLOSE))
        chunks = b"".join(b"%x\r\n%b\r\n" % (size, b"x" * size) for size in (1, 5000, 200_000))
        head = request("/", b"", "POST", CLOSE, "transfer-encoding: chunked", length=False)
        in_chunks = await served.said(head + chunks + b"0\r\n\r\n")
    assert len(body_of(reply)) == len("POST / ") + 300_000
    assert len(body_of(in_chunks)) == len("POST / ") + 205_001


@pytest.mark.parametrize("lines", [(), ("connection: upgrade", "upgrade: x")], ids=["plain", "upgrade"])
async def test_only_so_many_requests_wait_for_their_turn(lines: tuple[str, ...]) -> None:
    begun, going = asyncio.Event(), asyncio.Event()

    async def wait(_scope: Scope, _receive: Receive, send: Send) -> None:
        begun.set()
        await going.wait()
        await answer(send, b"")

    async with serving(wait) as served, served.caller() as (reader, writer):
        writer.write(request("/", b"", "GET", *lines, length=False) * 700)
        await begun.wait()
        assert len(served.site.tasks) == 1
        going.set()
        reply = await reader.read()
    assert reply.count(b"HTTP/1.1 200") == 257
    assert reply.count(b"HTTP/1.1 503") == 1


async def large(_scope: Scope, receive: Receive, send: Send) -> None:
    await whole(receive)
    await answer(send, bytes(16_000_000))


class Watched(Connections):
    """Says when one was lost that had begun."""

    def __init__(self) -> None:
        super().__init__(ConnectionLimits(), lambda _: False, lambda: 0.0)
        self.lost = asyncio.Event()

    def discard(self, connection: Connection) -> None:
        if isinstance(connection, Http1):
            self.lost.set()
        super().discard(connection)


@pytest.mark.parametrize("lines", [(CLOSE,), ()], ids=["closing", "idle"])
async def test_a_caller_who_does_not_take_the_end_of_an_answer_is_cut_in_the_end(
    lines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LINGER", 0.01)
    connections = Watched()
    async with serving(large, stall=0.05, idle=0.05, head_timeout=0.05) as served, served.caller() as (_, writer):
        served.site.connections = connections
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue] -- a socket's
        writer.write(request("/", b"", "GET", *lines))
        await asyncio.wait_for(connections.lost.wait(), 5)


async def test_when_the_server_closes_connections_that_wait_for_a_request_end() -> None:
    async with serving(echo) as served, served.caller() as (reader, writer):
        writer.write(request("/", b"x"))
        await reader.readuntil(b"POST / x")
        served.site.closing = True
        for each in tuple(served.site.connections):
            each.close_gently()
        assert await reader.read() == b""


async def test_an_answer_that_was_begun_before_the_server_closes_is_the_last() -> None:
    begun, going = asyncio.Event(), asyncio.Event()

    async def wait(_scope: Scope, receive: Receive, send: Send) -> None:
        await whole(receive)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"o", "more_body": True})
        begun.set()
        await going.wait()
        await send({"type": "http.response.body", "body": b"k"})

    async with serving(wait) as served, served.caller() as (reader, writer):
        writer.write(request("/", b"x"))
        await begun.wait()
        served.site.closing = True
        for each in tuple(served.site.connections):
            each.close_gently()
        going.set()
        assert body_of(await reader.read()) == b"ok"


async def test_who_sends_all_of_an_unwanted_body_before_reading_is_let() -> None:
    async def refuse(_scope: Scope, _receive: Receive, send: Send) -> None:
        await paused.wait()
        await answer(send, b"no", 413)

    paused, size = asyncio.Event(), 12 * 1024 * 1024
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(connection, "LINGER", 1000.0)
        patched.setattr(connection, "MOST_LINGERED", 2 * size)
        async with serving(refuse) as served, served.caller() as (reader, writer):
            writer.transport.set_write_buffer_limits(0)
            writer.write(request("/", b"", "POST", f"content-length: {size}", length=False))
            writer.write(bytes(size))
            asyncio.get_running_loop().call_later(0.1, paused.set)
            await writer.drain()
            assert status_of(await reader.readuntil(b"\r\n\r\n")) == 413


@pytest.mark.parametrize("talks", [True, False])
async def test_who_is_refused_and_does_not_go_is_cut_in_the_end(
    *, talks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a while who is silent; at once who says too much."""
    monkeypatch.setattr(connection, "LINGER", 1000.0 if talks else 0.01)
    monkeypatch.setattr(connection, "MOST_LINGERED", 100_000)
    connections = Watched()
    async with serving(echo) as served, served.caller() as (reader, writer):
        served.site.connections = connections
        writer.write(b"nonsense\r\n\r\n")
        assert status_of(await reader.readuntil(b"\r\n\r\n")) == 400
        if talks:
            writer.write(bytes(200_000))
        await asyncio.wait_for(connections.lost.wait(), 5)


@pytest.mark.parametrize("garbage", [b"", b"nonsense\r\n\r\n"], ids=["closing", "lingering"])
async def test_a_caller_who_takes_the_end_of_an_answer_slowly_has_all_of_it(
    garbage: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LINGER", 0.01)
    async with serving(large) as served, served.caller() as (reader, writer):
        writer.write(request("/", b"", "GET", CLOSE) + garbage)
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue] -- a socket's
        asyncio.get_running_loop().call_later(0.2, writer.transport.resume_reading)  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue] -- a socket's
        assert len(await reader.read()) == 16_000_000


WORDS = (
    *(b"GET ", b"POST ", b"/", b" HTTP/1.1\r\n", b"host: x\r\n", b"\r\n", b"content-length: 5\r\n", b"0\r\n\r\n"),
    *(b"transfer-encoding: chunked\r\n", b"5\r\nabcde\r\n", b"PRI * ", b"\0", b"\n", b"connection: upgrade\r\n"),
    *(b"upgrade: x\r\n", b"expect: 100-continue\r\n", b"HTTP/2.0", b"abcde", b"CONNECT x:1", b":", b"\xff\xfe"),
)


async def test_whatever_bytes_come_they_are_answered_or_the_connection_ends() -> None:
    chance = random.Random(7)
    async with serving(echo, head_timeout=0.05, idle=0.05) as served:

        async def try_some() -> None:
            data = b"".join(chance.choices(WORDS, k=chance.randrange(1, 25)))
            if data.startswith(b"PRI "[: len(data)]):
                return
            async with served.caller() as (reader, writer):
                reply = b""
                # On a busy machine the short times may be over before anything was read.
                with contextlib.suppress(ConnectionResetError):
                    writer.write(data)
                    writer.write_eof()
                    reply = await reader.read()
            assert reply == b"" or reply.startswith(b"HTTP/1.1 ")

        for _ in range(40):
            await asyncio.gather(*[try_some() for _ in range(10)])
        assert body_of(await served.said(request("/still", b"here", "POST", CLOSE))) == b"POST /still here"
