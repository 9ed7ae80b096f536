"""Who shares with whom, and who may name which tenant: as the owner says it, in every cell."""

from typing import Any

import pytest

from dragoman import Agent, CallLimits, ConfigurationError, TaskContext
from dragoman.auth import ApiKey, Principal, by_claim
from dragoman.errors import DragomanError
from tests.behaviour.agents import echo, gated, obedient
from tests.behaviour.cells import LISTS_SAY_LITTLE, NO_LISTS, NO_TENANTS, without
from tests.behaviour.configs import PUSH, Configs
from tests.behaviour.guesses import named, who
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, message, refused

CLAIMS: dict[str, dict[str, Any]] = {
    "alice": {"iss": "https://id.example", "org": "acme", "tenants": ["acme", "lab"]},
    "amy": {"iss": "https://id.example", "org": "acme", "tenants": "acme"},
    "bob": {"iss": "https://id.example", "org": "other", "tenants": ["other"]},
    "eve": {"iss": "https://elsewhere.example", "org": "acme", "tenants": []},
    "lone": {},
    "ann": {"org": True, "tenants": 7},
    "zoe": {"org": True},
}


NAMED = named(CLAIMS)
ALICE, AMY, BOB, EVE, LONE, ANN, ZOE = map(who, ("alice", "amy", "bob", "eve", "lone", "ann", "zoe"))


@requirement("R-13.1-01", "R-13.1-03")
async def test_who_has_the_same_claim_of_the_same_issuer_shares_and_nobody_else(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store, push=PUSH, auth=NAMED, access=by_claim("org")))
    task = await wire.send("ask", headers=ALICE)
    assert await wire.get(task["id"], headers=AMY) == task
    hers = Configs(wire, task["id"], headers=AMY)
    await hers.create(id="c")
    assert await Configs(wire, task["id"], headers=ALICE).ids() == ["c"]
    for stranger in (BOB, EVE, LONE, ANN):
        with refused("TASK_NOT_FOUND"):
            await wire.get(task["id"], headers=stranger)
    done = await wire.send(message("red", taskId=task["id"]), headers=AMY)
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    alone = await wire.send("done", headers=ANN)
    with refused("TASK_NOT_FOUND"):
        await wire.get(alone["id"], headers=ZOE)


@requirement("R-13.1-05")
@without(NO_LISTS, LISTS_SAY_LITTLE)
async def test_lists_hold_what_is_shared(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store, auth=NAMED, access=by_claim("org")))
    tasks = [await wire.send("done", headers=caller) for caller in (ALICE, AMY)]
    for caller, count in ((ALICE, 2), (AMY, 2), (EVE, 0), (LONE, 0)):
        listed = await wire.call("ListTasks", {}, headers=caller)
        assert listed["totalSize"] == count
        assert {task["id"] for task in listed["tasks"]} == {task["id"] for task in tasks[:count]}


async def test_a_function_of_the_owner_says_who_shares(serve: Serve) -> None:
    def house(caller: Principal) -> str:
        return caller.id[:-4]

    agent = echo(auth=ApiKey({"a.one": "a" * 16, "a.two": "b" * 16, "b": "c" * 16}), access=house)
    wire = await serve(agent)
    one, two, other = ({"x-api-key": key * 16} for key in "abc")
    task = await wire.send("hello", headers=one)
    assert (await wire.get(task["id"], headers=two))["id"] == task["id"]
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], headers=other)


async def test_nobody_becomes_a_group_by_taking_its_name(serve: Serve) -> None:
    def team(caller: Principal) -> str:
        return "team" if caller.id in {"alice", "amy"} else ""

    wire = await serve(echo(auth=NAMED, access=team))
    task = await wire.send("hello", headers=ALICE)
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], headers=who("team"))
    for name in ("=team", "="):
        with refused("UNAUTHENTICATED"):
            await wire.get(task["id"], headers=who(name))


async def test_what_decides_with_no_name_lets_nobody_in(serve: Serve) -> None:
    def broken(_: Principal) -> Any:
        return None

    def everybody(_: Principal) -> str:
        return "*"

    for policy in (broken, everybody):
        wire = await serve(echo(auth=NAMED, access=policy))
        with refused("INTERNAL_ERROR"):
            await wire.send("hello", headers=ALICE)


async def test_those_who_share_tasks_choose_the_ids_of_their_messages_each_for_themselves(
    serve: Serve, store: str
) -> None:
    wire = await serve(obedient(store=store, auth=NAMED, access=by_claim("org"), idempotency="strict"))
    said = message("done")
    hers, again, others = [await wire.send(said, headers=caller) for caller in (ALICE, ALICE, AMY)]
    assert hers["id"] == again["id"] != others["id"]
    changed = {**said, "parts": [{"text": "else"}]}
    with refused("INVALID_PARAMS") as caught:
        await wire.send(changed, headers=AMY)
    assert "alice" not in caught.value.told


async def test_a_handler_knows_who_of_those_who_share_it_works_for(serve: Serve, store: str) -> None:
    agent = Agent("Curious", store=store, auth=NAMED, access=by_claim("org"))

    @agent.skill
    async def look(task: TaskContext) -> str:
        return f"{task.caller} and {len(await task.context.tasks())} others"

    wire = await serve(agent)
    told = [await wire.send(message("a", contextId="c"), headers=caller) for caller in (ALICE, AMY, EVE)]
    assert [task["artifacts"][0]["parts"][0]["text"] for task in told] == [
        "alice and 0 others",
        "amy and 1 others",
        "eve and 0 others",
    ]


async def test_what_those_who_share_have_running_is_counted_for_each_tenant(serve: Serve) -> None:
    agent, gate = gated(
        auth=NAMED,
        tenants={"alice": "acme", "bob": "other"},
        access="tenant",
        limits=CallLimits(max_tasks_per_principal=1),
    )
    wire = await serve(agent)
    now = {"configuration": {"returnImmediately": True}}
    for caller in (ALICE, BOB):
        await wire.send("word", headers=caller, **now)
        with refused("LIMIT_EXCEEDED"):
            await wire.send("word", headers=caller, **now)
    for _ in range(4):
        gate.release()


@without(NO_TENANTS)
async def test_who_shares_by_another_name_has_no_more_running_by_naming_more_tenants(serve: Serve) -> None:
    agent, gate = gated(auth=NAMED, access=by_claim("org"), limits=CallLimits(max_tasks_per_principal=1))
    wire = await serve(agent)
    now = {"configuration": {"returnImmediately": True}}
    await wire.send("word", headers=ALICE, tenant="one", **now)
    for caller in (ALICE, AMY):
        with refused("LIMIT_EXCEEDED"):
            await wire.send("word", headers=caller, tenant="two", **now)
    await wire.send("word", headers=EVE, tenant="one", **now)
    for _ in range(4):
        gate.release()


# Tenants.

TENANTS = by_claim("tenants")


@requirement("R-13.1-01", "R-13.1-02", "R-3.3.2-08", "R-3.3.2-13")
@without(NO_TENANTS)
async def test_a_tenant_that_is_not_the_callers_looks_like_one_that_does_not_exist(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store, auth=NAMED, tenants=TENANTS))
    task = await wire.send("ask", headers=ALICE, tenant="acme")
    told: set[str] = set()
    for tenant in ("acme", "no-such-tenant", "lab"):
        for operation, params in (
            ("GetTask", {"id": task["id"]}),
            ("SendMessage", {"message": message("done")}),
            ("ListTasks", {}),
        ):
            with refused("PERMISSION_DENIED") as caught:
                await wire.call(operation, params, headers=BOB, tenant=tenant)
            told.add(f"{caught.value.text} {caught.value.details}")
    assert len(told) == 1
    assert await wire.get(task["id"], headers=ALICE, tenant="acme") == task


async def test_who_has_one_tenant_need_not_name_it_and_who_has_several_or_none_must(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store, auth=NAMED, tenants=TENANTS, access="tenant"))
    task = await wire.send("ask", headers=AMY)
    assert await wire.get(task["id"], headers=AMY) == task
    for caller in (ALICE, EVE, LONE, ANN):
        with refused("PERMISSION_DENIED"):
            await wire.send("ask", headers=caller)
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], headers=BOB)


@without(NO_TENANTS)
async def test_all_of_a_tenant_share_where_the_owner_says_so(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store, auth=NAMED, tenants=TENANTS, access="tenant"))
    task = await wire.send("ask", headers=AMY)
    assert await wire.get(task["id"], headers=ALICE, tenant="acme") == task
    for caller, tenant, reason in (
        (ALICE, "lab", "TASK_NOT_FOUND"),
        (BOB, "acme", "PERMISSION_DENIED"),
        (BOB, "other", "TASK_NOT_FOUND"),
    ):
        with refused(reason):
            await wire.get(task["id"], headers=caller, tenant=tenant)


@without(NO_TENANTS)
async def test_tenants_can_be_a_mapping_and_the_empty_one_is_that_of_callers_who_name_none(serve: Serve) -> None:
    wire = await serve(echo(auth=NAMED, tenants={"alice": ["", "acme"], "amy": "acme"}))
    task = await wire.send("hello", headers=ALICE)
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], headers=ALICE, tenant="acme")
    await wire.send("hello", headers=AMY, tenant="acme")
    with refused("PERMISSION_DENIED"):
        await wire.send("hello", headers=BOB, tenant="acme")


@pytest.mark.parametrize(
    "given",
    [
        {"access": "tenant", "auth": NAMED},
        {"access": "everybody", "auth": NAMED},
        {"access": by_claim("org")},
        {"tenants": {}},
        {"tenants": 7, "auth": NAMED},
    ],
    ids=["tenant alone", "unknown", "of nobody", "tenants of nobody", "no policy"],
)
def test_a_policy_that_would_not_hold_is_refused_at_once(given: Any) -> None:
    with pytest.raises(ConfigurationError):
        echo(**given)


async def test_what_is_shared_is_deleted_by_its_group(serve: Serve, store: str) -> None:
    agent = obedient(store=store, auth=NAMED, access=by_claim("org"))
    wire = await serve(agent)
    task = await wire.send("ask", headers=ALICE)
    assert await agent.delete(principal="alice") == 0
    assert await agent.delete(group="https://id.example acme") == 1
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], headers=AMY)
    with pytest.raises((ValueError, DragomanError)):
        await agent.delete(principal="alice", group="x")
