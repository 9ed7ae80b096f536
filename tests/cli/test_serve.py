"""`serve`: an agent from a file or a module, called with the same program."""

import asyncio
import json
import re
import signal
import ssl
import urllib.error
import urllib.request
from typing import Any

import pytest
import trustme

from dragoman import connect
from tests.cli.program import Program
from tests.cli.scripted import ScriptedAgent

ECHO = '''
from dragoman import Agent, TaskContext

agent = Agent("Echo", "Says back what it hears.")


@agent.skill(tags=["demo"])
async def echo(task: TaskContext):
    """Repeat the message."""
    yield task.text
'''


async def test_an_agent_in_a_file_is_served_and_called(program: Program) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    async with program.started("serve", "echo.py:agent", "--port", "0", "--store", "memory") as serving:
        told = ""
        while not (found := re.search(r"http://[\d.]+:\d+", told)):
            line = await serving.line()
            assert line, (told, await serving.complaint())
            told += line + "\n"
        ran = await program.run("send", "-a", found[0], "hello")
        assert ran.code == 0, ran.err
        assert ran.fields["Text"] == ["hello"]
        listed = await program.run("task", "list", "-a", found[0], "-o", "json")
        assert [task["id"] for task in listed.json["tasks"]] == ran.fields["Task ID"][-1:]
        serving.send(signal.SIGINT)
        ended = await serving.ended()
    assert ended.code == 0, ended.err
    assert ended.err == ""


async def test_an_agent_is_called_in_every_version_and_binding_that_is_asked_for(program: Program) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    ways = [("--transport", binding) for binding in ("jsonrpc", "rest", "grpc")]
    older = [(*way, "--a2a-version", "0.3") for way in ways]
    async with program.started("serve", "echo.py", "--port", "0", "--store", "memory") as serving:
        while not (found := re.search(r"http://[\d.]+:\d+", line := await serving.line())):
            assert line, await serving.complaint()
        for options in ((), *ways, *older):
            ran = await program.run("send", "hi there", "-a", found[0], *options, "-o", "json", "--debug")
            assert ran.code == 0, ran.err
            assert ran.json["task"]["status"]["state"] == "TASK_STATE_COMPLETED", "output is in the form of 1.0"
            spoken = f"{options[1] if options else 'jsonrpc'} {'0.3' if '0.3' in options else '1.0'}"
            assert f"interface: {spoken.replace('rest', 'http+json')}" in ran.err.lower()
        refused = await program.run("task", "get", "nothing", "-a", found[0], *ways[2], "-o", "json")
        assert (refused.error["code"], refused.error["a2aCode"]) == ("TaskNotFoundError", "NOT_FOUND")


async def test_the_card_is_strict_if_told_so(program: Program) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    for options, there in (((), True), (("--card-shape", "strict-1.0"), False)):
        async with program.started("serve", "echo.py", "--port", "0", "--store", "memory", *options) as serving:
            while not (found := re.search(r"http://[\d.]+:\d+", line := await serving.line())):
                assert line, await serving.complaint()
            card = await asyncio.to_thread(_fetched, f"{found[0]}/.well-known/agent-card.json")
            assert ("protocolVersion" in card) is there


def _fetched(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=10) as answer:
        card: dict[str, Any] = json.load(answer)
    return card


async def test_a_port_that_is_taken_is_a_failure_like_others(agent: ScriptedAgent, program: Program) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    taken = agent.base.rpartition(":")[2]
    ran = await program.run("serve", "echo.py", "--port", taken, "--store", "memory")
    assert ran.code == 1
    assert "address already in use" in ran.err.lower()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere.py:agent", "no file nowhere.py"),
        ("echo.py:other", "no agent 'other'"),
        ("nothing_of_that_name:agent", "no module nothing_of_that_name"),
        ("empty.py", "there is none"),
    ],
)
async def test_a_target_that_is_none_is_a_usage_error(program: Program, target: str, said: str) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    (program.cwd / "empty.py").write_text("")
    ran = await program.run("serve", target)
    assert ran.code == 2
    assert said in ran.err


async def test_under_tls_the_agent_is_served_over_https_alone(program: Program) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(program.cwd / "chain.pem")
    issued.private_key_pem.write_to_path(program.cwd / "key.pem")
    authority.cert_pem.write_to_path(program.cwd / "authority.pem")
    options = ("--tls-cert", "chain.pem", "--tls-key", "key.pem")
    async with program.started("serve", "echo.py", "--port", "0", "--store", "memory", *options) as serving:
        line = await serving.line()
        found = re.search(r"https://127\.0\.0\.1:\d+", line)
        assert found, (line, await serving.complaint())
        trust = ssl.create_default_context(cafile=program.cwd / "authority.pem")
        async with connect(found[0], verify=trust) as agent:
            assert await agent.ask("hello") == "hello"
        serving.send(signal.SIGTERM)
        assert (await serving.ended()).code == 0


async def test_a_certificate_without_its_key_is_a_usage_error(program: Program) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    ran = await program.run("serve", "echo.py", "--tls-cert", "echo.py")
    assert ran.code == 2
    assert "go together" in ran.err
    ran = await program.run("serve", "echo.py", "--tls-cert", "echo.py", "--tls-key", "echo.py")
    assert ran.code == 1
    assert "echo.py" in ran.err
    assert "Traceback" not in ran.err
    ran = await program.run("serve", "echo.py", "--tls-client-ca", "echo.py")
    assert ran.code == 2
    assert "--tls-client-ca goes with --tls-cert" in ran.err


async def test_a_server_takes_as_many_connections_as_it_is_told(program: Program) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    options = ("--max-connections", "1", "--max-connections-per-address", "5")
    async with program.started("serve", "echo.py", "--port", "0", "--store", "memory", *options) as serving:
        found = re.search(r"http://127\.0\.0\.1:(\d+)", await serving.line())
        assert found, await serving.complaint()
        _, first = await asyncio.open_connection("127.0.0.1", int(found[1]))
        second, writer = await asyncio.open_connection("127.0.0.1", int(found[1]))
        assert (await asyncio.wait_for(second.read(), 10)).startswith(b"HTTP/1.1 503 ")
        first.close()
        writer.close()
        serving.send(signal.SIGTERM)
        assert (await serving.ended()).code == 0


async def test_decisions_about_access_and_logs_are_written_as_asked_for(program: Program) -> None:
    guarded = ECHO.replace('hears.")', 'hears.", auth=ApiKey({"alice": "alice-has-this-key"}))')
    (program.cwd / "echo.py").write_text("from dragoman.auth import ApiKey\n" + guarded)
    options = ("--audit", "audit.jsonl", "--log-level", "info", "--log-format", "json")
    async with program.started("serve", "echo.py", "--port", "0", "--store", "memory", *options) as serving:
        while not (found := re.search(r"http://[\d.]+:\d+", line := await serving.line())):
            assert line, await serving.complaint()
        refused = await asyncio.to_thread(_status, f"{found[0]}/tasks")
        allowed = await program.run("send", "-a", found[0], "hello", "--api-key", "alice-has-this-key")
        serving.send(signal.SIGINT)
        await serving.ended()
    assert (refused, allowed.code) == (401, 0), allowed.err
    path = program.cwd / "audit.jsonl"
    told = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["outcome"] for one in told[:2]] == ["refused", "allowed"]
    assert "alice" not in path.read_text()


def _status(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


async def test_an_audit_log_that_cannot_be_written_is_said_before_the_agent_is_served(program: Program) -> None:
    (program.cwd / "echo.py").write_text(ECHO)
    ran = await program.run("serve", "echo.py", "--audit", "nowhere/audit.jsonl")
    assert ran.code == 2
    assert "No such file" in ran.err
