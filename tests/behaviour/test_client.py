"""What binds the client, seen by an agent that keeps every request."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dragoman import Message, Part, TaskFailed, connect
from dragoman.client import CardCache, NoUsableInterface
from dragoman.errors import PushNotificationNotSupportedError, UnsupportedOperationError
from dragoman.types import Role
from dragoman.types.requests import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    SubscribeToTaskRequest,
)
from tests.behaviour.manifest import requirement
from tests.behaviour.scripted import TASK, Scripted, Seen, scripted

WORKING: dict[str, Any] = {**TASK, "status": {"state": "TASK_STATE_WORKING", "timestamp": "2026-01-02T03:04:05.000Z"}}


@pytest.fixture
async def agent(binding: str) -> AsyncIterator[Scripted]:
    async with scripted(binding) as served:
        yield served


async def all_operations(agent: Scripted) -> None:
    """Every operation that the script can answer, once."""
    agent.answers["SubscribeToTask"] = [{"task": TASK}]
    agent.answers["GetExtendedAgentCard"] = agent.card()
    agent.changes["capabilities"] = {"streaming": True, "extendedAgentCard": True}
    async with connect(agent.url) as client:
        await client.ask("hello")
        await client.start("hello")
        await client.get_task(GetTaskRequest(id="t-1"))
        await client.list_tasks(ListTasksRequest(context_id="c 1/ü", page_size=3))
        await client.cancel_task(CancelTaskRequest(id="t-1"))
        assert [event async for event in client.subscribe_to_task(SubscribeToTaskRequest(id="t-1"))]
        await client.get_extended_agent_card()


@requirement("R-3.6-01", "R-3.6.1-01", "R-14.2.1-01", "R-9.2-01", "R-9.2-02", "R-11.2-01", "R-11.2-02", "R-A.2-01")
async def test_every_request_states_the_version(agent: Scripted) -> None:
    await all_operations(agent)
    assert len(agent.seen) == 7
    assert {seen.headers["a2a-version"] for seen in agent.seen} == {"1.0"}
    assert all("x-a2a-extensions" not in seen.headers for seen in agent.seen)
    assert not any(b'"kind"' in seen.body for seen in agent.seen)


@requirement("R-5.3-01", "R-9.1-01", "R-11.1-01", "R-11.5-01", "R-11.5-02", "R-11.5-03", "R-11.5-04", "R-5.5-01")
async def test_requests_have_the_form_of_their_binding(agent: Scripted) -> None:
    await all_operations(agent)
    listed = agent.asked("ListTasks")[0]
    assert listed.params["contextId"] == "c 1/ü"
    assert int(listed.params["pageSize"]) == 3
    for seen in agent.seen:
        if agent.binding == "JSONRPC":
            assert (seen.method, seen.path) == ("POST", "/rpc")
            assert set(json.loads(seen.body)) >= {"jsonrpc", "id", "method"}
        if seen.method in {"GET", "DELETE"}:
            assert seen.body == b""
            assert "content-type" not in seen.headers
            assert re.fullmatch(r"[A-Za-z0-9_.~%=&/:?-]*", seen.query)
        else:
            assert seen.headers["content-type"].split(";")[0] in {"application/json", "application/a2a+json"}
            assert not re.search(rb'"[a-z]+_[a-z_]+":', seen.body)


@requirement("R-9.2-03", "R-11.2-03")
async def test_extensions_share_one_header(agent: Scripted) -> None:
    async with connect(agent.url, extensions=["https://a.example/1", "https://b.example/2"]) as client:
        await client.ask("hi")
    named = agent.seen[0].headers["a2a-extensions"]
    assert [uri.strip() for uri in named.split(",")] == ["https://a.example/1", "https://b.example/2"]


@requirement("R-3.4.1-06", "R-3.4.2-03")
async def test_a_first_message_names_neither_context_nor_task(agent: Scripted) -> None:
    async with connect(agent.url) as client:
        await client.ask("hi")
    sent = agent.seen[0].params["message"]
    assert "contextId" not in sent
    assert "taskId" not in sent
    assert sent["role"] == "ROLE_USER"
    assert sent["messageId"]


@requirement("R-3.4.1-07", "R-3.4.2-03")
async def test_a_follow_up_gives_back_the_ids_as_they_came(agent: Scripted) -> None:
    agent.answers["SendMessage"] = {"task": {**TASK, "status": {"state": "TASK_STATE_INPUT_REQUIRED"}}}
    async with connect(agent.url) as client:
        task = await client.start("hi")
        assert not isinstance(task, Message)
        await task.reply("more")
    sent = agent.seen[-1].params["message"]
    assert (sent["taskId"], sent["contextId"]) == ("t-1", "c 1/ü")


@requirement("R-3.4.3-03")
async def test_a_message_may_refer_to_other_tasks(agent: Scripted) -> None:
    async with connect(agent.url) as client:
        await client.ask("hi", reference_task_ids=["t-7", "t-8"])
    assert agent.seen[0].params["message"]["referenceTaskIds"] == ["t-7", "t-8"]


def _tenant_of(seen: Seen) -> Any:
    return seen.params.get("tenant")


@requirement("R-4.4-04", "R-T-01")
async def test_the_tenant_of_the_interface_is_in_every_request(agent: Scripted) -> None:
    agent.changes["supportedInterfaces"] = [agent.interface(agent.binding, tenant="acme")]
    await all_operations(agent)
    assert {_tenant_of(seen) for seen in agent.seen} == {"acme"}


@requirement("R-8.3.2-04", "R-T-01")
async def test_no_tenant_is_sent_where_the_interface_has_none(agent: Scripted) -> None:
    await all_operations(agent)
    assert not any("tenant" in seen.params for seen in agent.seen)


@requirement("R-4.4-01", "R-8.3.2-01", "R-8.3.2-03")
async def test_the_first_interface_that_can_be_spoken_is_used(agent: Scripted) -> None:
    odd = {"url": f"{agent.url}/odd", "protocolBinding": "https://bindings.example/odd", "protocolVersion": "1.0"}
    agent.changes["supportedInterfaces"] = [odd, *agent.interfaces]
    async with connect(agent.url) as client:
        await client.ask("hi")
    assert agent.seen[0].path.startswith("/rpc" if agent.binding == "JSONRPC" else "/rest/")


@requirement("R-3.6.3-01")
async def test_an_interface_is_chosen_by_its_version(agent: Scripted) -> None:
    later = agent.interface(agent.binding, protocolVersion="9.0", url=f"{agent.url}/nowhere")
    agent.changes["supportedInterfaces"] = [later, agent.interface(agent.binding, protocolVersion="1.0.3")]
    async with connect(agent.url, versions=["1.0"]) as client:
        assert await client.ask("hi") == "done"
    agent.changes["supportedInterfaces"] = [later]
    async with connect(agent.url) as client:
        with pytest.raises(NoUsableInterface, match=re.escape("9.0")):
            await client.ask("hi")


@requirement("R-5.2-02")
async def test_the_next_interface_is_tried_when_one_cannot_be_reached(agent: Scripted, unused_tcp_port: int) -> None:
    down = agent.interface(agent.binding, url=f"http://127.0.0.1:{unused_tcp_port}")
    agent.changes["supportedInterfaces"] = [down, *agent.interfaces]
    async with connect(agent.url) as client:
        assert await client.ask("hi") == "done"


@requirement("R-3.3.4-07")
async def test_what_the_card_does_not_offer_is_not_asked_for(agent: Scripted) -> None:
    agent.changes["capabilities"] = {}
    async with connect(agent.url) as client:
        with pytest.raises(UnsupportedOperationError):
            async for _ in client.subscribe_to_task(SubscribeToTaskRequest(id="t-1")):
                pass
        with pytest.raises(UnsupportedOperationError):
            await client.get_extended_agent_card()
        with pytest.raises(PushNotificationNotSupportedError):
            await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id="t-1"))
        assert agent.seen == []
        assert await client.ask("hi") == "done"
    assert [seen.operation for seen in agent.seen] == ["SendMessage"]


@requirement("R-3.2.2-06")
async def test_a_webhook_that_goes_with_a_message_names_no_task(agent: Scripted) -> None:
    agent.changes["capabilities"] = {"pushNotifications": True}
    async with connect(agent.url) as client:
        await client.start("hi", webhook=client.receiver("https://hook.example/here"))
    config = agent.seen[0].params["configuration"]["taskPushNotificationConfig"]
    assert config["url"] == "https://hook.example/here"
    assert config.get("taskId", "") == ""


@requirement("R-3.1.11-02", "R-13.3-07")
async def test_the_extended_card_takes_the_place_of_the_public_one(agent: Scripted) -> None:
    agent.changes["capabilities"] = {"extendedAgentCard": True}
    agent.answers["GetExtendedAgentCard"] = {**agent.card(), "name": "Extended"}
    async with connect(agent.url) as client:
        assert (await client.card()).name == "Scripted"
        await client.get_extended_agent_card()
        assert (await client.card()).name == "Extended"


@requirement("R-8.6-01", "R-8.6.2-01", "R-8.6.2-02")
async def test_a_card_is_asked_for_again_only_when_it_is_old_and_then_with_a_condition(agent: Scripted) -> None:
    now = 0.0
    cache = CardCache(clock=lambda: now)
    async with connect(agent.url, cards=cache) as client:
        await client.card()
        await client.card()
        assert len(agent.cards) == 1
        now = 61.0
        assert (await client.card()).name == "Scripted"
        assert len(agent.cards) == 2
        assert agent.cards[1].headers["if-none-match"] == '"one"'
        await client.card()
        assert len(agent.cards) == 2


@requirement("R-3.7-04")
async def test_no_history_is_needed(agent: Scripted) -> None:
    async with connect(agent.url) as client:
        task = await client.start("hi")
        assert not isinstance(task, Message)
        assert (await task.result()).text == "done"
        assert task.task.history == ()


@requirement("R-7.6.2-02")
async def test_a_task_that_waits_for_an_authorization_can_be_watched_on(agent: Scripted) -> None:
    waiting = {**WORKING, "status": {"state": "TASK_STATE_AUTH_REQUIRED"}}
    agent.answers["SendMessage"] = {"task": waiting}
    update = {"taskId": "t-1", "contextId": "c 1/ü", "status": TASK["status"]}
    agent.answers["SubscribeToTask"] = [{"task": waiting}, {"statusUpdate": update}]
    async with connect(agent.url) as client:
        task = await client.start("hi")
        assert not isinstance(task, Message)
        events = [event async for event in task.events()]
    assert len(events) == 2
    assert task.state.terminal


@requirement("R-11.7-01")
async def test_a_closing_snapshot_of_the_task_is_taken(agent: Scripted) -> None:
    agent.answers["SendStreamingMessage"] = [{"task": WORKING}, {"task": TASK}]
    async with connect(agent.url) as client:
        assert await client.ask("hi") == "done"


@requirement("R-4.1-01", "R-5.6.1-01", "R-5.6.1-03", "R-5.7-04")
async def test_answers_are_read_with_timestamps_of_any_precision_and_members_unheard_of(agent: Scripted) -> None:
    for stamp, micros in (("05Z", 0), ("05.6Z", 600_000), ("05.678901234Z", 678_901), ("05.678+00:00", 678_000)):
        status = {"state": "TASK_STATE_COMPLETED", "timestamp": f"2026-01-02T03:04:{stamp}", "new": 1}
        agent.answers["GetTask"] = {**TASK, "status": status, "more": [{}]}
        async with connect(agent.url) as client:
            task = await client.get_task(GetTaskRequest(id="t-1"))
        assert task.status.timestamp is not None
        assert abs(task.status.timestamp.microsecond - micros) < 1000


async def test_a_failed_task_is_an_exception_that_carries_it(agent: Scripted) -> None:
    failed = {**TASK, "status": {"state": "TASK_STATE_FAILED"}}
    agent.answers["SendStreamingMessage"] = [{"task": failed}]
    async with connect(agent.url) as client:
        with pytest.raises(TaskFailed) as caught:
            await client.ask("hi")
    assert caught.value.task.id == "t-1"


@requirement("R-14.1-01")
async def test_text_arrives_letter_by_letter(agent: Scripted) -> None:
    text = 'ünï 日本 \u2028 \U0001f469 \\ " \r\n'
    async with connect(agent.url) as client:
        await client.ask(Message(message_id="m", role=Role.USER, parts=(Part(text=text),)))
    assert agent.seen[0].params["message"]["parts"] == [{"text": text}]
