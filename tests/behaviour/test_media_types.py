"""What a message is made of is held against what the card says is taken: each kind of part, in every cell."""

from collections.abc import Sequence
from typing import Any

import pytest

from dragoman import Agent, TaskContext
from tests.behaviour.agents import gated
from tests.behaviour.cells import MEDIA_TYPES_OF_FILES_ONLY, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, message, refused

PNG = {"raw": "AAAA", "mediaType": "image/png"}
PICTURE = {"url": "https://files.example/a.png", "mediaType": "image/png"}
TEXT = {"text": "hello"}
DATA: dict[str, Any] = {"data": {"a": 1}}
UNNAMED = {"raw": "AAAA"}


def reader(modes: Sequence[str] | None = None, *, of_skill: Sequence[str] = ()) -> Agent:
    agent = Agent("Reader", "Reads what it takes.", store="memory", input_modes=modes)

    @agent.skill(tags=["demo"], input_modes=of_skill)
    async def read(task: TaskContext) -> str:
        """Read."""
        if task.text == "ask":
            await task.ask("What colour?")
        return "read"

    return agent


@requirement("R-3.1.1-03", "R-13.4-07")
@pytest.mark.parametrize(
    ("modes", "part", "taken"),
    [
        (["text/plain"], TEXT, True),
        (["text/plain"], DATA, False),
        (["text/plain"], PNG, False),
        (["text/plain"], PICTURE, False),
        (["text/plain"], UNNAMED, True),
        (["application/json"], DATA, True),
        (["application/json"], TEXT, False),
        (["text/*"], TEXT, True),
        (["image/*"], PNG, True),
        (["image/*"], PICTURE, True),
        (["image/*"], TEXT, False),
        (["image/*"], {"raw": "AAAA", "mediaType": "imagery/png"}, False),
        (["IMAGE/PNG; q=1"], PNG, True),
        (["image/png"], {"raw": "AAAA", "mediaType": "image/PNG; x=y"}, True),
        (["*/*"], DATA, True),
        (["text/plain", "image/*"], PNG, True),
        (None, DATA, True),
    ],
)
async def test_each_kind_of_part_has_a_media_type(
    serve: Serve, modes: Sequence[str] | None, part: dict[str, Any], taken: bool
) -> None:
    wire = await serve(reader(modes))
    sent = message(parts=[part])
    if taken:
        assert (await wire.send(sent))["artifacts"]
        return
    with refused("CONTENT_TYPE_NOT_SUPPORTED"):
        await wire.send(sent)
    with refused("CONTENT_TYPE_NOT_SUPPORTED"):
        async with wire.send_stream(sent):
            pass
    assert await wire.stored() == []


@without(MEDIA_TYPES_OF_FILES_ONLY)
async def test_texts_and_data_can_say_what_they_are(serve: Serve) -> None:
    wire = await serve(reader(["text/markdown", "application/geo+json"]))
    await wire.send(message(parts=[{"text": "# hello", "mediaType": "text/markdown"}]))
    await wire.send(message(parts=[{"data": {}, "mediaType": "application/geo+json"}]))
    for part in (TEXT, DATA):
        with refused("CONTENT_TYPE_NOT_SUPPORTED"):
            await wire.send(message(parts=[part]))


async def test_the_first_part_that_does_not_fit_is_named(serve: Serve) -> None:
    wire = await serve(reader(["text/plain"]))
    with refused("CONTENT_TYPE_NOT_SUPPORTED") as caught:
        await wire.send(message(parts=[TEXT, PNG, DATA]))
    assert "message.parts[1] is image/png" in caught.value.text


async def test_what_a_skill_takes_goes_before_what_the_agent_takes(serve: Serve) -> None:
    wire = await serve(reader(["text/plain"], of_skill=["image/*"]))
    assert (await wire.send(message(parts=[PNG])))["artifacts"]
    with refused("CONTENT_TYPE_NOT_SUPPORTED"):
        await wire.send()


async def test_an_answer_to_a_question_is_held_to_the_same(serve: Serve) -> None:
    wire = await serve(reader(["text/plain"]))
    task = await wire.send("ask")
    with refused("CONTENT_TYPE_NOT_SUPPORTED"):
        await wire.send(message(parts=[PNG], taskId=task["id"]))
    assert (await wire.get(task["id"]))["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert (await wire.send(message("red", taskId=task["id"])))["artifacts"]


async def test_so_is_a_message_that_comes_while_the_task_runs(serve: Serve) -> None:
    agent, gate = gated(input_modes=["text/plain"])
    wire = await serve(agent)
    task = await wire.send("one", configuration={"returnImmediately": True})
    with refused("CONTENT_TYPE_NOT_SUPPORTED"):
        await wire.send(message(parts=[PNG], taskId=task["id"]))
    for _ in range(2):
        gate.release()
    assert len((await wire.settled(task["id"]))["history"]) == 1


async def test_what_a_caller_accepts_is_the_agents_to_heed_and_refuses_nothing(serve: Serve) -> None:
    wire = await serve(reader())
    assert (await wire.send(configuration={"acceptedOutputModes": ["image/png"]}))["artifacts"]
