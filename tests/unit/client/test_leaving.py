"""Callers who leave: their streams close, and their tasks end with them if that is wanted or if a run began them."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from dragoman import Client, TaskFailed, TaskHandle, TaskUnfinished, connect, sync
from dragoman.client.view import TaskView
from dragoman.lineage import Lineage, open_lineage
from dragoman.types.reliable import RELIABLE
from tests.unit.client.scripted import Script, cut, error, events, message, result, silent, status, task

BEGUN = {"task": task("WORKING")}
OPEN = events(BEGUN, then="open")
CANCELED = result(task("CANCELED"))
RELIABLY = {"streaming": True, "extensions": [{"uri": RELIABLE}]}


async def asked(client: Client, *, cancel_remote: bool) -> None:
    await client.ask("go", cancel_remote=cancel_remote)


async def streamed(client: Client, *, cancel_remote: bool) -> None:
    async with aclosing(client.stream("go", cancel_remote=cancel_remote)) as stream:
        async for _ in stream:
            pass


async def awaited(client: Client, *, cancel_remote: bool) -> None:
    await (await client.task("t-1")).result(cancel_remote=cancel_remote)


Waits = Callable[..., Awaitable[None]]


@pytest.fixture
def busy(agent: Script) -> Script:
    """An agent that works for ever."""
    agent.answers["SendStreamingMessage"] = agent.answers["SubscribeToTask"] = [OPEN]
    agent.answers["SendMessage"] = [result(BEGUN)]
    agent.answers["GetTask"] = [result(task("WORKING"))]
    agent.answers["CancelTask"] = [CANCELED]
    return agent


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when a client has heard of a task."""
    event, add = asyncio.Event(), TaskView.add

    def told(view: TaskView, *given: Any) -> None:
        add(view, *given)
        event.set()

    monkeypatch.setattr(TaskView, "add", told)
    return event


@asynccontextmanager
async def waiting(heard: asyncio.Event, work: Awaitable[None]) -> AsyncGenerator[asyncio.Task[None]]:
    """The work, when the client has heard of the task."""
    begun = asyncio.ensure_future(work)
    assert isinstance(begun, asyncio.Task)
    await heard.wait()
    yield begun
    with pytest.raises(asyncio.CancelledError):
        await begun


@pytest.mark.parametrize("cancel_remote", [True, False], ids=["with the task", "alone"])
@pytest.mark.parametrize("wait", [asked, streamed, awaited])
async def test_a_caller_who_is_canceled_leaves_the_task_alone_unless_told_otherwise(
    busy: Script, heard: asyncio.Event, wait: Waits, cancel_remote: bool
) -> None:
    async with connect(busy.url) as client:
        async with waiting(heard, wait(client, cancel_remote=cancel_remote)) as caller:
            caller.cancel()
        await busy.closed.wait()
    assert [seen.params["id"] for seen in busy.asked("CancelTask")] == ["t-1"] * cancel_remote


async def test_a_caller_who_is_canceled_can_tell_which_task_goes_on(busy: Script, heard: asyncio.Event) -> None:
    async with connect(busy.url) as client:
        caller = asyncio.ensure_future(client.ask("go"))
        await heard.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError) as raised:
            await caller
    assert "The task t-1 may go on" in "".join(raised.value.__notes__)


async def test_a_stream_that_is_left_takes_its_task_along_if_told_so(busy: Script) -> None:
    async with connect(busy.url) as client, aclosing(client.stream("go", cancel_remote=True)) as stream:
        await anext(stream)
    assert len(busy.asked("CancelTask")) == 1


async def test_a_deadline_takes_the_task_along_if_told_so(busy: Script) -> None:
    async with connect(busy.url) as client:
        with pytest.raises(TaskUnfinished, match="The task t-1 did not end within"):
            await client.ask("go", deadline=0.05, cancel_remote=True)
    assert len(busy.asked("CancelTask")) == 1


async def test_a_task_that_has_ended_is_not_canceled(busy: Script) -> None:
    busy.answers["SendStreamingMessage"] = [events(BEGUN, status("FAILED"))]
    async with connect(busy.url) as client:
        with pytest.raises(TaskFailed):
            await client.ask("go", cancel_remote=True)
    assert busy.asked("CancelTask") == []


async def test_a_cancellation_is_tried_again_and_one_that_comes_too_late_is_no_failure(busy: Script) -> None:
    busy.answers["CancelTask"] = [cut, error(-32002, "TASK_NOT_CANCELABLE")]
    async with (
        connect(busy.url, poll_interval=0.001) as client,
        aclosing(client.stream("go", cancel_remote=True)) as stream,
    ):
        await anext(stream)
    assert len(busy.asked("CancelTask")) == 2


async def test_a_cancellation_that_fails_is_logged(busy: Script, caplog: pytest.LogCaptureFixture) -> None:
    busy.answers["CancelTask"] = [cut]
    async with (
        connect(busy.url, poll_interval=0.001) as client,
        aclosing(client.stream("go", cancel_remote=True)) as stream,
    ):
        await anext(stream)
    assert len(busy.asked("CancelTask")) == 3
    assert "could not be canceled" in caplog.text


@pytest.mark.parametrize("known_again", [True, False], ids=["known again", "unknown"])
async def test_a_task_that_was_not_named_yet_is_found_by_its_message(busy: Script, known_again: bool) -> None:
    if known_again:
        busy.offer(capabilities=RELIABLY)
    busy.answers["SendStreamingMessage"] = [silent, OPEN]
    async with connect(busy.url) as client:
        with pytest.raises(TaskUnfinished) as raised:
            await client.ask("go", deadline=0.05, cancel_remote=True)
    assert raised.value.task_id is None
    assert len(busy.asked("CancelTask")) == known_again
    sent = [seen.params["message"]["messageId"] for seen in busy.asked("SendStreamingMessage")]
    assert len(sent) == 1 + known_again
    assert len(set(sent)) == 1


# Runs that call other agents.


async def in_a_run(work: Callable[[Lineage], Awaitable[None]]) -> None:
    """Does the work as a handler does it."""

    async def run() -> None:
        await work(open_lineage())

    await asyncio.create_task(run())


async def started(client: Client) -> TaskHandle:
    handle = await client.start("go")
    assert isinstance(handle, TaskHandle)
    return handle


async def test_a_canceled_run_takes_the_tasks_along_that_it_waits_for(busy: Script, heard: asyncio.Event) -> None:
    lineages: list[Lineage] = []

    async def handler() -> None:
        lineages.append(open_lineage())
        async with connect(busy.url) as client:
            await client.ask("go")

    async with waiting(heard, handler()) as run:
        lineages[0].cancel()
        run.cancel()
    assert len(busy.asked("CancelTask")) == 1


async def test_a_canceled_run_takes_along_what_it_has_begun_and_not_what_it_has_found(busy: Script) -> None:
    async def handler(lineage: Lineage) -> None:
        async with connect(busy.url) as client:
            await started(client)
            found = await client.task("t-2")
            with pytest.raises(TaskUnfinished):
                await found.result(deadline=0.05)
            lineage.cancel()
            await asyncio.sleep(0)

    await in_a_run(handler)
    assert [seen.params["id"] for seen in busy.asked("CancelTask")] == ["t-1"]


async def test_what_has_ended_is_no_longer_part_of_the_run(busy: Script) -> None:
    busy.answers["SubscribeToTask"] = [events({"task": task("COMPLETED", "done")})]
    busy.answers["SendStreamingMessage"] = [
        events({"task": task("COMPLETED", "done")}),
        events({"message": message("hi")}),
        error(-32004, "UNSUPPORTED_OPERATION"),
    ]

    async def handler(lineage: Lineage) -> None:
        async with connect(busy.url) as client:
            assert (await (await started(client)).result()).text == "done"
            await client.ask("go")
            await client.ask("go")
            with pytest.raises(Exception, match="unsupported"):
                await client.ask("go")
            assert not lineage._children  # pyright: ignore[reportPrivateUsage]  # nothing else tells
            lineage.cancel()
            await asyncio.sleep(0)

    await in_a_run(handler)
    assert busy.asked("CancelTask") == []


async def test_a_run_in_a_thread_takes_its_tasks_along(busy: Script) -> None:
    def handler(lineage: Lineage) -> None:
        with sync.connect(busy.url) as client:
            client.start("go")
            lineage.cancel()

    async def run(lineage: Lineage) -> None:
        await asyncio.to_thread(handler, lineage)

    await in_a_run(run)
    assert len(busy.asked("CancelTask")) == 1
