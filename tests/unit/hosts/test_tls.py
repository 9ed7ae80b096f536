"""One port under TLS: 1.2 at least, either version of HTTP by ALPN, and answers that ask for HTTPS only."""

import asyncio
import ssl
from pathlib import Path
from typing import Any, NamedTuple

import h2.connection
import h2.events
import pytest
import trustme

from dragoman.errors import ConfigurationError
from dragoman.hosts.binding import Receive, Scope, Send
from dragoman.hosts.origin import peer_of
from dragoman.hosts.tls import HSTS, tls_context
from tests.behaviour.manifest import requirement
from tests.unit.auth.certificates import ALICE, alternative, authority, issued
from tests.unit.hosts.http1.serving import SECONDS, Served, body_of, echo, request, serving


class Tls(NamedTuple):
    server: ssl.SSLContext
    client: ssl.SSLContext


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    certificate, key = tmp_path / "chain.pem", tmp_path / "key.pem"
    certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    return certificate, key


@pytest.fixture
def tls(files: tuple[Path, Path]) -> Tls:
    client = ssl.create_default_context(cafile=files[0].parent / "authority.pem")
    return Tls(tls_context(files), client)


@requirement("R-13.4-03")
async def test_http_1_is_answered_under_tls_and_asks_for_https_only(tls: Tls) -> None:
    async with serving(echo, server_tls=tls.server, client_tls=tls.client, hsts=HSTS) as served:
        reply = await served.said(request("/secret", b"x", "POST", "connection: close"))
        refused = await served.said(b"nonsense\r\n\r\n")
    assert body_of(reply) == b"POST /secret x"
    assert b"strict-transport-security: max-age=31536000\r\n" in reply
    assert b"strict-transport-security: max-age=31536000\r\n" in refused


async def test_http_2_is_answered_under_tls_where_the_caller_offers_it(tls: Tls) -> None:
    tls.client.set_alpn_protocols(["h2", "http/1.1"])
    async with (
        serving(echo, server_tls=tls.server, client_tls=tls.client, hsts=HSTS) as served,
        served.caller() as (reader, writer),
    ):
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() == "h2"
        caller = h2.connection.H2Connection()
        caller.initiate_connection()
        path = [(":method", "GET"), (":path", "/two"), (":scheme", "https"), (":authority", "localhost")]
        caller.send_headers(1, path, end_stream=True)
        writer.write(caller.data_to_send())
        told: list[h2.events.Event] = []
        while not any(isinstance(event, h2.events.StreamEnded) for event in told):
            told += caller.receive_data(await reader.read(65536))
    bodies = [event.data for event in told if isinstance(event, h2.events.DataReceived)]
    (heads,) = [event.headers for event in told if isinstance(event, h2.events.ResponseReceived)]
    assert b"".join(body for body in bodies if body) == b"GET /two "
    assert (b"strict-transport-security", HSTS) in [(bytes(name), bytes(value)) for name, value in heads or ()]


@requirement("R-7.1-02", "R-13.4-02")
async def test_tls_1_3_is_spoken_where_the_caller_can(tls: Tls) -> None:
    async with (
        serving(echo, server_tls=tls.server, client_tls=tls.client) as served,
        served.caller() as (_, writer),
    ):
        assert writer.get_extra_info("ssl_object").version() == "TLSv1.3"


@requirement("R-13.4-04")
@pytest.mark.filterwarnings("ignore:ssl.TLSVersion.TLSv1:DeprecationWarning")
async def test_a_caller_without_tls_and_one_with_an_old_one_are_not_served(tls: Tls) -> None:
    tls.client.minimum_version = ssl.TLSVersion.TLSv1
    tls.client.maximum_version = ssl.TLSVersion.TLSv1_1
    tls.client.set_ciphers("DEFAULT:@SECLEVEL=0")
    async with serving(echo, server_tls=tls.server, client_tls=tls.client) as served:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await served.said(request())
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
            writer.write(request())
            assert b"HTTP/1.1" not in await reader.read()
            writer.close()


def test_files_that_cannot_be_used_are_named(tmp_path: Path, files: tuple[Path, Path]) -> None:
    (tmp_path / "empty.pem").write_text("")
    for pair in [(tmp_path / "missing.pem", files[1]), (files[0], tmp_path / "empty.pem")]:
        with pytest.raises(ConfigurationError, match=r"(missing|empty)\.pem"):
            tls_context(pair)


def subject(scope: Scope) -> tuple[Any, ...]:
    """What the scope says of a caller's certificate."""
    told = scope["extensions"]["tls"]
    assert (told["server_cert"], told["client_cert_error"]) == (None, None)
    return told["client_cert_chain"], told["client_cert_name"], told["tls_version"], told["cipher_suite"]


@pytest.mark.parametrize("alpn", ["http/1.1", "h2"])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_the_scope_says_of_tls_what_asgi_has_for_it(tmp_path: Path, alpn: str, version: ssl.TLSVersion) -> None:
    authority().files(tmp_path, "authority")
    files = issued(authority(), names=alternative(dns="localhost"), uses=None).files(tmp_path, "server")
    own = issued(authority(), names=alternative(uri=ALICE), cn="Alice, A.", organization="Example")
    client = ssl.create_default_context(cafile=tmp_path / "authority.pem")
    client.maximum_version = version
    client.set_alpn_protocols([alpn])
    seen: list[Scope] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await echo(scope, receive, send)

    tls = tls_context(files, tmp_path / "authority.pem")
    async with serving(look, server_tls=tls, client_tls=client) as served:
        await _asked(served, alpn)
        client.load_cert_chain(*own.files(tmp_path, "own"))
        await _asked(served, alpn)
    (chain, name, number, suite), (no_chain, no_name, *_) = subject(seen[1]), subject(seen[0])
    assert (no_chain, no_name) == ([], None)
    assert chain == [own.pem.decode()]
    assert name == "O=Example,CN=Alice\\, A."
    assert number == {ssl.TLSVersion.TLSv1_2: 0x0303, ssl.TLSVersion.TLSv1_3: 0x0304}[version]
    assert suite in ({0x1301, 0x1302, 0x1303} if number == 0x0304 else range(0xC000, 0xD000))
    assert ("http.response.trailers" in seen[1]["extensions"]) == (alpn == "h2")
    assert peer_of(seen[1]).certificate == own.der


async def _asked(served: Served, alpn: str) -> None:
    """A request, and its answer or as much of it as says that it was one."""
    if alpn == "http/1.1":
        assert body_of(await served.said(request("/x", b"y", "POST", "connection: close"))) == b"POST /x y"
        return
    async with served.caller() as (reader, writer):
        caller = h2.connection.H2Connection()
        caller.initiate_connection()
        path = [(":method", "GET"), (":path", "/x"), (":scheme", "https"), (":authority", "localhost")]
        caller.send_headers(1, path, end_stream=True)
        writer.write(caller.data_to_send())
        told: list[h2.events.Event] = []
        while not any(isinstance(event, h2.events.StreamEnded) for event in told):
            told += caller.receive_data(await reader.read(65536))


async def test_without_tls_the_scope_has_nothing_of_it() -> None:
    seen: list[Scope] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await echo(scope, receive, send)

    async with serving(look) as served:
        await served.said(request("/x", b"y", "POST", "connection: close"))
    assert seen[0]["extensions"] == {}


def test_a_file_without_authorities_is_named(tmp_path: Path, files: tuple[Path, Path]) -> None:
    (tmp_path / "empty.pem").write_text("")
    for wrong in (tmp_path / "missing.pem", tmp_path / "empty.pem", files[1]):
        with pytest.raises(ConfigurationError, match=wrong.name):
            tls_context(files, wrong)
