"""A server that stops and starts again on its SQLite file, and what is deleted for good."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import Agent, TaskContext
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.agents import echo, obedient
from tests.behaviour.cells import FINAL_JSON, only
from tests.behaviour.manifest import requirement
from tests.behaviour.test_handlers import new_agent, texts
from tests.behaviour.wire import Serve, message, refused, wire_to

pytestmark = only(*FINAL_JSON)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'tasks.db'}"


async def test_everything_is_there_after_a_restart(file: str, binding: str) -> None:
    async with AsgiBridge(obedient(store=file).asgi()) as bridge:
        wire = await wire_to(bridge, binding)
        tasks = [await wire.send(message(word, contextId="c")) for word in ("done", "ask", "fail", "reject")]
        listed = await wire.call("ListTasks", {"includeArtifacts": True})
    async with AsgiBridge(obedient(store=file).asgi()) as bridge:
        wire = await wire_to(bridge, binding)
        assert [await wire.get(task["id"]) for task in tasks] == tasks
        assert await wire.call("ListTasks", {"includeArtifacts": True}) == listed


async def test_a_page_token_survives_a_restart(file: str, binding: str) -> None:
    async with AsgiBridge(obedient(store=file).asgi()) as bridge:
        wire = await wire_to(bridge, binding)
        sent = {(await wire.send("done"))["id"] for _ in range(3)}
        first = await wire.call("ListTasks", {"pageSize": 2})
    async with AsgiBridge(obedient(store=file).asgi()) as bridge:
        wire = await wire_to(bridge, binding)
        second = await wire.call("ListTasks", {"pageSize": 2, "pageToken": first["nextPageToken"]})
    assert {task["id"] for task in (*first["tasks"], *second["tasks"])} == sent


async def test_a_parked_task_goes_on_after_a_restart(file: str, binding: str) -> None:
    async with AsgiBridge(obedient(store=file).asgi()) as bridge:
        wire = await wire_to(bridge, binding)
        asked, waits = await wire.send("ask"), await wire.send("auth")
    agent = obedient(store=file)
    async with AsgiBridge(agent.asgi()) as bridge:
        wire = await wire_to(bridge, binding)
        assert texts(await wire.send(message("red", taskId=asked["id"]))) == ["got red"]
        await agent.authorize(waits["id"], "a token")
        assert texts(await wire.settled(waits["id"])) == ["allowed a token"]


def counting(file: str, calls: list[str]) -> Agent:
    agent = new_agent(store=file)

    @agent.skill
    async def counts(task: TaskContext) -> str:
        await task.step("once", lambda: calls.append("called"))
        return f"{await task.ask('One?')}{await task.ask('Two?')}"

    return agent


async def test_answers_and_steps_are_remembered_across_restarts(file: str) -> None:
    calls: list[str] = []
    task_id = ""
    for said in ("begin", "a", "b"):
        async with AsgiBridge(counting(file, calls).asgi()) as bridge:
            wire = await wire_to(bridge, "JSONRPC")
            task = await wire.send(message(said, taskId=task_id))
            task_id = task["id"]
    assert texts(task) == ["ab"]
    assert calls == ["called"]


def endless(file: str) -> tuple[Agent, asyncio.Event]:
    agent, begun = new_agent(store=file, drain_grace=0.01, cancel_grace=0.01), asyncio.Event()

    @agent.skill
    async def never_ends(task: TaskContext) -> None:
        begun.set()
        await asyncio.Event().wait()

    return agent, begun


async def test_a_task_that_a_stop_interrupts_is_failed_as_worker_lost(file: str) -> None:
    agent, begun = endless(file)
    async with AsgiBridge(agent.asgi()) as bridge:
        wire = await wire_to(bridge, "JSONRPC")
        task = await wire.send(configuration={"returnImmediately": True})
        await begun.wait()
    async with AsgiBridge(endless(file)[0].asgi()) as bridge:
        wire = await wire_to(bridge, "JSONRPC")
        found = await wire.get(task["id"])
    assert found["status"]["state"] == "TASK_STATE_FAILED"
    assert found["status"]["message"]["parts"][0]["text"]


CRASHES = """
import asyncio, os, sys
from dragoman import Agent, TaskContext
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.wire import wire_to

agent = Agent("Tested", "Under test.", store=sys.argv[1])

@agent.skill
async def dies(task: TaskContext) -> str:
    print(task.id, flush=True)
    os._exit(9)

async def main():
    async with AsgiBridge(agent.asgi()) as bridge:
        await (await wire_to(bridge, "JSONRPC")).send()

asyncio.run(main())
"""


async def test_a_task_caught_by_a_crash_is_failed_at_the_next_start(file: str) -> None:
    crash = [sys.executable, "-c", CRASHES, file]
    died = await asyncio.to_thread(subprocess.run, crash, capture_output=True, text=True, timeout=15, check=False)
    assert died.returncode == 9, died.stderr
    agent = new_agent(store=file)

    @agent.skill
    async def dies(task: TaskContext) -> str:
        return task.text

    async with AsgiBridge(agent.asgi()) as bridge:
        wire = await wire_to(bridge, "JSONRPC")
        found = await wire.get(died.stdout.strip())
        assert found["status"]["state"] == "TASK_STATE_FAILED"
        with refused("UNSUPPORTED_OPERATION"):
            await wire.send(message("more", taskId=found["id"]))


HOLDS = """
import asyncio, sys
from dragoman import Agent
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.agents import echo

async def main():
    async with AsgiBridge(echo(store=sys.argv[1]).asgi()):
        print("open", flush=True)
        sys.stdin.readline()

asyncio.run(main())
"""


def hold(file: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDS, file], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


async def test_a_second_process_on_the_same_file_is_refused(file: str) -> None:
    with hold(file) as holder:
        assert holder.stdout is not None
        assert await asyncio.to_thread(holder.stdout.readline) == "open\n"
        with pytest.raises(RuntimeError, match=r"tasks\.db.*process"):
            async with AsgiBridge(echo(store=file).asgi()):
                pass
        await asyncio.to_thread(holder.communicate, "\n", 10)
    async with AsgiBridge(echo(store=file).asgi()):
        pass


async def test_two_agents_on_one_file_are_refused(file: str) -> None:
    async with AsgiBridge(echo(store=file).asgi()):
        pass
    with pytest.raises(RuntimeError, match="belongs to the agent 'Echo', not to 'Obedient'"):
        async with AsgiBridge(obedient(store=file).asgi()):
            pass


async def test_two_servers_of_one_file_in_one_process_are_refused(file: str) -> None:
    async with AsgiBridge(obedient(store=file).asgi()):
        with pytest.raises(RuntimeError, match=r"tasks\.db"):
            async with AsgiBridge(obedient(store=file).asgi()):
                pass


def still_on_disk(folder: Path, word: str) -> list[str]:
    return [path.name for path in folder.iterdir() if word.encode() in path.read_bytes()]


@requirement("R-13.4-16")
async def test_what_is_deleted_is_gone_for_good(serve: Serve, store: str, tmp_path: Path) -> None:
    agent = obedient(store=store)
    wire = await serve(agent)
    secret = "a-word-that-must-not-stay"
    doomed, kept = await wire.send(secret), await wire.send("other")
    pair = [await wire.send(message(secret, contextId="c")) for _ in range(2)]
    assert await agent.delete(doomed["id"]) == 1
    assert await agent.delete(context_id="c") == 2
    assert await agent.delete(doomed["id"]) == 0
    for task in (doomed, *pair):
        with refused("TASK_NOT_FOUND"):
            await wire.get(task["id"])
    assert not still_on_disk(tmp_path, secret)
    listed = await wire.call("ListTasks")
    assert ([task["id"] for task in listed["tasks"]], listed["totalSize"]) == ([kept["id"]], 1)


async def test_deleting_a_running_task_stops_it(serve: Serve) -> None:
    agent, stopped, begun = new_agent(), asyncio.Event(), asyncio.Event()

    @agent.skill
    async def runs(task: TaskContext) -> None:
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
        assert await agent.delete(task["id"]) == 1
        await stopped.wait()
        with refused("TASK_NOT_FOUND"):
            await stream.payloads()
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"])
