"""What one principal has does not exist for another: in every operation, over every binding, in every line."""

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import Agent, PushOptions, TaskContext
from dragoman.auth import ApiKey, by_claim
from dragoman.dialects.base import HttpReply
from dragoman.operations import OPERATIONS
from dragoman.ports.call import CallContext, Scope
from tests.behaviour.agents import gated, obedient
from tests.behaviour.callers import KEYS, keyed
from tests.behaviour.cells import (
    LISTS_SAY_LITTLE,
    NO_LISTS,
    NO_REFERENCES,
    NO_TENANTS,
    SUBSCRIPTIONS_ARE_TURNS,
    Cell,
    without,
)
from tests.behaviour.configs import HOOK, PUSH, Configs
from tests.behaviour.guesses import GUESSES, Caller, curious, leaks, named, owned, snapshot
from tests.behaviour.manifest import requirement
from tests.behaviour.webhooks import receiving
from tests.behaviour.wire import Serve, Start, Wire, message, refused, wire_to
from tests.unit.stores.scoping import BOUND, Statements, forgetful

ALICE, BOB = keyed("alice"), keyed("bob")
MISSING = "no-such-task"


def ours(store: str = "memory") -> Agent:
    return obedient(store=store, push=PUSH, auth=ApiKey(KEYS))


class Look(msgspec.Struct, frozen=True):
    """How somebody goes for a task, or a configuration of one, whose id they have."""

    operation: str
    params: dict[str, Any]

    def at(self, task_id: str) -> dict[str, Any]:
        return {name: task_id if value is None else value for name, value in self.params.items()}


LOOKS = (
    Look("GetTask", {"id": None}),
    Look("CancelTask", {"id": None}),
    Look("SubscribeToTask", {"id": None}),
    Look("CreateTaskPushNotificationConfig", {"taskId": None, "id": "c", "url": HOOK}),
    Look("GetTaskPushNotificationConfig", {"taskId": None, "id": "c"}),
    Look("ListTaskPushNotificationConfigs", {"taskId": None}),
    Look("DeleteTaskPushNotificationConfig", {"taskId": None, "id": "c"}),
)


def seen(reply: HttpReply, task_id: str) -> tuple[Any, ...]:
    """All that a reply shows, but for the id that was asked for, and that of the exchange."""
    hidden = [(name, value.replace(task_id, "*")) for name, value in reply.headers.items() if "length" not in name]
    details = reply.headers.get("grpc-status-details-bin", "")
    headers = [(name, value) for name, value in hidden if value != details]
    return reply.status, headers, reply.body.replace(task_id.encode(), b"*")


@requirement("R-13.1-01", "R-13.1-02", "R-13.1-06", "R-13.1-07", "R-13.1-08")
@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.operation)
async def test_somebody_elses_looks_like_one_that_is_not_there(serve: Serve, store: str, look: Look) -> None:
    wire = await serve(ours(store))
    task = await wire.send("ask", headers=ALICE)
    configs = Configs(wire, task["id"], headers=ALICE)
    await configs.create(id="c", token="of-alice")
    missing = MISSING.ljust(len(task["id"]), "-")
    told: list[tuple[Any, ...]] = []
    for task_id in (task["id"], missing):
        with refused("TASK_NOT_FOUND") as caught:
            await wire.call(look.operation, look.at(task_id), headers=BOB)
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


# Two tenants, two principals, every operation, every id.

_numbers = itertools.count(1)


def strangers_to(owner: Caller) -> "Strangers":
    """Others of the owner's tenant and, where there are tenants, the same and others elsewhere; new ones each time."""

    def strangers() -> Iterator[Caller]:
        number = next(_numbers)
        yield Caller(f"bob-{number}", owner.tenant)
        if owner.tenant:
            yield Caller(owner.name, f"other-{number}")
            yield Caller(f"bob-{number}", f"other-{number}")
            yield Caller(f"bob-{number}")

    return strangers


def owner_in(cell: Cell) -> Caller:
    return Caller("alice", "" if cell in NO_TENANTS.cells else "acme")


Strangers = Callable[[], Iterator[Caller]]


async def attacked(wire: Wire, owner: Caller, strangers: Strangers | None = None) -> list[str]:
    """What strangers see of the owner's things, which are as they were in the end."""
    things = await owned(wire, owner)
    before = await snapshot(wire, owner, things)
    found = await leaks(wire, things, strangers or strangers_to(owner))
    assert await snapshot(wire, owner, things) == before
    return found


def test_every_operation_is_tried_with_what_can_be_guessed() -> None:
    assert list(GUESSES) == [operation.name for operation in OPERATIONS]
    assert [name for name, guesses in GUESSES.items() if not guesses] == []


@requirement("R-13.1-01", "R-13.1-02", "R-13.1-03", "R-13.1-04", "R-13.1-05", "R-13.1-06", "R-13.1-07", "R-13.1-08")
@requirement("R-3.1.1-04", "R-3.1.3-01", "R-3.1.4-05", "R-3.1.8-02", "R-3.3.2-08", "R-3.3.2-13")
async def test_no_operation_shows_or_changes_what_is_anothers(serve: Serve, store: str, cell: Cell) -> None:
    wire = await serve(curious(store=store, auth=named()))
    assert await attacked(wire, owner_in(cell)) == []


CLAIMS = {"alice": {"org": "acme"}, "amy": {"org": "acme"}}


@requirement("R-13.1-01", "R-13.1-03")
async def test_those_who_share_see_all_of_it_and_strangers_nothing(serve: Serve, store: str, cell: Cell) -> None:
    wire = await serve(curious(store=store, auth=named(CLAIMS), access=by_claim("org")))
    alice = owner_in(cell)
    amy = Caller("amy", alice.tenant)
    things = await owned(wire, alice)
    before = await snapshot(wire, alice, things)
    assert await leaks(wire, things, strangers_to(alice)) == []
    for member in (alice, amy):
        assert await snapshot(wire, member, things) == before
    if cell in SUBSCRIPTIONS_ARE_TURNS.cells:
        return
    async with wire.subscribe(things.open, **amy.how) as stream:
        assert (await anext(stream)).payload["task"]["id"] == things.open
        await wire.send(message("red", taskId=things.open), **amy.how)
        assert (await stream.payloads())[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


@requirement("R-13.1-01")
async def test_streams_and_webhooks_carry_only_what_is_the_callers(serve: Serve, store: str) -> None:
    async with receiving() as receiver:
        agent, gate = gated(store=store, auth=named(), push=PushOptions(allow=[receiver.origin]))
        wire = await serve(agent)
        alice, bob = Caller("alice"), Caller("bob")
        hook = {"taskPushNotificationConfig": {"url": f"{receiver.origin}/bob"}, "returnImmediately": True}
        hers = await wire.send("secret words", configuration={"returnImmediately": True}, **alice.how)
        his = await wire.send("words", configuration=hook, **bob.how)
        async with wire.subscribe(his["id"], **bob.how) as stream:
            for _ in range(5):
                gate.release()
            told = await stream.payloads()
        await receiver.until(lambda it: "completed" in str(it.words))
    for said in (str(told), str([post.body for post in receiver.posts])):
        assert his["id"] in said
        assert hers["id"] not in said
        assert "secret" not in said


# The suite itself: it finds what it is there for.

SECOND_LINE = {
    # What is not found in the first place is not written to.
    "select n, tenant, principal, state, seq",
    # It only says by which index the page is found.
    "select count(*) from task where context_id",
}


async def tried(started: Start, path: Path) -> list[str]:
    wire = await wire_to(await started(curious(store=f"sqlite:///{path}", auth=named()).asgi()), "JSONRPC")
    return await attacked(wire, Caller("alice", "acme"), lambda: iter([Caller(f"bob-{next(_numbers)}", "acme")]))


async def test_a_statement_without_its_scope_is_found(started: Start, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        forgetful(patch)
        statements = Statements(patch)
        assert await tried(started, tmp_path / "whole.db") == []
    bound = dict.fromkeys(one for one in statements.run if BOUND.search(one))
    kept: set[str] = set()
    for number, twin in enumerate(bound):
        with pytest.MonkeyPatch.context() as patch:
            forgetful(patch)
            Statements(patch, twin)
            try:
                found = await tried(started, tmp_path / f"{number}.db")
            except AssertionError:
                continue
        if not found:
            kept.add(twin)
    assert {one for one in kept if not one.startswith(tuple(SECOND_LINE))} == set()


@pytest.mark.parametrize("lost", ["tenant", "principal"])
async def test_a_scope_that_says_half_is_found(started: Start, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    whole = CallContext.scope

    def half(self: CallContext, tenant: str) -> Scope:
        return msgspec.structs.replace(whole(self, tenant), **{lost: ""})

    monkeypatch.setattr(CallContext, "scope", half)
    wire = await wire_to(await started(curious(store="memory", auth=named()).asgi()), "JSONRPC")
    things = await owned(wire, Caller("alice", "acme"))
    assert await leaks(wire, things, strangers_to(Caller("alice", "acme")))
