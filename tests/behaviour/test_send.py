"""SendMessage: waiting or not, what comes back, and how much of the history."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dragoman import Agent, TaskContext
from dragoman.dialects.base import HttpRequest
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.agents import direct, echo, gated, obedient
from tests.behaviour.cells import NO_HISTORY_LENGTH_OF_ZERO, NO_LISTS, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, message, refused, wire_to

TERMINAL = {"TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED", "TASK_STATE_REJECTED"}


@requirement("R-3.2.2-02", "R-3.2.2-03", "R-3.4.2-02", "R-3.7-01", "R-3.7-02")
async def test_an_answer_waits_for_the_end_and_is_the_task_with_its_artifacts(serve: Serve, store: str) -> None:
    wire = await serve(echo(store=store))
    task = await wire.send("hello there")
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert [artifact["parts"] for artifact in task["artifacts"]] == [[{"text": "hello there"}]]
    assert "message" not in task["status"]
    assert await wire.get(task["id"]) == task


@requirement("R-3.2.2-02")
async def test_an_answer_waits_no_longer_than_until_the_agent_asks(serve: Serve) -> None:
    wire = await serve(obedient())
    task = await wire.send("ask")
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert task["status"]["message"]["parts"] == [{"text": "What colour?"}]
    assert task["status"]["message"]["role"] == "ROLE_AGENT"
    assert task["status"]["message"]["taskId"] == task["id"]


@requirement("R-3.1.1-01", "R-3.2.2-04")
async def test_a_caller_who_does_not_wait_gets_the_task_at_once(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store)
    wire = await serve(agent)
    task = await wire.send("one", configuration={"returnImmediately": True})
    assert task["status"]["state"] in {"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"}
    gate.release()
    gate.release()
    done = await wire.settled(task["id"])
    assert done["artifacts"][0]["parts"] == [{"text": "one "}]


@requirement("R-3.2.2-05")
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_direct_answer_is_the_same_for_who_waits_and_who_does_not(serve: Serve, at_once: bool) -> None:
    wire = await serve(direct())
    sent = {"message": message("hi"), "configuration": {"returnImmediately": at_once}}
    result = await wire.call("SendMessage", sent)
    assert list(result) == ["message"]
    assert result["message"]["parts"] == [{"text": "you said hi"}]
    assert result["message"]["role"] == "ROLE_AGENT"
    assert await wire.stored() == []


@requirement("R-3.2.2-05")
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_stream_is_the_same_for_who_waits_and_who_does_not(serve: Serve, at_once: bool) -> None:
    wire = await serve(echo())
    async with wire.send_stream("hi", configuration={"returnImmediately": at_once}) as stream:
        payloads = await stream.payloads()
    assert "task" in payloads[0]
    assert payloads[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("R-3.1.1-02")
@pytest.mark.parametrize("word", ["done", "fail", "reject"])
async def test_a_finished_task_takes_no_message(serve: Serve, word: str) -> None:
    wire = await serve(obedient())
    task = await wire.send(word)
    assert task["status"]["state"] in TERMINAL
    with refused("UNSUPPORTED_OPERATION"):
        await wire.send(message("more", taskId=task["id"]))
    assert await wire.get(task["id"]) == task


@requirement("R-3.1.1-04", "R-3.4.2-04")
async def test_a_made_up_task_id_is_not_found_and_makes_no_task(serve: Serve) -> None:
    wire = await serve(echo())
    made_up = "0e6f5bd8-6a02-4b8e-93a6-1f7d4e3a8b11"
    with refused("TASK_NOT_FOUND"):
        await wire.send(message("more", taskId=made_up))
    with refused("TASK_NOT_FOUND"):
        await wire.get(made_up)
    assert await wire.stored() == []


@requirement("R-3.1.1-03", "R-13.4-07")
async def test_a_part_of_a_media_type_that_the_agent_does_not_take_is_refused(serve: Serve) -> None:
    called = False
    agent = Agent("Reader", "Reads text.", store="memory")

    @agent.skill(tags=["demo"], input_modes=["text/plain"])
    async def read(task: TaskContext) -> str:
        nonlocal called
        called = True
        return task.text

    wire = await serve(agent)
    odd = message(parts=[{"raw": "AAAA", "mediaType": "application/x-unknown"}])
    with refused("CONTENT_TYPE_NOT_SUPPORTED"):
        await wire.send(odd)
    assert not called
    assert (await wire.send(message(parts=[{"text": "ok", "mediaType": "text/plain"}])))["artifacts"]


async def test_an_agent_that_states_no_media_types_takes_them_all(serve: Serve) -> None:
    wire = await serve(echo())
    task = await wire.send(message(parts=[{"raw": "AAAA", "mediaType": "application/x-unknown"}, {"text": "x"}]))
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("R-3.1.3-01", "R-3.3.2-12")
async def test_a_task_that_is_not_there_is_not_found(serve: Serve) -> None:
    wire = await serve(echo())
    for task_id in ("0e6f5bd8-6a02-4b8e-93a6-1f7d4e3a8b11", "no such thing", "ü%2F/..", "1" * 500):
        with refused("TASK_NOT_FOUND"):
            await wire.get(task_id)


@requirement("R-3.2.4-02")
async def test_the_history_is_as_long_as_asked_for_and_the_newest(serve: Serve, store: str) -> None:
    agent = Agent("Curious", "Asks twice.", store=store)

    @agent.skill(tags=["demo"])
    async def curious(task: TaskContext) -> str:
        first = await task.ask("First?")
        return f"{first} and {await task.ask('Second?')}"

    wire = await serve(agent)
    task = await wire.send("begin")
    for answer in ("red", "blue"):
        task = await wire.send(message(answer, taskId=task["id"]))
    told = [entry["parts"][0]["text"] for entry in task["history"]]
    assert told == ["begin", "First?", "red", "Second?", "blue"]
    assert [entry["role"] for entry in task["history"][:2]] == ["ROLE_USER", "ROLE_AGENT"]
    assert (await wire.get(task["id"], historyLength=2))["history"] == task["history"][-2:]
    assert (await wire.get(task["id"], historyLength=50))["history"] == task["history"]
    with_history = await wire.send("begin", configuration={"historyLength": 1})
    assert [entry["parts"] for entry in with_history["history"]] == [[{"text": "begin"}]]


@requirement("R-3.2.4-01")
@without(NO_HISTORY_LENGTH_OF_ZERO)
async def test_who_asks_for_no_history_gets_none(serve: Serve) -> None:
    wire = await serve(obedient())
    task = await wire.send("ask", configuration={"historyLength": 0})
    assert "history" not in task
    assert (await wire.get(task["id"]))["history"]
    assert "history" not in await wire.get(task["id"], historyLength=0)


@requirement("R-3.2.4-02")
@without(NO_LISTS)
async def test_the_history_of_listed_tasks_is_as_long_as_asked_for(serve: Serve) -> None:
    wire = await serve(obedient())
    task = await wire.send("ask")
    listed = await wire.call("ListTasks", {"historyLength": 1})
    assert listed["tasks"][0]["history"] == task["history"][-1:]


@requirement("R-3.2.4-03")
async def test_a_negative_history_length_is_refused(serve: Serve) -> None:
    wire = await serve(echo())
    task = await wire.send()
    with refused("INVALID_PARAMS") as caught:
        await wire.get(task["id"], historyLength=-5)
    assert caught.value.fields == ["historyLength"]
    with refused("INVALID_PARAMS") as caught:
        await wire.send("hello", configuration={"historyLength": -1})
    assert caught.value.fields == ["configuration.historyLength"]


@requirement("R-3.2.4-03")
@without(NO_LISTS)
async def test_a_negative_history_length_of_a_list_is_refused(serve: Serve) -> None:
    wire = await serve(echo())
    with refused("INVALID_PARAMS"):
        await wire.call("ListTasks", {"historyLength": -1})


@requirement("R-3.2.2-01")
async def test_the_agent_knows_what_the_caller_accepts(serve: Serve) -> None:
    agent = Agent("Polyglot", "Answers in text or JSON.", store="memory")

    @agent.skill(tags=["demo"])
    async def speak(task: TaskContext) -> AsyncIterator[str | dict[str, int]]:
        if "application/json" in task.output_modes:
            yield {"answer": 42}
        else:
            yield "forty-two"

    wire = await serve(agent)
    wants_json = await wire.send(configuration={"acceptedOutputModes": ["application/json"]})
    assert wants_json["artifacts"][0]["parts"][0]["data"] == {"answer": 42}
    assert (await wire.send())["artifacts"][0]["parts"] == [{"text": "forty-two"}]


async def test_who_leaves_while_waiting_leaves_the_task_alone(serve: Serve) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    waiting = asyncio.create_task(wire.send("one"))
    tasks: list[Any] = []
    while not tasks:
        tasks = await wire.stored()
    waiting.cancel()
    gate.release()
    gate.release()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await wire.settled(tasks[0]["id"]))["artifacts"][0]["parts"] == [{"text": "one "}]


async def test_an_application_without_a_lifespan_opens_with_its_first_request(binding: str) -> None:
    bridge = AsgiBridge(echo().asgi())
    wire = await wire_to(bridge, binding)
    assert (await wire.send("hi"))["artifacts"][0]["parts"] == [{"text": "hi"}]


async def test_versions_may_be_taken_by_the_form_of_a_request(binding: str) -> None:
    async with AsgiBridge(echo(missing_version="by-grammar", media_type="json").asgi()) as bridge:
        wire = await wire_to(bridge, binding)
        request = wire.request("SendMessage", {"message": message("hi")})
        headers = {name: value for name, value in request.headers.items() if name != "a2a-version"}
        reply = await wire.send_raw(HttpRequest("POST", request.path, "", headers, request.body))
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/json"
        assert b"TASK_STATE_COMPLETED" in reply.body
        with refused("VERSION_NOT_SUPPORTED"):
            await wire.call("ListTasks", headers={"a2a-version": "7.0"})


@requirement("R-3.4.2-01")
async def test_every_task_has_an_id_of_its_own(serve: Serve, store: str) -> None:
    wire = await serve(echo(store=store))
    tasks = await asyncio.gather(*(wire.send(f"n{number}") for number in range(40)))
    assert len({task["id"] for task in tasks}) == 40
    assert {task["artifacts"][0]["parts"][0]["text"] for task in tasks} == {f"n{number}" for number in range(40)}
