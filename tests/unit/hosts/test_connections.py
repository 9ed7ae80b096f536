"""How many connections there may be: in all, of one address, and while they are still being secured."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import uvloop

from dragoman.errors import ConfigurationError
from dragoman.hosts.connections import ConnectionLimits, Connections, network_of
from dragoman.hosts.listening import Listener
from dragoman.hosts.opening import Opening
from dragoman.hosts.run import OTHER_FILES, _possible  # pyright: ignore[reportPrivateUsage] -- what a process may, it says
from dragoman.hosts.site import Site
from dragoman.hosts.tls import tls_context
from tests.unit.auth.certificates import alternative, authority, issued
from tests.unit.hosts.http1.serving import SECONDS, body_of, echo, request, serving, status_of


class One:
    """A connection."""

    def close_gently(self) -> None: ...

    def abort(self) -> None: ...


def entering(
    now: Callable[[], float] = lambda: 0.0, uncounted: Callable[[str], bool] = lambda _: False, **limits: int
) -> Connections:
    return Connections(ConnectionLimits(**limits), uncounted, now)


def test_there_are_no_more_than_the_most_and_whoever_leaves_makes_room() -> None:
    connections, ones = entering(most=3), [One() for _ in range(4)]
    assert [connections.enter(one, f"192.0.2.{at}") for at, one in enumerate(ones)] == [True, True, True, False]
    connections.discard(ones[0])
    assert connections.enter(ones[3], "192.0.2.4")
    assert set(connections) == set(ones[1:])


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1:2:3", True),
        ("2001:db8:0:0::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("127.0.0.1", "127.0.0.1", False),
        ("127.0.0.1", "127.0.0.2", False),
        ("::1", "::1", False),
        ("::ffff:127.0.0.1", "::ffff:127.0.0.1", False),
        ("", "", False),
        ("10.0.0.1", "10.0.0.1", False),
    ],
)
def test_of_one_address_there_are_fewer_but_of_this_machine_and_of_proxies(
    first: str, second: str, *, same: bool
) -> None:
    connections = entering(most_per_address=1, uncounted=lambda address: address == "10.0.0.1")
    assert connections.enter(One(), first)
    assert connections.enter(One(), second) != same


def test_nothing_is_kept_of_addresses_that_have_left() -> None:
    connections = entering(most=100_000, most_per_address=2)
    ones = [One() for _ in range(5000)]
    for at, one in enumerate(ones):
        assert connections.enter(one, f"10.1.{at % 2500 // 250}.{at % 250}")
    successor = One()
    connections.succeed(ones[0], successor)
    assert not connections.enter(One(), "10.1.0.0")
    for one in (*ones, successor, successor):
        connections.discard(one)
    assert (len(connections), connections._counts) == (0, {})  # pyright: ignore[reportPrivateUsage] -- the table


def test_the_owner_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    now = 1000.0
    connections = entering(lambda: now, most=5, most_per_address=1)
    connections.enter(One(), "192.0.2.1")
    for _ in range(3):
        assert not connections.enter(One(), "192.0.2.1")
    assert caplog.messages == ["connections are refused: there are 1 from one address, which is the most"]
    now += 60
    assert not connections.enter(One(), "192.0.2.1")
    assert len(caplog.messages) == 2
    assert "192.0.2.1" not in caplog.text


def test_what_is_no_address_has_no_network() -> None:
    assert [network_of(name) for name in ("", "/run/agent.sock", "agent.example")] == ["", "", ""]
    assert network_of("2001:db8:1:2:3:4:5:6") == "2001:db8:1:2::/64"


@pytest.mark.parametrize("name", ConnectionLimits.__struct_fields__)
@pytest.mark.parametrize("wrong", [0, -1, float("nan")])
def test_a_limit_of_nothing_is_none(name: str, wrong: float) -> None:
    given: dict[str, Any] = {name: wrong}
    with pytest.raises(ConfigurationError, match=name):
        ConnectionLimits(**given)


def test_a_process_that_may_open_few_files_takes_few_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    soft = 1024

    def limits(_: int) -> tuple[int, int]:
        return soft, 4096

    monkeypatch.setattr(resource, "getrlimit", limits)
    assert _possible(ConnectionLimits()).most == 1024 - OTHER_FILES
    assert _possible(ConnectionLimits(most=10)).most == 10
    soft = resource.RLIM_INFINITY
    assert _possible(ConnectionLimits()).most == 2000
    soft = 20
    assert _possible(ConnectionLimits()).most == 1


async def test_one_more_than_the_most_is_told_to_come_again_and_the_others_go_on() -> None:
    async with serving(echo, most=2) as served, served.caller() as (reader, writer), served.caller():
        while len(served.site.connections) < 2:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)
        reply = await served.said(b"")
        assert status_of(reply) == 503
        assert b"\r\nretry-after: 1\r\n" in reply
        writer.write(request("/", b"x", "POST", "connection: close"))
        assert body_of(await reader.read()) == b"POST / x"
        while len(served.site.connections) == 2:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)
        assert status_of(await served.said(request("/", b"x", "POST", "connection: close"))) == 200


@asynccontextmanager
async def securing(tmp_path: Path, **limits: Any) -> AsyncGenerator[tuple[Site, int, ssl.SSLContext]]:
    """A site under TLS, its port, and what trusts it."""
    files = issued(authority(), names=alternative(ip="127.0.0.1"), uses=None).files(tmp_path, "server")
    authority().files(tmp_path, "authority")
    loop = asyncio.get_running_loop()
    site = Site(echo, loop, limits=ConnectionLimits(**limits), state={}, tls=tls_context(files))
    listener = Listener(site)
    _, port = await listener.bind("127.0.0.1", 0)
    await listener.start()
    try:
        yield site, port, ssl.create_default_context(cafile=tmp_path / "authority.pem")
    finally:
        listener.close()
        for connection in tuple(site.connections):
            connection.abort()
        async with asyncio.timeout(SECONDS):
            while site.connections:  # noqa: ASYNC110 -- nothing tells of it
                await asyncio.sleep(0)


async def _handshakes_that_never_end(tmp_path: Path) -> None:
    async with asyncio.timeout(SECONDS), securing(tmp_path, most=2, handshake_timeout=0.2) as (site, port, trusting):
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        while len(site.connections) < 2:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)
        silent[1][1].write(b"\x16\x03\x01\x02\x00\x01")
        third, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await third.read() == b"", "there is no place for it"
        writer.close()
        for reader, writer in silent:
            with contextlib.suppress(ConnectionResetError):
                assert await reader.read() == b"", "it has had its time"
            writer.close()
        while site.connections:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
        writer.write(request("/", b"x", "POST", "connection: close"))
        assert body_of(await reader.read()) == b"POST / x"
        writer.close()


@pytest.mark.parametrize("kind", ["asyncio", "uvloop"])
def test_handshakes_that_never_end_count_and_are_ended(tmp_path: Path, kind: str) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if kind == "uvloop" else asyncio.new_event_loop) as runner:
        runner.run(_handshakes_that_never_end(tmp_path))


async def _many_handshakes_fail(tmp_path: Path) -> None:
    async with asyncio.timeout(SECONDS), securing(tmp_path, most=5) as (site, port, trusting):
        for _ in range(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request())
            with contextlib.suppress(ConnectionResetError):
                assert b"HTTP" not in await reader.read()
            writer.close()
        while site.connections:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)
        for _ in range(20):
            reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
            writer.write(request("/", b"x", "POST", "connection: close"))
            assert body_of(await reader.read()) == b"POST / x"
            writer.close()
            await writer.wait_closed()


@pytest.mark.parametrize("kind", ["asyncio", "uvloop"])
def test_handshakes_that_fail_leave_their_places(tmp_path: Path, kind: str) -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop if kind == "uvloop" else asyncio.new_event_loop) as runner:
        runner.run(_many_handshakes_fail(tmp_path))


async def test_the_end_of_the_server_is_the_end_of_handshakes(tmp_path: Path) -> None:
    async with securing(tmp_path) as (site, port, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while not site.connections:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0)
        (opening,) = site.connections
        assert isinstance(opening, Opening)
        opening.close_gently()
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), SECONDS) == b""
        writer.close()


async def test_a_host_may_have_several_addresses_and_a_port_that_is_taken_is_told() -> None:
    loop = asyncio.get_running_loop()
    site = Site(echo, loop, limits=ConnectionLimits(), state={})
    first, second = Listener(site), Listener(site)
    try:
        address, port = await first.bind("localhost", 0)
        await first.start()
        assert address in {"127.0.0.1", "::1"}
        with pytest.raises(OSError, match=r"[Aa]ddress"):
            await second.bind(address, port)
    finally:
        first.close()
        second.close()
