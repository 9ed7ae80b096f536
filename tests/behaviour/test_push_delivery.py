"""Push notifications from an agent to receivers on sockets."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, PushOptions
from dragoman.dialects.base import HttpRequest
from dragoman.push.options import Retry
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.agents import direct, echo, gated, obedient
from tests.behaviour.cells import FINAL_JSON, only
from tests.behaviour.manifest import requirement
from tests.behaviour.webhooks import Answer, Receiver, Told, receiving
from tests.behaviour.wire import Wire, message, wire_to

pytestmark = only(*FINAL_JSON)

WHOLE = ["task working", "hello", "completed"]
"""What an echo of `hello` says."""


@pytest.fixture
async def hooks() -> AsyncIterator[tuple[Receiver, Receiver]]:
    """Two receivers."""
    async with receiving() as one, receiving() as other:
        yield one, other


@pytest.fixture
async def hook(hooks: tuple[Receiver, Receiver]) -> Receiver:
    return hooks[0]


@pytest.fixture
async def opened() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as stack:
        yield stack


def pushing(*receivers: Receiver, **members: Any) -> PushOptions:
    """Fast, and allowed to call these receivers."""
    members = {"retry": Retry(first=0.01, most=0.02), **members}
    return PushOptions(allow=[receiver.origin for receiver in receivers], **members)


async def wired(stack: AsyncExitStack, agent: Agent) -> Wire:
    return await wire_to(await stack.enter_async_context(AsgiBridge(agent.asgi())), "JSONRPC")


def to(receiver: Receiver, **members: Any) -> dict[str, Any]:
    """The configuration of a message, with a webhook."""
    return {"taskPushNotificationConfig": {"url": receiver.url, **members}}


@requirement("R-4.3.3-08")
async def test_every_event_arrives_in_order(hook: Receiver, opened: AsyncExitStack) -> None:
    wire = await wired(opened, echo(push=pushing(hook)))
    task = await wire.send("hello", configuration=to(hook))
    assert await hook.count(3) == WHOLE
    created = hook.bodies[0]["task"]
    assert [message["parts"] for message in created["history"]] == [[{"text": "hello"}]]
    assert "artifacts" not in created
    assert [post.headers["webhook-id"].split(":")[:2] for post in hook.posts] == [
        [task["id"], "1"],
        [task["id"], "2"],
        [task["id"], "3"],
    ]


@requirement("R-4.3.3-06")
async def test_a_slow_receiver_holds_up_neither_the_task_nor_another_receiver(
    hooks: tuple[Receiver, Receiver], opened: AsyncExitStack
) -> None:
    slow, quick = hooks
    held = asyncio.Event()
    slow.say(200, hold=held)
    agent, gate = gated(push=pushing(slow, quick))
    wire = await wired(opened, agent)
    members = {"configuration": {"returnImmediately": True, **to(slow)}}
    task = await wire.send("one two", **members)
    config = await wire.call("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": quick.url})
    assert config["url"] == quick.url
    for _ in range(3):
        gate.release()
    await quick.until(lambda receiver: receiver.words[-1:] == ["completed"])
    assert (await wire.settled(task["id"]))["artifacts"][0]["parts"] == [{"text": "one two "}]
    assert slow.words == ["task working"]
    held.set()
    await slow.until(lambda receiver: receiver.words[-1:] == ["completed"])
    assert slow.words == ["task working", *quick.words]


async def test_what_fails_is_sent_again_with_its_identity_and_nothing_overtakes_it(
    hook: Receiver, opened: AsyncExitStack
) -> None:
    told = Told()
    hook.say(500)
    hook.say(429)
    hook.say(408)
    wire = await wired(opened, echo(push=pushing(hook, on_attempt=told)))
    await wire.send("hello", configuration=to(hook))
    assert await hook.count(6) == ["task working"] * 4 + WHOLE[1:]
    first = {post.headers["webhook-id"] for post in hook.posts[:4]}
    assert len(first) == 1
    assert {post.headers["idempotency-key"] for post in hook.posts[:4]} == first
    attempts = await told.count(6)
    assert [(attempt.outcome, attempt.status, attempt.attempts) for attempt in attempts] == [
        ("failed", 500, 1),
        ("failed", 429, 2),
        ("failed", 408, 3),
        ("delivered", 200, 4),
        ("delivered", 200, 1),
        ("delivered", 200, 1),
    ]
    assert {attempt.origin for attempt in attempts} == {hook.origin}


async def test_a_receiver_that_is_gone_gets_nothing_more(hook: Receiver, opened: AsyncExitStack) -> None:
    told = Told()
    hook.say(410)
    wire = await wired(opened, echo(push=pushing(hook, on_attempt=told)))
    await wire.send("hello", configuration=to(hook))
    assert [(attempt.outcome, attempt.status) for attempt in await told.count(1)] == [("dead", 410)]
    await wire.send("hello", configuration=to(hook))
    # The second task's notifications come through, and nothing of the first beside them.
    assert await hook.count(4) == ["task working", *WHOLE]


async def test_the_owner_sees_how_deliveries_stand_and_takes_up_again_what_was_given_up(
    hook: Receiver, opened: AsyncExitStack
) -> None:
    told = Told()
    hook.say(410)
    agent = echo(push=pushing(hook, on_attempt=told))
    wire = await wired(opened, agent)
    task = await wire.send("hello", configuration=to(hook))
    await told.count(1)
    (pusher,) = agent.pushers
    assert pusher.state.waiting == 0
    assert await pusher.retry(task["id"]) == 1
    # It gets the task as it is, and no backlog.
    assert await hook.count(2) == ["task working", "task completed"]


async def test_what_is_refused_for_good_is_left_out_and_the_rest_arrives(
    hook: Receiver, opened: AsyncExitStack
) -> None:
    told = Told()
    hook.say(200)
    hook.say(404)
    wire = await wired(opened, echo(push=pushing(hook, on_attempt=told)))
    await wire.send("hello", configuration=to(hook))
    assert await hook.count(3) == WHOLE
    attempts = await told.count(3)
    assert [attempt.outcome for attempt in attempts] == ["delivered", "refused", "delivered"]
    assert attempts[1].trouble == "HTTP 404"


async def test_a_redirect_is_not_followed(hooks: tuple[Receiver, Receiver], opened: AsyncExitStack) -> None:
    hook, elsewhere = hooks
    for status in (301, 302, 307):
        hook.say(status, ("location", elsewhere.url))
    wire = await wired(opened, echo(push=pushing(hook, elsewhere)))
    await wire.send("hello", configuration=to(hook))
    assert await hook.count(6) == ["task working"] * 3 + WHOLE
    assert elsewhere.posts == []


async def test_a_receiver_may_say_how_long_to_wait(hook: Receiver, opened: AsyncExitStack) -> None:
    hook.say(503, ("retry-after", "1"))
    wire = await wired(opened, echo(push=pushing(hook, retry=Retry(first=0.01, most=0.3))))
    await wire.send("hello", configuration=to(hook))
    await hook.count(2)
    # As long as it says, but not longer than the longest wait.
    assert 0.29 < hook.posts[1].at - hook.posts[0].at < 0.9


@requirement("R-4.3.3-07", "R-13.2-02")
async def test_a_receiver_that_does_not_answer_is_not_waited_for(hook: Receiver, opened: AsyncExitStack) -> None:
    told = Told()
    hook.say(200, hold=asyncio.Event())
    wire = await wired(opened, echo(push=pushing(hook, timeout=0.1, on_attempt=told)))
    await wire.send("hello", configuration=to(hook))
    assert await hook.count(4) == ["task working", *WHOLE]
    first, *_ = await told.count(1)
    assert (first.outcome, first.status) == ("failed", None)


async def test_deliveries_go_on_after_a_restart_where_they_were(
    hook: Receiver, opened: AsyncExitStack, tmp_path: Path
) -> None:
    file = f"sqlite:///{tmp_path / 'tasks.db'}"
    held = asyncio.Event()
    hook.say(200)
    hook.say(200, hold=held)
    options = pushing(hook)
    async with AsgiBridge(echo(store=file, push=options, drain_grace=0.05).asgi()) as bridge:
        wire = await wire_to(bridge, "JSONRPC")
        await wire.send("hello", configuration=to(hook))
        await hook.count(2)
    await wired(opened, echo(store=file, push=options))
    # What was on its way when the server stopped comes again; nothing else does, and nothing is missing.
    assert await hook.count(4) == ["task working", "hello", "hello", "completed"]
    held.set()


async def test_nothing_comes_after_a_delete(hook: Receiver, opened: AsyncExitStack) -> None:
    agent, gate = gated(push=pushing(hook))
    wire = await wired(opened, agent)
    task = await wire.send("one two", configuration={"returnImmediately": True, **to(hook, id="h")})
    await hook.count(1)
    held = asyncio.Event()
    hook.say(200, hold=held)
    gate.release()
    await hook.count(2)
    await wire.call("DeleteTaskPushNotificationConfig", {"taskId": task["id"], "id": "h"})
    held.set()
    gate.release()
    gate.release()
    await wire.settled(task["id"])
    await wire.send("last", configuration={"returnImmediately": True, **to(hook)})
    gate.release()
    gate.release()
    await hook.until(lambda receiver: receiver.words[-1:] == ["completed"])
    assert hook.words == ["task working", "one ", "task working", "last ", "completed"]


async def test_a_dropped_task_takes_its_webhooks_with_it(hook: Receiver, opened: AsyncExitStack) -> None:
    hook.always = Answer(503)
    agent = echo(push=pushing(hook))
    wire = await wired(opened, agent)
    task = await wire.send("hello", configuration=to(hook))
    await hook.count(2)
    assert await agent.delete(task["id"]) == 1
    seen = len(hook.posts)
    hook.always = Answer()
    await wire.send("again", configuration=to(hook))
    await hook.until(lambda receiver: receiver.words[-1:] == ["completed"])
    assert hook.words[seen:] == ["task working", "again", "completed"]


async def test_a_parked_task_is_told_of_at_once_when_it_goes_on(hook: Receiver, opened: AsyncExitStack) -> None:
    wire = await wired(opened, obedient(push=pushing(hook)))
    task = await wire.send("ask", configuration=to(hook))
    assert await hook.count(2) == ["task working", "input_required"]
    await wire.send(message("red", taskId=task["id"]))
    assert (await hook.count(5))[2:] == ["working", "got red", "completed"]


async def test_a_direct_answer_is_delivered_once(hook: Receiver, opened: AsyncExitStack) -> None:
    wire = await wired(opened, direct(push=pushing(hook)))
    hook.say(500)
    answer = await wire.call("SendMessage", {"message": message("hi"), "configuration": to(hook)})
    assert await hook.count(2) == ["you said hi"] * 2
    assert hook.bodies[0] == answer
    assert {post.headers["webhook-id"].rpartition(":")[0] for post in hook.posts} == {"from-the-agent:0"}


async def test_only_chosen_events_are_delivered(hook: Receiver, opened: AsyncExitStack) -> None:
    wire = await wired(opened, echo(push=pushing(hook, events=("status",))))
    await wire.send("hello", configuration=to(hook))
    await wire.send("again", configuration=to(hook))
    assert await hook.count(2) == ["completed", "completed"]


async def test_before_1_0_the_task_as_it_is_is_posted_bare(hook: Receiver, opened: AsyncExitStack) -> None:
    wire = await wired(opened, echo(push=pushing(hook)))
    sent = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hello"}]}
    params = {"message": sent, "configuration": {"pushNotificationConfig": {"url": hook.url, "token": "secret"}}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": params}
    reply = await wire.bridge.send(
        HttpRequest("POST", wire.path, headers={"content-type": "application/json"}, body=json.dumps(body).encode())
    )
    assert reply.status == 200
    await hook.until(lambda receiver: receiver.words[-1:] == ["task completed"])
    last = hook.posts[-1]
    assert last.headers["content-type"] == "application/json"
    assert last.headers["x-a2a-notification-token"] == "secret"
    assert last.body["artifacts"][0]["parts"] == [{"kind": "text", "text": "hello"}]
