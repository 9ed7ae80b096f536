"""A real process: it is started, called, told to stop, and says with its exit code that all is well."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

AGENT = """
import asyncio
from dragoman import Agent, TaskContext

agent = Agent("Waiting", "Waits.", drain_grace=DRAIN, cancel_grace=0.2)

@agent.skill(tags=["demo"])
async def wait(task: TaskContext):
    yield "begun"
    if task.text == "ask":
        yield await task.ask("Well?")
    elif task.text == "for ever":
        await asyncio.Event().wait()

if __name__ == "__main__":
    agent.run(port=0)
"""

Program = asyncio.subprocess.Process


async def start(folder: Path) -> Program:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-u",
        "waiting.py",
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@asynccontextmanager
async def running(folder: Path) -> AsyncGenerator[tuple[Program, str]]:
    """The process, and the URL that it says."""
    process = await start(folder)
    try:
        assert process.stdout is not None
        line = (await process.stdout.readline()).decode()
        assert line.startswith("Agent  http://127.0.0.1:"), line + (await process.communicate())[1].decode()
        yield process, line.split()[1]
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "waiting.py").write_text(AGENT.replace("DRAIN", "0.3"))
    return tmp_path


async def told_to_stop(process: Program, number: signal.Signals = signal.SIGTERM) -> str:
    """The exit must be a success; what was printed as an error."""
    process.send_signal(number)
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return errors.decode()


def request(text: str, **members: Any) -> dict[str, Any]:
    return {"message": {"messageId": text, "role": "ROLE_USER", "parts": [{"text": text}], **members}}


@asynccontextmanager
async def calls(url: str) -> AsyncGenerator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(url, headers={"a2a-version": "1.0"}) as session:
        yield session


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_that_is_told_to_stop_ends_its_streams_and_succeeds(
    folder: Path, number: signal.Signals
) -> None:
    async with running(folder) as (process, url), calls(url) as session:
        async with session.post("/message:stream", json=request("for ever")) as stream:
            assert stream.status == 200
            text = ""
            while "begun" not in text:
                text += (await stream.content.readline()).decode()
            process.send_signal(number)
            text += (await stream.content.read()).decode()
        assert text.endswith("retry: 1000\n\n")
        assert await told_to_stop_already(process) == ""
    async with running(folder) as (process, url), calls(url) as session:
        async with session.get("/tasks", params={"includeArtifacts": "true"}) as reply:
            (task,) = (await reply.json(content_type=None))["tasks"]
        assert task["status"]["state"] == "TASK_STATE_FAILED"
        assert "stopped" in json.dumps(task["status"]["message"])
        assert task["artifacts"][0]["parts"] == [{"text": "begun"}]
        await told_to_stop(process)


async def told_to_stop_already(process: Program) -> str:
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return errors.decode()


STUCK = """
import asyncio, threading, time
from dragoman import Agent, TaskContext

agent = Agent("Stuck", "Does not end.", drain_grace=0.2, cancel_grace=0.2, store="memory")

@agent.skill(tags=["demo"])
HANDLER

if __name__ == "__main__":
    agent.run(port=0)
"""

HANDLERS = {
    "in a thread": """def wait(text: str) -> str:
    threading.Event().wait()
    return text""",
    "in a thread of the event loop": """async def wait(text: str) -> str:
    await asyncio.to_thread(threading.Event().wait)
    return text""",
    "in a step": """async def wait(task: TaskContext) -> None:
    await task.step("stuck", threading.Event().wait)""",
    "whatever cancels it": """async def wait(text: str) -> str:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass""",
    "at a yield": """async def wait(text: str):
    while True:
        try:
            yield "x" * 100_000
        except BaseException:
            await asyncio.Event().wait()""",
}


@pytest.mark.parametrize("handler", HANDLERS)
async def test_a_handler_that_does_not_stop_does_not_keep_the_process(tmp_path: Path, handler: str) -> None:
    (tmp_path / "waiting.py").write_text(STUCK.replace("HANDLER", HANDLERS[handler]))
    async with running(tmp_path) as (process, url), calls(url) as session:
        waiting = {**request("hi"), "configuration": {"returnImmediately": True}}
        async with session.post("/message:send", json=waiting) as reply:
            assert reply.status == 200
        async with asyncio.timeout(8):
            errors = await told_to_stop(process)
    assert "Traceback" not in errors


async def test_a_parked_task_goes_on_after_a_restart(folder: Path) -> None:
    async with running(folder) as (process, url), calls(url) as session:
        async with session.post("/message:send", json=request("ask")) as reply:
            task = (await reply.json(content_type=None))["task"]
        assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
        await told_to_stop(process)
    async with running(folder) as (process, url), calls(url) as session:
        async with session.post("/message:send", json=request("yes", taskId=task["id"])) as reply:
            done = (await reply.json(content_type=None))["task"]
        assert done["status"]["state"] == "TASK_STATE_COMPLETED"
        assert [artifact["parts"] for artifact in done["artifacts"]] == [[{"text": "begun"}], [{"text": "yes"}]]
        await told_to_stop(process)


async def test_what_a_killed_process_left_running_is_failed_at_the_next_start(folder: Path) -> None:
    async with running(folder) as (process, url), calls(url) as session:
        waiting = {"configuration": {"returnImmediately": True}}
        async with session.post("/message:send", json={**request("for ever"), **waiting}) as reply:
            task = (await reply.json(content_type=None))["task"]
        process.kill()
        await process.wait()
    async with running(folder) as (process, url), calls(url) as session:
        async with session.get(f"/tasks/{task['id']}") as reply:
            assert (await reply.json(content_type=None))["status"]["state"] == "TASK_STATE_FAILED"
        await told_to_stop(process)


async def test_a_second_process_on_the_same_file_is_refused_and_says_why(folder: Path) -> None:
    async with running(folder) as (process, _):
        second = await start(folder)
        printed, errors = await second.communicate()
        assert second.returncode not in {0, None}
        assert printed == b""
        assert f"in use by process {process.pid}" in errors.decode()
        assert "Traceback" not in errors.decode()
        assert await told_to_stop(process) == ""
