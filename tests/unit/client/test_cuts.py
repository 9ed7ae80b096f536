"""A client behind a bad connection to our own server: nothing is lost, doubled or begun twice, in any binding."""

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from dragoman import Client, Message, Task, TaskUnfinished, connect
from dragoman.errors import TransportError
from dragoman.types import (
    AgentCapabilities,
    AgentCard,
    AgentExtension,
    AgentInterface,
    GetTaskRequest,
    TaskArtifactUpdateEvent,
)
from dragoman.types.reliable import RELIABLE
from tests.proxy import Proxy, proxied

SERVES = """
import asyncio
from dragoman import Agent, TaskContext

agent = Agent("Counting", "Counts.", store="memory")

@agent.skill
async def count(task: TaskContext, text: str):
    last, pause = text.split()
    for number in range(int(last)):
        yield f"{number} {'.' * 60} "
        if number % 10 == 0:
            await asyncio.sleep(float(pause))

agent.run(port=0, announce=lambda line: print(line, flush=True))
"""
BINDINGS = ("JSONRPC", "HTTP+JSON", "GRPC")


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    """Where the server is."""
    program = [sys.executable, "-c", SERVES]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield int(line.rstrip("/\n").rsplit(":", 1)[1])
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors, errors


@pytest.fixture
async def proxy(port: int) -> AsyncIterator[Proxy]:
    async with proxied("127.0.0.1", port) as between:
        yield between


def client_over(proxy: Proxy, binding: str, *, numbered: bool = True, idle_timeout: float = 30.0) -> Client:
    """A client that knows one interface: that behind the proxy."""
    url = proxy.address if binding == "GRPC" else f"http://{proxy.address}/"
    card = AgentCard(
        name="Counting",
        description="",
        version="1",
        supported_interfaces=(AgentInterface(url=url, protocol_binding=binding, protocol_version="1.0"),),
        capabilities=AgentCapabilities(streaming=True, extensions=(AgentExtension(uri=RELIABLE),) if numbered else ()),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )
    return connect(card, poll_interval=0.01, idle_timeout=idle_timeout)


def counted(last: int) -> str:
    return "".join(f"{number} {'.' * 60} " for number in range(last))


@pytest.mark.parametrize("numbered", [True, False], ids=["by number", "by snapshot"])
@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_stream_that_is_cut_ten_times_gives_exactly_what_is_stored(
    proxy: Proxy, binding: str, numbered: bool
) -> None:
    proxy.cut_after(9_000 + 1_357 * number for number in range(10))
    async with client_over(proxy, binding, numbered=numbered) as client:
        assert await client.ask("2000 0.001", deadline=30) == counted(2000)
        assert proxy.cuts == 10
        page = await client.list_tasks()
    assert page.tasks[0].id not in {task.id for task in page.tasks[1:]}


@pytest.mark.parametrize("binding", BINDINGS)
async def test_by_number_no_event_comes_twice_and_none_is_missing(proxy: Proxy, binding: str) -> None:
    proxy.cut_after(9_000 for _ in range(10))
    text, tasks = "", 0
    async with client_over(proxy, binding) as client:
        async for event in client.stream("2000 0.001", deadline=30):
            assert not isinstance(event, Message)
            assert RELIABLE not in (event.metadata or {})
            tasks += isinstance(event, Task)
            if isinstance(event, TaskArtifactUpdateEvent):
                text += event.artifact.text
    assert proxy.cuts == 10
    assert text == counted(2000)
    assert tasks == 1


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_message_whose_answer_is_lost_is_sent_again_and_begins_one_task(proxy: Proxy, binding: str) -> None:
    async with client_over(proxy, binding) as client:
        before = (await client.list_tasks()).total_size or 0
        proxy.cut()
        # The settings of HTTP/2 come before any answer.
        proxy.cut_after([100 if binding == "GRPC" else 1] * 3)
        assert await client.ask("20 0", deadline=30) == counted(20)
        assert proxy.cuts >= 3
        assert (await client.list_tasks()).total_size == before + 1


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_message_whose_answer_is_lost_is_not_sent_to_who_would_not_know_it_again(
    proxy: Proxy, binding: str
) -> None:
    proxy.cut_after([100 if binding == "GRPC" else 1])
    async with client_over(proxy, binding, numbered=False) as client:
        with pytest.raises(TransportError) as raised:
            await client.ask("20 0", deadline=30)
    assert raised.value.task_id is None
    assert proxy.connections == 1


@pytest.mark.parametrize("binding", BINDINGS)
async def test_a_connection_that_is_half_open_is_left_when_nothing_comes(proxy: Proxy, binding: str) -> None:
    async with client_over(proxy, binding, idle_timeout=0.2) as client:
        stream = client.stream("400 0.01", deadline=30)
        text = ""
        async for event in stream:
            if isinstance(event, TaskArtifactUpdateEvent):
                if not text:
                    proxy.freeze()
                text += event.artifact.text
            if proxy.connections > 1:
                proxy.thaw()
    assert text == counted(400)


@pytest.mark.parametrize("binding", BINDINGS)
async def test_what_came_before_the_deadline_is_picked_up_by_another_client(proxy: Proxy, binding: str) -> None:
    async with client_over(proxy, binding) as client:
        with pytest.raises(TaskUnfinished) as raised:
            await client.ask("400 0.01", deadline=0.2)
    assert raised.value.task_id is not None
    async with client_over(proxy, binding) as another:
        handle = await another.task(raised.value.task_id)
        proxy.cut()
        proxy.refuse(3)
        assert (await handle.result(deadline=30)).text == counted(400)
        stored = await another.get_task(GetTaskRequest(id=handle.id))
    assert stored.text == counted(400)
