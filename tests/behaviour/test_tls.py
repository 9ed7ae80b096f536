"""An agent under TLS, as it is run: all bindings on the one port, and nothing else there."""

import asyncio
import json
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import trustme

from dragoman import connect
from dragoman.errors import ConnectFailed, UnauthenticatedError
from tests.behaviour.manifest import requirement
from tests.unit.auth.certificates import ALICE, alternative, authority, issued

SERVES = """
import sys
from pathlib import Path
from dragoman import Agent, TaskContext

agent = Agent("Secret", "Echoes under TLS.", store="memory", drain_grace=0.2, cancel_grace=0.2)

@agent.skill
async def echo(task: TaskContext):
    yield task.text

files = tuple(Path(name) for name in sys.argv[1:3])
agent.run(port=0, tls=files, announce=lambda line: print(line, flush=True))
"""


class Secure(msgspec.Struct):
    """The server, and what trusts it."""

    port: int
    trusting: ssl.SSLContext


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    """One server for all that is asked here."""
    folder = tmp_path_factory.mktemp("secure")
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    chain, key = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(key)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    program = [sys.executable, "-c", SERVES, str(chain), str(key)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield Secure(int(line.split("https://127.0.0.1:")[1].split("/")[0].split()[0]), trusting)
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors, errors


async def got(secure: Secure, path: str) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", secure.port, ssl=secure.trusting)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{secure.port}\r\nConnection: close\r\n\r\n".encode())
    try:
        return await reader.read()
    finally:
        writer.close()


@requirement("R-7.1-01", "R-7.1-02", "R-13.4-01", "R-13.4-02", "R-13.4-03", "R-14.3-03", "R-4.4-03")
async def test_the_card_is_there_over_https_and_leads_to_secure_addresses_alone(secure: Secure) -> None:
    head, _, body = (await got(secure, "/.well-known/agent-card.json")).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200")
    assert b"strict-transport-security: max-age=" in head.lower()
    card = json.loads(body)
    bindings = {entry["protocolBinding"] for entry in card["supportedInterfaces"]}
    assert bindings == {"JSONRPC", "HTTP+JSON", "GRPC"}
    urls = [entry["url"] for entry in card["supportedInterfaces"] if entry["protocolBinding"] != "GRPC"]
    assert all(url.startswith(f"https://127.0.0.1:{secure.port}") for url in urls)


@requirement("R-7.1-01", "R-13.4-01", "R-10.1-01")
@pytest.mark.parametrize("version", ["1.0", "0.3"])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
async def test_every_binding_is_served_under_tls(secure: Secure, binding: str, version: str) -> None:
    url = f"https://127.0.0.1:{secure.port}"
    async with connect(url, versions=[version], bindings=[binding], verify=secure.trusting) as client:
        assert await client.ask("under TLS") == "under TLS"


@requirement("R-7.2-01")
async def test_a_client_refuses_a_certificate_that_it_cannot_verify(secure: Secure) -> None:
    async with connect(f"https://127.0.0.1:{secure.port}") as client:
        with pytest.raises(ConnectFailed):
            await client.ask("under TLS")


@requirement("R-7.1-01", "R-13.4-01")
async def test_nothing_is_said_without_tls(secure: Secure) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", secure.port)
    writer.write(b"GET /.well-known/agent-card.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert b"HTTP/1.1" not in await reader.read()
    writer.close()


KNOWS = """
from dragoman import Agent, TaskContext
from dragoman.auth import MutualTls

agent = Agent("Knowing", auth=MutualTls(), store="memory")

@agent.skill
async def echo(task: TaskContext):
    yield task.text
"""


@pytest.fixture
def knowing(tmp_path: Path) -> Iterator[str]:
    """The URL of an agent that asks for certificates."""
    (tmp_path / "agent.py").write_text(KNOWS)
    authority().files(tmp_path, "authority")
    chain, key = issued(authority(), names=alternative(ip="127.0.0.1"), uses=None).files(tmp_path, "server")
    program: list[str | Path] = [
        Path(sys.executable).parent / "dragoman",
        "serve",
        tmp_path / "agent.py",
        "--port",
        "0",
    ]
    program += ["--tls-cert", chain, "--tls-key", key, "--tls-client-ca", tmp_path / "authority.pem"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().removeprefix("Agent  ").strip()
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
    assert errors == ""


@requirement("R-7.1-01", "R-7.4-01")
async def test_a_served_agent_asks_for_certificates_and_knows_callers_by_them(knowing: str, tmp_path: Path) -> None:
    trusting = ssl.create_default_context(cafile=tmp_path / "authority.pem")
    async with connect(knowing, verify=trusting) as client:
        with pytest.raises(UnauthenticatedError):
            await client.ask("nobody")
    trusting.load_cert_chain(*issued(authority(), names=alternative(uri=ALICE)).files(tmp_path, "own"))
    for binding in ("JSONRPC", "HTTP+JSON"):
        async with connect(knowing, verify=trusting, bindings=[binding]) as client:
            assert await client.ask("alice") == "alice"
