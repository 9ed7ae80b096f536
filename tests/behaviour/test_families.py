"""Tasks that handlers begin elsewhere: canceled with the task that has begun them, and left alone otherwise."""

import asyncio
from typing import Any

import pytest

from dragoman import Agent, TaskContext, TaskHandle, connect
from tests.behaviour.cells import FINAL_JSON, only
from tests.behaviour.test_handlers import new_agent
from tests.behaviour.wire import Serve, Wire

pytestmark = only(*FINAL_JSON)


class Child:
    """An agent that works until it is stopped or let go."""

    def __init__(self) -> None:
        self.agent = new_agent()
        self.begun, self.stopped, self.go = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.agent.skill(self.work)

    async def work(self, task: TaskContext) -> str:
        self.begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        return f"worked on {task.text}"


def parent_of(child: Agent, how: str, **given: Any) -> Agent:
    agent = new_agent(**given)

    @agent.skill
    async def delegate(task: TaskContext) -> str:
        async with connect(child) as other:
            match how:
                case "asks":
                    return await other.ask(task.text)
                case "reads":
                    return "".join([type(event).__name__ async for event in other.stream(task.text)])
                case "waits for something else":
                    assert isinstance(await other.start(task.text), TaskHandle)
                    await asyncio.Event().wait()
                case _:
                    await other.start(task.text)
        return "begun"

    return agent


async def state(wire: Wire, expected: str) -> None:
    """Waits until the only task of this agent is in that state."""
    (task,) = await wire.stored()
    await wire.settled(task["id"], f"TASK_STATE_{expected}")


@pytest.mark.parametrize("how", ["asks", "reads", "waits for something else"])
async def test_a_canceled_task_takes_along_what_its_handler_has_begun(serve: Serve, how: str) -> None:
    child = Child()
    below, wire = await serve(child.agent), await serve(parent_of(child.agent, how))
    task = await wire.send(configuration={"returnImmediately": True})
    await child.begun.wait()
    canceled = await wire.call("CancelTask", {"id": task["id"]})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    async with asyncio.timeout(10):
        await child.stopped.wait()
    await state(below, "CANCELED")


async def test_so_do_the_children_of_the_child(serve: Serve) -> None:
    child = Child()
    between = parent_of(child.agent, "asks")
    below, middle = await serve(child.agent), await serve(between)
    wire = await serve(parent_of(between, "asks"))
    task = await wire.send(configuration={"returnImmediately": True})
    await child.begun.wait()
    await wire.call("CancelTask", {"id": task["id"]})
    async with asyncio.timeout(10):
        await child.stopped.wait()
    await state(middle, "CANCELED")
    await state(below, "CANCELED")


async def test_a_task_that_takes_too_long_takes_them_along_too(serve: Serve) -> None:
    child = Child()
    below, wire = await serve(child.agent), await serve(parent_of(child.agent, "asks", deadline=0.3))
    task = await wire.send()
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    async with asyncio.timeout(10):
        await child.stopped.wait()
    await state(below, "CANCELED")


async def test_a_task_that_has_ended_leaves_them_alone(serve: Serve) -> None:
    child = Child()
    below, wire = await serve(child.agent), await serve(parent_of(child.agent, "leaves"))
    task = await wire.send()
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    await child.begun.wait()
    assert not child.stopped.is_set()
    child.go.set()
    await state(below, "COMPLETED")
