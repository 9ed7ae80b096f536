"""Files that a client fetches: from where its network reaches, with nothing that makes the client known."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import trustme

from dragoman import FetchFailed, FetchOptions, Part, connect, sync
from tests.unit.client.scripted import Script, plain

HOST = "127.0.0.1"


class Store(msgspec.Struct, eq=False):
    """A server of files under TLS, which would know whoever shows a certificate."""

    port: int = 0
    known: list[object] = []
    heads: list[bytes] = []


@asynccontextmanager
async def storing(authority: trustme.CA) -> AsyncGenerator[Store, None]:
    store = Store()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        store.known.append(writer.get_extra_info("peercert"))
        store.heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\npng")
        await reader.read()
        writer.close()

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(HOST).configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_OPTIONAL
    server = await asyncio.start_server(connected, HOST, 0, ssl=context)
    async with server:
        store.port = server.sockets[0].getsockname()[1]
        yield store


@pytest.mark.parametrize("way", ["a certificate", "a context", "whatever there is"])
async def test_a_client_shows_no_certificate_to_those_who_keep_files(agent: Script, tmp_path: Path, way: str) -> None:
    authority = trustme.CA()
    own = authority.issue_cert("alice@example.com")
    chain, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    own.cert_chain_pems[0].write_to_path(chain)
    own.private_key_pem.write_to_path(key)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    if way == "a context":
        own.configure_cert(trusting)
    verify = False if way == "whatever there is" else trusting
    certificate = (chain, key) if way != "a context" else None
    headers = {"authorization": "Bearer secret"}
    client = connect(agent.url, verify=verify, certificate=certificate, headers=headers)
    async with storing(authority) as store, client:
        assert await client.fetch(Part(url=f"https://{HOST}:{store.port}/a")) == b"png"
    assert store.known in ([None], [{}])
    assert b"secret" not in store.heads[0]


async def test_whom_the_client_does_not_trust_keeps_no_files(agent: Script) -> None:
    async with storing(trustme.CA()) as store, connect(agent.url) as client:
        with pytest.raises(FetchFailed, match="not trusted"):
            await client.fetch(Part(url=f"https://{HOST}:{store.port}/a"))
    assert store.heads == []


def test_a_client_that_does_not_await_fetches_too() -> None:
    with sync.connect("https://agent.example") as client:
        assert client.fetch(Part.from_bytes(b"png", media_type="image/png")).media_type == "image/png"


async def test_what_is_fetched_has_bounds_of_its_own(agent: Script) -> None:
    agent.answers["GET /a"] = [plain(b"four")]
    for most, outcome in ((4, b"four"), (3, None)):
        async with connect(agent.url, fetch=FetchOptions(network="any", max_bytes=most)) as client:
            if outcome is not None:
                assert await client.fetch(Part(url=f"{agent.url}/a")) == outcome
                continue
            with pytest.raises(FetchFailed, match="longer than 3"):
                await client.fetch(Part(url=f"{agent.url}/a"))
