"""What a handler is: its forms, its parameters, what it yields, how it ends."""

import asyncio
import dataclasses
import json
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pydantic
import pytest

from dragoman import Agent, Artifact, Message, Part, Reject, TaskContext
from tests.behaviour.cells import FINAL_JSON, only
from tests.behaviour.test_streams import text_in
from tests.behaviour.wire import Fault, Serve, message, refused

pytestmark = only(*FINAL_JSON)


def new_agent(*, store: str = "memory", **given: Any) -> Agent:
    return Agent("Tested", "Under test.", store=store, **given)


def texts(task: dict[str, Any]) -> list[str]:
    return ["".join(part.get("text", "") for part in artifact["parts"]) for artifact in task["artifacts"]]


async def test_the_four_forms_of_a_handler_say_the_same(serve: Serve) -> None:
    async def async_generator(text: str) -> AsyncIterator[str]:
        for word in text.split():
            yield word

    async def coroutine(text: str) -> str:
        return "".join(text.split())

    def generator(text: str) -> Iterator[str]:
        yield from text.split()

    def function(text: str) -> str:
        return "".join(text.split())

    for handler in (async_generator, coroutine, generator, function):
        agent = new_agent()
        agent.skill(tags=["demo"])(handler)
        task = await (await serve(agent)).send("one two three")
        assert texts(task) == ["onetwothree"], handler.__name__
        assert task["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_what_a_handler_returns_becomes_artifacts(serve: Serve) -> None:
    class Point(msgspec.Struct):
        x: int

    @dataclasses.dataclass
    class Place:
        name: str

    class Model(pydantic.BaseModel):
        deep: list[int]

    agent = new_agent()

    @agent.skill
    async def everything(task: TaskContext) -> AsyncIterator[Any]:
        yield {"a": 1}
        yield Point(2)
        yield Place("here")
        yield Model(deep=[3])
        yield Part(url="https://files.example/a.png", media_type="image/png")
        yield Artifact(artifact_id="mine", parts=(Part(text="given"),))
        yield [1, 2]

    task = await (await serve(agent)).send()
    parts = [artifact["parts"][0] for artifact in task["artifacts"]]
    assert [part["data"] for part in parts if "data" in part] == [
        {"a": 1},
        {"x": 2},
        {"name": "here"},
        {"deep": [3]},
        [1, 2],
    ]
    assert parts[4]["url"] == "https://files.example/a.png"
    assert task["artifacts"][5]["artifactId"] == "mine"


async def test_a_handler_that_says_nothing_completes_its_task(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    async def quiet(task: TaskContext) -> None:
        """Do nothing."""

    task = await (await serve(agent)).send()
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    assert "artifacts" not in task


async def test_no_chunk_is_held_back(serve: Serve) -> None:
    agent = new_agent()
    gate = asyncio.Event()

    @agent.skill
    async def one_chunk(task: TaskContext) -> AsyncIterator[str]:
        yield "now"
        await gate.wait()

    wire = await serve(agent)
    async with wire.send_stream() as stream:
        seen = [(await anext(stream)).payload]
        while text_in(seen) != "now":
            seen.append((await anext(stream)).payload)
        gate.set()
        rest = await stream.payloads()
    assert [each["artifactUpdate"] for each in rest if "artifactUpdate" in each][-1]["lastChunk"] is True
    assert text_in(rest) == ""


async def test_a_task_is_stored_before_its_handler_starts(serve: Serve) -> None:
    agent = new_agent()
    seen: list[str] = []

    @agent.skill
    async def look(task: TaskContext) -> str:
        seen.append((await wire.get(task.id))["status"]["state"])
        return "ok"

    wire = await serve(agent)
    await wire.send()
    assert seen == ["TASK_STATE_WORKING"]


async def test_parameters_are_filled_by_annotation(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    async def all_of_them(said: str, whole: Message, task: TaskContext) -> str:
        return f"{said}|{whole.message_id}|{task.text}|{task.id == whole.task_id}"

    wire = await serve(agent)
    sent = message("hi")
    assert texts(await wire.send(sent)) == [f"hi|{sent['messageId']}|hi|True"]


class Order(pydantic.BaseModel):
    item: str
    count: int


class Struct(msgspec.Struct):
    item: str
    count: int


@dataclasses.dataclass
class Plain:
    item: str
    count: int


def model_agent(kind: Any) -> Agent:
    agent = new_agent()

    async def take(order: Any) -> str:
        return f"{type(order).__name__} {order.count} {order.item}"

    take.__annotations__["order"] = kind
    agent.skill(tags=["demo"])(take)
    return agent


@pytest.mark.parametrize("kind", [Order, Struct, Plain])
async def test_models_are_taken_from_the_data_part(serve: Serve, kind: Any) -> None:
    wire = await serve(model_agent(kind))
    task = await wire.send(message(parts=[{"text": "please"}, {"data": {"item": "tea", "count": 2}}]))
    assert texts(task) == [f"{kind.__name__} 2 tea"]


@pytest.mark.parametrize("kind", [Order, Struct, Plain])
async def test_data_that_does_not_fit_is_named_and_makes_no_task(serve: Serve, kind: Any) -> None:
    wire = await serve(model_agent(kind))
    with refused("INVALID_PARAMS") as caught:
        await wire.send(message(parts=[{"text": "x"}, {"data": {"item": "tea", "count": "many"}}]))
    assert caught.value.fields == ["message.parts[1].data.count"]
    with refused("INVALID_PARAMS") as caught:
        await wire.send("no data at all")
    assert caught.value.fields == ["message.parts"]
    assert (await wire.call("ListTasks"))["totalSize"] == 0


async def test_the_context_knows_the_message_and_the_request(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    async def tell(task: TaskContext) -> dict[str, Any]:
        return {
            "metadata": task.metadata,
            "request": task.request_metadata,
            "modes": list(task.output_modes),
            "caller": task.caller,
            "context": task.context_id,
            "messages": [said.text for said in task.messages],
            "skill": task.skill,
        }

    wire = await serve(agent)
    task = await wire.send(
        message("hi", metadata={"a": 1}), metadata={"b": 2}, configuration={"acceptedOutputModes": ["text/plain"]}
    )
    assert task["artifacts"][0]["parts"][0]["data"] == {
        "metadata": {"a": 1},
        "request": {"b": 2},
        "modes": ["text/plain"],
        "caller": "",
        "context": task["contextId"],
        "messages": ["hi"],
        "skill": "tell",
    }


async def test_a_failing_handler_tells_the_caller_nothing_but_a_number(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    agent = new_agent()

    @agent.skill
    async def broken(task: TaskContext) -> AsyncIterator[str]:
        yield "some output"
        raise ValueError("the password is hunter2")

    wire = await serve(agent)
    with caplog.at_level(logging.ERROR):
        async with wire.send_stream() as stream:
            payloads = await stream.payloads()
    update = payloads[-1]["statusUpdate"]
    assert update["status"]["state"] == "TASK_STATE_FAILED"
    assert text_in(payloads) == "some output"
    correlation = update["metadata"]["correlationId"]
    assert correlation in update["status"]["message"]["parts"][0]["text"]
    assert correlation in caplog.text
    assert "hunter2" in caplog.text
    assert "Traceback" in caplog.text
    assert "hunter2" not in json.dumps(payloads)
    assert "ValueError" not in json.dumps(payloads)


async def test_what_has_no_json_form_fails_the_task_not_the_server(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    async def odd(task: TaskContext) -> Any:
        return object()

    assert (await (await serve(agent)).send())["status"]["state"] == "TASK_STATE_FAILED"


async def test_several_skills_are_chosen_by_the_router_and_kept(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill(tags=["a"])
    async def red(task: TaskContext) -> str:
        return f"red {await task.ask('go on?')}"

    @agent.skill(tags=["b"])
    async def blue(task: TaskContext) -> str:
        return "blue"

    @agent.router
    async def choose(text: str) -> Any:
        return red if "red" in text else "blue"

    wire = await serve(agent)
    assert texts(await wire.send("anything")) == ["blue"]
    task = await wire.send("red please")
    assert texts(await wire.send(message("blue", taskId=task["id"]))) == ["red blue"]


async def test_a_message_to_a_working_task_begins_the_next_turn(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)
    gate = asyncio.Semaphore(0)
    begun = asyncio.Event()

    @agent.skill
    async def turns(task: TaskContext) -> str:
        begun.set()
        await gate.acquire()
        return f"[{task.text} after {len(task.messages) - 1}]"

    wire = await serve(agent)
    task = await wire.send("first", configuration={"returnImmediately": True})
    await begun.wait()
    second = await wire.send(
        message("second", taskId=task["id"]), configuration={"returnImmediately": True}, metadata={"n": 2}
    )
    assert second["id"] == task["id"]
    async with wire.send_stream(message("third", taskId=task["id"])) as stream:
        assert (await anext(stream)).payload["task"]["id"] == task["id"]
        for _ in range(3):
            gate.release()
        payloads = await stream.payloads()
    assert payloads[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
    done = await wire.get(task["id"])
    assert "".join(texts(done)) == "[first after 0][second after 1][third after 2]"
    assert [said["parts"][0]["text"] for said in done["history"]] == ["first", "second", "third"]


async def test_a_router_may_reject_a_message(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    async def only(text: str) -> str:
        return text

    @agent.router
    def choose(text: str) -> str:
        raise Reject("nobody here does that")

    wire = await serve(agent)
    with refused("INVALID_PARAMS") as caught:
        await wire.send()
    assert caught.value.text == "nobody here does that"
    assert (await wire.call("ListTasks"))["totalSize"] == 0


async def test_a_direct_answer_that_is_refused_is_an_error(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    async def picky(text: str) -> Message:
        raise Reject("not today")

    wire = await serve(agent)
    with pytest.raises(Fault, match="not today"):
        await wire.call("SendMessage", {"message": message()})
