"""The first bytes of a connection, in which either version of HTTP is recognised."""

import asyncio

import pytest

from dragoman.hosts.http2 import frames as h2
from tests.unit.hosts.http1.serving import body_of, echo, request, serving
from tests.unit.hosts.http2.peer import GET, Peer

CLOSE = "connection: close"


@pytest.mark.parametrize("method", ["PUT", "PRINT", "PROPFIND", "P", "GET"])
async def test_a_method_that_begins_as_the_preface_does_is_no_preface(method: str) -> None:
    async with serving(echo) as served, served.caller() as (reader, writer):
        for byte in request("/", b"", method, CLOSE):
            writer.write(bytes([byte]))
            await writer.drain()
        assert (await reader.read()).startswith(
            b"HTTP/1.1 200" if method in {"PUT", "PROPFIND", "GET"} else b"HTTP/1.1 4"
        )


async def test_the_preface_may_come_in_single_bytes() -> None:
    async with serving(echo) as served, served.caller() as (reader, writer):
        peer = Peer(reader, writer)
        for byte in h2.PREFACE:
            await peer.write(bytes([byte]))
        await peer.write(h2.settings({}), peer.head(1, GET))
        assert (await peer.answer(1))[1] == b"GET / "


@pytest.mark.parametrize("first", [b"", b"PR"])
async def test_a_connection_that_does_not_say_what_it_speaks_is_closed(first: bytes) -> None:
    async with serving(echo, idle=0.05) as served:
        assert await served.said(first) == b""


async def test_a_connection_that_comes_while_the_site_closes_does_not_keep_it() -> None:
    async with serving(echo) as served:
        served.site.closing = True
        assert await served.said(b"") == b""
        assert not served.site.connections


async def test_who_has_said_nothing_is_closed_with_the_site() -> None:
    async with serving(echo) as served, served.caller() as (reader, _):
        assert body_of(await served.said(request("/", b"x", "POST", CLOSE)))  # the other one is known by now
        served.site.closing = True
        for connection in tuple(served.site.connections):
            connection.close_gently()
        async with asyncio.timeout(5):
            assert await reader.read() == b""
