"""The client warns, once, of an agent that answers in older shapes."""

import asyncio
import json
from typing import Any

import pytest

from dragoman import connect
from dragoman.types import GetTaskRequest
from tests.behaviour.manifest import requirement
from tests.unit.client.scripted import Script, events, result
from tests.unit.client.test_generations import DRAFT_TASK, OLD_TASK, old_card, publish

NEW_TASK = {
    "id": "t-1",
    "contextId": "c-1",
    "status": {
        "state": "TASK_STATE_INPUT_REQUIRED",
        "message": {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "which?"}]},
    },
    "artifacts": [{"artifactId": "a", "parts": [{"data": {"kind": "file", "state": "completed"}}]}],
}
FILE = {"file": {"fileWithBytes": "AAEC", "mediaType": "image/png"}}
SHAPED = {**NEW_TASK, "artifacts": [{"artifactId": "a", "parts": [FILE]}]}
SPELLED = {**NEW_TASK, "status": {"state": "completed"}}
SNAKE = {"id": "t-1", "context_id": "c-1", "status": {"state": "TASK_STATE_COMPLETED"}}
NUMBERED = {"id": "t-1", "contextId": "c-1", "status": {"state": 3}}


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "dragoman.client"]


@requirement("R-A.2-03")
@pytest.mark.parametrize("given", [OLD_TASK, DRAFT_TASK, {"task": OLD_TASK}, SPELLED, SHAPED])
async def test_a_warning_is_logged_once_for_an_agent(
    agent: Script, caplog: pytest.LogCaptureFixture, given: dict[str, Any]
) -> None:
    agent.answers["GetTask"] = [result(given)]
    async with connect(agent.url) as client:
        await client.get_task(GetTaskRequest(id="t-1"))
        await asyncio.gather(*(client.get_task(GetTaskRequest(id="t-1")) for _ in range(3)))
    (said,) = warnings(caplog)
    assert said == (
        f"the agent at {agent.url}/rpc answers in 1.0 with objects in older shapes; "
        "they are read as what they mean in 1.0"
    )


@requirement("R-A.2-03")
async def test_events_are_looked_at_as_well(agent: Script, caplog: pytest.LogCaptureFixture) -> None:
    done = {"kind": "status-update", "taskId": "t-1", "contextId": "c-1", "final": True}
    begun: dict[str, Any] = {**OLD_TASK, "status": {"state": "working"}, "artifacts": []}
    agent.answers["SendStreamingMessage"] = [events(begun, {**done, "status": {"state": "completed"}})]
    async with connect(agent.url) as client:
        assert await client.ask("hi") == ""
    assert len(warnings(caplog)) == 1


@pytest.mark.parametrize("given", [NEW_TASK, SNAKE, NUMBERED])
async def test_what_json_of_1_0_may_be_is_no_older_shape(
    agent: Script, caplog: pytest.LogCaptureFixture, given: dict[str, Any]
) -> None:
    agent.answers["GetTask"] = [result(given)]
    async with connect(agent.url) as client:
        await client.get_task(GetTaskRequest(id="t-1"))
    assert warnings(caplog) == []


async def test_an_agent_that_is_spoken_to_in_0_3_may_answer_in_0_3(
    agent: Script, caplog: pytest.LogCaptureFixture
) -> None:
    old_card(agent)
    agent.answers["tasks/get"] = [result(OLD_TASK)]
    async with connect(agent.url) as client:
        await client.get_task(GetTaskRequest(id="t-1"))
    assert warnings(caplog) == []


@requirement("R-A.2-03")
async def test_an_agent_of_the_draft_is_warned_of(agent: Script, caplog: pytest.LogCaptureFixture) -> None:
    interfaces = [{"url": f"{agent.url}/rpc", "protocolBinding": "JSONRPC"}]
    publish(agent, protocolVersion="1.0", supportedInterfaces=interfaces)
    agent.answers["tasks/get"] = agent.answers["GetTask"] = [result(DRAFT_TASK)]
    async with connect(agent.url) as client:
        for _ in range(2):
            await client.get_task(GetTaskRequest(id="t-1"))
    (said,) = warnings(caplog)
    assert "speaks the draft of 1.0" in said


async def test_no_content_is_logged(agent: Script, caplog: pytest.LogCaptureFixture) -> None:
    agent.answers["GetTask"] = [result(OLD_TASK)]
    async with connect(agent.url) as client:
        await client.get_task(GetTaskRequest(id="t-1"))
    assert "which" not in json.dumps(warnings(caplog))
