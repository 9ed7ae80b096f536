"""The same request has the same meaning in every cell: what comes back is compared, value by value."""

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import pytest

from dragoman import Agent, Fail, Part, Reject, TaskContext
from tests.behaviour.agents import direct, obedient
from tests.behaviour.cells import CELLS, MEDIA_TYPES_OF_FILES_ONLY, Cell
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Fault, Start, Wire, message, wire_to

Said = Callable[[Wire], Awaitable[Any]]

REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("GetTask", {"id": "unknown"}),
    ("CancelTask", {"id": "unknown"}),
    ("SendMessage", {"message": message(parts=[])}),
    ("SendMessage", {"message": message(messageId="")}),
    ("SendMessage", {"message": message("x", taskId="unknown")}),
    ("GetExtendedAgentCard", {}),
    ("CreateTaskPushNotificationConfig", {"taskId": "t", "id": "c", "url": "https://hook.example"}),
    ("ListTaskPushNotificationConfigs", {"taskId": "t"}),
]


def busy() -> Agent:
    """Says and does everything that an answer can hold."""
    agent = Agent("Busy", "Does a bit of everything.", store="memory")

    @agent.skill(tags=["demo"])
    async def everything(task: TaskContext) -> AsyncIterator[Any]:
        await task.status("Beginning")
        yield "some "
        yield "text"
        yield Part(base64="AP9ieXRlcw==", media_type="image/png", filename="a.png")
        yield Part(url="https://files.example/a?b#c", media_type="text/csv", filename="b.csv")
        yield {"nested": {"a_b": [1, 2.5, None, True, "ü"]}}
        if "fail" in task.text:
            raise Fail("It went wrong")
        if "reject" in task.text:
            raise Reject("Not this")

    return agent


def likened(value: Any, ids: dict[str, str]) -> Any:
    """The value with what differs from call to call named by its order: ids made by the server, and times."""
    if isinstance(value, dict):
        return {name: likened(inner, ids) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [likened(inner, ids) for inner in cast("Any", value)]
    if isinstance(value, str) and re.fullmatch(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", value):
        return ids.setdefault(value, f"id {len(ids)}")
    return "a time" if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", value) else value


def anew(**members: Any) -> dict[str, Any]:
    """The message, as one that was never sent before."""
    return {**MESSAGE, "messageId": str(uuid.uuid4()), **members}


async def _sent(wire: Wire) -> Any:
    task = await wire.send(anew(contextId=f"in {wire.cell.key}"))
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    return [task, await wire.get(task["id"]), await wire.get(task["id"], historyLength=1)]


async def _failed(wire: Wire) -> Any:
    return [await wire.send(anew(parts=[{"text": word}])) for word in ("fail", "reject")]


async def _streamed(wire: Wire) -> Any:
    async with wire.send_stream(anew()) as stream:
        return await stream.payloads()


async def _refused(wire: Wire) -> Any:
    told: list[Any] = []
    for operation, params in REFUSED:
        with pytest.raises(Fault) as caught:
            await wire.call(operation, params)
        told.append((operation, caught.value.reason, caught.value.text, caught.value.fields))
    return told


MESSAGE: dict[str, Any] = {
    "role": "ROLE_USER",
    "parts": [
        {"text": "everything", "metadata": {"a_b": {"c": [1]}}},
        {"data": {"d": {"e": None}}},
        {"raw": "AP8=", "mediaType": "a/b", "filename": "f"},
        {"url": "https://files.example/ü", "mediaType": "c/d"},
    ],
    "metadata": {"some_key": [True, 2, "three"]},
    "extensions": ["https://extensions.example/1"],
}


async def in_every_cell(start: Start, agent: Agent, ask: Said) -> dict[str, Any]:
    """What is said, by cell, over one application."""
    bridge = await start(agent.asgi())
    answers: dict[str, Any] = {}
    for cell in CELLS:
        said = await ask(await wire_to(bridge, cell))
        answers[cell.key] = likened(_without_cell(said, cell.key), {})
    return answers


def kept(cell: Cell, value: Any) -> Any:
    """What the cell can say of the value."""
    if isinstance(value, list):
        return [kept(cell, inner) for inner in cast("Any", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, Any]", value)
    no_file = cell in MEDIA_TYPES_OF_FILES_ONLY.cells and bool({"text", "data"} & set(members))
    lost = ("mediaType", "filename") if no_file else ()
    return {name: kept(cell, inner) for name, inner in members.items() if name not in lost}


def _without_cell(value: Any, key: str) -> Any:
    if isinstance(value, dict):
        return {name: _without_cell(inner, key) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_without_cell(inner, key) for inner in cast("Any", value)]
    return value.replace(key, "a cell") if isinstance(value, str) else value


@requirement("R-4-01", "R-5.1-02", "R-3.6.2-01")
@pytest.mark.parametrize("ask", [_sent, _failed, _streamed], ids=lambda ask: ask.__name__.strip("_"))
async def test_an_answer_means_the_same_in_every_cell(started: Start, ask: Said) -> None:
    answers = await in_every_cell(started, busy(), ask)
    for cell in CELLS:
        # Some methods of the draft are answered as 1.0, so that they may say more.
        assert kept(cell, answers[cell.key]) == kept(cell, answers["1.0/JSONRPC"]), cell.key


@requirement("R-4-01", "R-5.1-03", "R-3.3.2-19")
async def test_a_refusal_means_the_same_in_every_cell(started: Start) -> None:
    answers = await in_every_cell(started, obedient(), _refused)
    for key, answer in answers.items():
        for told, expected in zip(answer, answers["1.0/JSONRPC"], strict=True):
            # Texts name members as the cell spells them; all else is the same.
            assert (told[0], told[1], told[3]) == (expected[0], expected[1], expected[3]), key
            assert told[3] or told[2] == expected[2], key


@requirement("R-4-01", "R-5.1-02")
async def test_a_direct_answer_means_the_same_in_every_cell(started: Start) -> None:
    async def ask(wire: Wire) -> Any:
        async with wire.send_stream(anew()) as stream:
            streamed = await stream.payloads()
        return [await wire.call("SendMessage", {"message": anew()}), *streamed]

    answers = await in_every_cell(started, direct(), ask)
    assert all(answer == answers["1.0/JSONRPC"] for answer in answers.values())


@requirement("R-3.6.2-01", "R-5.1-02")
async def test_one_task_is_carried_through_every_cell_in_turn(started: Start) -> None:
    """A conversation of as many questions as there are cells, each answered in another."""
    agent = Agent("Curious", "Asks and asks.", store="memory")

    @agent.skill(tags=["demo"])
    async def curious(task: TaskContext) -> str:
        return " ".join([str(await task.ask(f"Question {number}?")) for number in range(len(CELLS))])

    bridge = await started(agent.asgi())
    wires = [await wire_to(bridge, cell) for cell in CELLS]
    task = await wires[-1].send("begin")
    for number, wire in enumerate(wires):
        assert task["status"]["message"]["parts"] == [{"text": f"Question {number}?"}]
        task = await wire.send(message(wire.cell.key, taskId=task["id"]))
    assert task["artifacts"][0]["parts"] == [{"text": " ".join(cell.key for cell in CELLS)}]
    for wire in wires:
        assert await wire.get(task["id"]) == task, wire.cell.key


@requirement("R-3.5.2-03", "R-3.5.2-04", "R-5.1-02")
async def test_readers_in_every_cell_see_the_same_of_one_task(started: Start) -> None:
    agent = Agent("Slow", "Waits to be let go.", store="memory")
    going = asyncio.Event()

    @agent.skill(tags=["demo"])
    async def slow(task: TaskContext) -> AsyncIterator[str]:
        await going.wait()
        for number in range(20):
            yield f"{number} "

    bridge = await started(agent.asgi())
    wires = [await wire_to(bridge, cell) for cell in CELLS]
    task = await wires[0].send(configuration={"returnImmediately": True})

    async def read(wire: Wire, begun: asyncio.Event) -> list[dict[str, Any]]:
        async with wire.subscribe(task["id"]) as stream:
            first = (await anext(stream)).payload
            assert first["task"]["id"] == task["id"]
            begun.set()
            return await stream.payloads()

    begun = [asyncio.Event() for _ in wires]
    reading = [asyncio.create_task(read(wire, event)) for wire, event in zip(wires, begun, strict=True)]
    await asyncio.gather(*(event.wait() for event in begun))
    going.set()
    logs = await asyncio.gather(*reading)
    assert all(log == logs[0] for log in logs)
    assert logs[0][-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
