"""Handlers that run again after a crash, take messages while they work, and know their context."""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, BlockingTaskContext, TaskContext
from dragoman.ports.agent import OnCrash
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.cells import FINAL_JSON, only
from tests.behaviour.test_handlers import new_agent, texts
from tests.behaviour.wire import Serve, Wire, message, wire_to

pytestmark = only(*FINAL_JSON)

IMMEDIATELY = {"configuration": {"returnImmediately": True}}


async def begin(wire: Wire, what: str | dict[str, Any] = "hello") -> str:
    task: dict[str, Any] = await wire.send(what, **IMMEDIATELY)
    return str(task["id"])


async def tell(wire: Wire, task_id: str, *words: str) -> None:
    for word in words:
        await wire.send(message(word, taskId=task_id), **IMMEDIATELY)


# Messages that come while the handler works.


async def test_a_handler_takes_messages_while_it_works(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)

    @agent.skill
    async def listens(task: TaskContext) -> AsyncIterator[str]:
        yield "listening "
        async for said in task.inbox:
            if said.text == "enough":
                break
            yield f"<{said.text}> "
        yield "done"

    wire = await serve(agent)
    task_id = await begin(wire)
    await tell(wire, task_id, "one", "two", "enough")
    done = await wire.settled(task_id)
    assert texts(done) == ["listening <one> <two> done"]
    assert [said["parts"][0]["text"] for said in done["history"]] == ["hello", "one", "two", "enough"]


async def test_a_handler_in_a_thread_takes_messages_too(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)

    @agent.skill
    def listens(task: BlockingTaskContext) -> Iterator[str]:
        nothing = task.inbox.take()
        yield f"{nothing} "
        for said in task.inbox:
            if said.text == "enough":
                break
            yield f"<{said.text}> "

    wire = await serve(agent)
    async with wire.send_stream() as stream:
        task_id = (await anext(stream)).payload["task"]["id"]
        await anext(stream)
        await tell(wire, task_id, "one", "enough")
        await stream.payloads()
    assert texts(await wire.get(task_id)) == ["None <one> "]


async def test_what_a_handler_does_not_take_begins_the_next_turn(serve: Serve, store: str) -> None:
    agent, go = new_agent(store=store), asyncio.Event()

    @agent.skill
    async def takes_one(task: TaskContext) -> str:
        await go.wait()
        said = await task.inbox.take()
        return f"[{task.text}, {said.text if said else 'nothing'}]"

    wire = await serve(agent)
    task_id = await begin(wire)
    await tell(wire, task_id, "one", "two")
    go.set()
    assert "".join(texts(await wire.settled(task_id))) == "[hello, one][two, nothing]"


async def test_a_thread_that_waits_for_a_message_is_canceled_at_once(serve: Serve) -> None:
    agent = new_agent(cancel_grace=60)
    waiting, raised = threading.Event(), threading.Event()

    @agent.skill
    def listens(task: BlockingTaskContext) -> str:
        waiting.set()
        try:
            return next(task.inbox).text
        except asyncio.CancelledError:
            raised.set()
            raise

    wire = await serve(agent)
    task_id = await begin(wire)
    assert await asyncio.to_thread(waiting.wait, 10)
    async with asyncio.timeout(10):
        canceled = await wire.call("CancelTask", {"id": task_id})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert raised.is_set()


# What else there is in the context.


async def test_a_new_task_in_an_old_context_sees_what_was_said_and_done_there(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)

    @agent.skill
    async def recalls(task: TaskContext) -> str:
        done = sorted([other.text for other in await task.context.tasks()])
        said = sorted([told.text for told in await task.context.messages()])
        fewer = len(await task.context.tasks(limit=1)), len(await task.context.messages(limit=1))
        assert task.context.id == task.context_id
        return f"{task.text}: {done} {said} {fewer}"

    wire = await serve(agent)
    for text in ("a", "b"):
        await wire.send(message(text, contextId="c"))
    await wire.send(message("elsewhere", contextId="other"))
    first, second = "a: [] [] (0, 0)", "b: ['a: [] [] (0, 0)'] ['a'] (1, 1)"
    third = f"c: {[first, second]!r} ['a', 'b'] (1, 1)"
    assert texts(await wire.send(message("c", contextId="c"))) == [third]


async def test_a_thread_sees_its_context_too(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    def recalls(task: BlockingTaskContext) -> str:
        assert task.context.id == task.context_id
        return f"{[other.text for other in task.context.tasks()]} {[told.text for told in task.context.messages()]}"

    wire = await serve(agent)
    await wire.send(message("a", contextId="c"))
    assert texts(await wire.send(message("b", contextId="c"))) == ["['[] []'] ['a']"]


@pytest.mark.parametrize("limit", [0, 101])
async def test_what_is_asked_of_the_context_is_bounded(serve: Serve, limit: int) -> None:
    agent = new_agent()

    @agent.skill
    async def recalls(task: TaskContext) -> str:
        with pytest.raises(ValueError, match="limit"):
            await task.context.tasks(limit=limit)
        with pytest.raises(ValueError, match="limit"):
            await task.context.messages(limit=0)
        return "bounded"

    assert texts(await (await serve(agent)).send()) == ["bounded"]


# After a crash.


def living(file: str, on_crash: OnCrash, *, dies: bool) -> Agent:
    """The same agent in both lives; in the first it dies half-way, when all that it has said is stored."""
    agent = new_agent(store=file, on_crash=on_crash)

    @agent.skill
    async def lives(task: TaskContext) -> AsyncIterator[str]:
        said = await anext(task.inbox)
        yield f"{said.text} "
        done = await task.step("work", lambda: "dead" if dies else "alive")
        yield "half of "
        if dies:
            await task.step("all is stored", lambda: None)
            os.write(1, f"{task.id} {task.attempt} {task.idempotency_key}\n".encode())
            os._exit(9)
        yield f"it, {done}, {task.attempt}, {task.idempotency_key}"

    return agent


DIES = """
import asyncio, sys
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.test_attempts import living
from tests.behaviour.wire import message, wire_to

async def main():
    async with AsgiBridge(living(sys.argv[1], sys.argv[2], dies=True).asgi()) as bridge:
        wire = await wire_to(bridge, "JSONRPC")
        task = await wire.send(configuration={"returnImmediately": True})
        await wire.send(message("hear", taskId=task["id"]))

asyncio.run(main())
"""


@pytest.mark.parametrize(("on_crash", "done"), [("resume", "dead"), ("rerun", "alive")])
async def test_a_task_caught_by_a_crash_ends_as_if_there_had_been_none(
    tmp_path: Path, on_crash: OnCrash, done: str
) -> None:
    file = f"sqlite:///{tmp_path / 'tasks.db'}"
    command = [sys.executable, "-c", DIES, file, on_crash]
    died = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=15, check=False)
    assert died.returncode == 9, died.stderr
    task_id, attempt, key = died.stdout.split()
    assert attempt == "1"
    async with AsgiBridge(living(file, on_crash, dies=False).asgi()) as bridge:
        wire = await wire_to(bridge, "JSONRPC")
        task = await wire.settled(task_id)
    assert texts(task) == [f"hear half of it, {done}, 2, {key}"]
    assert [said["parts"][0]["text"] for said in task["history"]] == ["hello", "hear"]


async def test_each_turn_has_a_key_of_its_own(serve: Serve, store: str) -> None:
    agent, go, keys = new_agent(store=store), asyncio.Event(), list[str]()

    @agent.skill
    async def keyed(task: TaskContext) -> None:
        keys.append(task.idempotency_key)
        await go.wait()
        if task.text == "hello":
            await task.ask("Well?")

    wire = await serve(agent)
    task_id = await begin(wire)
    await tell(wire, task_id, "again")
    go.set()
    await wire.settled(task_id, "TASK_STATE_INPUT_REQUIRED")
    await tell(wire, task_id, "yes")
    await wire.settled(task_id)
    assert keys == [f"{task_id}.1", f"{task_id}.1", f"{task_id}.2"]


async def test_a_skill_that_takes_too_long_fails(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)

    @agent.skill(deadline=0.02)
    async def slow(task: TaskContext) -> AsyncIterator[str]:
        yield "so far"
        await asyncio.Event().wait()

    task = await (await serve(agent)).send()
    assert (task["status"]["state"], texts(task)) == ("TASK_STATE_FAILED", ["so far"])
