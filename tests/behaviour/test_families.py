"""Tasks that handlers begin elsewhere: canceled with the task that has begun them, and left alone otherwise."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman import Agent, BlockingTaskContext, TaskContext, TaskFailed, TaskHandle, TaskState, connect, sync
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
    below, wire = await serve(child.agent), await serve(parent_of(child.agent, "asks", deadline=1))
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


SERVES = """
import asyncio
from dragoman import Agent, TaskContext

agent = Agent("Child", "Works for ever.", store="memory")

@agent.skill
async def work(task: TaskContext) -> None:
    await asyncio.Event().wait()

agent.run(port=0, announce=lambda line: print(line, flush=True))
"""


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """Where an agent is that works for ever, in a process of its own."""
    program = [sys.executable, "-c", SERVES]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = process.stdout.readline().rstrip("/\n").rsplit(":", 1)[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors, errors


async def test_handlers_in_threads_take_theirs_along_too(serve: Serve, elsewhere: str) -> None:
    agent, begun, children = new_agent(), threading.Event(), list[str]()

    @agent.skill
    def delegate(task: BlockingTaskContext) -> str:
        with sync.connect(elsewhere) as other:
            child = other.start(task.text)
            assert isinstance(child, sync.TaskHandle)
            children.append(child.id)
            begun.set()
            return child.result().text

    wire = await serve(agent)
    task = await wire.send(configuration={"returnImmediately": True})
    assert await asyncio.to_thread(begun.wait, 10)
    await wire.call("CancelTask", {"id": task["id"]})
    async with asyncio.timeout(10), connect(elsewhere) as other:
        with pytest.raises(TaskFailed) as ended:
            await (await other.task(children[0])).result()
    assert ended.value.task.state is TaskState.CANCELED
