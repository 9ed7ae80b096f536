"""A task is followed to its end through cuts, silence and refusals, and nothing is sent twice that may not be."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from dragoman import Task, TaskUnfinished, connect
from dragoman.errors import InternalError, ReplyMalformed, TaskNotFoundError, TransportError, UnavailableError
from dragoman.types import StreamEvent, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent
from tests.unit.client.scripted import (
    Answer,
    Exchange,
    Script,
    chunk,
    cut,
    error,
    events,
    plain,
    result,
    silent,
    status,
    task,
)

BEGUN = {"task": task("WORKING")}
UNAVAILABLE = plain(b"busy", 503, content_type="text/plain")


async def kinds(stream: AsyncGenerator[StreamEvent, None]) -> list[type[StreamEvent]]:
    return [type(event) async for event in stream]


async def test_after_a_cut_the_subscribed_task_replaces_what_was_put_together(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, chunk("one ", append=False), chunk("lost "), then="cut")]
    agent.answers["SubscribeToTask"] = [
        events({"task": task("WORKING", "one two ")}, chunk("three"), status("COMPLETED"))
    ]
    agent.answers["GetTask"] = [result(task("COMPLETED", "one two three"))]
    async with connect(agent.url) as client:
        assert await client.ask("go") == "one two three"
    assert agent.names() == ["SendStreamingMessage", "SubscribeToTask", "GetTask"]
    assert agent.asked("SubscribeToTask")[0].params["id"] == "t-1"


async def test_the_caller_of_stream_sees_the_task_again_after_a_cut(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, chunk("one", append=False), then="cut")]
    agent.answers["SubscribeToTask"] = [events({"task": task("WORKING", "one two")}, status("COMPLETED"))]
    async with connect(agent.url) as client:
        assert await kinds(client.stream("go")) == [Task, TaskArtifactUpdateEvent, Task, TaskStatusUpdateEvent]


@pytest.mark.parametrize(
    "refusal",
    [
        error(-32004, "UNSUPPORTED_OPERATION"),
        error(-32602, "INVALID_PARAMS"),
        error(-32601, "METHOD_NOT_FOUND"),
        error(-32001, "TASK_NOT_FOUND"),
    ],
    ids=["unsupported", "invalid params", "no such method", "nobody runs it"],
)
async def test_a_task_that_cannot_be_subscribed_to_is_fetched(agent: Script, refusal: Answer) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, then="cut")]
    agent.answers["SubscribeToTask"] = [refusal]
    agent.answers["GetTask"] = [result(task("COMPLETED", "done"))]
    async with connect(agent.url) as client:
        assert await client.ask("go") == "done"
    assert agent.names() == ["SendStreamingMessage", "SubscribeToTask", "GetTask"]


async def test_a_stream_that_ends_too_early_is_taken_up_again(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN)]
    agent.answers["SubscribeToTask"] = [events(BEGUN), events(BEGUN, chunk("late", append=False), status("COMPLETED"))]
    agent.answers["GetTask"] = [result(task("COMPLETED", "late"))]
    async with connect(agent.url, poll_interval=0.001) as client:
        assert await client.ask("go") == "late"


async def test_silence_is_a_cut(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, then="open")]
    agent.answers["SubscribeToTask"] = [events({"task": task("COMPLETED", "done")})]
    async with connect(agent.url, idle_timeout=0.05) as client:
        assert await client.ask("go") == "done"


async def test_without_streams_a_task_is_polled_until_it_is_settled(agent: Script) -> None:
    agent.offer(capabilities={})
    agent.answers["SendMessage"] = [result({"task": task("WORKING")})]
    working = result(task("WORKING"))
    agent.answers["GetTask"] = [working, cut, UNAVAILABLE, working, result(task("COMPLETED", "done"))]
    async with connect(agent.url, poll_interval=0.001) as client:
        assert await client.ask("go") == "done"
    assert agent.names().count("SendMessage") == 1


async def test_a_handle_without_streams_yields_each_change_once(agent: Script) -> None:
    agent.offer(capabilities={})
    working, half = result(task("WORKING")), result(task("WORKING", "half"))
    agent.answers["GetTask"] = [working, working, working, half, half, result(task("COMPLETED", "whole"))]
    async with connect(agent.url, poll_interval=0.001) as client:
        handle = await client.task("t-1")
        seen = [event.text async for event in handle.events() if isinstance(event, Task)]
    assert seen == ["", "half", "whole"]


@pytest.mark.parametrize("failing", [cut, UNAVAILABLE], ids=["cut", "unavailable"])
async def test_an_agent_may_be_out_of_reach_until_the_deadline(agent: Script, failing: Answer) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, then="cut")]
    agent.answers["SubscribeToTask"] = [failing]
    async with connect(agent.url, poll_interval=0.001) as client:
        with pytest.raises(TaskUnfinished) as raised:
            await client.ask("go", deadline=0.2)
    assert raised.value.task_id == "t-1"
    assert isinstance(raised.value.__cause__, TransportError | UnavailableError)
    assert agent.names().count("SubscribeToTask") > 6
    assert agent.names().count("SendStreamingMessage") == 1


@pytest.mark.parametrize("failing", [cut, UNAVAILABLE], ids=["cut", "unavailable"])
async def test_an_agent_is_tried_for_as_long_as_it_takes(agent: Script, failing: Answer) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, then="cut")]
    agent.answers["SubscribeToTask"] = [*[failing] * 20, events({"task": task("COMPLETED", "done")})]
    async with connect(agent.url, poll_interval=0.001) as client:
        assert await client.ask("go") == "done"


@pytest.mark.parametrize(
    "senseless", [plain(b"{}"), error(-32603, "INTERNAL_ERROR")], ids=["no answer of A2A", "internal error"]
)
async def test_an_agent_that_makes_no_sense_is_given_up_after_six_attempts(agent: Script, senseless: Answer) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, then="cut")]
    agent.answers["SubscribeToTask"] = [senseless]
    async with connect(agent.url, poll_interval=0.001) as client:
        with pytest.raises((ReplyMalformed, InternalError)) as raised:
            await client.ask("go")
    assert agent.names().count("SubscribeToTask") == 5
    if isinstance(raised.value, ReplyMalformed):
        assert raised.value.task_id == "t-1"


async def test_the_agents_word_ends_the_attempts(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, then="cut")]
    agent.answers["SubscribeToTask"] = agent.answers["GetTask"] = [error(-32001, "TASK_NOT_FOUND")]
    async with connect(agent.url) as client:
        with pytest.raises(TaskNotFoundError):
            await client.ask("go")


@pytest.mark.parametrize("answer", [cut, silent, events(then="cut"), UNAVAILABLE], ids=["cut", "silent", "head", "503"])
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])
async def test_a_message_whose_fate_is_unknown_is_not_sent_again(
    agent: Script, answer: Answer, streaming: bool
) -> None:
    agent.offer(capabilities={"streaming": streaming})
    agent.answers["SendStreamingMessage"] = agent.answers["SendMessage"] = [answer]
    async with connect(agent.url, idle_timeout=0.1) as client:
        with pytest.raises((TransportError, UnavailableError)):
            await client.ask("go")
    assert len(agent.names()) == 1


async def test_a_stream_without_events_is_malformed(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events()]
    async with connect(agent.url) as client:
        with pytest.raises(ReplyMalformed):
            await client.ask("go")


async def test_an_error_in_the_stream_is_raised(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [broken_off]
    async with connect(agent.url) as client:
        with pytest.raises(InternalError, match="gone"):
            await client.ask("go")


async def broken_off(exchange: Exchange) -> None:
    await exchange.head(200, {"content-type": "text/event-stream", "connection": "close"})
    await exchange.write(b'data: {"jsonrpc":"2.0","id":1,"result":%b}\n\n' % json.dumps(BEGUN).encode())
    await exchange.write(b'event: error\ndata: {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"gone"}}\n\n')
    exchange.keep = False


async def test_an_event_that_cannot_be_read_counts_as_a_cut(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, {"unknown": 1})]
    agent.answers["SubscribeToTask"] = [events({"task": task("COMPLETED", "done")})]
    async with connect(agent.url) as client:
        assert await client.ask("go") == "done"


async def test_a_caller_who_stops_reading_closes_the_connection(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, then="open")]
    async with connect(agent.url) as client:
        async with aclosing(client.stream("go")) as stream:
            async for event in stream:
                assert isinstance(event, Task)
                break
        await agent.closed.wait()


async def test_a_stream_that_does_not_close_after_the_end_is_left(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, status("COMPLETED"), then="open")]
    async with connect(agent.url) as client:
        stream = client.stream("go")
        last = [event async for event in stream][-1]
        assert isinstance(last, TaskStatusUpdateEvent)
        assert last.status.state is TaskState.COMPLETED
        await agent.closed.wait()


async def test_the_connection_of_a_finished_stream_is_used_again(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events({"task": task("COMPLETED", "done")})]
    async with connect(agent.url) as client:
        assert [await client.ask("go") for _ in range(3)] == ["done"] * 3
        assert agent.connections == 1
