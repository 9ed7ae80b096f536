"""Where a request ends and what its head is: nothing that another server on the way could have read otherwise."""

import pytest

from dragoman.hosts.binding import Receive, Scope, Send
from tests.unit.hosts.http1.serving import answer, body_of, echo, request, serving, status_of, whole

CLOSE = "connection: close"
CHUNKED = b"transfer-encoding: chunked\r\n"
CHUNKS = b"3\r\nabc\r\n0\r\n\r\n"

AMBIGUOUS = {
    "length and chunks": b"content-length: 3\r\n" + CHUNKED + b"\r\n" + CHUNKS,
    "a coding before the chunks": b"transfer-encoding: gzip, chunked\r\n\r\n" + CHUNKS,
    "a coding in a field of its own": b"transfer-encoding: gzip\r\n" + CHUNKED + b"\r\n" + CHUNKS,
    "chunks twice": CHUNKED * 2 + b"\r\n" + CHUNKS,
    "chunks, then none": CHUNKED + b"transfer-encoding: identity\r\n\r\n" + CHUNKS,
    "almost chunks": b"transfer-encoding: xchunked\r\n\r\n" + CHUNKS,
    "chunks behind a vertical tab": b"transfer-encoding: \x0bchunked\r\n\r\n" + CHUNKS,
    "no coding and a length": b"transfer-encoding:\r\ncontent-length: 3\r\n\r\nabc",
    "two lengths that are the same": b"content-length: 3\r\ncontent-length: 3\r\n\r\nabc",
    "a list of lengths": b"content-length: 3, 3\r\n\r\nabc",
    "a length with a sign": b"content-length: +3\r\n\r\nabc",
    "an empty length": b"content-length: \r\n\r\nabc",
    "an endless length": b"content-length: 99999999999999999999\r\n\r\nabc",
    "a chunk of endless size": CHUNKED + b"\r\nfffffffffffffffff\r\nabc",
    "a chunk of negative size": CHUNKED + b"\r\n-3\r\nabc\r\n0\r\n\r\n",
    "a size of a chunk with a prefix": CHUNKED + b"\r\n0x3\r\nabc\r\n0\r\n\r\n",
    "a size of a chunk with a bare line feed": CHUNKED + b"\r\n3\nabc\r\n0\r\n\r\n",
    "a bare line feed in what a chunk adds": CHUNKED + b"\r\n3;a\nb\r\nabc\r\n0\r\n\r\n",
    "a chunk longer than it says": CHUNKED + b"\r\n3\r\nabcXX0\r\n\r\n",
    "a NUL in a field": b"a: x\0y\r\n\r\n",
    "a bare carriage return in a field": b"a: x\ry\r\n\r\n",
}


@pytest.mark.parametrize("what", AMBIGUOUS)
async def test_a_body_whose_end_is_in_doubt_is_refused_and_ends_the_connection(what: str) -> None:
    async with serving(echo) as served:
        reply = await served.said(b"POST / HTTP/1.1\r\nhost: x\r\n" + AMBIGUOUS[what] + request("/smuggled"))
    assert status_of(reply) == 400
    assert reply.count(b"HTTP/1.1 ") == 1


async def test_chunks_of_an_old_caller_are_refused_who_cannot_know_them() -> None:
    lines = ("connection: keep-alive", "transfer-encoding: chunked")
    async with serving(echo) as served:
        reply = await served.said(request("/", b"", "POST", *lines, version="1.0", length=False) + CHUNKS)
    assert status_of(reply) == 400


@pytest.mark.parametrize("version", ["0.9", "2.0"])
async def test_other_versions_are_refused(version: str) -> None:
    async with serving(echo) as served:
        assert status_of(await served.said(request("/", b"", "GET", version=version))) == 505


@pytest.mark.parametrize("host", ["a b", "a/b", "me@a", "a?b", "<a>", 'a"', "a:x", "[::1", "a\\b", "a#b"])
async def test_a_host_that_is_none_is_refused(host: str) -> None:
    async with serving(echo) as served:
        reply = await served.said(f"GET / HTTP/1.1\r\nhost: {host}\r\n\r\n".encode())
    assert status_of(reply) == 400


@pytest.mark.parametrize("host", ["", "a", "a-b.c_d:80", "[::1]:9999", "127.0.0.1:", "xn--a.example"])
async def test_a_host_may_be_any_name_or_address(host: str) -> None:
    async with serving(echo) as served:
        reply = await served.said(f"GET / HTTP/1.1\r\nhost: {host}\r\n{CLOSE}\r\n\r\n".encode())
    assert status_of(reply) == 200


async def test_fields_behind_the_body_are_no_part_of_the_head() -> None:
    """A proxy that takes `authorization` out of heads need not look there."""
    seen: list[Scope] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await answer(send, await whole(receive))

    head = request("/", b"", "POST", CLOSE, "transfer-encoding: chunked", length=False)
    async with serving(look) as served:
        reply = await served.said(head + b"3\r\nabc\r\n0\r\nauthorization: me\r\nhost: other\r\n\r\n")
    assert body_of(reply) == b"abc"
    assert [name for name, _ in seen[0]["headers"]] == [b"host", b"connection", b"transfer-encoding"]


@pytest.mark.parametrize(
    ("target", "host"), [("http://other:80/p", b"other:80"), ("HTTP://[::1]", b"[::1]"), ("https://h?q", b"h")]
)
async def test_the_authority_of_a_target_goes_before_the_host(target: str, host: bytes) -> None:
    seen: list[Scope] = []

    async def look(scope: Scope, _: Receive, send: Send) -> None:
        seen.append(scope)
        await answer(send, b"")

    async with serving(look) as served:
        await served.said(request(target, b"", "GET", CLOSE))
    assert [value for name, value in seen[0]["headers"] if name == b"host"] == [host]


@pytest.mark.parametrize("target", ["ftp://other/p", "http://me@other/p", "http:///p", "x:"])
async def test_a_target_that_is_no_url_of_http_is_refused(target: str) -> None:
    async with serving(echo) as served:
        assert status_of(await served.said(request(target, b"", "GET"))) == 400
