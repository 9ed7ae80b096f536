"""Contexts, follow-ups and references."""

import pytest

from dragoman import Agent, TaskContext
from tests.behaviour.agents import echo, obedient
from tests.behaviour.cells import LISTS_SAY_LITTLE, NO_LISTS, NO_REFERENCES, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, message, refused


@requirement("R-3.4.1-01", "R-3.4.1-02")
async def test_a_message_without_a_context_gets_a_new_one_that_stays(serve: Serve, store: str) -> None:
    wire = await serve(echo(store=store))
    first, second = await wire.send("a"), await wire.send("b")
    assert first["contextId"]
    assert first["contextId"] != second["contextId"]
    assert (await wire.get(first["id"]))["contextId"] == first["contextId"]


@requirement("R-3.4.1-03", "R-3.4.1-05")
@pytest.mark.parametrize("context", ["c-1", "with blanks & signs +/=?#%", "ünï", "1" * 300])
async def test_the_callers_context_is_taken_and_kept(serve: Serve, context: str) -> None:
    wire = await serve(echo())
    tasks = [await wire.send(message("a", contextId=context)) for _ in range(2)]
    assert {task["contextId"] for task in tasks} == {context}
    assert tasks[0]["id"] != tasks[1]["id"]
    assert (await wire.get(tasks[0]["id"]))["contextId"] == context


@requirement("R-3.4.1-08")
@without(NO_LISTS, LISTS_SAY_LITTLE)
async def test_tasks_of_one_context_are_found_together(serve: Serve, store: str) -> None:
    wire = await serve(echo(store=store))
    first = await wire.send("a")
    second = await wire.send(message("b", contextId=first["contextId"]))
    await wire.send("elsewhere")
    listed = await wire.call("ListTasks", {"contextId": first["contextId"]})
    assert {task["id"] for task in listed["tasks"]} == {first["id"], second["id"]}
    assert listed["totalSize"] == 2


@requirement("R-3.4.3-01")
async def test_a_follow_up_that_names_only_its_task_stays_in_its_context(serve: Serve) -> None:
    wire = await serve(obedient())
    task = await wire.send("ask")
    again = await wire.send(message("red", taskId=task["id"]))
    assert (again["id"], again["contextId"]) == (task["id"], task["contextId"])
    assert again["artifacts"][0]["parts"] == [{"text": "got red"}]


async def test_a_follow_up_may_name_the_context_of_its_task(serve: Serve) -> None:
    wire = await serve(obedient())
    task = await wire.send("ask")
    again = await wire.send(message("red", taskId=task["id"], contextId=task["contextId"]))
    assert again["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("R-3.4.3-02")
async def test_a_follow_up_that_names_another_context_is_refused(serve: Serve) -> None:
    wire = await serve(obedient())
    task = await wire.send("ask")
    with refused("INVALID_PARAMS") as caught:
        await wire.send(message("red", taskId=task["id"], contextId="another"))
    assert caught.value.fields == ["message.contextId"]
    assert await wire.get(task["id"]) == task


@requirement("R-3.4.3-04")
@without(NO_REFERENCES)
async def test_the_agent_sees_the_tasks_that_a_message_refers_to(serve: Serve) -> None:
    agent = Agent("Librarian", "Looks things up.", store="memory")

    @agent.skill(tags=["demo"])
    async def look(task: TaskContext) -> str:
        return "|".join(reference.text for reference in task.references) or "nothing"

    wire = await serve(agent)
    first = await wire.send("a")
    both = await wire.send(message("b", referenceTaskIds=[first["id"], "unknown"]))
    assert both["artifacts"][0]["parts"] == [{"text": "nothing"}]
    third = await wire.send(message("c", referenceTaskIds=[first["id"], both["id"]]))
    assert third["artifacts"][0]["parts"] == [{"text": "nothing|nothing"}]
    assert third["history"][0]["referenceTaskIds"] == [first["id"], both["id"]]
