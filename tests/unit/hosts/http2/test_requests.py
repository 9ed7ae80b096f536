"""Requests as the application sees them, and responses as the client does."""

import asyncio
import logging
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, cast

import pytest

from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.http2 import frames as h2
from tests.unit.hosts.http2.apps import echo, forever, grpc_echo, hello, read
from tests.unit.hosts.http2.peer import GET, POST, Headers, frame, rst, serving


async def test_the_scope_is_that_of_asgi() -> None:
    scopes: list[dict[str, Any]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(dict(scope))
        await hello(scope, receive, send)

    async with serving(app, state={"known": 1}) as server, server.peer() as peer:
        await peer.get(1, "/p?q")
        client = peer.writer.get_extra_info("sockname")[:2]
        assert scopes == [
            {
                "type": "http",
                "asgi": {"version": "3.0", "spec_version": "2.4"},
                "http_version": "2",
                "method": "GET",
                "scheme": "http",
                "path": "/p",
                "raw_path": b"/p",
                "query_string": b"q",
                "root_path": "",
                "headers": [(b"host", b"test")],
                "client": client,
                "server": ("127.0.0.1", server.port),
                "extensions": {"http.response.trailers": {}},
                "state": {"known": 1},
            }
        ]


async def test_what_one_request_does_to_its_scope_is_not_seen_by_the_next() -> None:
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((list(scope["headers"]), dict(scope["state"]), dict(scope["extensions"]), scope["path"]))
        scope["headers"].append((b"mine", b"1"))
        scope["state"]["mine"] = 1
        scope["extensions"]["mine"] = {}
        scope["path"] = "/mine"
        await hello(scope, receive, send)

    async with serving(app) as server, server.peer() as peer:
        for stream in (1, 3, 5):
            await peer.get(stream)
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("parts", [[], [b"a"], [b"a", b"", b"bc", b"d" * 10_000, b"e" * 16_384]])
async def test_a_body_comes_back_whole(parts: list[bytes]) -> None:
    async with serving(echo) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST, h2.END_HEADERS))
        for part in parts:
            await peer.write(frame(h2.DATA, 0, 1, part))
        await peer.write(frame(h2.DATA, h2.END_STREAM, 1))
        fields, body = await peer.answer(1)
        assert (fields[":status"], body) == ("200", b"".join(parts))


async def test_a_body_may_end_by_trailers() -> None:
    async with serving(echo) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST, h2.END_HEADERS), frame(h2.DATA, 0, 1, b"hi"), peer.head(1, [("sum", "5")]))
        assert (await peer.answer(1))[1] == b"hi"


@pytest.mark.parametrize("method", ["One", "Many", "Fail"])
async def test_trailers_stand_behind_the_body(method: str) -> None:
    async with serving(grpc_echo) as server, server.peer() as peer:
        headers = [(name, f"/echo/{method}" if name == ":path" else value) for name, value in POST]
        await peer.write(peer.head(1, headers, h2.END_HEADERS), frame(h2.DATA, h2.END_STREAM, 1, b"\0\0\0\0\2hi"))
        fields, body = await peer.answer(1)
        assert fields["grpc-message"] == "done"
        assert body == b"\0\0\0\0\2hi" * {"One": 1, "Many": 2, "Fail": 0}[method]


async def test_trailers_may_come_in_parts_and_in_place_of_the_last_body() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "trailers": True})
        await send({"type": "http.response.body", "body": b"all"})
        await send({"type": "http.response.trailers", "headers": [(b"a", b"1")], "more_trailers": True})
        await send({"type": "http.response.trailers", "headers": [(b"b", b"2")]})

    async with serving(app) as server, server.peer() as peer:
        assert await peer.get(1) == ({":status": "200", "a": "1", "b": "2"}, b"all")


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
async def test_some_responses_have_no_body_whatever_the_application_sends(method: str, status: int) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"4")]})
        await send({"type": "http.response.body", "body": b"bo", "more_body": True})
        await send({"type": "http.response.body", "body": b"dy"})

    async with serving(app) as server, server.peer() as peer:
        await peer.write(peer.head(1, [(":method", method), *GET[1:]]))
        fields, body = await peer.answer(1)
        assert (fields, body) == ({":status": str(status), "content-length": "4"}, b"")
        assert await peer.alive()


async def test_a_body_may_be_any_kind_of_bytes() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        for body in (bytearray(b"a"), memoryview(b"b")):
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await send({"type": "http.response.body"})

    async with serving(app) as server, server.peer() as peer:
        assert (await peer.get(1))[1] == b"ab"


async def test_an_answer_has_its_date() -> None:
    async with serving(hello) as server, server.peer() as peer:
        before = int(time())
        await peer.write(peer.head(1, GET))
        fields = dict(cast("Headers", peer.decoder.decode((await peer.next(h2.HEADERS)).payload)))
        assert before <= parsedate_to_datetime(fields["date"]).timestamp() <= time()


async def test_answers_over_tls_carry_the_promise_of_tls() -> None:
    async with serving(hello, hsts=b"max-age=5") as server, server.peer() as peer:
        assert (await peer.get(1))[0]["strict-transport-security"] == "max-age=5"


@pytest.mark.parametrize("sent", ["12345678", "1", "12"])
async def test_a_body_is_as_long_as_announced(sent: str) -> None:
    async with serving(echo) as server, server.peer() as peer:
        headers = [*POST, ("content-length", "2")]
        await peer.write(peer.head(1, headers, h2.END_HEADERS), frame(h2.DATA, h2.END_STREAM, 1, sent.encode()))
        if sent == "12":
            assert (await peer.answer(1))[1] == b"12"
        else:
            assert (await peer.next(h2.RST_STREAM)).code == h2.PROTOCOL_ERROR


async def test_a_length_without_a_body_is_malformed() -> None:
    async with serving(echo) as server, server.peer() as peer:
        await peer.write(peer.head(1, [*POST, ("content-length", "2")]))
        assert (await peer.next(h2.RST_STREAM)).code == h2.PROTOCOL_ERROR
        assert await peer.alive()


MALFORMED: list[Headers] = [GET[1:], [*GET, ("connection", "close")], [*GET, (":late", "x")], [*GET, ("Upper", "x")]]


@pytest.mark.parametrize("headers", MALFORMED)
async def test_a_malformed_request_is_reset_and_the_table_stays_right(headers: Headers) -> None:
    async with serving(hello) as server, server.peer() as peer:
        await peer.write(peer.head(1, [*headers, ("new", "entry")]))
        found = await peer.next(h2.RST_STREAM)
        assert (found.stream, found.code) == (1, h2.PROTOCOL_ERROR)
        assert (await peer.get(3))[1] == b"hello"


async def test_connect_is_not_implemented() -> None:
    async with serving(hello) as server, server.peer() as peer:
        await peer.write(peer.head(1, [(":method", "CONNECT"), (":authority", "h:1")], h2.END_HEADERS))
        assert (await peer.answer(1))[0][":status"] == "501"
        assert await peer.alive()


async def failing(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] != "/early":
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
    if scope["path"] != "/silent":
        raise LookupError("of the application")


async def test_an_application_that_fails_before_it_answers_is_a_500(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(failing) as server, server.peer() as peer:
        fields, body = await peer.get(1, "/early")
        assert (fields[":status"], body) == ("500", b"Internal Server Error")
    assert [record.levelno for record in caplog.records if record.name.startswith("dragoman")] == [logging.ERROR]
    assert "GET /early" in caplog.text


@pytest.mark.parametrize("path", ["/late", "/silent"])
async def test_an_answer_that_is_not_finished_is_reset(path: str, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(failing) as server, server.peer() as peer:
        headers = [(name, path if name == ":path" else value) for name, value in GET]
        await peer.write(peer.head(1, headers))
        assert (await peer.next(h2.RST_STREAM)).code == h2.INTERNAL_ERROR
        assert await peer.alive()
    assert len([record for record in caplog.records if record.name.startswith("dragoman")]) == 1


@pytest.mark.parametrize(
    "messages",
    [
        [{"type": "http.response.body"}],
        [{"type": "http.response.start", "status": 200}] * 2,
        [{"type": "http.response.start", "status": 200}, {"type": "http.response.trailers"}],
        [{"type": "http.response.trailers"}],
        [{"type": "websocket.accept"}],
    ],
)
async def test_messages_that_asgi_does_not_have_are_refused(messages: list[dict[str, Any]]) -> None:
    raised: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            for message in messages:
                await send(message)
        except RuntimeError as error:
            raised.append(str(error))
        if len(messages) == 1:
            await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body"})

    async with serving(app) as server, server.peer() as peer:
        await peer.get(1)
    assert len(raised) == 1


async def test_a_request_whose_answer_is_whole_is_told_so() -> None:
    told: asyncio.Queue[Any] = asyncio.Queue()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await read(receive)
        waiting = asyncio.ensure_future(receive())
        await hello(scope, receive, send)
        told.put_nowait(await waiting)
        told.put_nowait(await receive())

    async with serving(app) as server, server.peer() as peer:
        await peer.get(1)
        assert await told.get() == await told.get() == {"type": "http.disconnect"}


@pytest.mark.parametrize("how", ["reset", "lost"])
async def test_an_application_is_told_that_the_client_is_gone(how: str) -> None:
    told: asyncio.Queue[Any] = asyncio.Queue()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await read(receive)
        await send({"type": "http.response.start", "status": 200})
        told.put_nowait("started")
        told.put_nowait(await receive())
        try:
            await send({"type": "http.response.body", "body": b"x"})
        except OSError as error:
            told.put_nowait(error)
            raise

    async with serving(app) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET))
        assert await told.get() == "started"
        if how == "reset":
            await peer.write(rst(1))
        else:
            peer.close()
        assert await told.get() == {"type": "http.disconnect"}
        assert isinstance(await told.get(), ConnectionResetError)


async def test_a_request_that_is_cancelled_resets_its_stream() -> None:
    async with serving(forever) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET))
        assert await peer.alive()
        (task,) = server.site.tasks
        task.cancel()
        assert (await peer.next(h2.RST_STREAM)).code == h2.CANCEL
        assert (await peer.get(3, "/quick"))[1] == b"quick"


async def test_two_that_receive_at_once_do_not_disturb_each_other() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        first = asyncio.ensure_future(receive())
        second = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        first.cancel()
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": (await second)["body"]})

    async with serving(app) as server, server.peer() as peer:
        await peer.write(peer.head(1, POST, h2.END_HEADERS))
        assert await peer.alive()
        await peer.write(frame(h2.DATA, h2.END_STREAM, 1, b"hi"))
        assert (await peer.answer(1))[1] == b"hi"


async def test_many_streams_are_answered_as_they_are_ready() -> None:
    gates = {f"/{number}": asyncio.Event() for number in range(100)}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await gates[scope["path"]].wait()
        await hello(scope, receive, send)

    async with serving(app) as server, server.peer() as peer:
        for number in range(100):
            await peer.write(peer.head(2 * number + 1, [*GET[:2], (":path", f"/{number}"), GET[3]]))
        assert await peer.alive()
        for number in reversed(range(100)):
            gates[f"/{number}"].set()
            assert (await peer.answer(2 * number + 1))[1] == b"hello"


async def test_a_connection_has_no_end_of_streams() -> None:
    async with serving(hello) as server, server.peer() as peer:
        for begin in range(0, 12_000, 100):
            streams = [2 * number + 1 for number in range(begin, begin + 100)]
            await peer.write(*[peer.head(stream, GET) for stream in streams])
            for stream in streams:
                assert (await peer.next(h2.DATA)).stream == stream
        assert await peer.alive()


async def test_a_large_head_of_a_response_comes_in_several_frames() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"large", b"x" * 40_000)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body"})

    async with serving(app) as server, server.peer() as peer:
        await peer.write(peer.head(1, GET))
        found = [await peer.next(h2.HEADERS, h2.CONTINUATION) for _ in range(3)]
        assert [part.flags for part in found] == [0, 0, h2.END_HEADERS]
        assert len(b"".join(part.payload for part in found)) > 40_000
        assert await peer.alive()
