"""From a reference to a card, and from a card to the interface that is called."""

import asyncio
import json

import pytest

from tests.cli.program import Program
from tests.cli.scripted import BINDINGS, ScriptedAgent, always, state

OPERATIONS = (
    ("send", "hi"),
    ("send", "hi", "--async"),
    ("send", "hi", "--stream"),
    ("task", "get", "t-1"),
    ("task", "cancel", "t-2"),
    ("task", "list"),
    ("task", "subscribe", "t-3"),
)


@pytest.mark.row("A2ACLI_CARD_GET_001")
async def test_a_card_comes_from_host_url_or_file(agent: ScriptedAgent, program: Program) -> None:
    saved = program.cwd / "card.json"
    saved.write_text(json.dumps(agent.card()))
    references = (
        agent.base.removeprefix("http://"),
        agent.base,
        f"{agent.base}/elsewhere/card.json",
        saved.as_uri(),
        str(saved),
        "card.json",
    )
    shown = await asyncio.gather(*(program.run("card", "get", "-a", reference) for reference in references))
    for ran in shown:
        assert ran.code == 0, ran.err
        assert ran.fields["Name"] == ["Scripted"]
        assert ran.fields["Streaming"] == ["yes"]
        assert ran.fields["Interface"] == [f"{binding} 1.0 {agent.url(binding)}" for binding in BINDINGS]
        assert ran.fields["Skill"] == ["play - Play"]
    runs = await asyncio.gather(*(program.run("send", "hi", "-a", reference) for reference in references))
    assert [ran.code for ran in runs] == [0] * len(references)
    assert {request.path for request in agent.calls()} == {"/rpc"}


@pytest.mark.row("A2ACLI_CARD_GET_001")
async def test_a_card_as_json_is_the_card(agent: ScriptedAgent, program: Program) -> None:
    indented, line = await asyncio.gather(
        program.run("card", "get", "-o", "json"), program.run("card", "get", "-o", "json", "--stream")
    )
    assert indented.json == line.json == agent.card()
    assert len(line.out.splitlines()) == 1


@pytest.mark.row("A2ACLI_TX_001")
async def test_the_first_interface_of_the_card_is_called(agent: ScriptedAgent, program: Program) -> None:
    for order in (BINDINGS, BINDINGS[::-1]):
        agent.bindings = tuple((binding, "1.0") for binding in order)
        agent.requests.clear()
        assert (await program.run("send", "hi", "--debug")).code == 0
        assert agent.calls()[0].path[:4] == ("/rpc" if order[0] == "JSONRPC" else "/res")


@pytest.mark.row("A2ACLI_TX_002")
async def test_what_is_not_supported_is_skipped(agent: ScriptedAgent, program: Program) -> None:
    agent.bindings = (("https://example.com/odd", "1.0"), ("GRPC", "0.3"), ("HTTP+JSON", "1.0"), ("JSONRPC", "1.0"))
    expected = {
        (): "/rest",
        ("--transport", "grpc", "--transport", "jsonrpc"): "/rpc",
        ("--transport", "jsonrpc", "--transport", "rest"): "/rpc",
        ("--transport", "Http+Json"): "/rest",
        ("--transport", "nonsense"): "/rest",
    }
    for options, path in expected.items():
        agent.requests.clear()
        ran = await program.run("send", "hi", *options, "--debug")
        assert ran.code == 0, ran.err
        assert {request.path.startswith(path) for request in agent.calls()} == {True}, options
        assert "debug: interface: " in ran.err
    agent.requests.clear()
    assert (await program.run("send", "hi", env={"A2ACLI_TRANSPORT": "grpc,jsonrpc"})).code == 0
    assert agent.calls()[0].path == "/rpc"


@pytest.mark.row("A2ACLI_TX_003")
@pytest.mark.row("A2ACLI_VER_001")
@pytest.mark.parametrize("tenant", ["acme", None], ids=["tenant", "none"])
async def test_every_request_has_the_tenant_and_the_version(
    bound: ScriptedAgent, program: Program, tenant: str | None
) -> None:
    bound.tenant = tenant
    bound.on_subscription = (state("COMPLETED", delay=0.2),)
    bound.add("COMPLETED", "t-1")
    bound.add("WORKING", "t-2")
    bound.add("WORKING", "t-3")
    runs = await asyncio.gather(*(program.run(*operation, env={"A2ACLI_A2A_VERSION": ""}) for operation in OPERATIONS))
    assert [ran.code for ran in runs] == [0] * len(OPERATIONS)
    assert {request.operation for request in bound.calls()} == {
        "SendMessage",
        "SendStreamingMessage",
        "GetTask",
        "CancelTask",
        "ListTasks",
        "SubscribeToTask",
    }
    for request in bound.requests:
        assert request.headers["a2a-version"] == "1.0"
        if request.operation != "card":
            assert request.params.get("tenant") == tenant
            assert ("tenant" in request.params) == (tenant is not None)


@pytest.mark.row("A2ACLI_VER_001")
async def test_an_older_version_is_never_taken_silently(agent: ScriptedAgent, program: Program) -> None:
    patched = await program.run("send", "hi", "--a2a-version", "1.0.3")
    assert patched.code == 0
    agent.requests.clear()
    expected = {
        ("0.3", None): "the agent offers 0.3, not 1.0; to use 0.3 say --a2a-version 0.3",
        ("1.0", "0.3"): "the agent offers 1.0, not 0.3; to use 1.0 say --a2a-version 1.0",
        ("1.0", "1.0-draft"): "the agent offers 1.0, not 1.0-draft; to use 1.0 say --a2a-version 1.0",
        ("0.2", None): "the agent offers 0.2, not 1.0; supported: 1.0, 1.0-draft, 0.3",
        ("1.0", "0.2"): "protocol version 0.2 is not supported; supported: 1.0, 1.0-draft, 0.3",
    }
    for (offered, asked), message in expected.items():
        agent.bindings = (("JSONRPC", offered),)
        ran = await program.run("send", "hi", "-o", "json", *(("--a2a-version", asked) if asked else ()))
        assert ran.code == 1
        assert (ran.error["code"], ran.error["message"]) == ("VersionNotSupportedError", message)
        assert ran.error["a2aCode"] is None
    assert agent.calls() == []


async def test_the_command_to_go_on_keeps_the_options_but_no_secret(agent: ScriptedAgent, program: Program) -> None:
    agent.script = always((state("INPUT_REQUIRED", "which?"),))
    ran = await program.run("send", "hi", "--transport", "rest", "--a2a-version", "1.0", "--bearer", "tok-991-aa")
    (command,) = ran.fields["Resume"]
    assert "--transport rest" in command
    assert "--a2a-version 1.0" in command
    assert "tok-991-aa" not in command


async def test_the_command_to_go_on_leaves_out_the_user_of_a_url(agent: ScriptedAgent, program: Program) -> None:
    ran = await program.run("send", "hi", "-a", agent.base.replace("://", "://me:s3cr3t@"), "--debug")
    assert ran.code == 0, ran.err
    assert "[redacted]@127.0.0.1" in ran.fields["Resume"][0]
    assert "s3cr3t" not in ran.out + ran.err


async def test_only_the_network_that_was_asked_for_is_called(agent: ScriptedAgent, program: Program) -> None:
    refused, by_variable, called, wrong = await asyncio.gather(
        program.run("card", "get", "--network", "public", "-o", "json"),
        program.run("send", "hi", "-o", "json", env={"A2ACLI_NETWORK": "public"}),
        program.run("card", "get", "--network", "any"),
        program.run("card", "get", "--network", "private"),
    )
    for ran in (refused, by_variable):
        assert ran.code != 0
        assert "Only https may be called" in ran.error["message"]
    assert called.code == 0
    assert "neither any nor public" in wrong.err
