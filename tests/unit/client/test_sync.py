"""The synchronous facade: the same outcomes without an event loop, from any thread."""

import asyncio
import inspect
import signal
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from dragoman import InputRequired, Message, Task, TaskFailed, client, sync
from dragoman.errors import ConfigurationError, TaskNotFoundError
from dragoman.types import GetTaskRequest, TaskState, TaskStatusUpdateEvent
from tests.unit.client.scripted import (
    Exchange,
    Script,
    chunk,
    error,
    events,
    message,
    result,
    scripted,
    silent,
    status,
    task,
)


@pytest.fixture
def agent() -> Iterator[Script]:
    """The scripted agent on an event loop in another thread."""
    ready = threading.Event()
    scripts: list[Script] = []
    leave: list[Any] = []

    async def live() -> None:
        async with scripted() as script:
            ended = asyncio.Event()
            scripts.append(script)
            leave.append((asyncio.get_running_loop(), ended))
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    assert ready.wait(10)
    yield scripts[0]
    loop, ended = leave[0]
    loop.call_soon_threadsafe(ended.set)
    thread.join(10)
    assert not thread.is_alive()


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "dragoman-client"]


def test_a_question_is_asked_answered_and_followed(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events({"task": task("INPUT_REQUIRED", said="up?")})]
    agent.answers["SendMessage"] = [result({"task": task("WORKING")})]
    agent.answers["SubscribeToTask"] = [
        events({"task": task("WORKING")}, chunk("up", append=False), status("COMPLETED"))
    ]
    agent.answers["GetTask"] = [result(task("COMPLETED", "up"))]
    with sync.connect(agent.url) as agent_client:
        with pytest.raises(InputRequired) as raised:
            agent_client.ask("count")
        assert isinstance(raised.value, sync.InputRequired)
        assert raised.value.question == "up?"
        assert raised.value.handle.reply("yes").result().text == "up"


def test_start_stream_and_the_operations(agent: Script) -> None:
    agent.answers["SendMessage"] = [result({"task": task("WORKING")}), result({"message": message("hi")})]
    agent.answers["SendStreamingMessage"] = [events({"task": task("WORKING")}, status("FAILED"))]
    agent.answers["SubscribeToTask"] = [events({"task": task("WORKING")}, status("FAILED"))]
    agent.answers["GetTask"] = [result(task("WORKING", "half")), error(-32001, "TASK_NOT_FOUND")]
    agent.answers["CancelTask"] = [result(task("CANCELED"))]
    with sync.connect(agent.url) as agent_client:
        handle = agent_client.start("go")
        assert isinstance(handle, sync.TaskHandle)
        assert (handle.id, handle.context_id, handle.state) == ("t-1", "c-1", TaskState.WORKING)
        assert isinstance(agent_client.start("go"), Message)
        kinds = [Task, TaskStatusUpdateEvent]
        assert [type(event) for event in agent_client.stream("go")] == kinds
        assert [type(event) for event in handle.events()] == kinds
        assert handle.refresh().text == "half"
        assert handle.cancel().state is TaskState.CANCELED
        with pytest.raises(TaskFailed):
            handle.result()
        with pytest.raises(TaskNotFoundError):
            agent_client.get_task(GetTaskRequest(id="x"))


def test_a_stream_may_be_left(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events({"task": task("WORKING")}, then="open")]
    with sync.connect(agent.url) as agent_client, closing(agent_client.stream("go")) as stream:
        assert isinstance(next(stream), Task)


def test_a_stream_outlives_its_client_quietly(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events({"task": task("WORKING")}, then="open")]
    with sync.connect(agent.url) as agent_client:
        stream = agent_client.stream("go")
        next(stream)
    stream.close()


def test_many_threads_share_a_client(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events({"message": message("hi")})]
    with sync.connect(agent.url) as agent_client, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(agent_client.ask, ["go"] * 40)) == ["hi"] * 40


def test_the_thread_ends_with_the_client(agent: Script) -> None:
    with sync.connect(agent.url):
        assert len(threads()) == 1
    assert threads() == []


def test_a_client_that_is_not_open_says_so(agent: Script) -> None:
    closed = sync.connect(agent.url)
    with pytest.raises(ConfigurationError, match="with sync"):
        closed.ask("go")


def test_an_agent_that_does_not_start_says_why() -> None:
    class Broken:
        def local(self) -> Any:
            raise LookupError("no store")

    with pytest.raises(LookupError, match="no store"), sync.connect(Broken()):
        pass
    assert threads() == []


@pytest.fixture
def interruptible() -> Generator[None]:
    """An interrupt is one, also in processes of which others take care."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_cancels_the_call(agent: Script) -> None:
    main, left = threading.main_thread().ident, threading.Event()
    assert main is not None

    async def interrupting(exchange: Exchange) -> None:
        signal.pthread_kill(main, signal.SIGINT)
        await silent(exchange)
        left.set()

    agent.answers["GetTask"] = [interrupting, result(task("WORKING"))]
    with sync.connect(agent.url) as agent_client:
        with pytest.raises(KeyboardInterrupt):
            agent_client.get_task(GetTaskRequest(id="x"))
        assert left.wait(10)
        assert agent_client.get_task(GetTaskRequest(id="t-1")).id == "t-1"


def test_the_facade_has_all_that_the_client_has() -> None:
    def public(of: type) -> set[str]:
        return {name for name, _ in inspect.getmembers(of) if not name.startswith("_")}

    # What runs of agents ask of their clients, on the event loop.
    assert public(client.Client) - {"adopt"} <= public(sync.Client)
    # What the asynchronous client asks of its own handles.
    assert public(client.TaskHandle) - {"completed", "granted", "settle"} <= public(sync.TaskHandle)
