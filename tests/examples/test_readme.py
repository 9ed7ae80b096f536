"""What the README shows is what happens: its code runs, its commands are understood, its defaults are those."""

import asyncio
import inspect
import re
import shlex
import textwrap
from collections.abc import AsyncIterator, Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dragoman import (
    Agent,
    BlockingTaskContext,
    Fail,
    InputRequired,
    Message,
    PushOptions,
    Reject,
    TaskContext,
    TaskFailed,
    connect,
)
from dragoman.agent.executor import MAX_THREADS
from dragoman.cli.main import run
from dragoman.client.channel import MAX_REPLY, ChannelOptions
from dragoman.engine.world import Limits
from dragoman.ports.limits import CallLimits
from dragoman.types.events import StreamEvent, TaskStatusUpdateEvent
from dragoman.types.task import Task
from examples.booking import PRICES, Stay, reserve
from tests.examples.test_examples import PROGRAMS, ROOT, served

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = [line.strip() for line in README.splitlines() if line.startswith("    dragoman ")]


@pytest.fixture(scope="module")
def echo(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    folder = tmp_path_factory.mktemp("echo")
    with served([str(PROGRAMS / "dragoman"), "serve", f"{ROOT / 'examples' / 'echo.py'}"], folder, cwd=folder) as url:
        yield url


def test_the_first_agent_is_the_example_letter_by_letter() -> None:
    assert BLOCKS[0] == (ROOT / "examples" / "echo.py").read_text("utf-8")
    assert len(BLOCKS) == 7


async def test_the_caller_gets_what_the_comments_say(echo: str, capsys: pytest.CaptureFixture[str]) -> None:
    opening, body = BLOCKS[1].split("\n\n", 1)
    program = f"{opening}\nasync def caller():\n{textwrap.indent(body, '    ')}"
    names: dict[str, Any] = {}
    exec(program.replace("http://127.0.0.1:9999", echo), names)
    await names["caller"]()
    assert capsys.readouterr().out.splitlines() == ["hello", "a long job"]


def test_webhooks_are_as_it_says() -> None:
    names: dict[str, Any] = {"Agent": Agent, "PushOptions": PushOptions}
    exec(BLOCKS[4], names)
    assert names["agent"].card.capabilities.push_notifications
    said = README[README.index("## Webhooks") : README.index("## Authentication")]
    options = PushOptions()
    for words, value in (
        ("over https at 443 and 8443", options.ports == (443, 8443)),
        ("of task, message, status and artifact", options.events == ("task", "message", "status", "artifact")),
        ("for a day", options.retry.budget == 86_400),
        ("16 configurations at most", options.max_per_task == 16),
    ):
        assert words in said, words
        assert value, words


async def test_the_receiver_hears_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    agent = Agent("Prices", store="memory", push=PushOptions(insecure=True))
    heard: list[StreamEvent] = []

    @agent.skill
    async def price(text: str) -> AsyncIterator[str]:
        yield f"{text.removesuffix('?')} is dear"

    async def on_event(event: StreamEvent) -> None:
        heard.append(event)

    program = BLOCKS[5].replace('"0.0.0.0", 8443', '"127.0.0.1", 0')
    names: dict[str, Any] = {"agent": agent, "connect": connect, "url": None, "on_event": on_event, "tls": None}
    exec(f"async def caller():\n{textwrap.indent(program, '    ')}", names)
    await asyncio.wait_for(names["caller"](), 20)
    assert capsys.readouterr().out == "gold is dear\n"
    assert isinstance(heard[0], Task)
    assert isinstance(heard[-1], TaskStatusUpdateEvent)


def test_callers_are_known_as_it_says() -> None:
    names: dict[str, Any] = {"Agent": Agent, "os": SimpleNamespace(environ={"NIGHTLY_KEY": "a-key-for-the-nights"})}
    exec(BLOCKS[6], names)
    assert names["agent"].card.security_requirements == ({"bearer": ()}, {"apiKey": ()})


def handlers() -> dict[str, Any]:
    """The names that the README's handlers leave behind, with an agent that has them and one skill more."""
    agent = Agent("Desk", store="memory")
    names: dict[str, Any] = {"agent": agent, "PRICES": PRICES, "Stay": Stay, "reserve": reserve}
    names |= {"TaskContext": TaskContext, "Reject": Reject, "Fail": Fail, "Message": Message}
    exec(BLOCKS[2], names)

    @agent.skill
    async def prices() -> str:
        return "cheap"

    exec(BLOCKS[3], names)
    return names


async def test_the_handler_asks_books_and_rejects() -> None:
    async with connect(handlers()["agent"]) as desk:
        with pytest.raises(InputRequired, match="95 euros") as asked:
            await desk.ask({"city": "Lisbon"})
        booked = (await (await asked.value.handle.reply("yes")).result()).artifacts[0].parts[0].data
        assert isinstance(booked, dict)
        assert str(booked["code"]).startswith("LIS-")
        with pytest.raises(TaskFailed, match="No rooms in Rome"):
            await desk.ask({"city": "Rome"})
        assert await desk.ask("What does it cost?") == "cheap"


def test_the_commands_are_understood(echo: str, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["send", "-a", echo, "-o", "json", "first"]) == 0
    task_id = re.findall(rb'"id": "([^"]+)"', capsysbinary.readouterr().out)[0].decode()
    ran: list[str] = []
    for command in COMMANDS:
        _, *words = shlex.split(command.replace("http://127.0.0.1:9999", echo).replace("TASK_ID", task_id))
        if words[0] == "serve":
            assert run([*words, "--help"]) == 0
            continue
        place = 1 if "|" in words[1] else 0
        for choice in words[place].split("|"):
            # The task has ended, so that it can be neither canceled nor followed: that is an answer, and no misuse.
            assert run([*words[:place], choice, *words[place + 1 :]]) == (choice in {"cancel", "subscribe"}), choice
            ran.append(choice)
    assert ran == ["send", "card", "get", "cancel", "subscribe", "task"]


def defaults_of(function: Any) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}


def test_the_limits_are_those_of_the_code() -> None:
    said = README[README.index("## Limits") : README.index("## What is there")]
    agent, caller, limits, push = defaults_of(Agent), defaults_of(connect), Limits(), PushOptions()
    assert f"{CallLimits().max_body_bytes // 2**20} MiB (`max_body_bytes=`), within {limits.body_timeout:g} s" in said
    assert f"{agent['cancel_grace']:g} s to clean up (`cancel_grace=`)" in said
    assert f"{agent['drain_grace']:g} s for running tasks (`drain_grace=`)" in said
    assert f"{push.timeout:g} s (`timeout=` of `PushOptions`), {push.per_host} at once to one receiver" in said
    assert f"every {agent['keep_alive']:g} s (`keep_alive=`)" in said
    assert f"closed after {limits.send_stall:g} s" in said
    assert f"{MAX_THREADS} at a time" in said
    assert f"{caller['connect_timeout']:g} s for a connection, {caller['idle_timeout']:g} s without a byte" in said
    assert f"up to {MAX_REPLY // 2**20} MiB" in said
    assert ChannelOptions().max_reply == MAX_REPLY


def test_what_a_handler_may_know_is_there() -> None:
    listed = README[README.index("**What it knows.**") : README.index("**What it gives.**")]
    names = [name.removeprefix("task.") for name in re.findall(r"`([a-z_.]+)`", listed)]
    assert len(names) == 12
    for name in names:
        assert isinstance(getattr(TaskContext, name), property), name
        assert isinstance(getattr(BlockingTaskContext, name), property), name
    for name in ("ask", "require_auth", "status", "step"):
        assert callable(getattr(TaskContext, name))
        assert callable(getattr(BlockingTaskContext, name))


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!https?:)([^)]+)\)", README))))
def test_what_the_readme_points_to_is_there(link: str) -> None:
    assert (ROOT / Path(link)).exists()
