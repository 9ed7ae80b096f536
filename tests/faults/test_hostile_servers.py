"""Whatever an agent says, its client ends with a clear error, in time, and takes in no more than it should."""

import asyncio
import gzip
import json
import tracemalloc
import zlib
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from dragoman import AgentInterface, Client, FetchFailed, FetchOptions, Part, connect
from dragoman.dialects.card import decode_card
from dragoman.errors import DragomanError
from dragoman.types import GetTaskRequest
from tests.faults.villain import HEAD, JSON, Case, body, dripping, endless, saying, silent, villain

LONGEST = 30.0
IDLE = 0.4
MIB = 1024 * 1024
GIB = 1024 * MIB
"""What is dropped as it comes is bounded in time alone."""
LINE = b"x" * 65536
DEFLATED = zlib.compress(b" " * (64 * MIB), 9)
ZEROS = gzip.compress(b" " * (64 * MIB), 9)


def redirect(location: bytes, status: int = 302) -> bytes:
    return b"HTTP/1.1 %d Elsewhere\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % (status, location)


def chunked(*pieces: bytes) -> bytes:
    return JSON + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(pieces)


# What any answer over HTTP can be: to the card and to calls.
HTTP = (
    Case("headers without end", endless(JSON, b"X-A: b\r\n" * 5000), "broke"),
    Case("long headers without end", endless(JSON, b"X-A: " + b"b" * 4000 + b"\r\n"), "broke"),
    Case("a header line without end", endless(JSON + b"X-A: ", LINE), "broke"),
    Case("a header name without end", endless(JSON, LINE), "broke"),
    Case("a status line without end", endless(b"HTTP/1.1 200 ", LINE), "broke"),
    Case("something without a line end", endless(b"", LINE), "broke"),
    Case("provisional answers without end", endless(b"", b"HTTP/1.1 103 Early\r\nA: b\r\n\r\n" * 500), "time|broke"),
    Case("continue without end", endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500), "time|broke"),
    Case("empty lines without end", endless(b"", b"\r\n" * 4096), "broke|time", GIB),
    Case("a head in drips", dripping(JSON, b"X: y\r\n"), "time|broke"),
    Case("a status line in drips", dripping(b"HTTP/1.1 200 ", b"O"), "time|broke"),
    Case("silence", silent(), "time"),
    Case("silence after the head", silent(JSON + b"Content-Length: 9\r\n\r\n"), "time|slowly"),
    Case("a body in drips", dripping(JSON + b"Content-Length: 99999\r\n\r\n", b" "), "slowly"),
    Case("chunks in drips", dripping(chunked(), b"1\r\n \r\n"), "slowly"),
    Case("two lengths", saying(JSON + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}"), "broke"),
    Case("length and chunks", saying(JSON + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"), "broke"),
    Case("a negative length", saying(JSON + b"Content-Length: -2\r\n\r\n{}"), "broke"),
    Case("a length with a sign", saying(JSON + b"Content-Length: +2\r\n\r\n{}"), "broke"),
    Case("a length that is no number", saying(JSON + b"Content-Length: 0x2\r\n\r\n{}"), "broke"),
    Case("an enormous length", saying(JSON + b"Content-Length: 99999999999999999999999\r\n\r\n{}"), "broke|longer"),
    Case("a long length, and an end", saying(JSON + b"Content-Length: 99999999\r\n\r\n{}"), "broke|longer"),
    Case("a chunk size that is no number", saying(chunked(b"zz\r\n{}\r\n")), "broke"),
    Case("a negative chunk size", saying(chunked(b"-2\r\n{}\r\n")), "broke"),
    Case("an enormous chunk size", saying(chunked(b"FFFFFFFFFFFFFFFFFF\r\n{}\r\n")), "broke"),
    Case("a chunk longer than it says", saying(chunked(b"1\r\n{}\r\n0\r\n\r\n")), "broke"),
    Case("a chunk extension without end", endless(chunked(b"1;a="), LINE), "slowly", GIB),
    Case(
        "trailers without end",
        endless(chunked(b"2\r\n{}\r\n0\r\n"), b"X-A: b\r\n" * 5000),
        "broke|time|no ",
    ),
    Case("an end within a chunk", saying(chunked(b"9\r\n{")), "broke"),
    Case("an end within the head", saying(JSON + b"X-A"), "broke"),
    Case("an end before anything", saying(), "broke"),
    Case("a reset", saying(JSON, reset=True), "broke"),
    Case("a header without a colon", saying(JSON + b"nonsense\r\n\r\n"), "broke"),
    Case("a header name with a blank", saying(JSON + b"X A: b\r\n\r\n"), "broke"),
    Case("a NUL in a header", saying(JSON + b"X-A: a\x00b\r\nContent-Length: 2\r\n\r\n{}"), "broke"),
    Case("a bare CR in a header", saying(JSON + b"X-A: a\rSet-Cookie: b\r\nContent-Length: 2\r\n\r\n{}"), "broke"),
    Case("a folded header", saying(JSON + b"X-A: a\r\n b\r\nContent-Length: 1\r\n\r\n["), "broke|JSON|read"),
    Case("a status that is none", saying(b"HTTP/1.1 1000 No\r\n\r\n"), "broke"),
    Case("a status of zero", saying(b"HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n"), "broke|status|answer"),
    Case("another protocol at once", saying(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n"), "status|answer|broke"),
    Case("HTTP/2", saying(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\x00" * 18), "broke"),
    Case("SSH", saying(b"SSH-2.0-OpenSSH_9.0\r\n"), "broke"),
    Case("TLS", saying(b"\x15\x03\x03\x00\x02\x02\x28"), "broke"),
    Case("no HTTP at all", saying(b"{}"), "broke"),
    Case("a redirect in circles", saying(redirect(b"/rpc?a")), "redirect|status"),
    Case("a redirect to a file", saying(redirect(b"file:///etc/passwd", 307)), "another origin|status|answer"),
    Case("a redirect to ftp", saying(redirect(b"ftp://127.0.0.1/a", 307)), "another origin|status|answer"),
    Case("a redirect to data", saying(redirect(b"data:application/json,{}", 307)), "another origin|status|answer"),
    Case("a redirect to another port", saying(redirect(b"http://127.0.0.1:1/a", 307)), "another origin|status|answer"),
    Case("a redirect with a password", saying(redirect(b"http://a:b@127.0.0.1/", 307)), "another origin|status|answer"),
    Case("a redirect to nowhere", saying(redirect(b"http://[::1", 307)), "URL|status|answer"),
    Case("a long redirect", saying(redirect(b"/rpc" + b"a" * 7000, 307)), "redirect|broke|status|answer"),
    Case("gzip that is none", saying(body(b"no gzip", JSON + b"Content-Encoding: gzip\r\n")), "broke"),
    Case("half of a gzip", saying(body(ZEROS[:-9], JSON + b"Content-Encoding: gzip\r\n")), "."),
    Case("deflate that is none", saying(body(b"\xff" * 20, JSON + b"Content-Encoding: deflate\r\n")), "broke"),
    Case("a coding that nobody knows", saying(body(b"{}", JSON + b"Content-Encoding: rot13\r\n")), "."),
)
# What JSON, or something in its place, can be.
CONTENT = (
    Case("nothing", saying(body(b"")), "."),
    Case("HTML", saying(body(b"<html>\x1b[31m", HEAD + b"Content-Type: text/html\r\n")), "."),
    Case("null", saying(body(b"null")), "."),
    Case("an array", saying(body(b"[]")), "."),
    Case("a number", saying(body(b"1")), "."),
    Case("half an object", saying(body(b'{"name": "a"')), "."),
    Case("two objects", saying(body(b"{}{}")), "."),
    Case("deep arrays", saying(body(b"[" * 200_000)), "."),
    Case("deep objects", saying(body(b'{"a":' * 200_000 + b"1" + b"}" * 200_000)), "."),
    Case("invalid UTF-8", saying(body(b'{"name": "\xff\xfe"}')), "."),
    Case("UTF-16", saying(body('{"name": "a"}'.encode("utf-16"))), "."),
    Case("lone surrogates", saying(body(rb'{"name": "\ud800"}')), "."),
    Case("numbers that nobody can hold", saying(body(b'{"name": 1e999999, "supportedInterfaces": [1e400]}')), "."),
    Case("an integer of many digits", saying(body(b'{"id": 1, "result": ' + b"9" * 100_000 + b"}")), "."),
    Case("NaN", saying(body(b'{"name": NaN}')), "."),
)
FLOODS = (
    Case("a body without end", endless(chunked(), b"10000\r\n" + b" " * 65536 + b"\r\n"), "longer", 24 * MIB),
    Case("a body without length", endless(JSON + b"\r\n", b" " * 65536), "longer", 24 * MIB),
    Case("a gzip bomb", saying(body(ZEROS, JSON + b"Content-Encoding: gzip\r\n")), "longer"),
    Case("a deflate bomb", saying(body(DEFLATED, JSON + b"Content-Encoding: deflate\r\n")), "longer"),
    Case("a bomb in chunks", saying(JSON + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
         *(b"%x\r\n%b\r\n" % (len(ZEROS[at : at + 1000]), ZEROS[at : at + 1000]) for at in range(0, len(ZEROS), 1000))),
         "longer"),
)  # fmt: skip


def rpc(**members: Any) -> bytes:
    return body(json.dumps({"jsonrpc": "2.0", "id": 1, **members}).encode())


def result(value: Any) -> bytes:
    return rpc(result=value)


STATUS = {"state": "TASK_STATE_WORKING"}
TASK = {"id": "t", "contextId": "c", "status": STATUS}
REPLY = json.dumps({"jsonrpc": "2.0", "id": 1, "result": TASK}).encode()
BOTH = [{"text": "a", "url": "b"}]
PARTS = {"artifactId": "a", "parts": [{"raw": "not base64!"}]}
ANSWERS = (
    Case("neither result nor error", saying(rpc()), "no JSON-RPC response"),
    Case("a result that is null", saying(result(None)), "."),
    Case("a result that is text", saying(result("done")), "cannot be read"),
    Case("a result that is a list", saying(result([TASK])), "cannot be read"),
    Case("an error that is text", saying(rpc(error="no")), "error cannot be read"),
    Case("an error that is a list", saying(rpc(error=[])), "error cannot be read"),
    Case("an error without a code", saying(rpc(error={"message": "no"})), "."),
    Case("an error whose code is text", saying(rpc(error={"code": "no", "message": "no"})), "."),
    Case("an error whose code is enormous", saying(rpc(error={"code": 10**30, "message": "no"})), "."),
    Case("an error whose message is none", saying(rpc(error={"code": -32603, "message": {"a": 1}})), "."),
    Case("an error whose data are anything", saying(rpc(error={"code": -32001, "message": "x", "data": [[1]]})), "x"),
    Case("result and error", saying(rpc(result=TASK, error={"code": -32001, "message": "gone"})), "gone"),
    Case("a byte order mark", saying(body(b"\xef\xbb\xbf" + REPLY)), "."),
    Case("no base64", saying(result({**TASK, "artifacts": [PARTS]})), "base64"),
    Case("a time that is none", saying(result({**TASK, "status": {**STATUS, "timestamp": "yesterday"}})), "."),
    Case("a part of several kinds", saying(result({**TASK, "artifacts": [{**PARTS, "parts": BOTH}]})), "."),
    Case("an id that is an object", saying(result({**TASK, "id": {"a": 1}})), "."),
    Case("a task of lists", saying(result({"id": [], "contextId": [], "status": []})), "."),
)  # fmt: skip
# What is read, since it can mean one thing only, or nothing that matters.
TAKEN = (
    Case("a state that is an object", saying(result({**TASK, "status": {"state": {}}})), None),
    Case("an id of nobody", saying(rpc(id="somebody-else", result=TASK)), None),
    Case("members twice", saying(body(REPLY[:-1] + b', "id": 1}')), None),
    Case("members that nobody knows", saying(result({**TASK, "__proto__": {}, "constructor": 1})), None),
)  # fmt: skip
SSE = HEAD + b"Content-Type: text/event-stream\r\n\r\n"


def event(value: Any) -> bytes:
    return b"data: " + json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}).encode() + b"\n\n"


STREAMS = (
    Case("an event that is no JSON", saying(SSE + b"data: {\n\n"), "no JSON-RPC"),
    Case("an event that is empty", saying(SSE + b"data:\n\n"), "no JSON-RPC"),
    Case("an event of invalid UTF-8", saying(SSE + b"data: \xff\n\n"), "no JSON-RPC"),
    Case("an event with NUL", saying(SSE + b"data: \x00\n\n"), "no JSON-RPC"),
    Case("a deep event", saying(SSE + b"data: " + b"[" * 200_000 + b"\n\n"), "no JSON-RPC"),
    Case("an event that is nothing known", saying(SSE + event({"news": 1})), "cannot be read|no "),
    Case("an update of no task", saying(SSE + event({"statusUpdate": {"status": STATUS}})), "."),
    Case("an event that does not end", saying(SSE + event({"task": TASK})[:-1]), "."),
    Case("comments alone", saying(SSE + b": hello\n\n" * 1000), "ended before"),
    Case("an id alone", saying(SSE + b"id: 1\n\nid: 99999999999999999999999\n\n"), "ended before"),
    Case("silence in a stream", silent(SSE), "time"),
    Case("a line without end", endless(SSE + b"data: ", LINE), "longer", 80 * MIB),
    Case("a comment without end", endless(SSE + b": ", LINE), "longer", 80 * MIB),
    Case("data without end", endless(SSE, b"data: " + LINE + b"\n"), "longer", 80 * MIB),
)  # fmt: skip


async def _ends_well(case: Case, *, at_card: bool, streams: bool = False) -> None:
    """The client ends with an error in a few words, the server is left, and not too much has gone over."""
    async with asyncio.timeout(LONGEST), villain(case.script, at_card=at_card) as place:
        async with connect(place.url, connect_timeout=0.5, idle_timeout=IDLE, poll_interval=0.01) as client:
            if case.words is None:
                assert (await client.get_task(GetTaskRequest(id="t"))).id == "t"
                return
            with pytest.raises(DragomanError, match=f"(?s){case.words}") as raised:
                await _asked(client, at_card=at_card, streams=streams)
        assert len(str(raised.value)) < 1500
        assert "\x1b" not in str(raised.value)
        assert place.sent <= case.most
        await place.gone.wait()


async def _asked(client: Client, *, at_card: bool, streams: bool) -> None:
    if at_card:
        await client.card()
    elif streams:
        async with aclosing(client.stream("hello")) as events:
            async for _ in events:
                pass
    else:
        await client.get_task(GetTaskRequest(id="t"))


def _named(case: Case) -> str:
    return case.name


@pytest.mark.parametrize("case", [*HTTP, *CONTENT, *FLOODS], ids=_named)
async def test_a_hostile_card_is_told_and_left(case: Case) -> None:
    await _ends_well(case, at_card=True)


@pytest.mark.parametrize("case", [*HTTP, *CONTENT, *ANSWERS, *TAKEN], ids=_named)
async def test_a_hostile_answer_is_told_and_left(case: Case) -> None:
    await _ends_well(case, at_card=False)


@pytest.mark.parametrize("case", [*HTTP, *STREAMS], ids=_named)
async def test_a_hostile_stream_is_told_and_left(case: Case) -> None:
    await _ends_well(case, at_card=False, streams=True)


# Of a file it matters only how it comes.
FILES = [case for case in (*HTTP, *FLOODS) if case.name != "a folded header"]


@pytest.mark.parametrize("case", FILES, ids=_named)
async def test_a_hostile_file_is_told_and_left(case: Case) -> None:
    options = FetchOptions(network="any", max_bytes=MIB, timeout=1.0)
    async with asyncio.timeout(LONGEST), villain(case.script, at_card=True) as place:
        async with connect(place.url, fetch=options) as client:
            with pytest.raises(FetchFailed) as raised:
                await client.fetch(Part(url=f"{place.url}/rpc"))
        assert len(str(raised.value)) < 300
        assert place.sent <= case.most
        await place.gone.wait()


GRPC = (
    Case("HTTP/1.1", saying(body(b"{}")), "."),
    Case("nothing", saying(), "."),
    Case("silence", silent(), "."),
    Case("noise", endless(b"", LINE), ".", GIB),
    Case("settings without end", endless(b"\0\0\0\4\0\0\0\0\0", b"\0\0\0\4\0\0\0\0\0" * 5000), ".", GIB),
    Case("pings without end", endless(b"\0\0\0\4\0\0\0\0\0", b"\0\0\x08\6\0\0\0\0\0abcdefgh" * 5000), ".", GIB),
    Case("an enormous frame", endless(b"\0\0\0\4\0\0\0\0\0" + b"\xff\xff\xff\0\0\0\0\0\1", LINE), ".", GIB),
    Case("a goodbye", saying(b"\0\0\0\4\0\0\0\0\0" + b"\0\0\x08\7\0\0\0\0\0" + b"\0" * 8), "."),
    Case("headers without end", endless(b"\0\0\0\4\0\0\0\0\0", b"\0\x10\0\1\0\0\0\0\1" + b"\x10" * 4096), ".", GIB),
)


@pytest.mark.parametrize("case", GRPC, ids=_named)
async def test_a_hostile_answer_over_grpc_is_told_and_left(case: Case) -> None:
    async with asyncio.timeout(LONGEST), villain(case.script, at_card=True) as place:
        place_of = AgentInterface(url=place.url, protocol_binding="GRPC", protocol_version="1.0")
        card = msgspec.structs.replace(decode_card(place.card), supported_interfaces=(place_of,))
        async with connect(card, connect_timeout=1.0, idle_timeout=IDLE) as client:
            with pytest.raises(DragomanError) as raised:
                await client.get_task(GetTaskRequest(id="t"))
        assert len(str(raised.value)) < 1500


@pytest.mark.parametrize("case", FLOODS, ids=_named)
async def test_what_unpacks_to_more_than_a_card_may_have_is_not_unpacked(case: Case) -> None:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        await _ends_well(case, at_card=True)
        assert tracemalloc.get_traced_memory()[1] - before < 24 * MIB
    finally:
        tracemalloc.stop()


def test_there_are_enough_of_them() -> None:
    assert sum(map(len, (HTTP, CONTENT, FLOODS, ANSWERS, STREAMS, GRPC))) >= 100
