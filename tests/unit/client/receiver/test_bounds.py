"""What a receiver bears: how long, how slowly, how often and how many at once."""

import asyncio
import json
from collections.abc import MutableMapping
from typing import Any

from dragoman.client.receiver import ReceiverLimits
from dragoman.dialects.push import read_push
from dragoman.types.events import StreamEvent
from dragoman.types.task import Task
from tests.behaviour.manifest import requirement
from tests.unit.client.receiver.stage import Agent, artifact, headers_of, post, task, virtual


@virtual
async def test_a_body_is_bounded_whether_it_says_its_length_or_not() -> None:
    agent = Agent()
    receiver = agent.receiver(limits=ReceiverLimits(max_body=1000))
    token = await agent.watched(receiver)
    pieces = 0

    async def endless() -> MutableMapping[str, Any]:
        nonlocal pieces
        pieces += 1
        return {"type": "http.request", "body": b" " * 300, "more_body": True}

    assert (await post(receiver, b" " * 1001, headers_of(token))).status == 413
    assert (await post(receiver, b"", headers_of(token), receive=endless)).status == 413
    assert pieces == 4
    for stated in ("1001", "9" * 5000):
        reply = await post(receiver, b"", headers_of(token, content_length=stated), receive=endless)
        assert (reply.status, reply.headers["connection"]) == (413, "close")
    assert pieces == 4


@virtual
async def test_a_body_comes_in_time_or_not_at_all() -> None:
    agent = Agent()
    receiver = agent.receiver(limits=ReceiverLimits(body_timeout=30.0))
    token = await agent.watched(receiver)

    async def slow() -> MutableMapping[str, Any]:
        await asyncio.sleep(20)
        return {"type": "http.request", "body": b" ", "more_body": True}

    began = asyncio.get_running_loop().time()
    assert (await post(receiver, b"", headers_of(token), receive=slow)).status == 408
    assert asyncio.get_running_loop().time() - began == 30.0


@virtual
async def test_who_leaves_in_the_middle_is_not_answered() -> None:
    agent = Agent()
    receiver = agent.receiver()
    token = await agent.watched(receiver)

    async def gone() -> MutableMapping[str, Any]:
        return {"type": "http.disconnect"}

    assert (await post(receiver, b"", headers_of(token), receive=gone)).status == 0


@requirement("R-13.2-09")
@virtual
async def test_one_agent_that_posts_too_fast_is_told_when_to_come_again_and_others_are_not() -> None:
    agent = Agent()
    receiver = agent.receiver(limits=ReceiverLimits(rate=0.4, burst=3))
    fast, slow = await agent.watched(receiver, "t-1"), await agent.watched(receiver, "t-2")
    statuses = [(await post(receiver, task(), headers_of(fast))).status for _ in range(3)]
    assert statuses == [200] * 3
    refused = await post(receiver, task(), headers_of(fast))
    assert (refused.status, refused.headers["retry-after"]) == (429, "3")
    assert (await post(receiver, task(task_id="t-2"), headers_of(slow))).status == 200
    await asyncio.sleep(2.5)
    assert (await post(receiver, task(), headers_of(fast))).status == 200
    assert (await post(receiver, task(), headers_of(fast))).status == 429


@virtual
async def test_strangers_do_not_use_up_what_a_token_may_do() -> None:
    agent = Agent()
    receiver = agent.receiver(limits=ReceiverLimits(rate=0.001, burst=1))
    token = await agent.watched(receiver)
    for _ in range(5):
        assert (await post(receiver, task(), headers_of("wrong"))).status == 401
    assert (await post(receiver, task(), headers_of(token))).status == 200


@virtual
async def test_there_is_an_end_to_what_may_be_under_way() -> None:
    agent = Agent()
    go = asyncio.Event()

    async def on_event(event: StreamEvent) -> None:
        await go.wait()

    receiver = agent.receiver(on_event, limits=ReceiverLimits(in_flight=2))
    token = await agent.watched(receiver)
    waiting = [asyncio.ensure_future(post(receiver, artifact("x"), headers_of(token))) for _ in range(2)]
    await asyncio.sleep(1)
    refused = await post(receiver, artifact("x"), headers_of(token))
    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    go.set()
    assert [(await one).status for one in waiting] == [200, 200]


@virtual
async def test_what_nobody_has_read_of_tasks_that_have_ended_is_kept_of_the_last_ones_alone() -> None:
    agent = Agent()
    receiver = agent.receiver(limits=ReceiverLimits(unread_tasks=2))
    for number in range(4):
        name = f"t-{number}"
        token = await agent.watched(receiver, name)
        await post(receiver, task("WORKING", task_id=name), headers_of(token, 1, name))
        await post(receiver, task("COMPLETED", task_id=name), headers_of(token, 2, name))
        ended = read_push(json.dumps(task("COMPLETED", task_id=name)).encode(), "")
        assert isinstance(ended, Task)
        agent.tasks[name] = ended
    read = [[event async for event in receiver.events(f"t-{number}")] for number in range(4)]
    # The others are read as they are.
    assert [len(events) for events in read] == [1, 1, 2, 2]
    assert agent.looks == 2
