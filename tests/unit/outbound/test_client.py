"""What the guarded client sends, and what it makes of whatever comes back."""

import asyncio
import logging
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from dragoman.outbound import GuardedClient, Policy
from dragoman.outbound import client as module
from dragoman.ports.webhook import AddressRefused, Answer, Undelivered, WebhookClient
from tests.behaviour.manifest import requirement
from tests.unit.outbound.receiver import OK, PUBLIC, Receiver, answering, calling, listening, silent

HEAD = b"HTTP/1.1 200 OK\r\n"


def test_it_is_the_client_of_the_port() -> None:
    client: WebhookClient = GuardedClient(Policy())
    assert client is not None


async def test_a_post_arrives_as_it_was_given() -> None:
    async with calling(answering(OK)) as (client, receiver):
        url = receiver.url() + "/a%2Fb/../c?x=%zz&y="
        assert await client.post(url, {"X-One": "1", "User-Agent": "dragoman/1"}, b"{}") == Answer(200)
    lines = receiver.heads[0].split("\r\n")
    assert lines[0] == "POST /hook/a%2Fb/../c?x=%zz&y= HTTP/1.1"
    assert f"Host: {PUBLIC}:{receiver.port}" in lines
    assert "X-One: 1" in lines
    assert "User-Agent: dragoman/1" in lines
    assert not [line for line in lines if line.lower().startswith(("cookie", "proxy", "authorization"))]
    assert receiver.bodies == [b"{}"]


@pytest.mark.parametrize("size", [0, 100_000, 3_000_000])
async def test_bodies_of_any_length_arrive(size: int) -> None:
    async with calling(answering(OK)) as (client, receiver):
        assert (await client.post(receiver.url(), {}, bytes(size))).status == 200
        assert list(map(len, receiver.bodies)) == [size]


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("204 No Content", Answer(204)),
        ("302 Found\r\nLocation: http://127.0.0.1:1/", Answer(302)),
        ("307 Temporary Redirect\r\nLocation: /other", Answer(307)),
        ("410 Gone", Answer(410)),
        ("503 Later\r\nRetry-After: 120", Answer(503, 120.0)),
        ("429 Later\r\nretry-after:  7 ", Answer(429, 7.0)),
        ("429 Later\r\nRetry-After: Thu, 01 Jan 1970 00:00:00 GMT", Answer(429, 0.0)),
        ("429 Later\r\nRetry-After: Thu, 01 Jan 1970 00:00:00", Answer(429, 0.0)),
        ("429 Later\r\nRetry-After: soon", Answer(429)),
        ("429 Later\r\nRetry-After: -1", Answer(429)),
        ("429 Later\r\nRetry-After: \xb2", Answer(429)),
        ("429 Later\r\nRetry-After: " + "9" * 400, Answer(429, 9_999_999_999.0)),
        ("429 Later\r\nRetry-After: Fri, 99 Foo 9999 99:99:99 GMT", Answer(429)),
        (f"200 OK\r\nRetry-After: Fri, 01 Jan {'9' * 30} 00:00:00 GMT", Answer(200)),
        (f"429 Later\r\nRetry-After: Fri, 01 Jan 2030 00:00:00 +{'9' * 30}", Answer(429)),
        ("200 OK\r\nContent-Encoding: gzip", Answer(200)),
        ("100 Continue\r\n\r\nHTTP/1.1 201 Created", Answer(201)),
    ],
)
async def test_the_head_of_the_answer_is_what_counts(line: str, answer: Answer) -> None:
    reply = f"HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n".encode("latin-1")
    async with calling(answering(reply)) as (client, receiver):
        assert await client.post(receiver.url(), {}, b"x") == answer
        assert len(receiver.heads) == 1


async def test_a_date_to_wait_for_becomes_seconds() -> None:
    reply = b"HTTP/1.1 503 Later\r\nContent-Length: 0\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n\r\n"
    async with calling(answering(reply)) as (client, receiver):
        wish = (await client.post(receiver.url(), {}, b"x")).retry_after
        assert wish is not None
        assert wish > 200_000_000_000


async def test_a_connection_is_used_again() -> None:
    async with calling(answering(OK)) as (client, receiver):
        for _ in range(20):
            await client.post(receiver.url(), {}, b"x")
        assert (receiver.connections, len(receiver.heads)) == (1, 20)


async def test_the_first_calls_share_what_they_open() -> None:
    async with calling(answering(OK)) as (client, receiver):
        for _ in range(2):
            await asyncio.gather(*(client.post(receiver.url(), {}, b"x") for _ in range(3)))
        assert len(receiver.heads) == 6
        assert receiver.connections <= 3


async def test_no_cookie_comes_back() -> None:
    async with calling(answering(HEAD + b"Set-Cookie: a=b\r\nContent-Length: 0\r\n\r\n")) as (client, receiver):
        for _ in range(2):
            await client.post(receiver.url("hooks.example.com"), {}, b"x")
    assert "cookie" not in receiver.heads[1].lower()


async def test_what_the_environment_says_of_proxies_and_credentials_is_not_heard(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    netrc = tmp_path_factory.mktemp("home") / "netrc"
    netrc.write_text(f"machine {PUBLIC} login a password b\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with calling(answering(OK)) as (client, receiver):
        assert (await client.post(receiver.url(), {}, b"x")).status == 200
    assert "authorization" not in receiver.heads[0].lower()


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "a.example"},
        {"content-length": "0"},
        {"Transfer-Encoding": "chunked"},
        {"a": "b\r\nc: d"},
        {"a\nb": "c"},
    ],
)
async def test_headers_cannot_turn_a_request_into_another(headers: dict[str, str]) -> None:
    async with calling(answering(OK)) as (client, receiver):
        with pytest.raises(Undelivered, match="header"):
            await client.post(receiver.url(), headers, b"x")
        assert receiver.heads == []
        assert (await client.post(receiver.url(), {}, b"x")).status == 200


async def test_a_short_body_in_pieces_keeps_the_connection() -> None:
    async def chunked(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await receiver.read(reader)
            writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
            for piece in (b"1\r\na\r\n", b"2\r\nbc\r\n", b"0\r\n\r\n"):
                await writer.drain()
                await asyncio.sleep(0)
                writer.write(piece)

    async with calling(chunked) as (client, receiver):
        for _ in range(3):
            assert (await client.post(receiver.url(), {}, b"x")).status == 200
        assert receiver.connections == 1


async def test_connections_are_left_after_their_lifetime(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIFETIME", 0.0)
    async with calling(answering(OK)) as (client, receiver):
        for _ in range(3):
            await client.post(receiver.url(), {}, b"x")
        assert receiver.connections == 3
        await receiver.closed.wait()


async def test_a_call_under_way_outlives_its_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived, free = asyncio.Event(), asyncio.Event()

    async def slow(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receiver.read(reader)
        if receiver.bodies[-1] == b"slow":
            arrived.set()
            await free.wait()
        writer.write(OK)
        await reader.read()

    monkeypatch.setattr(module, "LIFETIME", 0.0)
    async with calling(slow) as (client, receiver):
        under_way = asyncio.create_task(client.post(receiver.url(), {}, b"slow"))
        await arrived.wait()
        assert (await client.post(receiver.url(), {}, b"fast")).status == 200
        assert not under_way.done()
        free.set()
        assert (await under_way).status == 200


async def test_closing_ends_calls_and_a_later_one_begins_anew() -> None:
    arrived = asyncio.Event()

    async def first_hangs(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receiver.read(reader)
        if receiver.connections == 1:
            arrived.set()
            await reader.read()
        writer.write(OK)
        await reader.read()

    async with calling(first_hangs) as (client, receiver):
        hanging = asyncio.create_task(client.post(receiver.url(), {}, b"x"))
        await arrived.wait()
        await client.close()
        with pytest.raises(Undelivered):
            await hanging
        assert (await client.post(receiver.url(), {}, b"x")).status == 200
        await client.close()
        await client.close()


async def test_a_client_that_is_closed_leaves_no_threads_that_have_looked_names_up() -> None:
    async with listening(answering(OK)) as receiver:
        url = receiver.url("localhost")
        before = threading.active_count()
        for _ in range(20):
            client = GuardedClient(Policy(insecure=True))
            with suppress(Undelivered):
                await client.post(url, {}, b"")
            await client.close()
        assert threading.active_count() < before + 10


async def test_a_call_that_is_cancelled_leaves_nothing() -> None:
    async with calling(silent) as (client, receiver):
        call = asyncio.create_task(client.post(receiver.url(), {}, b"x"))
        await receiver.asked.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await receiver.closed.wait()


async def test_a_page_is_fetched_up_to_a_limit() -> None:
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"
    async with calling(answering(body)) as (client, receiver):
        assert await client.get(receiver.url(), 10, {"X-One": "1"}) == b"0123456789"
        with pytest.raises(Undelivered, match="longer than 9 bytes"):
            await client.get(receiver.url(), 9)
    assert receiver.heads[0].startswith("GET /hook HTTP/1.1\r\n")
    assert "X-One: 1\r\n" in receiver.heads[0]
    assert "accept-encoding: identity" in receiver.heads[0].lower()
    assert "content-length" not in receiver.heads[0].lower()


async def test_a_page_without_end_is_left_at_the_limit() -> None:
    async def endless(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receiver.read(reader)
        writer.write(HEAD + b"\r\n")
        while not reader.at_eof():
            writer.write(bytes(65536))
            await writer.drain()

    async with calling(endless, within=1000.0) as (client, receiver):
        with pytest.raises(Undelivered, match="longer than 100000 bytes"):
            await client.get(receiver.url(), 100_000)
        await receiver.closed.wait()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n", "status 404"),
        (b"HTTP/1.1 302 No\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n", "status 302"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01", "not HTTP"),
        (b"", "closed before an answer"),
    ],
)
async def test_only_a_whole_page_is_one(reply: bytes, words: str) -> None:
    async with calling(answering(reply, close=True)) as (client, receiver):
        with pytest.raises(Undelivered, match=words):
            await client.get(receiver.url(), 100)


async def test_an_answer_is_given_whatever_its_status_and_to_its_limit() -> None:
    refusal = b"HTTP/1.1 400 No\r\nX-One: a\r\nX-ONE: b\r\nContent-Length: 4\r\n\r\nnope"
    async with calling(answering(refusal)) as (client, receiver):
        page = await client.request("POST", receiver.url(), 4, headers={"X-Two": "2"}, body=b"a=1")
        assert (page.status, page.headers["x-one"], page.body) == (400, "b", b"nope")
        with pytest.raises(Undelivered, match="longer than 3 bytes"):
            await client.request("POST", receiver.url(), 3)
    assert receiver.heads[0].startswith("POST /hook HTTP/1.1\r\n")
    assert "X-Two: 2\r\n" in receiver.heads[0]
    assert receiver.bodies == [b"a=1", b""]


@requirement("R-13.2-04")
async def test_a_redirect_is_an_answer_that_is_not_followed() -> None:
    redirect = b"HTTP/1.1 307 No\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n"
    async with calling(answering(redirect)) as (client, receiver):
        assert (await client.request("POST", receiver.url(), 4, body=b"secret")).status == 307
    assert len(receiver.heads) == 1


async def test_a_page_at_a_refused_address_is_not_fetched() -> None:
    client = GuardedClient(Policy())
    with pytest.raises(AddressRefused):
        await client.get("https://127.0.0.1/", 100)
    await client.close()


async def test_insecure_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "dragoman.outbound"):
        client = GuardedClient(Policy(insecure=True))
        async with listening(answering(OK)) as receiver:
            for _ in range(2):
                assert (await client.post(receiver.url(), {}, b"x")).status == 200
        await client.close()
        GuardedClient(Policy())
    assert [record.getMessage()[:9] for record in caplog.records] == ["insecure:"]


def test_what_looks_and_does_not_call_loads_no_client() -> None:
    program = "import sys, dragoman.outbound; print(sorted({'aiohttp', 'yarl', 'email.utils'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"
