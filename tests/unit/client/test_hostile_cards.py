"""Cards that are made to hurt who reads them: what they may have a client do, say and call stays small."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest

from dragoman import connect
from dragoman.client import CredentialsMissing, LoginError, Need
from dragoman.client.discovery import MOST_INTERFACES, NoUsableInterface
from dragoman.client.login.asking import MOST_ALTERNATIVES
from dragoman.errors import ConnectFailed, DragomanError
from dragoman.types import GetTaskRequest
from tests.unit.client.scripted import Script, result, task

GET = GetTaskRequest(id="t-1")
RUDE = "\x1b[2J" * 50_000
LONGEST = 1000
"""Characters of an error."""


def interface(url: str, binding: str = "JSONRPC") -> dict[str, str]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": "1.0"}


def asking(agent: Script, schemes: dict[str, Any], **changes: Any) -> None:
    each: list[Any] = [{"schemes": {name: {"list": []}}} for name in schemes]
    agent.offer(securitySchemes=schemes, securityRequirements=each, **changes)


async def get(agent: Script, **options: Any) -> None:
    async with connect(agent.url, **options) as client:
        await client.get_task(GET)


@pytest.mark.parametrize(("host", "name"), [("unix", "4711"), ("unix-abstract", "\x004711")])
async def test_no_interface_leads_to_a_socket_of_the_file_system(
    agent: Script, host: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What gRPC takes for a scheme of its own is a host here."""
    monkeypatch.chdir(tmp_path)
    called: list[object] = []
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(name)

    def taken(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.append(name)
        writer.close()

    server = await asyncio.start_unix_server(taken, sock=listening)
    agent.offer(supportedInterfaces=[interface(f"grpc://{host}:4711", "GRPC")])
    with pytest.raises(ConnectFailed):
        await get(agent, connect_timeout=1.0)
    server.close()
    assert called == []


async def test_of_many_interfaces_few_are_tried(agent: Script) -> None:
    many = [interface(f"{agent.url}/none/{number}", "GRPC") for number in range(5000)]
    tried = [interface(f"http://127.0.0.1:1/{number}") for number in range(5000)]
    agent.offer(supportedInterfaces=[*many, *tried])
    client = connect(agent.url, auth="secret", bindings=["JSONRPC"], credential_origins=["http://127.0.0.1:1"])
    async with client, asyncio.timeout(5):
        with pytest.raises(ConnectFailed, match=f"/{MOST_INTERFACES - 1}"):
            await client.get_task(GET)


async def test_of_many_alternatives_few_are_asked_for_and_each_once(agent: Script) -> None:
    asked: list[str] = []

    def none(need: Need) -> None:
        asked.append(need.name)

    bearer = {"httpAuthSecurityScheme": {"scheme": "Bearer"}}
    asking(agent, {f"s-{number}": bearer for number in range(5000)})
    with pytest.raises(CredentialsMissing) as raised:
        await get(agent, auth=none)
    assert asked == [f"s-{number}" for number in range(MOST_ALTERNATIVES)]
    assert len(raised.value.schemes) == MOST_ALTERNATIVES
    asked.clear()
    agent.offer(
        securitySchemes={"one": bearer, "two": bearer},
        securityRequirements=[{"schemes": {name: {"list": []}}} for name in ["one", "two"] * 1000],
    )
    with pytest.raises(CredentialsMissing):
        await get(agent, auth=none)
    assert asked == ["one", "two"]


@pytest.mark.parametrize("name", ["host", "n" * 5000, RUDE])
async def test_what_a_card_names_makes_no_long_error_and_none_that_cannot_be_printed(agent: Script, name: str) -> None:
    agent.answers["GetTask"] = [result(task("COMPLETED", "done"))]
    for scheme in (
        {"httpAuthSecurityScheme": {"scheme": name}},
        {"apiKeySecurityScheme": {"location": "header", "name": name}},
    ):
        for auth in ({"other": "secret"}, "secret"):
            asking(agent, {RUDE: scheme})
            try:
                await get(agent, auth=auth)
            except DragomanError as error:
                _is_decent(error)


async def test_nor_do_its_interfaces(agent: Script) -> None:
    agent.offer(name=RUDE, supportedInterfaces=[interface(agent.url, f"{RUDE}{number}") for number in range(3)])
    with pytest.raises(NoUsableInterface) as raised:
        await get(agent)
    _is_decent(raised.value)


def _is_decent(error: DragomanError) -> None:
    assert len(str(error)) < LONGEST, str(error)[:200]
    assert str(error).isprintable()
    assert isinstance(error, LoginError | NoUsableInterface) or len(repr(error)) < LONGEST
