"""What the servers of the official SDKs have posted, and how those of other languages are known to post."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.types.events import StreamEvent
from dragoman.types.push import AuthenticationInfo
from dragoman.types.task import Task, TaskState
from tests.unit.client.receiver.stage import Agent, post, status, task, virtual

GOLDENS = sorted((Path(__file__).parents[3] / "wire" / "goldens" / "push").glob("*.jsonl"))


def _recorded(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _task_of(body: dict[str, Any]) -> str:
    about = body if "kind" in body else next(iter(body.values()))
    return str(about["id"] if "id" in about and "status" in about else about["taskId"])


@pytest.mark.parametrize("path", GOLDENS, ids=lambda path: path.stem)
@virtual
async def test_what_an_official_server_has_posted_is_taken(path: Path) -> None:
    """They post a token, or credentials, or both; none names its deliveries."""
    told: list[StreamEvent] = []

    async def on_event(event: StreamEvent) -> None:
        told.append(event)

    agent = Agent()
    receiver = agent.receiver(on_event, authentication=AuthenticationInfo(scheme="Bearer", credentials="cred-1"))
    tokens: dict[str, str] = {}
    expected = 0
    for one in _recorded(path):
        task_id = _task_of(json.loads(one["body"]))
        if task_id not in tokens:
            tokens[task_id] = await agent.watched(receiver, task_id)
        headers = dict(one["headers"])
        if "x-a2a-notification-token" in headers:
            headers["x-a2a-notification-token"] = tokens[task_id]
        # Some were for a configuration without any secret, which ours never are.
        secret = {"x-a2a-notification-token", "authorization"} & set(headers)
        assert (await post(receiver, one["body"].encode(), headers)).status == (200 if secret else 401), one["during"]
        expected += bool(secret)
    assert len(told) == expected >= 3
    last = told[-1]
    assert not isinstance(last, Task) or last.state is TaskState.COMPLETED
    assert {task_id for task_id, _ in agent.deleted} == set(tokens), "every one of these tasks was completed"


@virtual
async def test_the_spelling_of_go_and_bare_events_of_0_3() -> None:
    told: list[StreamEvent] = []

    async def on_event(event: StreamEvent) -> None:
        told.append(event)

    agent = Agent()
    receiver = agent.receiver(on_event)
    token = await agent.watched(receiver)
    bare = {"kind": "status-update", "taskId": "t-1", "contextId": "c", "final": False, "status": {"state": "working"}}
    spelled = {"A2A-Notification-Token": token, "Content-Type": "application/json"}
    for body in (task(), status("WORKING"), bare):
        assert (await post(receiver, body, spelled)).status == 200
    assert [type(event).__name__ for event in told] == ["Task", "TaskStatusUpdateEvent", "TaskStatusUpdateEvent"]
