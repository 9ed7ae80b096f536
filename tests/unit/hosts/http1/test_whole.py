"""Applications that take whole requests get those which are there in full, and give their answers in one piece."""

from collections.abc import Callable, Mapping
from typing import Any

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.ports.auth import Peer
from tests.unit.hosts.http1.serving import answer, body_of, echo, request, serving, status_of

CLOSE = "connection: close"


class Exchange:
    """Answers whole requests by a function, and says of all others that they came as ASGI has them."""

    def __init__(self, reply: Callable[[HttpRequest], HttpReply | None]) -> None:
        self._reply = reply

    def takes(self, request: HttpRequest) -> bool:
        return request.path != "/other"

    async def exchange(
        self,
        request: HttpRequest,
        peer: Peer,
        about: Mapping[str, Any],
        receive: Receive,  # noqa: ARG002 -- what is there in full needs no receiving
        send: Send,
    ) -> HttpReply | None:
        assert about["scheme"] == "http"
        assert peer.address == "127.0.0.1"
        reply = self._reply(request)
        if reply is None:
            await answer(send, b"sent")
        return reply

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await echo(scope, receive, send)


def told(request: HttpRequest) -> HttpReply:
    said = f"{request.method} {request.path}?{request.query} {request.headers['x-name']} {request.body.decode()}"
    return HttpReply(200, {"content-type": "text/plain"}, said.encode())


async def test_a_whole_request_comes_as_one_value_and_its_answer_goes_out_with_its_length() -> None:
    async with serving(Exchange(told)) as served:
        reply = await served.said(request("/a%20b?q=1", b"body", "POST", CLOSE, "X-Name: one", "x-name: two"))
    assert status_of(reply) == 200
    assert b"\r\ncontent-type: text/plain\r\ncontent-length: 29\r\n" in reply
    assert body_of(reply) == b"POST /a%20b?q=1 one, two body"


async def test_the_body_of_a_get_means_nothing() -> None:
    async with serving(Exchange(told)) as served:
        reply = await served.said(request("/", b"body", "GET", CLOSE, "x-name: x"))
    assert body_of(reply) == b"GET /? x "


async def test_an_answer_to_head_has_no_body() -> None:
    async with serving(Exchange(told)) as served:
        reply = await served.said(request("/", b"", "HEAD", CLOSE, "x-name: x"))
    assert b"content-length: 10\r\n" in reply
    assert body_of(reply) == b""


async def test_requests_that_are_not_taken_or_not_whole_come_as_asgi_has_them() -> None:
    async with serving(Exchange(told)) as served:
        assert body_of(await served.said(request("/other", b"x", "POST", CLOSE))) == b"POST /other x"
        async with served.caller() as (reader, writer):
            writer.write(request("/slow", b"body", "POST", CLOSE, "expect: 100-continue").removesuffix(b"body"))
            assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            writer.write(b"body")
            assert body_of(await reader.read()) == b"POST /slow body"


async def test_an_exchange_may_send_its_answer_itself() -> None:
    async with serving(Exchange(lambda _: None)) as served:
        assert body_of(await served.said(request("/", b"x", "POST", CLOSE))) == b"sent"


async def test_an_exchange_that_fails_is_answered_for(caplog: object) -> None:
    def fail(_: HttpRequest) -> HttpReply:
        raise RuntimeError("a defect")

    async with serving(Exchange(fail)) as served:
        assert status_of(await served.said(request("/", b"x", "POST", CLOSE))) == 500
