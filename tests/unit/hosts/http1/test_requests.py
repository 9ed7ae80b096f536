"""What of HTTP/1.1 is understood, and what is refused (RFC 9112)."""

import asyncio
import contextlib

import pytest

from dragoman.hosts.binding import Receive, Scope, Send
from tests.unit.hosts.http1.serving import answer, body_of, echo, request, serving, status_of, whole

CLOSE = "connection: close"


async def test_requests_on_one_connection_are_answered_in_their_order() -> None:
    async with serving(echo) as served:
        reply = await served.said(request("/1", b"one") + request("/2", b"two") + request("/3", b"", "GET", CLOSE))
    assert [part.rpartition(b"\r\n")[2] for part in reply.split(b"HTTP/1.1 200 OK")[1:]] == [
        b"POST /1 one",
        b"POST /2 two",
        b"GET /3 ",
    ]


async def test_requests_that_waited_keep_no_later_one_from_being_read() -> None:
    async with serving(echo) as served, served.caller() as (reader, writer):
        writer.write(request("/1", b"", "GET", length=False) + request("/2", b"", "GET", length=False))
        await reader.readuntil(b"GET /2 ")
        writer.write(request("/3", b"", "GET", CLOSE))
        assert body_of(await reader.read()) == b"GET /3 "


async def test_a_request_may_come_in_single_bytes() -> None:
    async with serving(echo) as served, served.caller() as (reader, writer):
        for byte in request("/slow", b"body", "POST", CLOSE):
            writer.write(bytes([byte]))
            await writer.drain()
        assert body_of(await reader.read()) == b"POST /slow body"


async def test_a_body_in_chunks_is_put_together() -> None:
    head = request("/c", b"", "POST", CLOSE, "transfer-encoding: chunked", length=False)
    async with serving(echo) as served:
        reply = await served.said(head + b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n")
    assert body_of(reply) == b"POST /c abcde"


async def test_the_scope_is_that_of_asgi() -> None:
    seen: list[Scope] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await answer(send, await whole(receive))

    async with serving(look) as served:
        await served.said(request("/a%20b/%C3%A4?q=%201#no", b"", "GET", CLOSE, "X-Name: Value", "x-name: other"))
        scope = seen[0]
        assert (scope["type"], scope["http_version"], scope["method"], scope["scheme"]) == (
            "http",
            "1.1",
            "GET",
            "http",
        )
        assert (scope["path"], scope["raw_path"], scope["query_string"]) == ("/a b/ä", b"/a%20b/%C3%A4", b"q=%201")
        assert scope["root_path"] == ""
        assert scope["headers"] == [
            (b"host", b"x"),
            (b"connection", b"close"),
            (b"x-name", b"Value"),
            (b"x-name", b"other"),
            (b"content-length", b"0"),
        ]
        assert scope["server"] == ("127.0.0.1", served.port)
        assert scope["client"][0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("target", "path", "query"),
    [("http://other:80/p?q", b"/p", b"q"), ("http://other", b"/", b""), ("*", b"*", b"")],
)
async def test_targets_in_absolute_and_asterisk_form_are_understood(target: str, path: bytes, query: bytes) -> None:
    seen: list[Scope] = []

    async def look(scope: Scope, _: Receive, send: Send) -> None:
        seen.append(scope)
        await answer(send, b"")

    async with serving(look) as served:
        await served.said(request(target, b"", "OPTIONS", CLOSE))
    assert (seen[0]["raw_path"], seen[0]["query_string"]) == (path, query)


async def test_who_waits_for_word_before_the_body_is_told_to_go_on() -> None:
    async with serving(echo) as served, served.caller() as (reader, writer):
        writer.write(request("/e", b"", "POST", CLOSE, "expect: 100-continue", "content-length: 4", length=False))
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"body")
        assert body_of(await reader.read()) == b"POST /e body"


async def test_who_waits_for_word_is_answered_without_it_if_the_body_is_not_wanted() -> None:
    async def refuse(_scope: Scope, _receive: Receive, send: Send) -> None:
        await answer(send, b"no", 413)

    async with serving(refuse) as served:
        reply = await served.said(request("/e", b"", "POST", "expect: 100-continue", "content-length: 4", length=False))
    assert status_of(reply) == 413
    assert b"connection: close" in reply


BAD = {
    "no HTTP": (b"hello\r\n\r\n", 400),
    "a method that is none": (b"G@T / HTTP/1.1\r\nhost: x\r\n\r\n", 400),
    "a version that is none": (b"GET / HTTP/9.9\r\nhost: x\r\n\r\n", 400),
    "no host": (b"GET / HTTP/1.1\r\n\r\n", 400),
    "two hosts": (b"GET / HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n", 400),
    "length and chunks": (
        b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n",
        400,
    ),
    "two lengths": (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\nabc", 400),
    "a length that is none": (b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -3\r\n\r\nabc", 400),
    "a bare line feed in a field": (b"GET / HTTP/1.1\r\nhost: x\r\na: b\nc\r\n\r\n", 400),
    "a folded field": (b"GET / HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", 400),
    "a space before the colon": (b"GET / HTTP/1.1\r\nhost: x\r\na : b\r\n\r\n", 400),
    "a tunnel": (b"CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n", 405),
    "a target that is none": (b"GET x HTTP/1.1\r\nhost: x\r\n\r\n", 400),
    "a coding that is none": (b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip\r\n\r\n", 400),
    "a long field": (b"GET / HTTP/1.1\r\nhost: x\r\na: " + b"b" * 5000 + b"\r\n\r\n", 431),
    "a long target": (b"GET /" + b"b" * 5000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", 431),
    "many fields": (b"GET / HTTP/1.1\r\nhost: x\r\n" + b"a: b\r\n" * 200 + b"\r\n", 431),
}


@pytest.mark.parametrize("what", BAD)
async def test_what_is_no_request_is_refused_and_ends_the_connection(what: str) -> None:
    data, status = BAD[what]

    async def never(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise AssertionError("no request should come this far")

    async with serving(never, max_head_bytes=4096, max_header_fields=100) as served:
        reply = await served.said(data)
    assert status_of(reply) == status
    assert b"connection: close" in reply


async def test_what_follows_a_bad_request_is_not_answered_and_what_went_before_is() -> None:
    async with serving(echo) as served:
        reply = await served.said(request("/good", b"x") + b"nonsense\r\n\r\n" + request("/late"))
    assert reply.count(b"HTTP/1.1 ") == 2
    assert b"POST /good x" in reply
    assert b"HTTP/1.1 400" in reply
    assert b"late" not in reply


async def test_a_body_that_breaks_off_is_told_to_the_application_and_refused() -> None:
    seen: list[str] = []

    async def look(_scope: Scope, receive: Receive, _send: Send) -> None:
        while True:
            message = await receive()
            seen.append(message["type"])
            if message["type"] == "http.disconnect":
                return

    head = request("/c", b"", "POST", "transfer-encoding: chunked", length=False)
    async with serving(look) as served:
        reply = await served.said(head + b"3\r\nabc\r\nnonsense")
    assert status_of(reply) == 400
    assert seen[-1] == "http.disconnect"


async def test_a_body_that_breaks_off_when_the_answer_has_begun_cuts_the_answer() -> None:
    """Whatever was said in the middle of it would be taken for a part of it."""
    begun = asyncio.Event()

    async def answers_first(_scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"part", "more_body": True})
        begun.set()
        while (await receive())["type"] != "http.disconnect":
            pass

    head = request("/c", b"", "POST", "transfer-encoding: chunked", length=False)
    async with serving(answers_first) as served, served.caller() as (reader, writer):
        writer.write(head + b"3\r\nabc\r\n")
        await begun.wait()
        await reader.readuntil(b"part\r\n")
        writer.write(b"nonsense")
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""


async def test_an_upgrade_is_not_made_and_the_request_is_answered_as_it_stands() -> None:
    lines = ("connection: upgrade, http2-settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__")
    async with serving(echo) as served:
        reply = await served.said(
            request("/1", b"", "GET", *lines)
            + request("/2", b"body", "POST", *lines)
            + request("/3", b"x", "POST", CLOSE)
        )
        last = await served.said(request("/4", b"body", "POST", "upgrade: websocket", "connection: upgrade, close"))
    assert [part.rpartition(b"\r\n")[2] for part in reply.split(b"HTTP/1.1 200 OK")[1:]] == [
        b"GET /1 ",
        b"POST /2 body",
        b"POST /3 x",
    ]
    assert body_of(last) == b"POST /4 body"


@pytest.mark.parametrize(("line", "kept"), [("x: y", False), ("connection: keep-alive", True)])
async def test_an_old_caller_keeps_its_connection_only_if_it_asks(line: str, *, kept: bool) -> None:
    async with serving(echo) as served:
        reply = await served.said(request("/1", b"x", "POST", line, version="1.0") + request("/2", b"", "GET", CLOSE))
    assert reply.count(b"HTTP/1.1 200") == 1 + kept
    assert (b"connection: keep-alive" in reply) is kept
