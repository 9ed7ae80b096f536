"""Handlers ask parts for their files, wherever they run."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from dragoman import Agent, BlockingTaskContext, FetchOptions, FetchRefused, Message, Part, TaskContext, answer, connect
from dragoman.types import TaskState
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, message
from tests.unit.outbound.receiver import PUBLIC, Receiver, answering, listening, silent

PICTURE = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\npng"


@asynccontextmanager
async def _reader() -> AsyncGenerator[tuple[Agent, Receiver, Part], None]:
    async with listening(answering(PICTURE)) as receiver:
        allow = [f"http://{PUBLIC}:{receiver.port}"]
        agent = Agent("Reader", store="memory", fetch=FetchOptions(allow=allow, max_bytes=3))
        yield agent, receiver, Part(url=receiver.url())


async def test_a_coroutine_gets_the_file() -> None:
    async with _reader() as (agent, _, part):

        @agent.skill
        async def read(message: Message) -> str:
            found = await message.parts[0].fetch()
            return f"{found.decode()} {found.media_type}"

        async with connect(agent) as client:
            assert await client.ask(part) == "png image/png"


async def test_a_generator_gets_the_files_of_tasks_of_its_own() -> None:
    async with _reader() as (agent, receiver, part):

        @agent.skill
        async def read(task: TaskContext) -> AsyncGenerator[str]:
            first, second = await asyncio.gather(task.fetch(task.message.parts[0]), task.message.parts[1].fetch())
            yield (first + second).decode()

        async with connect(agent) as client:
            assert await client.ask([part, Part.from_bytes(b"!")]) == "png!"
    assert len(receiver.heads) == 1


async def test_a_function_in_a_thread_waits_for_the_file() -> None:
    async with _reader() as (agent, _, part):

        @agent.skill
        def read(task: BlockingTaskContext) -> str:
            with pytest.raises(RuntimeError, match=r"task\.fetch"):
                task.message.parts[0].fetch()
            return task.fetch(task.message.parts[0]).decode()

        async with connect(agent) as client:
            assert await client.ask(part) == "png"


async def test_a_direct_answer_and_a_router_get_the_file() -> None:
    async with _reader() as (agent, receiver, part):

        @agent.skill
        async def read(message: Message) -> Message:
            return answer((await message.parts[0].fetch()).decode())

        @agent.skill
        async def other(_text: str) -> str:
            return "other"

        @agent.router
        async def choose(message: Message) -> str:
            return "read" if await message.parts[0].fetch() == b"png" else "other"

        async with connect(agent) as client:
            assert await client.ask(part) == "png"
    assert len(receiver.heads) == 2


async def test_what_the_agent_does_not_open_is_refused() -> None:
    async with _reader() as (_, receiver, part):
        agent = Agent("Reader", store="memory")

        @agent.skill
        async def read(message: Message) -> str:
            with pytest.raises(FetchRefused):
                await message.parts[0].fetch()
            return "refused"

        async with connect(agent) as client:
            assert await client.ask(part) == "refused"
    assert receiver.connections == 0


@requirement("R-14.1-04")
@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/latest", "https://10.0.0.1/a.png", "https://127.0.0.1/", "https://[::1]/", "file:///x"],
)
async def test_no_part_leads_into_inner_networks(serve: Serve, url: str) -> None:
    agent = Agent("Reader", store="memory")

    @agent.skill
    async def read(message: Message) -> str:
        try:
            return (await message.parts[0].fetch()).decode()
        except FetchRefused:
            return "refused"

    wire = await serve(agent)
    task = await wire.send(message(parts=[{"url": url, "filename": "a.png", "mediaType": "image/png"}]))
    assert task["artifacts"][0]["parts"] == [{"text": "refused"}]


async def test_what_stops_the_task_ends_the_fetch() -> None:
    async with listening(silent) as receiver:
        agent = Agent("Reader", store="memory", fetch=FetchOptions(allow=[f"http://{PUBLIC}:{receiver.port}"]))

        @agent.skill
        def read(task: BlockingTaskContext) -> str:
            return task.fetch(task.message.parts[0]).decode()

        async with asyncio.timeout(20), connect(agent) as client:
            handle = await client.start(Part(url=receiver.url()))
            assert not isinstance(handle, Message)
            await receiver.asked.wait()
            assert (await handle.cancel()).state is TaskState.CANCELED
            await receiver.closed.wait()
