"""Requests from ASGI: bodies up to a limit and within a time, headers, paths, and where the caller sees the server."""

import asyncio
from collections.abc import MutableMapping
from typing import Any

import pytest

from dragoman.errors import ConfigurationError, InvalidRequestError, RequestTooLargeError
from dragoman.hosts.bodies import Bodies
from dragoman.hosts.fields import fields_by_name
from dragoman.hosts.origin import Proxies, base_url
from dragoman.hosts.reading import Disconnected, read_body, request_path
from dragoman.ports.auth import Credentials, Peer


class Incoming:
    """What a server hands on; after the last of it the caller is gone, or says nothing more."""

    def __init__(self, *chunks: bytes, whole: bool = True, gone: bool = True) -> None:
        self._events: list[dict[str, Any]] = [
            {"type": "http.request", "body": chunk, "more_body": not whole or number < len(chunks)}
            for number, chunk in enumerate(chunks, 1)
        ]
        self._gone = gone
        self.taken = 0

    async def __call__(self) -> MutableMapping[str, Any]:
        self.taken += 1
        if self._events:
            return self._events.pop(0)
        if not self._gone:
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}


async def body(
    incoming: Incoming, *, limit: int = 10, stated: str = "", seconds: float = 5, method: str = "POST"
) -> bytes:
    headers = {"content-length": stated} if stated else {}
    return await read_body({"method": method}, headers, incoming, limit, seconds, bodies=Bodies(limit, nobody))


def nobody(*_: Any) -> Peer:
    return Peer()


async def test_a_body_is_all_its_chunks() -> None:
    assert await body(Incoming(b"abc", b"", b"def")) == b"abcdef"
    assert await body(Incoming(b"")) == b""


async def test_a_body_may_be_as_long_as_the_limit() -> None:
    assert await body(Incoming(b"x" * 10), stated="10") == b"x" * 10
    assert await body(Incoming(b"x" * 5, b"x" * 5)) == b"x" * 10


@pytest.mark.parametrize("stated", ["11", "9" * 30, "9" * 5000])
async def test_a_body_that_says_it_is_too_long_is_not_read(stated: str) -> None:
    incoming = Incoming(b"x")
    with pytest.raises(RequestTooLargeError, match="10 bytes"):
        await body(incoming, stated=stated)
    assert incoming.taken == 0


async def test_a_body_that_does_not_say_so_is_refused_as_soon_as_it_is_too_long() -> None:
    incoming = Incoming(b"x" * 6, b"x" * 6, b"x" * 6, whole=False)
    with pytest.raises(RequestTooLargeError):
        await body(incoming)
    assert incoming.taken == 2
    with pytest.raises(RequestTooLargeError):
        await body(Incoming(b"x" * 11))


@pytest.mark.parametrize("stated", ["", "5", "-1", "ten", "1e3", "5, 5"])
async def test_an_odd_length_is_the_servers_business(stated: str) -> None:
    assert await body(Incoming(b"hello"), stated=stated) == b"hello"


async def test_a_caller_who_leaves_half_way_gets_no_answer() -> None:
    with pytest.raises(Disconnected):
        await body(Incoming(b"ab", whole=False))
    with pytest.raises(Disconnected):
        await body(Incoming())


async def test_a_body_that_does_not_come_in_time_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match=r"0\.01 seconds"):
        await body(Incoming(b"ab", whole=False, gone=False), seconds=0.01)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_a_cancellation_from_outside_is_not_taken_for_a_late_body() -> None:
    reading = asyncio.create_task(body(Incoming(b"ab", whole=False, gone=False)))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_methods_without_a_body_do_not_wait_for_one(method: str) -> None:
    assert await body(Incoming(gone=False), method=method) == b""


def test_fields_of_one_name_are_joined_in_their_order() -> None:
    fields = [(b"a2a-extensions", b"one"), (b"host", b"x"), (b"a2a-extensions", b"two, three"), (b"odd", b"\xe4")]
    assert fields_by_name(fields) == {"a2a-extensions": "one, two, three", "host": "x", "odd": "\xe4"}


def test_cookies_that_come_apart_are_joined_as_cookies_are() -> None:
    fields = [(b"cookie", b"a=b"), (b"x", b"1"), (b"cookie", b"key=c"), (b"x", b"2")]
    assert fields_by_name(fields) == {"cookie": "a=b; key=c", "x": "1, 2"}
    assert Credentials(fields_by_name(fields)).cookie("key") == "c"


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ({"path": "/tasks/a b", "raw_path": b"/tasks/a%20b"}, "/tasks/a%20b"),
        ({"path": "/tasks/a/b", "raw_path": b"/tasks/a%2Fb"}, "/tasks/a%2Fb"),
        ({"path": "/tasks/a b:cancel"}, "/tasks/a%20b:cancel"),
        ({"path": "/tasks/\u00fc", "raw_path": None}, "/tasks/%C3%BC"),
        ({"path": "/agents/echo/tasks", "raw_path": b"/agents/echo/tasks", "root_path": "/agents/echo"}, "/tasks"),
        ({"path": "/my agent/tasks", "raw_path": b"/my%20agent/tasks", "root_path": "/my agent"}, "/tasks"),
        ({"path": "/agents/echo", "raw_path": b"/agents/echo", "root_path": "/agents/echo"}, ""),
        ({"path": "/", "raw_path": b"/", "root_path": ""}, "/"),
        # A server that strips the root path itself.
        ({"path": "/tasks", "raw_path": b"/tasks", "root_path": "/agents/echo"}, "/tasks"),
    ],
)
def test_a_path_is_raw_and_relative_to_the_mount(scope: dict[str, Any], path: str) -> None:
    assert request_path(scope) == path


FORWARDED = {"forwarded": 'for=5.6.7.8;host=other, for=1.2.3.4;proto=https;host="agents.example:8443"'}
X_FORWARDED = {"x-forwarded-proto": "https", "x-forwarded-host": "other, agents.example", "x-forwarded-prefix": "/api/"}


def url(client: str, headers: dict[str, str], **members: Any) -> str:
    scope = {"scheme": "http", "client": (client, 1), "server": ("127.0.0.1", 9999), **members}
    return base_url(scope, {"host": "inside:9999", **headers}, Proxies(["10.0.0.0/8", "::1"]))


def test_the_base_url_is_what_the_caller_asked_for() -> None:
    assert url("1.2.3.4", {}) == "http://inside:9999"
    assert url("1.2.3.4", {}, root_path="/agents/echo") == "http://inside:9999/agents/echo"
    assert url("1.2.3.4", {}, scheme="wss") == "https://inside:9999"
    assert base_url({"server": ("127.0.0.1", 9999)}, {}, Proxies([])) == "http://127.0.0.1:9999"


@pytest.mark.parametrize("headers", [FORWARDED, X_FORWARDED])
def test_only_trusted_proxies_are_believed(headers: dict[str, str]) -> None:
    for stranger in ("1.2.3.4", "11.0.0.1", "::2", "not an address"):
        assert url(stranger, headers, root_path="/x") == "http://inside:9999/x"
    assert base_url({"client": None, "scheme": "http"}, {"host": "h", **headers}, Proxies(["0.0.0.0/0"])) == "http://h"


@pytest.mark.parametrize("proxy", ["10.1.2.3", "::1", "::ffff:10.1.2.3"])
def test_a_trusted_proxy_says_where_the_caller_is(proxy: str) -> None:
    assert url(proxy, FORWARDED, root_path="/x") == "https://agents.example:8443/x"
    assert url(proxy, X_FORWARDED, root_path="/x") == "https://agents.example/api/x"
    assert url(proxy, {}) == "http://inside:9999"


@pytest.mark.parametrize(
    ("forwarded", "host"),
    [
        ("host=evil, for=1.2.3.4;host=outer, for=10.0.0.2;host=inner", "outer"),
        ("host=evil, for=1.2.3.4;host=outer, for=10.0.0.2:80;host=middle, for=10.0.0.3", "outer"),
        ('host=evil, for="[2001:db8::1]:4711";host=outer, for="[::1]";host=inner', "outer"),
        ("for=10.0.0.9;host=evil, for=unknown;host=outer", "outer"),
        ('for=1.1.1.1;host="evil, for=1.2.3.4;host=outer', "outer"),
        ("for=10.0.0.9;host=own", "own"),
        ("host=evil, for=1.2.3.4", "inside:9999"),
    ],
)
def test_of_many_hops_the_outermost_trusted_proxy_is_believed(forwarded: str, host: str) -> None:
    assert url("10.1.2.3", {"forwarded": forwarded}) == f"http://{host}"


def test_what_the_caller_put_before_a_proxys_word_is_not_believed() -> None:
    headers = {"proto": "gopher, https", "host": "evil.example, agents.example", "prefix": "/evil, /api"}
    assert url("10.1.2.3", {f"x-forwarded-{name}": word for name, word in headers.items()}) == (
        "https://agents.example/api"
    )


@pytest.mark.parametrize(
    ("server", "host"),
    [(("/run/agent.sock", None), "localhost"), (None, "localhost"), (("::1", 9999), "[::1]:9999")],
)
def test_without_a_host_header_the_base_url_has_a_host_still(server: object, host: str) -> None:
    assert base_url({"server": server}, {}, Proxies([])) == f"http://{host}"


def test_what_is_no_network_is_no_proxy() -> None:
    with pytest.raises(ConfigurationError, match="trusted_proxies"):
        Proxies(["localhost"])
