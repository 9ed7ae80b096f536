"""What an issuer says of itself, and what of that is believed."""

import asyncio
import json
import threading
from typing import Any

import pytest

from dragoman.auth.issuer import MOST, MOST_OF_TOKEN, IssuerClient, is_safe
from dragoman.auth.metadata import PublishedMetadata
from dragoman.auth.published import FRESH, PAUSE
from dragoman.errors import ConfigurationError, UnavailableError
from dragoman.ports.webhook import AddressRefused, Undelivered
from tests.unit.auth.tokens import ISSUER, JWKS, KEY, OTHER_KEY
from tests.unit.outbound.receiver import answering, listening

URL = f"{ISSUER}/.well-known/openid-configuration"
SAID = {"issuer": ISSUER, "jwks_uri": "https://keys.example/a", "introspection_endpoint": f"{ISSUER}/introspect"}


class Issuer:
    """What is published where, what was asked for, and a clock beside it."""

    def __init__(self, **said: Any) -> None:
        self.published: dict[str, Any] = {URL: SAID | said, "https://keys.example/a": JWKS}
        self.asked: list[str] = []
        self.now = 1000.0
        self.metadata = PublishedMetadata(URL, {ISSUER}, fetch=self.fetch, now=lambda: self.now)
        self.keys = self.metadata.keys()

    async def fetch(self, url: str) -> bytes:
        self.asked.append(url)
        said = self.published[url]
        return said if isinstance(said, bytes) else json.dumps(said).encode()


async def test_the_document_and_the_keys_to_which_it_leads_are_fetched_once() -> None:
    issuer = Issuer()
    for _ in range(3):
        assert (await issuer.keys.keys())[0].ids == (KEY.id,)
        assert (await issuer.metadata.current()).introspection_endpoint == SAID["introspection_endpoint"]
    assert issuer.asked == [URL, "https://keys.example/a"]


async def test_keys_that_move_are_found_where_they_have_moved() -> None:
    issuer = Issuer()
    await issuer.keys.keys()
    issuer.published[URL] = SAID | {"jwks_uri": "https://keys.example/b"}
    issuer.published["https://keys.example/b"] = {"keys": [OTHER_KEY.public_jwk()]}
    issuer.now += FRESH
    assert (await issuer.keys.keys())[0].ids == (OTHER_KEY.id,)


async def test_a_key_that_is_missed_is_looked_for_without_the_document() -> None:
    issuer = Issuer()
    await issuer.keys.keys()
    issuer.published["https://keys.example/a"] = {"keys": [OTHER_KEY.public_jwk()]}
    issuer.now += PAUSE
    assert (await issuer.keys.keys(OTHER_KEY.id))[0].ids == (OTHER_KEY.id,)
    assert issuer.asked == [URL, *["https://keys.example/a"] * 2]


WRONG: dict[str, Any] = {
    "another issuer": {"issuer": "https://other.example"},
    "an issuer that begins alike": {"issuer": f"{ISSUER}/x"},
    "an issuer with a slash": {"issuer": f"{ISSUER}/"},
    "no issuer": {"issuer": None},
    "keys over plain HTTP": {"jwks_uri": "http://keys.example/a"},
    "keys in a file": {"jwks_uri": "file:///etc/keys"},
    "keys that are a number": {"jwks_uri": 7},
    "keys at no host": {"jwks_uri": "https:///a"},
    "no keys": {"jwks_uri": ""},
    "keys at half an address": {"jwks_uri": "https://[::1"},
    "introspection over plain HTTP": {"introspection_endpoint": "http://issuer.example/introspect"},
}


@pytest.mark.parametrize("said", WRONG.values(), ids=list(WRONG))
async def test_what_is_another_issuers_or_leads_astray_is_not_believed(said: dict[str, Any]) -> None:
    issuer = Issuer(**said)
    with pytest.raises(UnavailableError) as caught:
        await issuer.keys.keys()
    assert caught.value.retry_after == 2
    assert issuer.asked == [URL]


@pytest.mark.parametrize("document", [b"", b"[]", b"{", b"[" * 100_000, b'{"issuer": 1}'])
async def test_what_is_no_document_is_none(document: bytes) -> None:
    issuer = Issuer()
    issuer.published[URL] = document
    with pytest.raises(UnavailableError):
        await issuer.metadata.current()


@pytest.mark.parametrize(
    ("url", "safe"),
    [
        ("https://issuer.example/x", True),
        ("http://127.0.0.1:9/x", True),
        ("http://localhost/x", True),
        ("http://[::1]:9/x", True),
        ("http://issuer.example", False),
        ("http://127.0.0.1.issuer.example", False),
        ("http://127.0.0.2/", False),
        ("ftp://127.0.0.1/", False),
        ("https://", False),
        ("issuer.example", False),
        ("", False),
    ],
)
def test_only_what_nobody_can_change_on_the_way_is_safe(url: str, safe: bool) -> None:
    assert is_safe(url) is safe
    if not safe:
        with pytest.raises(ConfigurationError):
            IssuerClient(url)


def _answer(status: str, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def test_an_issuer_is_called_at_the_host_that_was_named_and_leads_to_no_private_one() -> None:
    async with listening(answering(_answer("200 OK", b"{}")), host="127.0.0.1") as named:
        client = IssuerClient(f"http://127.0.0.1:{named.port}/metadata")
        assert await client.get(f"http://127.0.0.1:{named.port}/keys") == b"{}"
        page = await client.post(f"http://127.0.0.1:{named.port}/introspect", {"token": "a b&c"}, "Basic x")
        assert (page.status, page.body, named.bodies[-1]) == (200, b"{}", b"token=a+b%26c")
        assert "authorization: basic x" in named.heads[-1].lower()
        async with listening(answering(_answer("200 OK", b"{}")), host="127.0.0.1") as private:
            with pytest.raises(AddressRefused):
                await client.get(f"http://127.0.0.1:{private.port}/keys")
        assert private.connections == 0


async def test_what_is_too_long_or_somewhere_else_is_not_taken() -> None:
    long = _answer("200 OK", b"x" * (MOST + 1))
    async with listening(answering(_answer("302 Found", b"", "Location: /other"), long), host="127.0.0.1") as named:
        url = f"http://127.0.0.1:{named.port}/"
        client = IssuerClient(url)
        for _ in range(2):
            with pytest.raises(Undelivered):
                await client.get(url)
        assert "GET / " in named.heads[0]
        assert len(named.heads) == 2


async def test_what_is_said_of_one_token_is_shorter() -> None:
    long = _answer("200 OK", b"x" * (MOST_OF_TOKEN + 1))
    async with listening(answering(long), host="127.0.0.1") as named:
        url = f"http://127.0.0.1:{named.port}/"
        assert len(await IssuerClient(url).get(url)) == MOST_OF_TOKEN + 1
        with pytest.raises(Undelivered):
            await IssuerClient(url).post(url, {}, "Basic x")


async def test_calls_leave_no_connections_and_no_threads() -> None:
    async with listening(answering(_answer("200 OK", b"{}")), host="127.0.0.1") as named:
        url = f"http://localhost:{named.port}/keys"
        client = IssuerClient(url)
        await client.get(url)
        before = threading.active_count()
        for _ in range(20):
            await client.get(url)
        assert threading.active_count() < before + 10
        async with asyncio.timeout(5):
            await named.closed.wait()
