"""Connections of the gRPC client: made once, tried again at once, trusted as the caller says."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import trustme

from dragoman.client.channel import Channel
from dragoman.client.dialing import endpoint_of
from dragoman.errors import (
    ConnectFailed,
    MethodNotFoundError,
    TransportError,
)
from dragoman.operations import GET_TASK, SEND_STREAMING_MESSAGE
from tests.behaviour.manifest import requirement
from tests.unit.client.grpc_agent import (
    GET,
    HELLO,
    SEND,
    TASK,
    GrpcAgent,
    channel_to,
    event,
    got,
    grpc,
    grpc_agent,
    result,
)


@pytest.fixture
async def agent() -> AsyncIterator[GrpcAgent]:
    async with grpc_agent() as running:
        yield running


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("url", "secure", "address", "tls"),
    [
        ("agent.example:50051", True, "agent.example:50051", True),
        ("agent.example:50051", False, "agent.example:50051", False),
        ("agent.example", True, "agent.example:443", True),
        ("agent.example", False, "agent.example:80", False),
        ("[::1]:50051", False, "[::1]:50051", False),
        ("https://agent.example/any/path", False, "agent.example:443", True),
        ("grpcs://agent.example:8443", False, "agent.example:8443", True),
        ("http://agent.example", True, "agent.example:80", False),
        ("GRPC://[::1]:1", True, "[::1]:1", False),
    ],
)
def test_where_a_url_leads(url: str, secure: bool, address: str, tls: bool) -> None:
    endpoint = endpoint_of(url, secure=secure)
    assert (endpoint.address, endpoint.tls) == (address, tls)


async def test_where_nobody_listens_nothing_was_sent() -> None:
    with pytest.raises(ConnectFailed, match="No connection to 127"):
        await got(f"127.0.0.1:{closed_port()}")


@pytest.mark.parametrize("url", ["", "ftp://127.0.0.1:1", "http://", "127.0.0.1:port", "unix:/tmp/socket"])
async def test_a_url_that_leads_nowhere_is_no_connection(url: str) -> None:
    with pytest.raises(ConnectFailed):
        await got(url)


async def test_a_server_that_says_nothing_is_no_connection() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        with pytest.raises(ConnectFailed):
            await got(f"127.0.0.1:{listening.getsockname()[1]}", connect_timeout=0.05)


async def test_calls_that_wait_for_a_connection_share_one_attempt() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        url = f"127.0.0.1:{listening.getsockname()[1]}"
        async with aclosing(channel_to(url, connect_timeout=0.05)) as channel:
            calls = [channel.call(GET_TASK, GET) for _ in range(20)]
            async with asyncio.timeout(0.6):
                failures = await asyncio.gather(*calls, return_exceptions=True)
    assert {type(failure) for failure in failures} == {ConnectFailed}


async def test_a_channel_tries_again_at_once_after_a_failure() -> None:
    port = closed_port()
    async with aclosing(channel_to(f"127.0.0.1:{port}")) as channel:
        with pytest.raises(ConnectFailed):
            await channel.call(GET_TASK, GET)
        async with grpc_agent(port=port) as agent:
            agent.answers["GetTask"] = [result(TASK)]
            async with asyncio.timeout(0.5):
                assert await channel.call(GET_TASK, GET) == TASK


async def test_a_channel_outlives_its_server() -> None:
    async with aclosing(channel_to(f"127.0.0.1:{(port := closed_port())}")) as channel:
        for _ in range(2):
            async with grpc_agent(port=port) as agent:
                agent.answers["GetTask"] = [result(TASK)]
                assert await channel.call(GET_TASK, GET) == TASK


async def test_a_stream_goes_on_over_a_connection_that_takes_no_new_calls(agent: GrpcAgent) -> None:
    more = asyncio.Event()

    async def later(asked: Any) -> bytes:
        await more.wait()
        return await event(HELLO)(asked)

    agent.answers["SendStreamingMessage"] = [event(TASK), later]
    async with aclosing(channel_to(agent.address)) as channel:
        events = channel.stream(SEND_STREAMING_MESSAGE, SEND)
        assert await anext(events) == TASK
        stopping = asyncio.create_task(agent.server.stop(5))
        while not isinstance(failure := await _outcome(channel), ConnectFailed):
            assert isinstance(failure, MethodNotFoundError | TransportError)
        more.set()
        assert [said async for said in events] == [HELLO]
        await stopping


async def _outcome(channel: Channel) -> Any:
    try:
        return await channel.call(GET_TASK, GET)
    except (TransportError, MethodNotFoundError) as failure:
        return failure


async def test_closing_a_channel_ends_an_attempt_to_connect() -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        channel = channel_to(f"127.0.0.1:{listening.getsockname()[1]}")
        calling = asyncio.create_task(_outcome(channel))
        await asyncio.sleep(0)
        await channel.aclose()
        outcome = await calling
        assert isinstance(outcome, TransportError)
        assert "closed" in str(outcome)


# TLS.


AUTHORITY = trustme.CA()


@pytest.fixture(scope="module")
def credentials() -> Any:
    issued = AUTHORITY.issue_cert("agent.example", "127.0.0.1")
    chain = b"".join(pem.bytes() for pem in issued.cert_chain_pems)
    return grpc.ssl_server_credentials([(issued.private_key_pem.bytes(), chain)])


@pytest.fixture
async def secure_agent(credentials: Any) -> AsyncIterator[GrpcAgent]:
    async with grpc_agent(credentials=credentials) as running:
        running.answers["GetTask"] = [result(TASK)]
        yield running


@pytest.fixture
def known() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


@pytest.mark.parametrize(("form", "secure"), [("https://{}", False), ("grpcs://{}/any", False), ("{}", True)])
async def test_tls_by_scheme_or_by_the_cards_origin(
    secure_agent: GrpcAgent, known: ssl.SSLContext, form: str, secure: bool
) -> None:
    assert await got(form.format(secure_agent.address), secure=secure, verify=known) == TASK


@pytest.mark.parametrize(("form", "secure"), [("http://{}", True), ("grpc://{}/any", True), ("{}", False)])
async def test_no_tls_by_scheme_or_by_the_cards_origin(agent: GrpcAgent, form: str, secure: bool) -> None:
    agent.answers["GetTask"] = [result(TASK)]
    assert await got(form.format(agent.address), secure=secure) == TASK


@requirement("R-7.2-01")
async def test_an_authority_that_is_not_known_is_no_connection(secure_agent: GrpcAgent) -> None:
    with pytest.raises(ConnectFailed):
        await got(f"https://{secure_agent.address}")
    assert secure_agent.asked == []


async def test_any_certificate_will_do_if_the_caller_says_so(secure_agent: GrpcAgent) -> None:
    assert await got(f"https://{secure_agent.address}", verify=False) == TASK
    lenient = ssl.create_default_context()
    lenient.check_hostname = False
    lenient.verify_mode = ssl.CERT_NONE
    assert await got(f"https://{secure_agent.address}", verify=lenient) == TASK


async def test_a_certificate_for_another_name_will_do_only_if_the_caller_says_so(known: ssl.SSLContext) -> None:
    issued = AUTHORITY.issue_cert("elsewhere.example")
    chain = b"".join(pem.bytes() for pem in issued.cert_chain_pems)
    credentials = grpc.ssl_server_credentials([(issued.private_key_pem.bytes(), chain)])
    async with grpc_agent(credentials=credentials) as agent:
        agent.answers["GetTask"] = [result(TASK)]
        with pytest.raises(ConnectFailed):
            await got(f"https://{agent.address}", verify=known)
        assert await got(f"https://{agent.address}", verify=False) == TASK


async def test_without_tls_on_the_other_side_there_is_no_connection(agent: GrpcAgent) -> None:
    for verify in (True, False):
        with pytest.raises(ConnectFailed):
            await got(f"https://{agent.address}", verify=verify, connect_timeout=1)
