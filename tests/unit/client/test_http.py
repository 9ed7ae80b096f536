"""What goes over the socket: interfaces, headers, redirects, limits, and replies that are none."""

import json
import socket
from typing import Any

import pytest

from dragoman import TransportError, connect
from dragoman.client import NoUsableInterface
from dragoman.errors import (
    ConnectFailed,
    InvalidRequestError,
    MethodNotFoundError,
    ReplyMalformed,
    TimedOut,
    UnavailableError,
)
from dragoman.types import GetTaskRequest, SubscribeToTaskRequest
from tests.unit.client.scripted import (
    Answer,
    Exchange,
    Script,
    cut,
    events,
    message,
    plain,
    result,
    scripted,
    silent,
    task,
)

DONE = result(task("COMPLETED", "done"))
GET = GetTaskRequest(id="t-1")


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def interface(url: str, binding: str = "JSONRPC", **more: str) -> dict[str, str]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": "1.0", **more}


async def test_every_request_names_the_version_and_the_callers_headers(agent: Script) -> None:
    agent.answers["GetTask"] = [DONE]
    agent.answers["SendStreamingMessage"] = [events({"message": message("hi")})]
    async with connect(agent.url, headers={"Authorization": "Bearer s"}, extensions=["https://x.example/1"]) as client:
        await client.get_task(GET)
        await client.ask("go")
    assert [seen.headers["authorization"] for seen in agent.seen] == ["Bearer s"] * 3
    assert {seen.headers["a2a-version"] for seen in agent.seen[1:]} == {"1.0"}
    assert {seen.headers["a2a-extensions"] for seen in agent.seen[1:]} == {"https://x.example/1"}


async def test_the_tenant_of_the_interface_is_in_every_request_unless_the_caller_names_one(agent: Script) -> None:
    agent.offer(supportedInterfaces=[interface(f"{agent.url}/rpc", tenant="north")])
    agent.answers["GetTask"] = [DONE]
    agent.answers["SendStreamingMessage"] = [events({"message": message("hi")})]
    async with connect(agent.url) as client:
        await client.get_task(GET)
        await client.ask("go")
        await client.get_task(GetTaskRequest(id="t-1", tenant="south"))
    assert [seen.params["tenant"] for seen in agent.seen[1:]] == ["north", "north", "south"]


async def test_an_interface_out_of_reach_is_passed_over_once_and_for_all(agent: Script) -> None:
    dead = interface(f"http://127.0.0.1:{closed_port()}/rpc")
    agent.offer(supportedInterfaces=[dead, interface(f"{agent.url}/rpc", tenant="second")])
    agent.answers["SendStreamingMessage"] = [events({"message": message("hi")})]
    agent.answers["GetTask"] = [DONE]
    async with connect(agent.url) as client:
        assert await client.ask("go") == "hi"
        await client.get_task(GET)
    assert [seen.params["tenant"] for seen in agent.seen[1:]] == ["second", "second"]


async def test_no_other_interface_is_tried_once_something_was_sent(agent: Script) -> None:
    async with scripted() as other:
        other.answers["SendMessage"] = [result({"message": message("twice")})]
        agent.offer(supportedInterfaces=[interface(f"{agent.url}/rpc"), interface(f"{other.url}/rpc")], capabilities={})
        agent.answers["SendMessage"] = [cut]
        async with connect(agent.url) as client:
            with pytest.raises(TransportError):
                await client.ask("go")
        assert other.seen == []


async def test_an_agent_out_of_reach_altogether(agent: Script) -> None:
    agent.offer(supportedInterfaces=[interface(f"http://127.0.0.1:{closed_port()}/{n}") for n in range(2)])
    async with connect(agent.url) as client:
        with pytest.raises(ConnectFailed):
            await client.ask("go")
        with pytest.raises(ConnectFailed):
            await client.get_task(GET)


async def test_silence_ends_a_call(agent: Script) -> None:
    agent.answers["GetTask"] = [silent]
    async with connect(agent.url, idle_timeout=0.05) as client:
        with pytest.raises(TimedOut):
            await client.get_task(GET)


async def test_a_card_without_a_usable_interface_says_what_it_offers(agent: Script) -> None:
    agent.offer(supportedInterfaces=[interface("http://127.0.0.1:1", "urn:own")])
    async with connect(agent.url) as client:
        with pytest.raises(NoUsableInterface, match=r"can be used; it offers: urn:own 1\.0"):
            await client.ask("go")


def rest(value: dict[str, Any]) -> Answer:
    return events(value, enveloped=False)


async def test_a_subscription_refused_as_post_is_asked_for_with_get_from_then_on(agent: Script) -> None:
    agent.offer(supportedInterfaces=[interface(f"{agent.url}/v", "HTTP+JSON")])
    agent.answers["POST /v/tasks/t-1:subscribe"] = [plain(b"", 405)]
    agent.answers["GET /v/tasks/t-1:subscribe"] = [rest({"task": task("COMPLETED", "done")})]
    async with connect(agent.url) as client:
        for _ in range(2):
            assert [event async for event in client.subscribe_to_task(SubscribeToTaskRequest(id="t-1"))]
    get = "GET /v/tasks/t-1:subscribe"
    assert agent.names() == ["POST /v/tasks/t-1:subscribe", get, get]
    assert agent.seen[-1].body == b""


async def test_an_endpoint_that_refuses_both_says_so(agent: Script) -> None:
    agent.offer(supportedInterfaces=[interface(f"{agent.url}/v", "HTTP+JSON")])
    agent.answers["POST /v/tasks/t-1:subscribe"] = agent.answers["GET /v/tasks/t-1:subscribe"] = [plain(b"", 405)]
    async with connect(agent.url) as client:
        with pytest.raises(MethodNotFoundError):
            await anext(client.subscribe_to_task(SubscribeToTaskRequest(id="t-1")))


async def test_a_query_in_the_interface_url_stays(agent: Script) -> None:
    agent.offer(supportedInterfaces=[interface(f"{agent.url}/v/?key=1", "HTTP+JSON")])
    agent.answers["GET /v/tasks/t-1?key=1&historyLength=0"] = [plain(json.dumps(task("WORKING")).encode())]
    async with connect(agent.url) as client:
        assert (await client.get_task(GetTaskRequest(id="t-1", history_length=0))).id == "t-1"


async def test_redirects_within_the_origin_are_followed(agent: Script) -> None:
    agent.offer(supportedInterfaces=[interface(f"{agent.url}/old")])
    agent.answers["POST /old"] = [plain(b"", 307, location="/rpc")]
    agent.answers["GetTask"] = [DONE]
    async with connect(agent.url) as client:
        assert (await client.get_task(GET)).text == "done"
    assert agent.seen[-1].params["id"] == "t-1"


async def test_redirects_to_other_origins_get_nothing(agent: Script) -> None:
    async with scripted() as other:
        agent.answers["GetTask"] = [plain(b"", 307, location=f"{other.url}/rpc")]
        async with connect(agent.url, headers={"Authorization": "Bearer secret"}) as client:
            with pytest.raises(ReplyMalformed, match="another origin"):
                await client.get_task(GET)
        assert other.seen == []


async def test_redirects_in_a_circle_end(agent: Script) -> None:
    agent.answers["GetTask"] = [plain(b"", 308, location="/rpc")]
    async with connect(agent.url) as client:
        with pytest.raises(ReplyMalformed, match="Too many"):
            await client.get_task(GET)
    assert agent.names() == ["GetTask"] * 6


async def test_cookies_are_not_kept(agent: Script) -> None:
    agent.answers["GetTask"] = [
        plain(json.dumps({"jsonrpc": "2.0", "id": 1, "result": task("WORKING")}).encode(), set_cookie="a=b; Path=/")
    ]
    async with connect(agent.url) as client:
        await client.get_task(GET)
        await client.get_task(GET)
    assert all("cookie" not in seen.headers for seen in agent.seen)


async def endless(exchange: Exchange) -> None:
    await exchange.head(200, {"content-type": "application/json", "transfer-encoding": "chunked"})
    while True:
        await exchange.chunk(b" " * 1024 * 1024)


async def test_an_endless_reply_is_not_read_to_its_end(agent: Script) -> None:
    agent.answers["GetTask"] = [endless]
    async with connect(agent.url) as client:
        with pytest.raises(ReplyMalformed, match="longer than"):
            await client.get_task(GET)
        await agent.closed.wait()


NONSENSE = [
    plain(b""),
    plain(b"\xff\xfe"),
    plain(b"<html>", content_type="text/html"),
    plain(b"[1,2]"),
    plain(b"{}"),
    plain(b'{"jsonrpc":"2.0","id":1,"result":{"id":7}}'),
    plain(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000),
    plain(b"broken", 500, content_type="text/html"),
    plain(b"", 204),
]


@pytest.mark.parametrize("answer", NONSENSE, ids=range(len(NONSENSE)))
async def test_what_is_no_answer_is_malformed(agent: Script, answer: Answer) -> None:
    agent.offer(capabilities={"streaming": False})
    agent.answers["GetTask"] = agent.answers["SendMessage"] = [answer]
    async with connect(agent.url) as client:
        with pytest.raises(ReplyMalformed):
            await client.get_task(GET)
        with pytest.raises(ReplyMalformed):
            await client.ask("go")


@pytest.mark.parametrize(("field", "seconds"), [("7", 7.0), ("soon", None), ("", None)])
@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_an_agent_that_cannot_answer_now_says_when(
    agent: Script, status: int, field: str, seconds: float | None
) -> None:
    agent.answers["GetTask"] = [plain(b"busy", status, content_type="text/html", retry_after=field)]
    async with connect(agent.url) as client:
        with pytest.raises(UnavailableError) as raised:
            await client.get_task(GET)
    assert raised.value.retry_after == seconds


async def no_http(exchange: Exchange) -> None:
    await exchange.write(b"this is no HTTP\r\n\r\n")
    exchange.keep = False


@pytest.mark.parametrize("answer", [no_http, cut], ids=["no http", "nothing"])
async def test_a_broken_connection_is_a_transport_error(agent: Script, answer: Answer) -> None:
    agent.answers["GetTask"] = [answer]
    async with connect(agent.url) as client:
        with pytest.raises(TransportError):
            await client.get_task(GET)


async def test_an_error_before_the_stream_is_raised(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [
        plain(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no parts"}}')
    ]
    async with connect(agent.url) as client:
        with pytest.raises(InvalidRequestError, match="no parts"):
            await client.ask("go")


async def test_a_single_answer_in_place_of_a_stream_is_taken(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [result({"message": message("hi")})]
    async with connect(agent.url) as client:
        assert await client.ask("go") == "hi"


async def test_a_message_of_mebibytes_is_sent_whole_and_in_one_request(agent: Script) -> None:
    agent.answers["SendMessage"] = [result({"message": message("hi")})]
    async with connect(agent.url) as client:
        await client.start("x" * 2**21)
    (sent,) = agent.asked("SendMessage")
    assert sent.params["message"]["parts"] == [{"text": "x" * 2**21}]
    assert sent.headers["content-length"] == str(len(sent.body))
