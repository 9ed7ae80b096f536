"""Handlers that are plain functions: they run in a thread, with the same abilities."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

from dragoman import BlockingTaskContext
from tests.behaviour.cells import FINAL_JSON, only
from tests.behaviour.test_handlers import new_agent, texts
from tests.behaviour.test_streams import text_in
from tests.behaviour.wire import Serve, message

pytestmark = only(*FINAL_JSON)


async def test_a_plain_function_does_not_block_the_server(serve: Serve) -> None:
    agent = new_agent()
    go = threading.Event()
    names: list[str] = []

    @agent.skill
    def slow(text: str) -> str:
        names.append(threading.current_thread().name)
        assert go.wait(10)
        return text

    wire = await serve(agent)
    task = await wire.send("hi", configuration={"returnImmediately": True})
    assert (await wire.get(task["id"]))["status"]["state"] == "TASK_STATE_WORKING"
    go.set()
    assert texts(await wire.settled(task["id"])) == ["hi"]
    assert names != [threading.main_thread().name]


async def test_a_plain_function_can_do_all_that_others_can(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)
    calls: list[int] = []

    def once(number: int) -> int:
        calls.append(number)
        return number

    @agent.skill
    def works(task: BlockingTaskContext) -> Iterator[Any]:
        yield "one "
        task.status("going on")
        number = task.step("once", once, 7)
        answer = task.ask("More?")
        allowed = task.require_auth("Sign in")
        yield f"{answer} {allowed} {number} {task.text}"

    wire = await serve(agent)
    async with wire.send_stream("hello") as stream:
        first = await stream.payloads()
    assert text_in(first) == "one "
    task_id = first[0]["task"]["id"]
    waiting = await wire.send(message("yes", taskId=task_id))
    assert waiting["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    done = await wire.send(message("signed", taskId=task_id))
    assert "".join(texts(done)) == "one yes signed 7 hello"
    assert calls == [7]


async def test_a_thread_sees_that_its_task_was_canceled(serve: Serve) -> None:
    agent = new_agent()
    begun, seen = threading.Event(), threading.Event()

    @agent.skill
    def stubborn(task: BlockingTaskContext) -> str:
        begun.set()
        while not task.cancelled:
            pass
        seen.set()
        return "too late"

    wire = await serve(agent)
    task = await wire.send(configuration={"returnImmediately": True})
    assert await asyncio.to_thread(begun.wait, 10)
    canceled = await wire.call("CancelTask", {"id": task["id"]})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert await asyncio.to_thread(seen.wait, 10)
    assert "artifacts" not in await wire.get(task["id"])


async def test_calls_of_a_canceled_thread_raise(serve: Serve) -> None:
    agent = new_agent()
    begun, raised = threading.Event(), threading.Event()

    @agent.skill
    def talkative(task: BlockingTaskContext) -> Iterator[str]:
        begun.set()
        try:
            while True:
                yield "word "
        finally:
            raised.set()

    wire = await serve(agent)
    task = await wire.send(configuration={"returnImmediately": True})
    assert await asyncio.to_thread(begun.wait, 10)
    await wire.call("CancelTask", {"id": task["id"]})
    assert await asyncio.to_thread(raised.wait, 10)


async def test_a_generator_streams_as_it_goes(serve: Serve) -> None:
    agent = new_agent()
    gates = [threading.Event() for _ in range(2)]

    @agent.skill
    def words(text: str) -> Iterator[str]:
        yield "one "
        assert gates[0].wait(10)
        yield "two "
        assert gates[1].wait(10)

    wire = await serve(agent)
    async with wire.send_stream() as stream:
        seen = [(await anext(stream)).payload]
        for gate, expected in zip(gates, ("one ", "one two "), strict=True):
            while text_in(seen) != expected:
                seen.append((await anext(stream)).payload)
            gate.set()
        await stream.payloads()


async def test_a_failing_function_fails_its_task(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    def broken(text: str) -> str:
        raise KeyError(text)

    task = await (await serve(agent)).send("secret")
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "secret" not in str(task["status"])
