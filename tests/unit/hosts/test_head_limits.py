"""How long a head may be, and how many fields it may have: at the limit and one past it, in both versions of HTTP."""

import pytest

from dragoman.hosts.connections import ConnectionLimits
from tests.unit.hosts.http1 import serving as http1
from tests.unit.hosts.http2 import peer as http2
from tests.unit.hosts.http2.apps import hello

ENTRY = 32
"""Bytes that a field of HTTP/2 counts beside its name and value (RFC 9113 section 6.5.2)."""


async def over_http1(limits: ConnectionLimits, *fields: tuple[str, str]) -> int:
    lines = [f"{name}: {value}" for name, value in fields]
    sent = http1.request("/", b"", "GET", *lines, "connection: close", length=False)
    given = {name: getattr(limits, name) for name in ("max_head_bytes", "max_header_fields")}
    async with http1.serving(hello, **given) as served:
        return http1.status_of(await served.said(sent))


async def over_http2(limits: ConnectionLimits, *fields: tuple[str, str]) -> int:
    async with http2.serving(hello, limits) as server, server.peer() as peer:
        await peer.write(peer.head(1, [*http2.GET, *fields]))
        return int((await peer.answer(1))[0][":status"])


@pytest.mark.parametrize("past", [0, 1])
async def test_a_head_of_http1_has_so_many_bytes(past: int) -> None:
    own = len("/") + len("host") + len("x") + len("connection") + len("close")
    filler = ("a", "b" * (10_000 - own - 1 + past))
    assert await over_http1(ConnectionLimits(max_head_bytes=10_000), filler) == (431 if past else 200)


@pytest.mark.parametrize("past", [0, 1])
async def test_a_head_of_http1_has_so_many_fields(past: int) -> None:
    fields = [(f"a{number}", "b") for number in range(18 + past)]
    assert await over_http1(ConnectionLimits(max_header_fields=20), *fields) == (431 if past else 200)


@pytest.mark.parametrize("past", [0, 1])
async def test_a_head_of_http2_has_so_many_bytes(past: int) -> None:
    own = sum(ENTRY + len(name) + len(value) for name, value in http2.GET)
    filler = ("a", "b" * (10_000 - own - ENTRY - 1 + past))
    assert await over_http2(ConnectionLimits(max_head_bytes=10_000), filler) == (431 if past else 200)


@pytest.mark.parametrize("past", [0, 1])
async def test_a_head_of_http2_has_so_many_fields(past: int) -> None:
    fields = [(f"a{number}", "b") for number in range(20 - len(http2.GET) + past)]
    assert await over_http2(ConnectionLimits(max_header_fields=20), *fields) == (431 if past else 200)
