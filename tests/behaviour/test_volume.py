"""How much may be in a message, and in a task: at each limit, and one past it, in every cell."""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from dragoman import Agent, CallLimits, TaskContext, connect
from dragoman.testing.bridge import AsgiTransport
from dragoman.types import Artifact, Message, Part, Role, Task
from dragoman.types.requests import GetTaskRequest, SendMessageRequest
from tests.behaviour.addresses import Called, named
from tests.behaviour.agents import echo, gated, obedient
from tests.behaviour.cells import FINAL_JSON, NO_REFERENCES, NO_TENANTS, OVER_HTTP, only, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Fault, Wire, message, refused

# One message.


def _with(member: str, value: Any) -> dict[str, Any]:
    return message() | {member: value}


async def test_a_message_has_so_many_parts(called: Called) -> None:
    wire = await called(echo(limits=CallLimits(max_parts=3)))
    await wire.send(message(parts=[{"text": "x"}] * 3))
    with refused("INVALID_PARAMS") as caught:
        await wire.send(message(parts=[{"text": "x"}] * 4))
    assert caught.value.fields == ["message.parts"]
    assert named(caught.value) == "maxParts"
    assert len(await wire.stored()) == 1


@requirement("R-3.4.1-04")
@pytest.mark.parametrize("member", ["messageId", "contextId", "taskId"])
async def test_ids_have_so_many_characters(called: Called, member: str) -> None:
    wire = await called(echo(limits=CallLimits(max_id_length=40)))
    if member == "taskId":
        with refused("TASK_NOT_FOUND"):
            await wire.send(message(taskId="x" * 40))
    else:
        await wire.send(_with(member, "x" * 40))
    with refused("INVALID_PARAMS") as caught:
        await wire.send(_with(member, "x" * 41))
    assert caught.value.fields == [f"message.{member}"]
    assert named(caught.value) == "maxIdLength"


@without(NO_TENANTS)
async def test_tenants_have_so_many_characters(called: Called) -> None:
    wire = await called(echo(limits=CallLimits(max_id_length=40)))
    await wire.send(tenant="x" * 40)
    with refused("INVALID_PARAMS") as caught:
        await wire.send(tenant="x" * 41)
    assert caught.value.fields == ["tenant"]


@without(NO_REFERENCES)
@pytest.mark.parametrize(
    ("member", "longest", "limit"), [("referenceTaskIds", 20, "maxIdLength"), ("extensions", 30, "maxNameLength")]
)
async def test_lists_of_names_have_so_many_entries_of_such_a_length(
    called: Called, member: str, longest: int, limit: str
) -> None:
    wire = await called(echo(limits=CallLimits(max_names=2, max_id_length=20, max_name_length=30)))
    await wire.send(_with(member, ["x" * longest] * 2))
    with refused("INVALID_PARAMS") as caught:
        await wire.send(_with(member, ["x"] * 3))
    assert (caught.value.fields, named(caught.value)) == ([f"message.{member}"], "maxNames")
    with refused("INVALID_PARAMS") as caught:
        await wire.send(_with(member, ["x", "x" * (longest + 1)]))
    assert (caught.value.fields, named(caught.value)) == ([f"message.{member}[1]"], limit)


async def test_accepted_media_types_are_so_many(called: Called) -> None:
    wire = await called(echo(limits=CallLimits(max_names=2)))
    await wire.send(configuration={"acceptedOutputModes": ["text/plain"] * 2})
    with refused("INVALID_PARAMS") as caught:
        await wire.send(configuration={"acceptedOutputModes": ["text/plain"] * 3})
    assert caught.value.fields == ["configuration.acceptedOutputModes"]


# One task.


async def test_a_task_has_so_many_messages(called: Called) -> None:
    wire = await called(obedient(limits=CallLimits(max_history=2)))
    task = await wire.send("ask")
    assert (await wire.send(message("red", taskId=task["id"])))["status"]["state"] == "TASK_STATE_COMPLETED"
    full = await called(obedient(limits=CallLimits(max_history=1)))
    task = await full.send("ask")
    with refused("UNSUPPORTED_OPERATION") as caught:
        await full.send(message("red", taskId=task["id"]))
    assert named(caught.value) == "maxHistory"
    assert (await full.get(task["id"]))["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"


async def test_messages_that_wait_for_their_turn_count_too(called: Called) -> None:
    agent, gate = gated(limits=CallLimits(max_history=3))
    wire = await called(agent)
    later = {"configuration": {"returnImmediately": True}}
    task = await wire.send("one", **later)
    for _ in range(2):
        await wire.send(message("more", taskId=task["id"]), **later)
    with refused("UNSUPPORTED_OPERATION") as caught:
        await wire.send(message("more", taskId=task["id"]), **later)
    assert named(caught.value) == "maxHistory"
    for _ in range(6):
        gate.release()
    assert len((await wire.settled(task["id"]))["history"]) == 3


async def test_the_messages_of_a_task_have_so_many_bytes(called: Called) -> None:
    wire = await called(obedient(limits=CallLimits(max_task_bytes=2_000)))
    task = await wire.send("ask")
    with refused("UNSUPPORTED_OPERATION") as caught:
        await wire.send(message("x" * 1_900, taskId=task["id"]))
    assert named(caught.value) == "maxTaskBytes"
    assert (await wire.send(message("x" * 1_700, taskId=task["id"])))["status"]["state"] == "TASK_STATE_COMPLETED"


def prolific(**limits: Any) -> Agent:
    """Says as much as it is told: `chunks` of so many characters, `artifacts` of so many bytes, `one` in so many."""
    agent = Agent("Prolific", store="memory", limits=CallLimits(**limits))

    @agent.skill(tags=["demo"])
    async def speak(task: TaskContext) -> AsyncIterator[Any]:
        """Speak."""
        kind, count, size = task.text.split()
        for number in range(int(count)):
            if kind == "chunks":
                yield "x" * int(size)
            else:
                artifact_id = "one" if kind == "one" else f"a{number}"
                yield Artifact(artifact_id=artifact_id, parts=(Part(text="x" * (int(size) - 100)),))

    return agent


@pytest.mark.parametrize(
    ("limits", "taken", "too_much", "reason"),
    [
        ({"max_artifact_bytes": 5_000}, "chunks 10 500", "chunks 10 501", "artifact-too-large"),
        ({"max_artifact_bytes": 5_000}, "artifacts 10 5000", "artifacts 1 5001", "artifact-too-large"),
        ({"max_task_bytes": 5_000}, "chunks 10 500", "chunks 10 501", "task-too-large"),
        ({"max_task_bytes": 5_000}, "artifacts 10 500", "artifacts 10 501", "task-too-large"),
        ({"max_task_bytes": 5_000}, "one 10 500", "one 11 500", "task-too-large"),
    ],
)
async def test_what_an_agent_puts_into_a_task_is_bounded(
    called: Called, limits: dict[str, int], taken: str, too_much: str, reason: str
) -> None:
    wire = await called(prolific(**limits))
    assert (await wire.send(taken))["status"]["state"] == "TASK_STATE_COMPLETED"
    async with wire.send_stream(too_much) as stream:
        last = (await stream.until("TASK_STATE_FAILED"))[-1]["statusUpdate"]
    assert last["metadata"] == {"reason": reason}
    (failed,) = [task for task in await wire.stored() if task["status"]["state"] == "TASK_STATE_FAILED"]
    size = sum(len(part["text"]) for artifact in failed.get("artifacts", ()) for part in artifact["parts"])
    assert size <= 5_000


async def test_an_agent_that_says_more_than_it_may_is_over_even_if_it_will_not_hear_of_it(called: Called) -> None:
    agent = Agent("Stubborn", store="memory", limits=CallLimits(max_task_bytes=2_000))

    @agent.skill(tags=["demo"])
    async def speak(task: TaskContext) -> str:
        """Speak."""
        for _ in range(100):
            with suppress(Exception):
                await task.status("x" * 100)
        return "all is well"

    wire = await called(agent)
    async with wire.send_stream() as stream:
        events = await stream.until("TASK_STATE_FAILED")
    assert events[-1]["statusUpdate"]["metadata"] == {"reason": "task-too-large"}
    assert str(events).count("x" * 100) == 10


@requirement("R-13.4-06")
@pytest.mark.parametrize("said", [{"max_body_bytes": 10_000}, {"limits": CallLimits(max_body_bytes=10_000)}], ids=str)
async def test_a_body_has_one_limit_that_can_be_said_in_two_places(called: Called, said: dict[str, Any]) -> None:
    wire = await called(echo(**said))
    await wire.send("x" * 8_000)
    with refused("REQUEST_TOO_LARGE"):
        await wire.send("x" * 10_001)


async def _refusal(wire: Wire, depth: int) -> Fault | None:
    """What a message is refused with whose metadata are nested so deeply."""
    nested: Any = "x"
    for _ in range(depth):
        nested = {"n": nested}
    try:
        await wire.send(message(metadata=nested))
    except Fault as fault:
        return fault
    return None


@only(*OVER_HTTP)
@pytest.mark.parametrize(("depth", "taken"), [(98, True), (99, False), (900, False)])
async def test_json_may_be_nested_a_hundred_levels_deep(called: Called, depth: int, taken: bool) -> None:
    # With the two that the metadata stand in. What protobuf takes is shown in `test_bad_input.py`.
    wire = await called(echo())
    fault = await _refusal(wire, depth)
    if taken:
        assert fault is None
    else:
        assert fault is not None
        assert (fault.reason, "nested deeper than 100" in fault.text) == ("INVALID_PARAMS", True)
    assert len(await wire.stored()) == taken


@only(*FINAL_JSON)
@pytest.mark.parametrize(("last", "state"), [(1_900, "COMPLETED"), (1_901, "FAILED")])
async def test_what_is_repeated_after_an_answer_does_not_count_twice(called: Called, last: int, state: str) -> None:
    agent = Agent("Asking", store="memory", limits=CallLimits(max_task_bytes=6_100))

    @agent.skill(tags=["demo"])
    async def speak(task: TaskContext) -> AsyncIterator[str]:
        """Speak, ask, speak, ask, speak."""
        yield "a" * 2_000
        await task.ask("And?")
        yield "b" * 2_000
        await task.ask("And?")
        yield "c" * last

    wire = await called(agent)
    task = await wire.send()
    for expected in ("INPUT_REQUIRED", state):
        task = await wire.send(message(taskId=task["id"]))
        assert task["status"]["state"] == f"TASK_STATE_{expected}"
    assert len(task["artifacts"]) == (3 if state == "COMPLETED" else 2)


@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_whatever_is_taken_can_be_read_again_by_our_client(binding: str, version: str) -> None:
    nested: Any = "x"
    for _ in range(98):
        nested = {"n": nested}
    async with (
        AsgiTransport(echo().asgi()) as http,
        connect("http://agent.example", http=http, bindings=[binding], versions=[version]) as client,
    ):
        sent = Message(message_id="m", role=Role.USER, parts=(Part(text="x"),), metadata=nested)
        task = await client.send_message(SendMessageRequest(message=sent))
        assert isinstance(task, Task)
        assert (await client.get_task(GetTaskRequest(id=task.id))).history[0].metadata == nested
        if version == "1.0":
            assert (await client.list_tasks()).tasks[0].history[0].metadata == nested
