"""Real processes that are killed in the middle of a task, or told to stop, and what their successors make of it."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.unit.hosts.test_run import Program, calls, request, running, told_to_stop

AGENT = """
import asyncio
from pathlib import Path
from dragoman import Agent, TaskContext

agent = Agent("Counting", "Counts its attempts.", **OPTIONS)

@agent.skill(tags=["demo"])
async def work(task: TaskContext):
    with Path("attempts").open("a") as log:
        log.write(f"{task.attempt} {task.idempotency_key}\\n")
    yield f"{task.attempt}: "
    made = await task.step("made", lambda: counted("steps"))
    yield f"{task.attempt} waits, "
    if task.attempt < int(task.text):
        await asyncio.Event().wait()
    yield f"step {made}"

def counted(name):
    with Path(name).open("a") as log:
        log.write("x")
    return Path(name).stat().st_size

if __name__ == "__main__":
    agent.run(port=0)
"""

IMMEDIATELY = {"configuration": {"returnImmediately": True}}


def written(folder: Path, **options: Any) -> Path:
    (folder / "waiting.py").write_text(AGENT.replace("OPTIONS", repr({"cancel_grace": 1, **options})))
    return folder


async def until(session: aiohttp.ClientSession, method: str, path: str, text: str, **body: Any) -> str:
    """Reads a stream until it has said this; gives the id of its task."""
    seen = ""
    async with session.request(method, path, **body) as stream:
        assert stream.status == 200
        while text not in seen:
            line = (await stream.content.readline()).decode()
            assert line, seen
            seen += line
    task_ids: set[str] = set(re.findall(r'"taskId": ?"([^"]+)"', seen)) or set(
        re.findall(r'"task": ?{"id": ?"([^"]+)"', seen)
    )
    (task_id,) = task_ids
    return task_id


async def begun(session: aiohttp.ClientSession, attempts: int) -> str:
    """A task that ends in so many attempts, once the first of them waits."""
    return await until(session, "POST", "/message:stream", "1 waits", json=request(str(attempts)))


async def reached(session: aiohttp.ClientSession, task_id: str, attempt: int) -> None:
    """Returns when the attempt waits."""
    assert await until(session, "POST", f"/tasks/{task_id}:subscribe", f"{attempt} waits") == task_id


async def ended(session: aiohttp.ClientSession, task_id: str) -> dict[str, Any]:
    """The task once it has ended."""
    async with session.post(f"/tasks/{task_id}:subscribe") as stream:
        await stream.content.read()
    async with session.get(f"/tasks/{task_id}") as reply:
        task: dict[str, Any] = await reply.json(content_type=None)
    return task


def attempts(folder: Path) -> list[str]:
    return [line.split()[0] for line in (folder / "attempts").read_text().splitlines()]


def keys(folder: Path) -> set[str]:
    return {line.split()[1] for line in (folder / "attempts").read_text().splitlines()}


async def killed(process: Program) -> None:
    process.kill()
    await process.wait()


async def test_by_default_a_task_is_failed_and_never_run_again(tmp_path: Path) -> None:
    async with running(written(tmp_path)) as (process, url), calls(url) as session:
        task_id = await begun(session, 2)
        await killed(process)
    async with running(tmp_path) as (process, url), calls(url) as session:
        async with session.get(f"/tasks/{task_id}") as reply:
            task = await reply.json(content_type=None)
        assert task["status"]["state"] == "TASK_STATE_FAILED"
        await told_to_stop(process)
    assert attempts(tmp_path) == ["1"]


@pytest.mark.parametrize(("on_crash", "steps"), [("resume", 1), ("rerun", 3)])
async def test_a_task_is_run_again_until_it_ends(tmp_path: Path, on_crash: str, steps: int) -> None:
    written(tmp_path, on_crash=on_crash)
    async with running(tmp_path) as (process, url), calls(url) as session:
        task_id = await begun(session, 3)
        await killed(process)
    async with running(tmp_path) as (process, url), calls(url) as session:
        await reached(session, task_id, 2)
        await killed(process)
    async with running(tmp_path) as (process, url), calls(url) as session:
        task = await ended(session, task_id)
        await told_to_stop(process)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [artifact["parts"] for artifact in task["artifacts"]] == [[{"text": f"3: 3 waits, step {steps}"}]]
    assert attempts(tmp_path) == ["1", "2", "3"]
    assert len(keys(tmp_path)) == 1
    assert (tmp_path / "steps").stat().st_size == steps


async def test_a_task_that_kills_its_process_each_time_is_failed_in_the_end(tmp_path: Path) -> None:
    written(tmp_path, on_crash="rerun", max_attempts=2)
    async with running(tmp_path) as (process, url), calls(url) as session:
        task_id = await begun(session, 99)
        await killed(process)
    async with running(tmp_path) as (process, url), calls(url) as session:
        await reached(session, task_id, 2)
        await killed(process)
    async with running(tmp_path) as (process, url), calls(url) as session:
        async with session.get(f"/tasks/{task_id}") as reply:
            task = await reply.json(content_type=None)
        await told_to_stop(process)
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "2 attempts" in json.dumps(task["status"]["message"])
    assert attempts(tmp_path) == ["1", "2"]


async def test_a_stopping_server_does_not_wait_for_what_can_be_resumed(tmp_path: Path) -> None:
    written(tmp_path, on_crash="resume", drain_grace=1000)
    async with running(tmp_path) as (process, url), calls(url) as session:
        task_id = await begun(session, 2)
        async with asyncio.timeout(8):
            await told_to_stop(process)
    async with running(tmp_path) as (process, url), calls(url) as session:
        task = await ended(session, task_id)
        await told_to_stop(process)
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert attempts(tmp_path) == ["1", "2"]


async def test_a_process_says_how_it_is(tmp_path: Path) -> None:
    async with running(written(tmp_path)) as (process, url), calls(url) as session:
        for path in ("/healthz", "/readyz"):
            async with session.get(path) as reply:
                assert (reply.status, await reply.text()) == (200, '{"status":"ok"}')
        await told_to_stop(process)


async def test_what_waits_for_a_slot_outlives_the_process(tmp_path: Path) -> None:
    written(tmp_path, on_crash="resume", max_running=1)
    async with running(tmp_path) as (process, url), calls(url) as session:
        first = await begun(session, 2)
        async with session.post("/message:send", json={**request("1"), **IMMEDIATELY}) as reply:
            second = (await reply.json(content_type=None))["task"]
        assert second["status"]["state"] == "TASK_STATE_SUBMITTED"
        await killed(process)
    async with running(tmp_path) as (process, url), calls(url) as session:
        states = [(await ended(session, task_id))["status"]["state"] for task_id in (first, second["id"])]
        await told_to_stop(process)
    assert states == ["TASK_STATE_COMPLETED"] * 2
    assert attempts(tmp_path) == ["1", "2", "1"]
