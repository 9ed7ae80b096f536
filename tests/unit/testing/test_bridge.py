"""The bridge to ASGI applications streams, tells of disconnects, runs lifespans and hides no exception."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.testing.bridge import AsgiApp, AsgiBridge, AsgiTransport

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Handler = Callable[[Receive, Send], Awaitable[None]]

GET = HttpRequest("GET", "/")
START = {"type": "http.response.start", "status": 200, "headers": [(b"X-One", b"a"), (b"x-one", b"b")]}


def bare(handler: Handler) -> AsgiApp:
    """An application without a lifespan."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await handler(receive, send)

    return app


def chunk(data: bytes, *, more: bool = True) -> Event:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def test_a_request_arrives_as_it_was_sent() -> None:
    seen: dict[str, Any] = {}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            raise RuntimeError("no lifespan")
        seen.update(scope, got=await receive())
        await send({**START, "status": 201})
        await send(chunk(b"made", more=False))

    request = HttpRequest("POST", "/a%2Fb/c%20d", "x=1&y=2", {"x-own": "z"}, b"body")
    async with AsgiBridge(app, origin="https://h.example:8443") as bridge:
        reply = await bridge.send(request)
    assert reply == HttpReply(201, {"x-one": "a, b"}, b"made")
    assert (seen["method"], seen["path"], seen["raw_path"]) == ("POST", "/a/b/c d", b"/a%2Fb/c%20d")
    assert (seen["query_string"], seen["scheme"], seen["server"]) == (b"x=1&y=2", "https", ("h.example", 8443))
    assert dict(seen["headers"]) == {b"host": b"h.example:8443", b"x-own": b"z", b"content-length": b"4"}
    assert seen["got"] == {"type": "http.request", "body": b"body", "more_body": False}


async def test_chunks_arrive_while_the_application_runs() -> None:
    asked = asyncio.Event()

    async def handler(receive: Receive, send: Send) -> None:
        await send(START)
        await send(chunk(b"one"))
        await asked.wait()
        await send(chunk(b""))
        await send(chunk(b"two", more=False))

    async with AsgiBridge(bare(handler)) as bridge, bridge.open(GET) as live:
        body = live.body()
        assert await anext(body) == b"one"
        asked.set()
        assert [part async for part in body] == [b"two"]


async def test_leaving_is_the_disconnect() -> None:
    left = asyncio.Event()

    async def handler(receive: Receive, send: Send) -> None:
        await receive()
        await send(START)
        await send(chunk(b"one"))
        assert (await receive())["type"] == "http.disconnect"
        await send(chunk(b"into the void"))
        left.set()

    async with AsgiBridge(bare(handler)) as bridge:
        async with bridge.open(GET) as live:
            assert await anext(live.body()) == b"one"
            assert not left.is_set()
        assert left.is_set()


async def test_an_unfinished_body_waits_for_the_disconnect() -> None:
    got: list[Event] = []

    async def handler(receive: Receive, send: Send) -> None:
        await send(START)
        got.extend([await receive(), await receive()])

    half = HttpRequest("POST", "/", body=b"half")
    async with AsgiBridge(bare(handler)) as bridge, bridge.open(half, whole=False):
        pass
    assert got == [{"type": "http.request", "body": b"half", "more_body": True}, {"type": "http.disconnect"}]


async def test_a_reader_who_does_not_read_holds_the_application_up() -> None:
    sent: list[int] = []

    async def handler(receive: Receive, send: Send) -> None:
        await send(START)
        for number in range(100):
            await send(chunk(b"x"))
            sent.append(number)
        await send(chunk(b"", more=False))

    async with AsgiBridge(bare(handler)) as bridge, bridge.open(GET) as live:
        body = live.body()
        await anext(body)
        assert len(sent) < 30
        assert len([part async for part in body]) == 99


async def test_an_application_that_goes_on_for_ever_is_ended() -> None:
    ended = asyncio.Event()

    async def handler(receive: Receive, send: Send) -> None:
        await send(START)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with AsgiBridge(bare(handler), grace_seconds=0.01) as bridge:
        with pytest.raises(TimeoutError):
            async with bridge.open(GET):
                pass
    assert ended.is_set()


class BoomError(Exception):
    pass


@pytest.mark.parametrize("before", [[], [START], [START, chunk(b"x")], [START, chunk(b"x", more=False)]])
async def test_what_leaves_the_application_is_raised(before: list[Event]) -> None:
    async def handler(receive: Receive, send: Send) -> None:
        for event in before:
            await send(event)
        raise BoomError

    async with AsgiBridge(bare(handler)) as bridge:
        with pytest.raises(BoomError):
            await bridge.send(GET)


@pytest.mark.parametrize("events", [[], [chunk(b"x")]])
async def test_an_application_without_a_proper_reply_is_at_fault(events: list[Event]) -> None:
    async def handler(receive: Receive, send: Send) -> None:
        for event in events:
            await send(event)

    async with AsgiBridge(bare(handler)) as bridge:
        with pytest.raises(RuntimeError):
            await bridge.send(GET)


async def test_a_lifespan_surrounds_the_requests_and_shares_its_state() -> None:
    log: list[str] = []

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[dict[str, str], None]:
        log.append("up")
        yield {"word": "shared"}
        log.append("down")

    async def page(request: Request) -> PlainTextResponse:
        log.append("request")
        return PlainTextResponse(request.state.word)

    app = Starlette(routes=[Route("/", page)], lifespan=lifespan)
    async with AsgiBridge(app) as bridge:
        assert (await bridge.send(GET)).body == b"shared"
    assert log == ["up", "request", "down"]


@pytest.mark.parametrize("moment", ["startup", "shutdown"])
async def test_a_lifespan_that_fails_is_no_secret(moment: str) -> None:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None, None]:
        if moment == "startup":
            raise BoomError
        yield
        raise BoomError

    with pytest.raises(RuntimeError, match=f"{moment} failed") as raised:
        async with AsgiBridge(Starlette(lifespan=lifespan)):
            assert moment == "shutdown"
    assert isinstance(raised.value.__cause__, BoomError)


async def test_an_application_that_never_starts_is_ended() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await AsgiBridge(app, grace_seconds=0.01).__aenter__()


async def test_a_transport_speaks_to_the_host_of_the_url() -> None:
    async def page(request: Request) -> PlainTextResponse:
        return PlainTextResponse(f"{request.method} {request.url} {(await request.body()).decode()}")

    app = Starlette(routes=[Route("/x", page, methods=["POST"])])
    async with (
        AsgiTransport(app) as transport,
        transport.open("POST", "https://h.example/x?y=1", {"a": "b"}, b"hi") as response,
    ):
        assert response.status == 200
        assert b"".join([part async for part in response.body()]) == b"POST https://h.example/x?y=1 hi"
