"""What one principal has does not exist for another: in every operation, over every binding, in every line."""

import re
from typing import Any

import msgspec
import pytest

from dragoman import Agent, TaskContext
from dragoman.auth import ApiKey
from dragoman.dialects.base import HttpReply
from tests.behaviour.agents import obedient
from tests.behaviour.callers import KEYS, keyed
from tests.behaviour.cells import LISTS_SAY_LITTLE, NO_LISTS, NO_REFERENCES, without
from tests.behaviour.configs import HOOK, PUSH, Configs
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, message, refused

ALICE, BOB = keyed("alice"), keyed("bob")
MISSING = "no-such-task"


def ours(store: str = "memory") -> Agent:
    return obedient(store=store, push=PUSH, auth=ApiKey(KEYS))


class Guess(msgspec.Struct, frozen=True):
    """How somebody goes for a task, or a configuration of one, whose id they have."""

    operation: str
    params: dict[str, Any]

    def at(self, task_id: str) -> dict[str, Any]:
        return {name: task_id if value is None else value for name, value in self.params.items()}


GUESSES = (
    Guess("GetTask", {"id": None}),
    Guess("CancelTask", {"id": None}),
    Guess("SubscribeToTask", {"id": None}),
    Guess("CreateTaskPushNotificationConfig", {"taskId": None, "id": "c", "url": HOOK}),
    Guess("GetTaskPushNotificationConfig", {"taskId": None, "id": "c"}),
    Guess("ListTaskPushNotificationConfigs", {"taskId": None}),
    Guess("DeleteTaskPushNotificationConfig", {"taskId": None, "id": "c"}),
)


def seen(reply: HttpReply, task_id: str) -> tuple[Any, ...]:
    """All that a reply shows, but for the id that was asked for, and that of the exchange."""
    hidden = [(name, value.replace(task_id, "*")) for name, value in reply.headers.items() if "length" not in name]
    details = reply.headers.get("grpc-status-details-bin", "")
    headers = [(name, value) for name, value in hidden if value != details]
    return reply.status, headers, reply.body.replace(task_id.encode(), b"*")


@requirement("R-13.1-01", "R-13.1-02", "R-13.1-06", "R-13.1-07", "R-13.1-08")
@pytest.mark.parametrize("guess", GUESSES, ids=lambda guess: guess.operation)
async def test_somebody_elses_looks_like_one_that_is_not_there(serve: Serve, store: str, guess: Guess) -> None:
    wire = await serve(ours(store))
    task = await wire.send("ask", headers=ALICE)
    configs = Configs(wire, task["id"], headers=ALICE)
    await configs.create(id="c", token="of-alice")
    missing = MISSING.ljust(len(task["id"]), "-")
    told: list[tuple[Any, ...]] = []
    for task_id in (task["id"], missing):
        with refused("TASK_NOT_FOUND") as caught:
            await wire.call(guess.operation, guess.at(task_id), headers=BOB)
        fault = caught.value
        details = str(fault.details).replace(task_id, "*")
        told.append((fault.text.replace(task_id, "*"), details, *seen(_unnumbered(fault.reply), task_id)))
    assert told[0] == told[1]
    assert await wire.get(task["id"], headers=ALICE) == task
    assert await configs.ids() == ["c"]


def _unnumbered(reply: HttpReply) -> HttpReply:
    """The reply without the id of the JSON-RPC request, which counts on."""
    return HttpReply(reply.status, reply.headers, re.sub(rb'"id":"r-\d+"', b"", reply.body))


@requirement("R-13.1-01", "R-3.1.1-04")
@pytest.mark.parametrize("operation", ["SendMessage", "SendStreamingMessage"])
async def test_a_message_reaches_no_task_of_somebody_else(serve: Serve, store: str, operation: str) -> None:
    wire = await serve(ours(store))
    task = await wire.send("ask", headers=ALICE)
    for task_id in (task["id"], MISSING):
        with refused("TASK_NOT_FOUND"):
            await wire.call(operation, {"message": message("red", taskId=task_id)}, headers=BOB)
    assert await wire.get(task["id"], headers=ALICE) == task


@requirement("R-13.1-01", "R-13.1-03", "R-13.1-04", "R-13.1-05", "R-3.1.4-05", "R-3.1.4-08")
@without(NO_LISTS, LISTS_SAY_LITTLE)
async def test_lists_and_their_totals_hold_only_what_is_the_callers(serve: Serve, store: str) -> None:
    wire = await serve(ours(store))
    hers = await wire.send(message("done", contextId="shared"), headers=ALICE)
    his = await wire.send(message("done", contextId="shared"), headers=BOB)
    for caller, task in ((ALICE, hers), (BOB, his)):
        for filters in ({}, {"contextId": "shared"}, {"status": "TASK_STATE_COMPLETED"}):
            listed = await wire.call("ListTasks", filters, headers=caller)
            assert ([one["id"] for one in listed["tasks"]], listed["totalSize"]) == ([task["id"]], 1)


@requirement("R-13.1-01")
async def test_one_message_id_of_two_callers_is_two_messages(serve: Serve, store: str) -> None:
    wire = await serve(ours(store))
    said = message("done")
    hers, again, his = [await wire.send(said, headers=caller) for caller in (ALICE, ALICE, BOB)]
    assert hers["id"] == again["id"] != his["id"]


@requirement("R-13.1-01")
@without(NO_REFERENCES)
async def test_a_handler_sees_nothing_of_other_callers(serve: Serve) -> None:
    agent = Agent("Curious", store="memory", auth=ApiKey(KEYS))

    @agent.skill
    async def look(task: TaskContext) -> str:
        return f"{task.caller}: {len(task.references)} and {len(await task.context.tasks())}"

    wire = await serve(agent)
    first = await wire.send(message("a", contextId="shared"), headers=ALICE)
    for caller, told in ((ALICE, "alice: 1 and 1"), (BOB, "bob: 0 and 0")):
        after = message("b", contextId="shared", referenceTaskIds=[first["id"]])
        task = await wire.send(after, headers=caller)
        assert task["artifacts"][0]["parts"] == [{"text": told}]
