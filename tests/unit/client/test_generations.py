"""Agents of other generations: what their cards mean, what they are sent, and what of their answers is read."""

import importlib.util
import json
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman import AgentInterface, connect
from dragoman.client import NoUsableInterface
from dragoman.client.discovery import at_hand, secure
from dragoman.errors import TaskNotFoundError
from dragoman.types import GetTaskRequest, SubscribeToTaskRequest, TaskState
from tests.behaviour.manifest import requirement
from tests.unit.client.scripted import Answer, Script, events, plain, result
from tests.unit.client.test_discovery import card

OLD_TASK: dict[str, Any] = {
    "kind": "task",
    "id": "t-1",
    "contextId": "c-1",
    "status": {"state": "input-required", "message": {
        "kind": "message", "messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "which?"}]}},
    "artifacts": [{"artifactId": "a", "parts": [{"kind": "file", "file": {"bytes": "AAEC", "mimeType": "image/png"}}]}],
}  # fmt: skip
DRAFT_TASK: dict[str, Any] = {
    "id": "t-1",
    "contextId": "c-1",
    "status": {
        "state": "input-required",
        "message": {"messageId": "m", "role": "agent", "parts": [{"text": "which?"}]},
    },
    "artifacts": [
        {"artifactId": "a", "parts": [{"file": {"fileWithBytes": "AAEC", "mediaType": "image/png"}}]},
    ],
}


def publish(agent: Script, **members: Any) -> None:
    """The agent has this card, as it is."""
    agent.card = {"name": "Older", "capabilities": {"streaming": True}, **members}
    agent.answers["GET /.well-known/agent-card.json"] = [plain(json.dumps(agent.card).encode())]


def old_card(agent: Script, **members: Any) -> None:
    """The agent has a card of 0.3."""
    publish(agent, **{"url": f"{agent.url}/rpc", "protocolVersion": "0.3.0", **members})


@requirement("R-8.3.2-02")
async def test_an_agent_of_0_3_is_spoken_to_in_0_3(agent: Script) -> None:
    old_card(agent)
    agent.answers["tasks/get"] = [result(OLD_TASK)]
    async with connect(agent.url) as client:
        task = await client.get_task(GetTaskRequest(id="t-1"))
    assert (task.state, task.artifacts[0].parts[0].media_type) == (TaskState.INPUT_REQUIRED, "image/png")
    assert agent.seen[0].headers["a2a-version"] == "1.0", "the card is asked for in the newest version"
    assert agent.seen[1].headers["a2a-version"] == "0.3"


@requirement("R-3.6.3-01")
async def test_an_older_agent_is_not_spoken_to_where_1_0_is_demanded(agent: Script) -> None:
    old_card(agent)
    async with connect(agent.url, versions=["1.0"]) as client:
        with pytest.raises(NoUsableInterface, match=r"in version 1\.0; it offers: JSONRPC 0\.3"):
            await client.get_task(GetTaskRequest(id="t-1"))
    assert [seen.headers["a2a-version"] for seen in agent.seen] == ["1.0"]


async def test_a_newer_agent_is_not_spoken_to_where_0_3_is_demanded(agent: Script) -> None:
    async with connect(agent.url, versions=["0.3"]) as client:
        with pytest.raises(NoUsableInterface, match=r"in version 0\.3; it offers: JSONRPC 1\.0"):
            await client.get_task(GetTaskRequest(id="t-1"))
    assert [seen.headers["a2a-version"] for seen in agent.seen] == ["0.3"]


async def test_an_agent_of_the_draft_is_spoken_to_in_the_draft(agent: Script) -> None:
    interfaces = [{"url": f"{agent.url}/base", "protocolBinding": "HTTP+JSON"}]
    publish(agent, protocolVersion="1.0", supportedInterfaces=interfaces)
    agent.answers["GET /base/v1/tasks/t-1"] = [plain(json.dumps(DRAFT_TASK).encode())]
    problem = {"type": "https://a2a-protocol.org/errors/task-not-found", "title": "T", "status": 404, "detail": "gone"}
    agent.answers["GET /base/v1/tasks/t-2"] = [
        plain(json.dumps(problem).encode(), 404, content_type="application/problem+json")
    ]
    async with connect(agent.url) as client:
        task = await client.get_task(GetTaskRequest(id="t-1"))
        assert (task.state, task.artifacts[0].parts[0].media_type) == (TaskState.INPUT_REQUIRED, "image/png")
        with pytest.raises(TaskNotFoundError, match="gone"):
            await client.get_task(GetTaskRequest(id="t-2"))
    assert agent.seen[1].headers["a2a-version"] == "1.0"


@requirement("R-A.2-02")
@pytest.mark.parametrize("given", [OLD_TASK, DRAFT_TASK, {"task": OLD_TASK}, {"task": DRAFT_TASK}])
async def test_answers_in_an_older_spelling_are_read(agent: Script, given: dict[str, Any]) -> None:
    agent.answers["GetTask"] = [result(given)]
    async with connect(agent.url) as client:
        task = await client.get_task(GetTaskRequest(id="t-1"))
    assert task.state is TaskState.INPUT_REQUIRED
    assert task.status.message is not None
    assert task.status.message.text == "which?"
    (part,) = task.artifacts[0].parts
    assert (part.base64, part.media_type) == ("AAEC", "image/png")


def rest(value: dict[str, Any]) -> Answer:
    return events(value, enveloped=False)


async def test_an_agent_of_0_3_is_subscribed_to_with_get_and_if_refused_with_post_from_then_on(agent: Script) -> None:
    old_card(agent, url=f"{agent.url}/v", preferredTransport="HTTP+JSON")
    path = "/v/v1/tasks/t-1:subscribe"
    agent.answers[f"GET {path}"] = [plain(b"", 405)]
    done = {"id": "t-1", "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED"}}
    agent.answers[f"POST {path}"] = [rest({"task": done})]
    async with connect(agent.url) as client:
        for _ in range(2):
            assert [event async for event in client.subscribe_to_task(SubscribeToTaskRequest(id="t-1"))]
    assert agent.names() == [f"GET {path}", f"POST {path}", f"POST {path}"]
    assert agent.seen[-1].body == b"{}"
    assert agent.seen[-1].headers["content-type"] == "application/json"


# gRPC.


def interface(binding: str, url: str = "h:1") -> AgentInterface:
    return AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0")


def test_without_its_library_grpc_is_passed_over_while_there_is_another(monkeypatch: pytest.MonkeyPatch) -> None:
    both = (interface("GRPC"), interface("JSONRPC"))
    assert at_hand(both) == both
    monkeypatch.setattr(importlib.util, "find_spec", {"grpc": None}.get)
    assert at_hand(both) == [both[1]]
    assert at_hand(both, ("GRPC",)) == both
    assert at_hand(both[:1]) == both[:1], "where it is alone the failure says what to install"


@pytest.mark.parametrize(
    ("urls", "reference", "encrypted"),
    [
        (("https://h", "h:1"), "http://h", True),
        (("http://h", "h:1"), "https://h", False),
        (("h:1",), "http://h:1", False),
        (("h:1",), "https://h:1", True),
        (("h:1",), "127.0.0.1:1", False),
        (("h:1",), "agent.example", True),
        (("h:1",), "./card.json", True),
        (("h:1",), None, True),
        (("127.0.0.1:1",), None, False),
        (("localhost:1",), "./card.json", False),
    ],
)
def test_an_address_without_a_scheme_has_the_security_of_the_others(
    urls: tuple[str, ...], reference: str | None, encrypted: bool
) -> None:
    offered = replace(card(), supported_interfaces=tuple(interface("X", url) for url in urls))
    assert secure(offered, offered.supported_interfaces[-1], reference) is encrypted
