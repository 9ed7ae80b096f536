"""Receivers that hang, drip, reset, and say what is no answer: each call ends in time, and says what it knows."""

import asyncio

import pytest

from dragoman.outbound import GuardedClient, Policy, pool
from dragoman.ports.webhook import Undelivered
from tests.unit.outbound.receiver import OK, PUBLIC, Receiver, Script, answering, calling, silent

HEAD = b"HTTP/1.1 200 OK\r\n"


async def _deaf(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await receiver.closed.wait()


def _dripping(head: bytes, piece: bytes) -> Script:
    async def script(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receiver.read(reader)
        writer.write(head)
        left = asyncio.create_task(reader.read())
        while not (await asyncio.wait([left], timeout=0.02))[0]:
            writer.write(piece)
            await writer.drain()
        await left

    return script


DRIPPING = _dripping(HEAD, b"A: a\r\n")
WAITING = _dripping(b"", b"HTTP/1.1 102 Processing\r\n\r\n")


@pytest.mark.parametrize("script", [silent, DRIPPING, WAITING])
async def test_an_answer_that_does_not_come_to_an_end_is_ended(script: Script) -> None:
    async with calling(script, within=0.2) as (client, receiver):
        with pytest.raises(Undelivered, match=r"No answer within 0\.2 s"):
            await client.post(receiver.url(), {}, b"x")
        await receiver.closed.wait()


async def test_a_receiver_that_does_not_read_is_left_in_time() -> None:
    async with calling(_deaf, within=0.2) as (client, receiver):
        with pytest.raises(Undelivered, match=r"No answer within 0\.2 s"):
            await client.post(receiver.url(), {}, bytes(20_000_000))
        receiver.closed.set()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b"", "closed before an answer"),
        (b"HTTP/1.1 200", "closed before an answer|not HTTP"),
        (HEAD + b"Content-Le", "closed before an answer|not HTTP"),
        (b"\x16\x03\x01\x02\x00\x01\x00", "not HTTP"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not HTTP"),
        (b"-ERR unknown command\r\n" * 9, "not HTTP"),
        (b"HTTP/1.1 abc OK\r\n\r\n", "not HTTP"),
        (HEAD + b"Content-Length: -1\r\n\r\n", "not HTTP"),
        (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n", "not HTTP"),
        (HEAD + b"A: " + b"a" * 20_000 + b"\r\n\r\n", "not HTTP"),
        (HEAD + b"".join(b"A%d: %s\r\n" % (n, b"a" * 4000) for n in range(2000)) + b"\r\n", "not HTTP"),
        (b"HTTP/1.1 200 " + b"a" * 20_000 + b"\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "Status 101"),
        (b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n", "Status 999"),
        (b"HTTP/1.1 000 Odd\r\nContent-Length: 0\r\n\r\n", "Status 0|not HTTP"),
    ],
)
async def test_what_is_no_answer_is_none(reply: bytes, words: str) -> None:
    async with calling(answering(reply, close=True)) as (client, receiver):
        with pytest.raises(Undelivered, match=words) as caught:
            await client.post(receiver.url() + "?secret", {"a": "secret"}, b"x")
        assert "secret" not in str(caught.value)


async def test_a_reset_is_no_answer() -> None:
    async def resetting(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receiver.read(reader)
        writer.transport.abort()

    async with calling(resetting) as (client, receiver):
        with pytest.raises(Undelivered):
            await client.post(receiver.url(), {}, b"x")


async def test_nobody_there_is_undelivered() -> None:
    async with calling(answering(OK)) as (client, receiver):
        gone = receiver.port
    client = GuardedClient(Policy(allow=[f"http://{PUBLIC}:{gone}"]))
    with pytest.raises(Undelivered, match="No connection"):
        await client.post(f"http://{PUBLIC}:{gone}/", {}, b"x")
    await client.close()


async def test_a_long_body_ends_the_connection_and_not_the_answer() -> None:
    async def endless(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receiver.read(reader)
        writer.write(HEAD + b"Content-Length: 999999999999\r\n\r\n")
        while not reader.at_eof():
            writer.write(bytes(65536))
            await writer.drain()

    async with calling(endless) as (client, receiver):
        assert (await client.post(receiver.url(), {}, b"x")).status == 200
        await receiver.closed.wait()


def _stalling(reply: bytes) -> Script:
    async def script(receiver: Receiver, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await receiver.read(reader)
        writer.write(reply)
        await reader.read()

    return script


SHORT = HEAD + b"Content-Length: 5\r\n\r\nab"
CUT = HEAD + b"Transfer-Encoding: chunked\r\n\r\n1"
SLOW = _dripping(HEAD + b"Content-Length: 999999\r\n\r\n", b"a")


@pytest.mark.parametrize(
    "script",
    [answering(SHORT, close=True), answering(CUT, close=True), _stalling(SHORT), _stalling(CUT), SLOW],
)
async def test_a_body_that_does_not_come_to_its_end_does_not_undo_the_answer(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not waited for as long as a head either: the call would take longer than the test may."""
    monkeypatch.setattr(pool, "LINGER", 0.1)
    async with calling(script, within=1000.0) as (client, receiver):
        assert (await client.post(receiver.url(), {}, b"x")).status == 200
        await receiver.closed.wait()
