"""Whatever comes in, a right answer goes out: never a 500, a hang, or a word about the inside."""

import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from dragoman import PushOptions
from dragoman.dialects.base import HttpRequest
from tests.behaviour.agents import echo
from tests.behaviour.answers import accepted, check_answer
from tests.behaviour.cells import OVER_GRPC, OVER_HTTP, only
from tests.behaviour.manifest import requirement
from tests.behaviour.mutations import HOOK, damaged, valid_requests, well_framed
from tests.behaviour.wire import Serve, message, refused
from tests.unit.hosts.grpc.driver import framed

MUTATIONS = 2_500
"""For each cell."""


@requirement("R-3.3.2-09", "R-13.4-05", "R-14.1-02")
async def test_twenty_thousand_damaged_requests_are_answered_rightly(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await serve(echo(push=PushOptions(allow=[HOOK])))
    chance = random.Random(f"damage in {wire.cell.key}")
    requests = valid_requests(wire, (await wire.send())["id"])
    taken = 0
    for _ in range(MUTATIONS):
        request = damaged(chance.choice(requests), chance)
        async with asyncio.timeout(10):
            reply = await wire.send_raw(request)
        check_answer(request, reply, frames=well_framed(request))
        taken += accepted(reply)
    assert 0 < taken < MUTATIONS
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
    assert (await wire.send("still here"))["artifacts"][0]["parts"] == [{"text": "still here"}]


@requirement("R-13.4-06")
async def test_a_body_over_the_limit_is_refused_before_it_is_read(serve: Serve) -> None:
    wire = await serve(echo(max_body_bytes=10_000))
    assert (await wire.send("x" * 8_000))["artifacts"]
    with refused("REQUEST_TOO_LARGE") as caught:
        await wire.send("x" * 10_001)
    if wire.binding != "GRPC":
        assert caught.value.reply.status == 413
    # Over gRPC the prefix of the message counts too.
    assert ("10005" if wire.binding == "GRPC" else "10000") in caught.value.text
    assert len(await wire.stored()) == 1


@requirement("R-13.4-06")
@only(*OVER_HTTP)
async def test_a_body_that_says_it_is_too_long_is_not_waited_for(serve: Serve) -> None:
    wire = await serve(echo(max_body_bytes=10_000))
    request = wire.request("SendMessage", {"message": message()}, headers={"content-length": "99999999999"})
    async with wire.bridge.open(request, whole=False) as reply:
        assert reply.status == 413


@requirement("R-13.4-05", "R-13.4-06")
@only(*OVER_HTTP)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("depth", [50, 500, 5_000, 200_000])
async def test_deep_nesting_is_taken_or_refused(serve: Serve, opening: str, closing: str, depth: int) -> None:
    wire = await serve(echo())
    nested = opening * depth + "1" + closing * depth
    for place in ('"metadata":{"x":%s}', '"parts":[{"data":%s}]', '"unknown":%s'):
        sent = wire.request("SendMessage", {"message": message()})
        body = sent.body.replace(b'"role"', (place % nested).encode() + b',"role"')
        request = HttpRequest("POST", sent.path, "", sent.headers, body)
        check_answer(request, await wire.send_raw(request))
    whole = HttpRequest("POST", sent.path, "", sent.headers, nested.encode())
    check_answer(whole, await wire.send_raw(whole))
    assert (await wire.send("still here"))["artifacts"]


@requirement("R-13.4-05", "R-13.4-06")
@only(*OVER_GRPC)
@pytest.mark.parametrize("depth", [20, 90, 500, 5_000])
async def test_messages_within_messages_are_taken_or_refused(serve: Serve, depth: int) -> None:
    wire = await serve(echo())
    nested = field(3, b"x")  # a string
    for _ in range(depth):
        nested = field(5, field(1, field(1, b"k") + field(2, nested)))  # a struct in which `k` is what was before
    request = wire.request("SendMessage", {"message": message()})
    metadata = 4 if wire.cell.line == "1.0" else 3
    body = request.body[5:] + field(metadata, field(1, field(1, b"k") + field(2, nested)))
    request = msgspec.structs.replace(request, body=framed(body))
    reply = await wire.send_raw(request)
    check_answer(request, reply)
    assert reply.headers["grpc-status"] == ("0" if depth == 20 else "3")
    assert (await wire.send("still here"))["artifacts"]


def field(number: int, content: bytes) -> bytes:
    """A field of protobuf whose content has a length."""
    length, size = bytearray(), len(content)
    while size > 0x7F:
        length.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content


@only(*OVER_HTTP)
@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" * 5_000, "0." + "1" * 5_000, "NaN", "Infinity", "-0", "01"])
async def test_odd_numbers_are_taken_or_refused(serve: Serve, number: str) -> None:
    wire = await serve(echo())
    for place in (b"77", b"88"):
        given = {"message": message(), "configuration": {"historyLength": 77}, "metadata": {"x": 88}}
        sent = wire.request("SendMessage", given)
        request = msgspec.structs.replace(sent, body=sent.body.replace(place, number.encode()))
        check_answer(request, await wire.send_raw(request))


@only(*OVER_HTTP)
async def test_a_caller_who_leaves_in_the_middle_of_the_body_leaves_nothing_behind(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await serve(echo())
    request = wire.request("SendMessage", {"message": message()})
    half = HttpRequest("POST", request.path, "", request.headers, request.body[: len(request.body) // 2])

    async def leave() -> None:
        async with wire.bridge.open(half, whole=False):
            pytest.fail("half a body was answered")

    leaving = asyncio.create_task(leave())
    for _ in range(20):
        await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert await wire.stored() == []
    assert caplog.records == []


SERVES = """
import asyncio
from dragoman import Agent, TaskContext

agent = Agent("Served", "Echoes, or never ends.", store="memory", drain_grace=0.2, cancel_grace=0.2)

@agent.skill
async def echo(task: TaskContext):
    if "never" in task.text:
        await asyncio.Event().wait()
    yield task.text

agent.run(port=0, announce=lambda line: print(line, flush=True))
"""


class Served(msgspec.Struct):
    """A real server, in a process of its own."""

    process: asyncio.subprocess.Process
    port: int


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVES, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    line = (await process.stdout.readline()).decode()
    try:
        yield Served(process, int(line.split("127.0.0.1:")[1].split("/")[0].split()[0]))
    finally:
        if process.returncode is None:
            process.terminate()
        _, errors = await process.communicate()
        assert b"Traceback" not in errors, errors.decode()


@pytest.fixture
def port(served: Served) -> int:
    return served.port


async def on_the_socket(port: int, sent: bytes, *, end: bool = False) -> bytes:
    """What the server says to these bytes until it, or we, close the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        await writer.drain()
        if end:
            writer.write_eof()
            return await reader.read()
        head = await reader.readuntil(b"\r\n\r\n")
        length = [
            int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
        ]
        return head + (await reader.readexactly(length[0]) if length else b"")
    finally:
        writer.close()


def http(path: str, body: bytes, *, length: int | None = None, method: str = "POST") -> bytes:
    headers = [f"{method} {path} HTTP/1.1", "Host: agent.example", "A2A-Version: 1.0", "Content-Type: application/json"]
    headers.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join([*headers, "", ""]).encode() + body


def rpc(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": members}).encode()


async def test_a_real_server_survives_what_sockets_bring(port: int) -> None:
    whole = rpc(message=message("over a socket"))
    assert b"over a socket" in await on_the_socket(port, http("/", whole))
    assert b"HTTP/1.1 400" in await on_the_socket(port, b"\x16\x03\x01 not http at all\r\n\r\n")
    assert b"200 OK" not in await on_the_socket(port, http("/", whole[:20], length=len(whole)), end=True)
    assert b"413" in await on_the_socket(port, http("/", b"{", length=10**10))
    assert b"-32700" in await on_the_socket(port, http("/", b"\xff\xfe"))
    assert b" 400 " in await on_the_socket(port, http("/tasks/%00%ff", b"", method="GET"))
    chunked = b"POST / HTTP/1.1\r\nHost: a\r\nA2A-Version: 1.0\r\nTransfer-Encoding: chunked\r\n"
    chunked += b"Content-Type: application/json\r\n\r\n" + b"%x\r\n%s\r\n0\r\n\r\n" % (len(whole), whole)
    assert b"over a socket" in await on_the_socket(port, chunked)
    assert b"over a socket" in await on_the_socket(
        port, http("/message:send", json.dumps({"message": message("over a socket")}).encode())
    )
    assert b"over a socket" in await on_the_socket(port, http("/", whole))


async def test_a_stop_ends_streams_cleanly(served: Served) -> None:
    body = json.dumps({"message": message("never ending")}).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    writer.write(http("/message:stream", body))
    seen = await reader.readuntil(b'"task":')
    assert b"text/event-stream" in seen
    served.process.terminate()
    rest = await reader.read()
    assert rest.endswith(b"0\r\n\r\n"), rest
    assert b"Traceback" not in rest
    writer.close()


async def test_connections_that_are_dropped_do_not_add_up(port: int) -> None:
    whole = rpc(message=message("after all"))
    for number in range(50):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(http("/", whole)[: 10 + number * 5])
        writer.transport.abort()
    assert b"after all" in await on_the_socket(port, http("/", whole))
