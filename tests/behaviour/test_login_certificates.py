"""A client with a certificate of its own: to agents on real sockets, over every binding."""

import ssl
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trustme

from dragoman import connect
from dragoman.auth import MutualTls, OwnScheme
from dragoman.client import CredentialsMissing
from dragoman.errors import ConfigurationError, UnauthenticatedError
from dragoman.hosts.tls import tls_context
from dragoman.types import AgentInterface
from dragoman.types.card import HTTPAuthSecurityScheme
from tests.behaviour.agents import echo
from tests.behaviour.callers import KEYS, schemes
from tests.behaviour.sockets import Over, at

BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")


class Papers(msgspec.Struct):
    """Certificates of one authority, in files and as both sides take them."""

    server: ssl.SSLContext
    trusting: ssl.SSLContext
    client: tuple[Path, Path]


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    folder = tmp_path_factory.mktemp("papers")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    for name, whose in (("server", "127.0.0.1"), ("client", "alice@example.org")):
        issued = authority.issue_cert(whose)
        (folder / f"{name}.pem").write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        issued.private_key_pem.write_to_path(folder / f"{name}.key")
    trusting = ssl.create_default_context(cafile=folder / "ca.pem")
    server = tls_context((folder / "server.pem", folder / "server.key"), folder / "ca.pem")
    return Papers(server, trusting, (folder / "client.pem", folder / "client.key"))


@pytest.mark.parametrize("verified", [True, False], ids=["verified", "unverified"])
async def test_a_certificate_of_the_clients_own_is_presented(over: Over, papers: Papers, verified: bool) -> None:
    agent = echo(auth=MutualTls("email"))
    verify = ssl.create_default_context() if verified else False
    if isinstance(verify, ssl.SSLContext):
        verify.load_verify_locations(cadata=papers.trusting.get_ca_certs(binary_form=True)[0])
    client = await over(agent, papers.server, verify=verify, certificate=papers.client)
    assert await client.ask("hello") == "hello"
    with pytest.raises(UnauthenticatedError):
        await (await over(agent, papers.server, verify=papers.trusting)).ask("hello")


async def test_a_certificate_meets_its_part_of_an_alternative(over: Over, papers: Papers) -> None:
    agent = echo(auth=MutualTls("email") & schemes()["header"])
    trust = {
        "verify": ssl.create_default_context(cadata=ssl.DER_cert_to_PEM_cert(papers.trusting.get_ca_certs(True)[0]))
    }
    client = await over(agent, papers.server, **trust, certificate=papers.client, auth=KEYS["alice"])
    assert await client.ask("hello") == "hello"
    with pytest.raises(CredentialsMissing, match="mtls and apiKey"):
        await (await over(agent, papers.server, verify=False, auth=KEYS["alice"])).ask("hello")


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_certificate_is_not_shown_elsewhere(papers: Papers, binding: str) -> None:
    shown: list[bool] = []

    async def seen(credentials: Any) -> str:
        shown.append(bool(credentials.peer.certificate))
        return "somebody"

    own = OwnScheme("own", HTTPAuthSecurityScheme(scheme="Own"), seen, told="Own")
    async with at(echo(auth=own), papers.server) as url:
        places = (url.replace("https", "grpcs") if binding == "GRPC" else f"{url}/", "https://127.0.0.1:1/")
        interfaces = tuple(
            AgentInterface(url=place, protocol_binding=binding, protocol_version="1.0") for place in places
        )
        card = msgspec.structs.replace(echo().card, supported_interfaces=interfaces)
        for home, given in (([], papers.client), ([url], papers.client), ([], None)):
            async with connect(card, verify=False, certificate=given, credential_origins=home) as client:
                assert await client.ask("hello") == "hello"
    assert shown == [False, True, False]


def test_a_certificate_that_is_none_is_told_at_once(papers: Papers) -> None:
    for files in ((papers.client[0], papers.client[0]), (papers.client[0] / "x", papers.client[1])):
        with pytest.raises(ConfigurationError, match="certificate="):
            connect("https://agent.example", certificate=files)
