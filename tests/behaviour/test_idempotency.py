"""A message that comes twice, from a caller who has named the extension for it (docs/reliable.md)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, AgentExtension, ConfigurationError, TaskContext
from tests.behaviour.agents import direct, echo, gated, obedient
from tests.behaviour.cells import CELLS
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Start, Wire, card_of, message, refused, wire_to

RELIABLE = "https://dragoman.dev/extensions/reliable/v1"
NAMED = {"a2a-extensions": RELIABLE}


@requirement("R-4.6.3-01")
async def test_the_card_declares_the_extension_and_nobody_has_to_name_it(started: Start) -> None:
    bridge = await started(echo().asgi())
    (declared,) = (await card_of(bridge))["capabilities"]["extensions"]
    assert declared["uri"] == RELIABLE
    assert not declared.get("required")


@requirement("R-4.6.3-03")
async def test_the_answer_says_that_the_extension_is_in_force(serve: Serve) -> None:
    wire = await serve(echo())
    reply = await wire.reply("SendMessage", {"message": message()}, headers=NAMED)
    assert reply.headers[wire.form.extensions_header] == RELIABLE


async def test_the_agent_does_not_see_the_extension(serve: Serve) -> None:
    agent = Agent("Telling", "Tells the extensions.", store="memory", extensions=[AgentExtension(uri="urn:mine")])

    @agent.skill(tags=["demo"])
    async def tell(task: TaskContext) -> str:
        return " ".join(task.extensions)

    wire = await serve(agent)
    task = await wire.send(headers={"a2a-extensions": f"{RELIABLE}, urn:mine"})
    assert task["artifacts"][0]["parts"] == [{"text": "urn:mine"}]


async def test_a_message_that_comes_twice_is_one_task(serve: Serve, store: str) -> None:
    wire = await serve(echo(store=store))
    said = message("hello", metadata={"n": 1, "deep": {"b": [1.5, None], "a": "x"}})
    task = await wire.send(said, headers=NAMED)
    assert await wire.send(said, headers=NAMED) == task
    # Waiting or not, and how much history there is to be, makes no other message of it.
    again = await wire.send(said, headers=NAMED, configuration={"returnImmediately": True, "historyLength": 1})
    assert again["id"] == task["id"]
    assert len(await wire.stored()) == 1


async def test_it_is_the_same_message_whatever_cell_it_comes_from(serve: Serve) -> None:
    wire = await serve(echo())
    said = message("hello", metadata={"n": 1, "text": "x"})
    task = await wire.send(said, headers=NAMED)
    for cell in CELLS:
        other = await wire_to(wire.bridge, cell)
        assert (await other.send(said, headers=NAMED))["id"] == task["id"], cell.key


async def test_of_messages_that_come_at_once_one_is_taken(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store)
    wire = await serve(agent)
    said = message("one")
    sending = [asyncio.create_task(wire.send(said, headers=NAMED)) for _ in range(8)]
    gate.release()
    gate.release()
    tasks = await asyncio.gather(*sending)
    assert {task["id"] for task in tasks} == {tasks[0]["id"]}
    assert {task["artifacts"][0]["parts"][0]["text"] for task in tasks} == {"one "}
    assert len(await wire.stored()) == 1


async def test_strangers_are_not_taken_for_one(serve: Serve) -> None:
    wire = await serve(echo())
    said = message()
    assert (await wire.send(said))["id"] != (await wire.send(said))["id"]
    other = {"a2a-extensions": RELIABLE.replace("v1", "v2")}
    assert len({(await wire.send(said, headers=other))["id"] for _ in range(2)}) == 2


async def test_another_message_under_the_id_is_a_message_of_its_own(serve: Serve) -> None:
    wire = await serve(echo())
    first, second = message("first"), message("second")
    second["messageId"] = first["messageId"]
    tasks = [await wire.send(said, headers=NAMED) for said in (first, second, first, second)]
    assert [task["artifacts"][0]["parts"][0]["text"] for task in tasks] == ["first", "second", "first", "second"]
    assert (tasks[0]["id"], tasks[1]["id"]) == (tasks[2]["id"], tasks[3]["id"])
    assert len(await wire.stored()) == 2


async def test_where_it_is_so_wished_another_message_under_the_id_is_refused(serve: Serve) -> None:
    wire = await serve(echo(idempotency="strict"))
    first, second = message("first"), message("second")
    second["messageId"] = first["messageId"]
    task = await wire.send(first, headers=NAMED)
    with refused("INVALID_PARAMS") as caught:
        await wire.send(second, headers=NAMED)
    assert "another message" in caught.value.told
    assert (await wire.send(first, headers=NAMED))["id"] == task["id"]


async def test_a_direct_answer_is_given_once(serve: Serve, store: str) -> None:
    wire = await serve(direct(store=store))
    said = message()
    answers = [await wire.call("SendMessage", {"message": said}, headers=NAMED) for _ in range(2)]
    assert answers[0]["message"]["parts"] == [{"text": "you said hello"}]
    assert answers[0] == answers[1]


async def test_an_answer_to_a_question_is_taken_once_and_known_when_the_task_has_ended(
    serve: Serve, store: str
) -> None:
    wire = await serve(obedient(store=store))
    task = await wire.send("ask")
    answer = message("red", taskId=task["id"])
    done = await wire.send(answer, headers=NAMED)
    assert done["artifacts"][0]["parts"] == [{"text": "got red"}]
    assert await wire.send(answer, headers=NAMED) == done
    with refused("UNSUPPORTED_OPERATION"):
        await wire.send(message("blue", taskId=task["id"]), headers=NAMED)


async def test_a_message_is_known_to_the_next_server(started: Start, tmp_path: Path, binding: str) -> None:
    store, said = f"sqlite:///{tmp_path / 'tasks.db'}", message()

    async def sent() -> dict[str, Any]:
        app = echo(store=store).asgi()
        bridge = await started(app)
        task = await (await wire_to(bridge, binding)).send(said, headers=NAMED)
        await bridge.__aexit__(None, None, None)
        return task

    assert await sent() == await sent()


async def test_a_caller_who_has_left_finds_the_task_again(serve: Serve) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    said = message("one")
    leaving = asyncio.create_task(wire.send(said, headers=NAMED))
    await begun(wire)
    leaving.cancel()
    await asyncio.wait([leaving])
    gate.release()
    gate.release()
    assert (await wire.send(said, headers=NAMED))["artifacts"][0]["parts"] == [{"text": "one "}]
    assert len(await wire.stored()) == 1


async def begun(wire: Wire) -> None:
    """Returns when there is a task."""
    while not await wire.stored():  # noqa: ASYNC110 -- a store tells nobody of its tasks
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"idempotency": "loose"}, "idempotency is one of lenient, strict"),
        ({"idempotency_ttl": 0}, "idempotency_ttl must be more than 0"),
        ({"log_retention": -1}, "log_retention must be more than 0"),
        ({"retention": float("inf")}, "retention must be more than 0 seconds, and a hundred years at most"),
        ({"retention": float("nan")}, "retention must be"),
    ],
)
def test_what_cannot_be_kept_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        Agent("Keeping", **options)
