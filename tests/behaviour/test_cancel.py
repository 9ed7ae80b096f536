"""CancelTask."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from dragoman import Agent, TaskContext
from tests.behaviour.agents import echo, gated, obedient
from tests.behaviour.cells import CELLS, only
from tests.behaviour.manifest import requirement
from tests.behaviour.test_streams import states_in
from tests.behaviour.wire import Fault, Serve, message, refused


@requirement("R-3.1.5-01")
async def test_a_working_task_is_canceled_and_its_agent_stopped(serve: Serve, store: str) -> None:
    stopped, begun = asyncio.Event(), asyncio.Event()
    agent = Agent("Endless", "Never ends by itself.", store=store)

    @agent.skill(tags=["demo"])
    async def endless(task: TaskContext) -> AsyncIterator[str]:
        yield "beginning"
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    wire = await serve(agent)
    task = await wire.send(configuration={"returnImmediately": True})
    await begun.wait()
    async with wire.subscribe(task["id"]) as stream:
        await anext(stream)
        canceled = await wire.call("CancelTask", {"id": task["id"]})
        rest = await stream.payloads()
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert canceled["id"] == task["id"]
    assert states_in(rest)[-1] == "TASK_STATE_CANCELED"
    await stopped.wait()
    assert (await wire.get(task["id"]))["status"]["state"] == "TASK_STATE_CANCELED"


@requirement("R-3.1.5-01")
async def test_a_task_that_has_ended_cannot_be_canceled(serve: Serve) -> None:
    wire = await serve(obedient())
    for word in ("done", "fail", "reject"):
        task = await wire.send(word)
        with refused("TASK_NOT_CANCELABLE"):
            await wire.call("CancelTask", {"id": task["id"]})
        assert await wire.get(task["id"]) == task


@requirement("R-3.3.1-01")
async def test_canceling_again_gives_the_canceled_task_again(serve: Serve) -> None:
    wire = await serve(obedient())
    task = await wire.send("ask")
    canceled = await wire.call("CancelTask", {"id": task["id"]})
    assert await wire.call("CancelTask", {"id": task["id"]}) == canceled


@requirement("R-3.1.5-01")
async def test_an_unknown_task_cannot_be_canceled(serve: Serve) -> None:
    wire = await serve(echo())
    with refused("TASK_NOT_FOUND"):
        await wire.call("CancelTask", {"id": "unknown"})


async def test_a_task_that_waits_for_its_caller_can_be_canceled(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store))
    for word in ("ask", "auth"):
        task = await wire.send(word)
        canceled = await wire.call("CancelTask", {"id": task["id"], "metadata": {"why": "enough"}})
        assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
        with refused("UNSUPPORTED_OPERATION"):
            await wire.send(message("red", taskId=task["id"]))


async def test_a_blocking_send_ends_when_its_task_is_canceled(serve: Serve) -> None:
    agent, _ = gated()
    wire = await serve(agent)
    sending = asyncio.create_task(wire.send("one"))
    tasks: list[dict[str, Any]] = []
    while not tasks:
        tasks = await wire.stored()
    await wire.call("CancelTask", {"id": tasks[0]["id"]})
    assert (await sending)["status"]["state"] == "TASK_STATE_CANCELED"


async def test_canceling_against_the_end_gives_one_end(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store)
    wire = await serve(agent)
    for _ in range(10):
        task = await wire.send("one", configuration={"returnImmediately": True})
        gate.release()
        gate.release()
        results: tuple[Any, Any] = await asyncio.gather(
            wire.call("CancelTask", {"id": task["id"]}),
            wire.call("CancelTask", {"id": task["id"]}),
            return_exceptions=True,
        )
        state = (await wire.get(task["id"]))["status"]["state"]
        answered = [result["status"]["state"] for result in results if not isinstance(result, Fault)]
        assert state in {"TASK_STATE_CANCELED", "TASK_STATE_COMPLETED"}
        assert all(told == state for told in answered)
        while not gate.locked():
            await gate.acquire()


async def test_an_agent_may_clean_up_for_a_while(serve: Serve) -> None:
    begun, cleaned = asyncio.Event(), asyncio.Event()
    agent = Agent("Tidy", "Cleans up.", store="memory")

    @agent.skill(tags=["demo"])
    async def tidy(task: TaskContext) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            cleaned.set()
            raise

    wire = await serve(agent)
    task = await wire.send(configuration={"returnImmediately": True})
    await begun.wait()
    await wire.call("CancelTask", {"id": task["id"]})
    await cleaned.wait()


@only(*[cell for cell in CELLS if cell.binding == "HTTP+JSON"])
@pytest.mark.parametrize("body", [b"", b"null", b"{}"])
async def test_canceling_over_http_needs_no_body(serve: Serve, body: bytes) -> None:
    agent, _ = gated()
    wire = await serve(agent)
    task = await wire.send("one", configuration={"returnImmediately": True})
    request = wire.request("CancelTask", {"id": task["id"]})
    headers = {name: value for name, value in request.headers.items() if name != "content-type" or body}
    request = msgspec.structs.replace(request, headers=headers, body=body)
    canceled = wire.read(request, await wire.send_raw(request))
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
