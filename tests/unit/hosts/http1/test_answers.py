"""How answers are written, and what becomes of those that go wrong."""

import asyncio
import logging

import pytest

from dragoman.hosts.binding import Receive, Scope, Send
from tests.unit.hosts.http1.serving import Served, answer, body_of, echo, request, serving, status_of, whole

CLOSE = "connection: close"


async def pieces(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for piece in (b"ab", b"", b"c"):
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def test_an_answer_of_unknown_length_goes_in_chunks() -> None:
    async with serving(pieces) as served:
        reply = await served.said(request("/", b"", "GET", CLOSE))
    assert b"transfer-encoding: chunked" in reply
    assert body_of(reply) == b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"


async def test_to_an_old_caller_the_end_of_the_connection_is_the_end_of_the_body() -> None:
    async with serving(pieces) as served:
        reply = await served.said(request("/", b"", "GET", "connection: keep-alive", version="1.0"))
    assert b"transfer-encoding" not in reply
    assert b"connection: close" in reply
    assert body_of(reply) == b"abc"


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
async def test_answers_that_have_no_body_get_none(method: str, status: int) -> None:
    async def say(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"not this"})

    async with serving(say) as served:
        reply = await served.said(request("/", b"", method) + request("/", b"", method, CLOSE))
    first, second = reply.split(b"HTTP/1.1 ")[1:]
    assert b"chunked" not in reply
    assert body_of(first) == body_of(second) == b""


async def test_every_answer_has_a_date_and_no_name_of_the_server() -> None:
    async with serving(echo) as served:
        reply = await served.said(request("/", b"", "GET", CLOSE))
    assert b"\r\ndate: " in reply
    assert b"\r\nserver:" not in reply


async def fails(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise ValueError("a secret")


async def breaks_the_head(_scope: Scope, _receive: Receive, send: Send) -> None:
    await answer(send, b"", 200, (b"x", b"a\r\nset-cookie: b"))


async def says_nothing(_scope: Scope, _receive: Receive, _send: Send) -> None:
    return


async def begins_in_the_middle(_scope: Scope, _receive: Receive, send: Send) -> None:
    await send({"type": "http.response.body", "body": b"x"})


@pytest.mark.parametrize("broken", [fails, breaks_the_head, says_nothing, begins_in_the_middle])
async def test_an_application_that_gives_no_answer_is_answered_for_and_told_to_its_owner(
    broken: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(broken) as served:  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] -- parametrised
        with caplog.at_level(logging.ERROR):
            reply = await served.said(request("/", b"", "GET"))
    assert status_of(reply) == 500
    assert b"secret" not in reply
    assert b"set-cookie" not in reply
    assert len(caplog.records) == 1


@pytest.mark.parametrize("promised", [2, 9])
async def test_an_answer_that_breaks_its_promise_of_length_is_cut(
    promised: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def lie(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-length", b"%d" % promised)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        await send({"type": "http.response.body", "body": b"bc"})

    async with serving(lie) as served, served.caller() as (reader, writer):
        writer.write(request("/", b"", "GET"))
        with caplog.at_level(logging.ERROR):
            try:
                reply = await reader.read()
            except ConnectionResetError:
                reply = b""
    assert len(body_of(reply)) <= 1
    assert len(caplog.records) == 1


async def test_the_sender_of_a_body_that_is_not_wanted_sees_the_answer() -> None:
    async def refuse(_scope: Scope, _receive: Receive, send: Send) -> None:
        await answer(send, b"too large", 413)

    async with serving(refuse) as served, served.caller() as (reader, writer):
        writer.write(request("/", b"", "POST", "content-length: 3000000", length=False))
        writer.write(b"x" * 1_000_000)
        reply = await reader.read()
    assert status_of(reply) == 413
    assert body_of(reply) == b"too large"


async def _left(served: Served) -> None:
    async with served.caller() as (_, writer):
        writer.write(request("/", b"", "GET"))
        await writer.drain()
        await asyncio.wait_for(_began.wait(), 5)


_began = asyncio.Event()


async def test_an_application_is_told_that_its_caller_left() -> None:
    told: asyncio.Queue[object] = asyncio.Queue()
    _began.clear()

    async def wait(_scope: Scope, receive: Receive, send: Send) -> None:
        await whole(receive)
        _began.set()
        told.put_nowait((await receive())["type"])
        try:
            await answer(send, b"x")
        except OSError as error:
            told.put_nowait(type(error))

    async with serving(wait) as served:
        await _left(served)
        assert await asyncio.wait_for(told.get(), 5) == "http.disconnect"
        assert issubclass(await asyncio.wait_for(told.get(), 5), OSError)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] -- a class


async def test_after_the_answer_the_application_is_told_that_it_is_over() -> None:
    told: asyncio.Queue[str] = asyncio.Queue()

    async def wait(_scope: Scope, receive: Receive, send: Send) -> None:
        await whole(receive)
        await answer(send, b"x")
        told.put_nowait((await receive())["type"])

    async with serving(wait) as served, served.caller() as (reader, writer):
        writer.write(request("/", b"", "GET"))
        await reader.readuntil(b"\r\n\r\nx")
        assert await asyncio.wait_for(told.get(), 5) == "http.disconnect"
