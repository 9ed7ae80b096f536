"""Calls over gRPC: what is sent, what comes back, and what is raised when nothing does."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from dragoman.client.channel import Channel
from dragoman.dialects.base import Call
from dragoman.errors import (
    ConfigurationError,
    ConnectFailed,
    InvalidParamsError,
    LimitExceededError,
    MethodNotFoundError,
    ReplyMalformed,
    TaskNotFoundError,
    TimedOut,
    TransportError,
    UnauthenticatedError,
    UnavailableError,
)
from dragoman.operations import GET_TASK, SEND_STREAMING_MESSAGE
from dragoman.types.requests import ServiceParameters
from tests.behaviour.manifest import requirement
from tests.unit.client.grpc_agent import (
    GET,
    GRPC,
    HELLO,
    SEND,
    TASK,
    GrpcAgent,
    channel_to,
    error,
    event,
    got,
    grpc_agent,
    raw,
    result,
    silent,
    status,
)


@pytest.fixture
async def agent() -> AsyncIterator[GrpcAgent]:
    async with grpc_agent() as running:
        yield running


async def test_a_call_is_one_message_each_way(agent: GrpcAgent) -> None:
    agent.answers["GetTask"] = [result(TASK)]
    assert await got(agent.address, tenant="north") == TASK
    [asked] = agent.asked
    assert asked.message == b"\n\x05north\x12\x03t-1"


@requirement("R-10.2-01", "R-10.2-02", "R-10.2-03")
async def test_metadata_are_the_version_extensions_and_the_callers_headers(agent: GrpcAgent) -> None:
    agent.answers["GetTask"] = [result(TASK)]
    headers = {"authorization": "Bearer s", "x-trace-bin": "AAEC", "content-type": "text/plain", "host": "elsewhere"}
    await got(agent.address, headers=headers, extensions=("https://x.example/1",))
    metadata = agent.asked[0].metadata
    assert metadata["a2a-version"] == "1.0"
    assert metadata["a2a-extensions"] == "https://x.example/1"
    assert metadata["authorization"] == "Bearer s"
    assert metadata["x-trace-bin"] == b"\0\1\2"
    assert str(metadata["user-agent"]).startswith("dragoman ")
    assert {"content-type", "host"}.isdisjoint(metadata)


@pytest.mark.parametrize(
    "headers", [{"x-ü": "a"}, {"x": "ü"}, {"x": "a\nb"}, {"grpc-timeout": "1S"}, {"x-bin": "no base64"}]
)
async def test_a_header_that_cannot_be_sent_is_refused_at_once(headers: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError, match=r"over gRPC|base64"):
        channel_to("127.0.0.1:1", headers=headers)


async def test_without_grpcio_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc.aio", None)
    with pytest.raises(ConfigurationError, match=r'pip install "dragoman\[grpc\]"'):
        channel_to("127.0.0.1:1")


async def test_errors_are_those_of_the_agent(agent: GrpcAgent) -> None:
    agent.answers["GetTask"] = [error(TaskNotFoundError("gone", details={"taskId": "t-1"}))]
    with pytest.raises(TaskNotFoundError, match="gone") as caught:
        await got(agent.address)
    assert caught.value.details == {"taskId": "t-1"}


@pytest.mark.parametrize(
    ("code", "expected"),
    [(5, TaskNotFoundError), (3, InvalidParamsError), (16, UnauthenticatedError), (12, MethodNotFoundError)],
)
async def test_a_bare_status_is_an_error_too(agent: GrpcAgent, code: int, expected: type[Exception]) -> None:
    agent.answers["GetTask"] = [status(code, "50% of ü")]
    with pytest.raises(expected, match="50% of ü"):
        await got(agent.address)


async def test_an_agent_that_does_not_know_the_method_says_so(agent: GrpcAgent) -> None:
    with pytest.raises(MethodNotFoundError):
        await got(agent.address)


async def test_an_agent_that_says_it_is_unavailable_is_told_from_a_broken_connection(agent: GrpcAgent) -> None:
    agent.answers["GetTask"] = [error(UnavailableError("busy"))]
    with pytest.raises(UnavailableError, match="busy"):
        await got(agent.address)
    agent.answers["GetTask"] = [status(14, "upstream connect error")]
    with pytest.raises(TransportError, match="upstream connect error") as caught:
        await got(agent.address)
    assert not isinstance(caught.value, ConnectFailed)


async def test_an_agent_says_when_to_come_again(agent: GrpcAgent) -> None:
    agent.answers["GetTask"] = [error(LimitExceededError("too often", details={"limit": "x"}), ("retry-after", "7"))]
    with pytest.raises(LimitExceededError, match="too often") as caught:
        await got(agent.address)
    assert (caught.value.retry_after, caught.value.details) == (7.0, {"limit": "x"})
    agent.answers["GetTask"] = [error(UnavailableError("busy"))]
    with pytest.raises(UnavailableError, match="busy") as unsaid:
        await got(agent.address)
    assert unsaid.value.retry_after is None


@pytest.mark.parametrize("message", [b"\xff\xff", b"\n\0"])
async def test_a_reply_that_is_none_is_malformed(agent: GrpcAgent, message: bytes) -> None:
    agent.answers["GetTask"] = [raw(message)]
    with pytest.raises(ReplyMalformed):
        await got(agent.address)


async def test_a_reply_may_be_as_long_as_the_limit(agent: GrpcAgent) -> None:
    agent.answers["GetTask"] = [result(TASK)]
    size = len(GRPC.encode_result(Call(GET_TASK, None, ServiceParameters()), TASK).body)
    assert await got(agent.address, max_reply=size) == TASK
    with pytest.raises(ReplyMalformed, match=f"longer than {size - 1} bytes"):
        await got(agent.address, max_reply=size - 1)


async def test_a_call_that_takes_too_long_is_given_up(agent: GrpcAgent) -> None:
    agent.answers["GetTask"] = [silent]
    with pytest.raises(TimedOut):
        await got(agent.address, idle_timeout=0.05)
    await agent.left.wait()


# Streams.


async def test_a_stream_gives_events_until_it_ends(agent: GrpcAgent) -> None:
    agent.answers["SendStreamingMessage"] = [event(TASK), event(HELLO)]
    async with aclosing(channel_to(agent.address)) as channel:
        assert [said async for said in channel.stream(SEND_STREAMING_MESSAGE, SEND)] == [TASK, HELLO]


async def test_nothing_is_sent_before_the_first_event_is_asked_for(agent: GrpcAgent) -> None:
    agent.answers["SendStreamingMessage"] = [event(TASK)]
    channel = channel_to(agent.address)
    async with aclosing(channel), aclosing(channel.stream(SEND_STREAMING_MESSAGE, SEND)):
        pass
    assert agent.asked == []


async def test_closing_a_stream_cancels_it_at_once(agent: GrpcAgent) -> None:
    agent.answers["SendStreamingMessage"] = [event(TASK), silent]
    async with aclosing(channel_to(agent.address)) as channel:
        async with aclosing(channel.stream(SEND_STREAMING_MESSAGE, SEND)) as events:
            assert await anext(events) == TASK
        await agent.left.wait()


async def test_a_stream_may_end_with_an_error(agent: GrpcAgent) -> None:
    agent.answers["SendStreamingMessage"] = [event(TASK), error(UnavailableError("later"))]
    async with aclosing(channel_to(agent.address)) as channel:
        events = channel.stream(SEND_STREAMING_MESSAGE, SEND)
        assert await anext(events) == TASK
        with pytest.raises(UnavailableError, match="later"):
            await anext(events)


async def test_a_stream_in_which_nothing_comes_is_given_up(agent: GrpcAgent) -> None:
    agent.answers["SendStreamingMessage"] = [event(TASK), silent]
    async with aclosing(channel_to(agent.address, idle_timeout=0.1)) as channel:
        events = channel.stream(SEND_STREAMING_MESSAGE, SEND)
        assert await anext(events) == TASK
        with pytest.raises(TimedOut):
            await anext(events)
    await agent.left.wait()


async def test_a_stream_whose_server_dies_has_broken(agent: GrpcAgent) -> None:
    agent.answers["SendStreamingMessage"] = [event(TASK), silent]
    async with aclosing(channel_to(agent.address)) as channel:
        events = channel.stream(SEND_STREAMING_MESSAGE, SEND)
        assert await anext(events) == TASK
        await agent.server.stop(None)
        with pytest.raises(TransportError) as caught:
            await anext(events)
        assert not isinstance(caught.value, ConnectFailed)


async def test_a_reader_who_is_cancelled_is_cancelled(agent: GrpcAgent) -> None:
    agent.answers["SendStreamingMessage"] = [event(TASK), silent]

    async def read(channel: Channel) -> None:
        async for _ in channel.stream(SEND_STREAMING_MESSAGE, SEND):
            begun.set()

    begun = asyncio.Event()
    async with aclosing(channel_to(agent.address)) as channel:
        reading = asyncio.create_task(read(channel))
        await begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await agent.left.wait()


async def test_closing_a_channel_ends_its_streams(agent: GrpcAgent) -> None:
    agent.answers["SendStreamingMessage"] = [event(TASK), silent]
    channel = channel_to(agent.address)
    events = channel.stream(SEND_STREAMING_MESSAGE, SEND)
    assert await anext(events) == TASK
    waiting = asyncio.ensure_future(anext(events))
    await asyncio.sleep(0)
    await channel.aclose()
    with pytest.raises(TransportError, match="closed"):
        await waiting
    with pytest.raises(TransportError, match="closed"):
        await channel.call(GET_TASK, GET)
