"""SubscribeToTask: several readers of one task."""

import asyncio
from typing import Any

import msgspec
import pytest

from tests.behaviour.agents import chatty, echo, gated, obedient
from tests.behaviour.cells import CELLS, SUBSCRIPTIONS_ARE_TURNS, only, without
from tests.behaviour.manifest import requirement
from tests.behaviour.test_streams import states_in, text_in
from tests.behaviour.wire import Serve, message, refused, wire_to


@requirement("R-3.1.6-01", "R-3.1.6-02")
async def test_a_subscription_begins_with_the_task_as_it_stands_and_ends_with_it(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store)
    wire = await serve(agent)
    async with wire.send_stream("one two") as stream:
        task_id = (await anext(stream)).payload["task"]["id"]
        gate.release()
        seen: list[dict[str, Any]] = []
        while not text_in(seen):
            seen.append((await anext(stream)).payload)
        async with wire.subscribe(task_id) as later:
            first = (await anext(later)).payload["task"]
            assert first["artifacts"][0]["parts"] == [{"text": "one "}]
            assert first["status"]["state"] == "TASK_STATE_WORKING"
            gate.release()
            gate.release()
            rest = await later.payloads()
    assert text_in(rest) == "two "
    assert states_in(rest) == ["TASK_STATE_COMPLETED"]


@requirement("R-3.1.6-03")
@without(SUBSCRIPTIONS_ARE_TURNS)
async def test_there_is_nothing_to_subscribe_to_on_a_finished_task(serve: Serve) -> None:
    wire = await serve(echo())
    task = await wire.send()
    with refused("UNSUPPORTED_OPERATION"):
        async with wire.subscribe(task["id"]):
            pass


@requirement("R-3.1.6-03")
async def test_there_is_nothing_to_subscribe_to_on_an_unknown_task(serve: Serve) -> None:
    wire = await serve(echo())
    with refused("TASK_NOT_FOUND"):
        async with wire.subscribe("unknown"):
            pass


@requirement("R-3.5.2-02", "R-3.5.2-03", "R-3.5.2-04", "R-11.7-01")
async def test_every_reader_sees_the_same_events_in_the_same_order(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store)
    wire = await serve(agent)
    # Whatever the cell, one of the readers listens in another: the next one round.
    other = await wire_to(wire.bridge, CELLS[(CELLS.index(wire.cell) + 1) % len(CELLS)])
    words = " ".join(str(number) for number in range(50))
    async with wire.send_stream(words) as sent:
        task_id = (await anext(sent)).payload["task"]["id"]
        async with wire.subscribe(task_id) as second, other.subscribe(task_id) as third:
            for stream in (second, third):
                await anext(stream)
            reading = [asyncio.create_task(stream.payloads()) for stream in (sent, second, third)]
            for _ in range(51):
                gate.release()
            logs = await asyncio.gather(*reading)
    # Who comes later has the beginning in the task itself.
    shortest = min(len(log) for log in logs)
    assert logs[0][-shortest:] == logs[1][-shortest:] == logs[2][-shortest:]
    assert text_in(logs[1]) == words + " "
    assert states_in(logs[2])[-1] == "TASK_STATE_COMPLETED"


@requirement("R-3.5.2-05")
async def test_closing_one_stream_does_not_touch_the_others(serve: Serve) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    async with wire.send_stream("one two") as stays:
        task_id = (await anext(stays)).payload["task"]["id"]
        async with wire.subscribe(task_id) as leaves:
            await anext(leaves)
        for _ in range(3):
            gate.release()
        payloads = await stays.payloads()
    assert text_in(payloads) == "one two "
    assert states_in(payloads)[-1] == "TASK_STATE_COMPLETED"


async def test_a_reader_who_does_not_read_slows_nobody_and_misses_nothing(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store)
    wire = await serve(agent)
    words = " ".join(str(number) for number in range(600))
    task = await wire.send(words, configuration={"returnImmediately": True})
    async with wire.subscribe(task["id"]) as slow:
        await anext(slow)
        async with wire.subscribe(task["id"]) as quick:
            for _ in range(601):
                gate.release()
            await quick.until("TASK_STATE_COMPLETED")
        assert text_in(await slow.payloads()) == words + " "


@requirement("R-3.1.6-01")
@without(SUBSCRIPTIONS_ARE_TURNS)
async def test_a_subscription_outlives_a_question(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store))
    task = await wire.send("ask")
    async with wire.subscribe(task["id"]) as stream:
        assert (await anext(stream)).payload["task"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        await wire.send(message("red", taskId=task["id"]))
        payloads = await stream.payloads()
    assert text_in(payloads) == "got red"
    assert states_in(payloads)[-1] == "TASK_STATE_COMPLETED"


@only(*[cell for cell in CELLS if cell.binding == "HTTP+JSON"])
@pytest.mark.parametrize(("verb", "body"), [("GET", b""), ("POST", b""), ("POST", b"{}"), ("POST", b"null")])
async def test_subscribing_over_http_works_with_get_and_post(serve: Serve, verb: str, body: bytes) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    task = await wire.send("one", configuration={"returnImmediately": True})
    request = msgspec.structs.replace(wire.request("SubscribeToTask", {"id": task["id"]}), method=verb, body=body)
    async with wire.bridge.open(request) as reply:
        assert reply.headers["content-type"].split(";")[0] == "text/event-stream"
        gate.release()
        gate.release()
        seen = b"".join([chunk async for chunk in reply.body()])
    assert b"completed" in seen.lower()


async def test_a_late_reader_of_a_long_stream_gets_all_of_it(serve: Serve) -> None:
    wire = await serve(chatty(300))
    async with wire.send_stream() as stream:
        task_id = (await anext(stream)).payload["task"]["id"]
        rest = await stream.payloads()
    expected = "".join(f"{number} " for number in range(300))
    assert text_in(rest) == expected
    assert (await wire.get(task_id))["artifacts"][0]["parts"] == [{"text": expected}]
