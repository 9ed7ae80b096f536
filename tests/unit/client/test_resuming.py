"""How a cut is made up for: by number, by the task, by sending again; at what pace, and for how long."""

import asyncio
import json
from typing import Any

import pytest

from dragoman import Task, TaskArtifactUpdateEvent, TaskUnfinished, connect
from dragoman.client import pacing
from dragoman.errors import TransportError, UnavailableError
from dragoman.types import TaskStatusUpdateEvent
from dragoman.types.reliable import RELIABLE
from tests.unit.client.scripted import Answer, Script, chunk, cut, error, events, plain, result, silent, status, task

BEGUN = {"task": task("WORKING")}
RELIABLY = {"streaming": True, "extensions": [{"uri": RELIABLE}]}


def at(number: int, event: dict[str, Any]) -> dict[str, Any]:
    """The event with its number."""
    ((kind, value),) = event.items()
    return {kind: value | {"metadata": {RELIABLE: {"seq": number}}}}


@pytest.fixture
def reliable(agent: Script) -> Script:
    """An agent that numbers its events, and loses the stream after the third."""
    agent.offer(capabilities=RELIABLY)
    agent.answers["SendStreamingMessage"] = [
        events(at(2, BEGUN), at(3, chunk("one ", append=False)), at(4, chunk("two ")), then="cut")
    ]
    return agent


async def test_a_cut_stream_goes_on_after_the_last_number(reliable: Script) -> None:
    reliable.answers["SubscribeToTask"] = [
        events(at(5, chunk("three ")), then="cut"),
        events(at(6, chunk("four")), at(7, status("COMPLETED"))),
    ]
    async with connect(reliable.url) as client:
        seen = [event async for event in client.stream("go")]
    kinds = [Task, *[TaskArtifactUpdateEvent] * 4, TaskStatusUpdateEvent]
    assert [type(event) for event in seen] == kinds
    assert [event.metadata for event in seen] == [None] * 6
    assert [asked.headers["last-event-id"] for asked in reliable.asked("SubscribeToTask")] == ["4", "5"]
    assert "GetTask" not in reliable.names()


async def test_an_event_that_comes_twice_counts_once(reliable: Script) -> None:
    reliable.answers["SubscribeToTask"] = [
        events(at(4, chunk("two ")), at(5, chunk("three")), at(6, status("COMPLETED")))
    ]
    async with connect(reliable.url) as client:
        assert await client.ask("go") == "one two three"


async def test_a_task_in_place_of_forgotten_events_counts_whole(reliable: Script) -> None:
    reliable.answers["SubscribeToTask"] = [
        events(at(9, {"task": task("WORKING", "one two three ")}), at(10, chunk("four")), at(11, status("COMPLETED")))
    ]
    async with connect(reliable.url) as client:
        assert await client.ask("go") == "one two three four"


async def test_after_a_look_without_number_no_old_one_is_used(reliable: Script) -> None:
    reliable.answers["SubscribeToTask"] = [
        error(-32004, "UNSUPPORTED_OPERATION"),
        events(at(6, {"task": task("COMPLETED", "one two three")})),
    ]
    reliable.answers["GetTask"] = [result(task("WORKING", "one two three"))]
    async with connect(reliable.url, poll_interval=0.001) as client:
        assert await client.ask("go") == "one two three"
    assert "last-event-id" not in reliable.asked("SubscribeToTask")[1].headers


async def test_the_extension_is_named_to_who_declares_it_and_to_nobody_else(agent: Script) -> None:
    agent.answers["GetTask"] = [result(task("COMPLETED"))]
    async with connect(agent.url, extensions=["urn:mine"]) as client:
        await client.task("t-1")
    agent.offer(capabilities=RELIABLY)
    async with connect(agent.url, extensions=["urn:mine"]) as client:
        await client.task("t-1")
    async with connect(agent.url, extensions=[RELIABLE]) as client:
        await client.task("t-1")
    named = [asked.headers["a2a-extensions"] for asked in agent.asked("GetTask")]
    assert named == ["urn:mine", f"urn:mine, {RELIABLE}", RELIABLE]


async def test_updates_without_the_task_before_them_are_looked_after_at_the_end(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, chunk("one ", append=False), then="cut")]
    agent.answers["SubscribeToTask"] = [events(chunk("three"), status("COMPLETED"))]
    agent.answers["GetTask"] = [UNAVAILABLE, result(task("COMPLETED", "one two three"))]
    async with connect(agent.url, poll_interval=0.001) as client:
        assert await client.ask("go") == "one two three"
    assert agent.names().count("GetTask") == 2


async def test_an_end_right_after_a_cut_is_looked_after(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, chunk("one ", append=False), then="cut")]
    agent.answers["SubscribeToTask"] = [events(status("COMPLETED"))]
    agent.answers["GetTask"] = [result(task("COMPLETED", "one two"))]
    async with connect(agent.url) as client:
        assert await client.ask("go") == "one two"


async def test_what_was_seen_whole_is_not_looked_after(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, chunk("lost", append=False), then="cut")]
    agent.answers["SubscribeToTask"] = [events({"task": task("WORKING", "one two")}, status("COMPLETED"))]
    async with connect(agent.url) as client:
        assert await client.ask("go") == "one two"
    assert "GetTask" not in agent.names()


UNAVAILABLE = plain(b"busy", 503, content_type="text/plain")
LOST = {"cut": cut, "silent": silent, "head": events(then="cut"), "503": UNAVAILABLE}


@pytest.mark.parametrize("answer", LOST.values(), ids=LOST.keys())
@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])
async def test_a_message_is_sent_again_as_it_was_to_who_knows_it_again(
    agent: Script, answer: Answer, streaming: bool
) -> None:
    agent.offer(capabilities=RELIABLY | {"streaming": streaming})
    done = {"task": task("COMPLETED", "done")}
    agent.answers["SendStreamingMessage"] = [answer, answer, events(done)]
    agent.answers["SendMessage"] = [answer, answer, result(done)]
    async with connect(agent.url, idle_timeout=0.05, poll_interval=0.001) as client:
        assert await client.ask("go") == "done"
        handle = await client.start("go")
        assert isinstance(handle.id, str)  # type: ignore[union-attr]  # pyright: ignore[reportAttributeAccessIssue]  # no message
    sent = agent.asked("SendStreamingMessage" if streaming else "SendMessage")
    assert len({seen.params["message"]["messageId"] for seen in sent[:3]}) == 1
    assert sent[0].params == sent[1].params == sent[2].params


async def test_a_message_that_nobody_answers_is_sent_six_times(agent: Script) -> None:
    agent.offer(capabilities=RELIABLY)
    agent.answers["SendStreamingMessage"] = [cut]
    async with connect(agent.url, poll_interval=0.001) as client:
        with pytest.raises(TransportError):
            await client.ask("go")
        assert len(agent.names()) == 6
        with pytest.raises(TaskUnfinished, match="No answer within") as raised:
            await client.ask("go", deadline=0.2)
        assert len(agent.names()) > 12
    assert raised.value.task_id is None
    assert isinstance(raised.value, TimeoutError)


async def test_an_agent_that_does_not_stream_and_does_not_know_messages_again_answers_at_once(agent: Script) -> None:
    agent.offer(capabilities={})
    agent.answers["SendMessage"] = [result(BEGUN)]
    agent.answers["GetTask"] = [result(task("COMPLETED", "done"))]
    async with connect(agent.url, poll_interval=0.001) as client:
        assert await client.ask("go") == "done"
    assert agent.asked("SendMessage")[0].params["configuration"] == {"returnImmediately": True}


@pytest.mark.parametrize("then", [plain(b"busy", 503, retry_after="7"), plain(b"busy", 429, retry_after="7")])
async def test_an_agent_is_not_asked_before_it_wants_to_be(
    agent: Script, then: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(pacing.Pauses.__init__, "__kwdefaults__", {"chance": lambda: 0.0, "sleep": sleep})
    agent.answers["SendStreamingMessage"] = [events(BEGUN, then="cut")]
    agent.answers["SubscribeToTask"] = [cut, then, events({"task": task("COMPLETED", "done")})]
    async with connect(agent.url) as client:
        assert await client.ask("go") == "done"
    assert slept == [0.0, 0.0, 7.0]


async def test_a_message_to_an_agent_that_was_asked_too_often_is_sent_again_when_it_says(
    reliable: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(pacing.Pauses.__init__, "__kwdefaults__", {"chance": lambda: 0.0, "sleep": sleep})
    too_often = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -31429, "message": "Too many requests"}})
    reliable.answers["SendStreamingMessage"] = [
        plain(too_often.encode(), 429, retry_after="7"),
        events({"task": task("COMPLETED", "done")}),
    ]
    async with connect(reliable.url) as client:
        assert await client.ask("go") == "done"
    first, second = reliable.asked("SendStreamingMessage")
    assert first.params["message"] == second.params["message"]
    assert slept == [7.0]


async def test_a_deadline_is_kept_whatever_the_agent_asks_for(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(BEGUN, then="cut")]
    agent.answers["SubscribeToTask"] = [plain(b"busy", 503, retry_after="3600")]
    async with asyncio.timeout(10), connect(agent.url) as client:
        with pytest.raises(TaskUnfinished, match="temporarily unavailable") as raised:
            await client.ask("go", deadline=0.1)
    assert isinstance(raised.value.__cause__, UnavailableError)


async def test_the_handle_keeps_what_was_seen_until_the_deadline(agent: Script) -> None:
    agent.answers["GetTask"] = [result(task("SUBMITTED"))]
    agent.answers["SubscribeToTask"] = [events(BEGUN, chunk("half", append=False), then="open")]
    async with connect(agent.url) as client:
        handle = await client.task("t-1")
        with pytest.raises(TaskUnfinished):
            await handle.result(deadline=0.1)
        assert handle.task.text == "half"
        with pytest.raises(TaskUnfinished):
            _ = [event async for event in handle.events(deadline=0.05)]
