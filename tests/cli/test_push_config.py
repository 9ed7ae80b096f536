"""`task push-config create|get|list|delete`, and `listen`: what is pushed is shown, who has no token is not."""

import asyncio
import json
import signal
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from tests.cli.program import Program, Running, parsed_text
from tests.cli.scripted import Json, ScriptedAgent

SECRETS = ("hook-token-1", "key/with+signs")


def pushed(state: str, task_id: str = "t-1") -> Json:
    return {
        "statusUpdate": {"taskId": task_id, "contextId": f"c-{task_id}", "status": {"state": f"TASK_STATE_{state}"}}
    }


def chunk(text: str, task_id: str = "t-1") -> Json:
    artifact = {"artifactId": "a-1", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": task_id, "contextId": f"c-{task_id}", "artifact": artifact}}


async def post(url: str, body: Json | bytes, token: str | None, **headers: str) -> int:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    shown = {} if token is None else {"A2A-Notification-Token": token}
    sent = {"content-type": "application/a2a+json", **shown, **headers}
    async with aiohttp.ClientSession() as session, session.post(url, data=data, headers=sent) as answer:
        await answer.read()
        return answer.status


async def announced(url: str, token: str, length: int) -> int:
    """The answer to a notification that says how long it is, and comes with nothing yet."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    head = f"POST / HTTP/1.1\r\nhost: h\r\ncontent-length: {length}\r\nx-a2a-notification-token: {token}\r\n\r\n"
    writer.write(head.encode())
    status = await reader.readline()
    writer.close()
    return int(status.split()[1])


async def listening(running: Running) -> str:
    """What the listener says until it listens."""
    said = ""
    while not said.splitlines()[-1:] or not said.splitlines()[-1].startswith("URL: "):
        said += await running.complaint() + "\n"
    return said


@pytest.mark.row("A2ACLI_PUSH_001")
async def test_a_configuration_is_made_shown_listed_and_deleted(bound: ScriptedAgent, program: Program) -> None:
    bound.add("WORKING", "t-1")
    made = await program.run(
        *("task", "push-config", "create", "t-1", "--url", "https://caller.example/hook", "--id", "c-9"),
        *("--token", SECRETS[0], "--auth-scheme", "Bearer", "--auth-credentials", SECRETS[1], "-o", "json"),
    )
    wanted = {
        "taskId": "t-1",
        "id": "c-9",
        "url": "https://caller.example/hook",
        "token": SECRETS[0],
        "authentication": {"scheme": "Bearer", "credentials": SECRETS[1]},
    }
    assert made.code == 0, made.err
    assert bound.calls("CreateTaskPushNotificationConfig")[0].params == wanted
    assert made.json == wanted
    shown, listed = await asyncio.gather(
        program.run("task", "push-config", "get", "t-1", "c-9"),
        program.run("task", "push-config", "list", "t-1", "-o", "json"),
    )
    assert parsed_text(shown.out) == [
        ("Config ID", "c-9"),
        ("Task ID", "t-1"),
        ("URL", "https://caller.example/hook"),
        ("Token", "set"),
        ("Authentication", "Bearer"),
    ]
    assert listed.json["configs"] == [wanted]
    for _ in range(2):
        gone = await program.run("task", "push-config", "delete", "t-1", "c-9", "-o", "json")
        assert (gone.code, gone.json) == (0, {})
    missing = await program.run("task", "push-config", "get", "t-1", "c-9", "-o", "json")
    assert (missing.code, missing.error["code"]) == (1, "TaskNotFoundError")
    told = await program.run("task", "push-config", "delete", "t-1", "c-9")
    assert told.fields == {"Config ID": ["c-9"], "Deleted": ["yes"]}


@pytest.mark.row("A2ACLI_PUSH_001")
async def test_configurations_are_listed_by_page(agent: ScriptedAgent, program: Program) -> None:
    agent.add("WORKING", "t-1")
    for _ in range(3):
        ran = await program.run(
            "task", "push-config", "create", "--task-id", "t-1", "--url", "https://caller.example/h"
        )
        assert ran.code == 0, ran.err
        assert ran.fields["Token"] == ["none"]
    first = await program.run("task", "push-config", "list", "t-1", "--page-size", "2")
    assert first.fields["Config ID"] == ["cfg-1", "cfg-2"]
    (token,) = first.fields["Next Page Token"]
    rest = await program.run(
        "task", "push-config", "list", "t-1", "--page-size", "2", "--page-token", token, "-o", "json", "--stream"
    )
    assert [config["id"] for config in rest.lines] == ["cfg-3"]


async def test_an_agent_that_does_not_push_is_not_asked_to(agent: ScriptedAgent, program: Program) -> None:
    agent.add("WORKING", "t-1")
    agent.push = False
    lines = (
        ("create", "t-1", "--url", "https://caller.example/hook"),
        ("get", "t-1", "c"),
        ("list", "t-1"),
        ("delete", "t-1", "c"),
        ("listen", "t-1"),
    )
    for ran in await asyncio.gather(*(program.run("task", "push-config", *line, "-o", "json") for line in lines)):
        assert ran.code == 1
        assert ran.error["code"] == "PushNotificationNotSupportedError"
        assert ran.error["a2aCode"] is None
        assert "card get" in ran.error["hint"]
    assert agent.calls() == []


@pytest.mark.parametrize(
    "line",
    [
        "create t-1",
        "create --url https://caller.example/hook",
        "create t-1 --url https://caller.example/hook --auth-credentials x",
        "create t-1 --url https://caller.example/hook --token a\x1fb",
        "get t-1",
        "delete t-1",
        "list",
        "list t-1 --page-size 0",
        "listen --bind 8080",
        "listen --bind 127.0.0.1:99999",
        "listen --bind 0.0.0.0:0",
        "listen --bind 192.0.2.1:0",
    ],
)
async def test_what_makes_no_sense_is_refused_without_a_request(
    agent: ScriptedAgent, program: Program, line: str
) -> None:
    ran = await program.run("task", "push-config", *line.split(" "), "-o", "json")
    assert (ran.code, ran.error["code"]) == (2, "A2ACLI_ERR_USAGE")
    assert "a\\u001fb" not in ran.out
    assert agent.calls() == []


@pytest.mark.row("A2ACLI_AUTH_004")
async def test_no_diagnostic_has_the_secrets_of_a_webhook_in_it(bound: ScriptedAgent, program: Program) -> None:
    bound.add("WORKING", "t-1")
    bound.configs["t-1"] = {
        "theirs": {"id": "theirs", "taskId": "t-1", "url": "https://b.example", "token": "not-ours"}
    }
    told = ("--debug", "--verbose")
    create = ("task", "push-config", "create", "t-1", "--url", "https://user:pw@caller.example/hook")
    given = ("--token", SECRETS[0], "--auth-scheme", "Basic", "--auth-credentials", f"me:{SECRETS[1]}")
    runs = await asyncio.gather(
        program.run(*create, *given, *told),
        program.run(*create[:3], "t-9", *create[4:], *given, *told),
        program.run("task", "push-config", "list", "t-1", *told),
    )
    assert [ran.code for ran in runs] == [0, 1, 0]
    for ran in runs:
        for secret in (*SECRETS, "not-ours"):
            assert secret not in ran.err
            assert secret not in ran.out
        assert "[redacted]" in ran.err


@pytest.mark.row("A2ACLI_PUSH_002")
async def test_what_is_pushed_of_a_task_is_shown_until_it_ends(bound: ScriptedAgent, program: Program) -> None:
    bound.add("WORKING", "t-1")
    async with program.started("task", "push-config", "listen", "t-1", "--debug") as running:
        said = await listening(running)
        (config,) = bound.configs["t-1"].values()
        url, token = config["url"], config["token"]
        assert url.startswith("http://127.0.0.1:")
        assert len(token) >= 43
        assert await post(url, chunk("hello"), token) == 200
        assert await post(url, chunk("forged"), "wrong") == 401
        assert await post(url, chunk("forged"), None) == 401
        assert await post(url, chunk("forged", "t-2"), token) == 403
        assert await post(url, b"{", token) == 400
        assert await announced(url, token, 17 << 20) == 413
        assert await post(url, pushed("COMPLETED"), token) == 200
        ran = await running.ended()
    assert ran.code == 0, ran.err
    assert ran.fields["Text"] == ["hello"]
    assert ran.fields["State"] == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_COMPLETED"]
    assert ran.fields["Task ID"][-1] == "t-1"
    assert "forged" not in ran.out + ran.err
    assert token not in said + ran.out + ran.err
    assert "[redacted]" in said
    assert bound.configs["t-1"] == {}
    (deleted,) = bound.calls("DeleteTaskPushNotificationConfig")
    assert deleted.params == {"taskId": "t-1", "id": config["id"]}


@pytest.mark.row("A2ACLI_PUSH_002")
async def test_in_json_every_event_is_a_line_when_it_comes(agent: ScriptedAgent, program: Program) -> None:
    agent.add("WORKING", "t-1")
    public = "https://caller.example/hook"
    async with program.started("task", "push-config", "listen", "t-1", "-o", "json", "--public-url", public) as running:
        assert await listening(running) == f"URL: {public}\n"
        assert json.loads(await running.line())["task"]["id"] == "t-1"
        assert [config["url"] for config in agent.configs["t-1"].values()] == [public]
        running.send(signal.SIGINT)
        ran = await running.ended()
    assert ran.code == 130
    assert agent.configs["t-1"] == {}, "what was made is taken back"


async def test_a_task_that_has_ended_is_not_waited_for(agent: ScriptedAgent, program: Program) -> None:
    agent.add("COMPLETED", "t-1")
    ran = await program.run("task", "push-config", "listen", "--task-id", "t-1")
    assert ran.code == 0
    assert ran.fields["State"][-1] == "TASK_STATE_COMPLETED"


async def _told(running: Running) -> dict[str, str]:
    return dict([(await running.line()).split(": ", 1) for _ in range(2)])


@pytest.mark.row("A2ACLI_PUSH_002")
async def test_without_a_task_whoever_knows_the_token_is_shown(agent: ScriptedAgent, program: Program) -> None:
    async with program.started("task", "push-config", "listen", "--bind", "localhost:0", "--timeout", "20s") as running:
        told = await _told(running)
        url, token = told["URL"], told["Token"]
        assert await post(url, pushed("WORKING", "t-7"), token) == 200
        assert await post(url, pushed("FAILED", "t-8"), "wrong") == 401
        assert await post(url, chunk("hi", "t-8"), token) == 200
        running.send(signal.SIGTERM)
        ran = await running.ended()
    assert ran.code == 143
    assert ran.fields["Task ID"] == ["t-7", "t-8"]
    assert ran.fields["State"] == ["TASK_STATE_WORKING"]
    assert agent.requests == []


async def test_without_a_task_it_listens_as_long_as_it_is_to(program: Program) -> None:
    ran = await program.run("task", "push-config", "listen", "--timeout", "300ms", "-o", "json")
    assert (ran.code, ran.error["code"]) == (5, "A2ACLI_ERR_TIMEOUT")
    said: Any = dict(line.split(": ", 1) for line in ran.err.splitlines()[:2])
    assert set(said) == {"URL", "Token"}
