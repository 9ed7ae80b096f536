"""Key sets come over TLS, from who is named and from nobody else."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator

import pytest
import trustme

from dragoman.cards import CardKeys, Outcome
from dragoman.cards.fetching import MOST, guarded
from tests.behaviour.manifest import requirement
from tests.unit.cards.parts import KEY, NOW, card, public, signed, verdict


class Shelf:
    """Serves one answer over TLS on a free port, and counts who has connected."""

    def __init__(self) -> None:
        self.answer = b""
        self.asked: list[bytes] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"https://localhost:{self.port}/keys.json"

    def gives(self, body: bytes, status: str = "200 OK", extra: str = "") -> None:
        head = f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n{extra}\r\n"
        self.answer = head.encode() + body

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        writer.write(self.answer)
        await writer.drain()
        writer.close()


AUTHORITY = trustme.CA()


@pytest.fixture
async def shelf() -> AsyncIterator[Shelf]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    AUTHORITY.issue_cert("localhost").configure_cert(context)
    shelf = Shelf()
    shelf.gives(json.dumps(public(KEY)).encode())
    server = await asyncio.start_server(shelf.serve, "127.0.0.1", 0, ssl=context)
    shelf.port = server.sockets[0].getsockname()[1]
    async with server:
        yield shelf


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    return context


@requirement("R-8.4.3-03")
async def test_a_linked_key_set_is_fetched_over_tls_from_a_host_that_is_named(shelf: Shelf) -> None:
    keys = CardKeys(jku=[shelf.url], fetch=guarded([shelf.url], tls=trusting()), clock=lambda: NOW)
    assert (await verdict(signed(jku=shelf.url), keys)).outcome is Outcome.VERIFIED
    assert shelf.asked == [b"GET /keys.json HTTP/1.1"]


@requirement("R-8.4.3-03")
async def test_whose_certificate_is_not_trusted_gives_no_keys(shelf: Shelf) -> None:
    found = await verdict(signed(jku=shelf.url), CardKeys(jku=[shelf.url]))
    assert found.outcome is Outcome.UNVERIFIABLE
    assert found.reason.startswith("its key could not be fetched")
    assert shelf.asked == []


async def test_a_name_of_this_machine_that_is_not_named_is_not_called(shelf: Shelf) -> None:
    other = guarded(["https://keys.example"], tls=trusting())
    found = await verdict(signed(jku=shelf.url), CardKeys(jku=[shelf.url], fetch=other))
    assert (found.outcome, shelf.asked) == (Outcome.UNVERIFIABLE, [])


@pytest.mark.parametrize(
    ("status", "extra", "body"),
    [
        ("302 Found", "location: https://localhost/other.json\r\n", b""),
        ("404 Not Found", "", b"{}"),
        ("200 OK", "", b"[" * (MOST + 1)),
    ],
)
async def test_redirects_errors_and_very_long_answers_are_no_key_sets(
    shelf: Shelf, status: str, extra: str, body: bytes
) -> None:
    shelf.gives(body, status, extra)
    keys = CardKeys(jku=[shelf.url], fetch=guarded([shelf.url], tls=trusting()))
    found = await verdict(signed(card(), KEY, jku=shelf.url), keys)
    assert found.outcome is Outcome.UNVERIFIABLE
    assert found.reason.startswith("its key could not be fetched")
    assert len(shelf.asked) == 1
