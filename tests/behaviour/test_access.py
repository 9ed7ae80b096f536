"""Who shares with whom, and who may name which tenant: as the owner says it, in every cell."""

from typing import Any

import pytest

from dragoman import Agent, CallLimits, ConfigurationError, Message, Part, Rate, TaskContext
from dragoman.auth import ApiKey, ClientCredentialsOAuthFlow, OAuth2, Principal, by_claim
from dragoman.errors import DragomanError
from dragoman.operations import SEND_MESSAGE
from dragoman.types import Role
from dragoman.types.requests import SendMessageRequest, ServiceParameters
from tests.behaviour.agents import echo, gated, obedient
from tests.behaviour.callers import API_KEY, KEYS, keyed, schemes
from tests.behaviour.cells import LISTS_SAY_LITTLE, NO_LISTS, NO_TENANTS, without
from tests.behaviour.configs import PUSH, Configs
from tests.behaviour.guesses import named, who
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Start, card_of, message, refused
from tests.unit.auth.tokens import AUDIENCE, ISSUER, JWKS, bearer

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

    wire = await serve(echo(auth=NAMED, access=broken))
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


# What single skills ask for.


def payments(**given: Any) -> tuple[Agent, list[str]]:
    """Two skills, one of which asks for more, and direct answers that do; with what the handlers were given."""
    bearer = schemes()["bearer"]
    agent = Agent("Payments", store="memory", auth=bearer | ApiKey(KEYS), **given)
    heard: list[str] = []

    @agent.skill(auth=bearer.needing("pay"))
    async def pay(task: TaskContext) -> str:
        heard.append(task.text)
        return f"{task.text} and {await task.ask('How much?')}"

    @agent.skill
    async def look(task: TaskContext) -> str:
        return task.text

    @agent.skill(auth=bearer.needing("pay") & ApiKey(KEYS, header="X-Teller", name="teller"))
    async def quote(text: str) -> Message:
        heard.append(text)
        return Message(message_id="m", role=Role.AGENT, parts=(Part(text=text),))

    @agent.router
    async def chosen(text: str) -> str:
        return text.split(maxsplit=1)[0]

    return agent, heard


PAYER, LOOKER = bearer(scope="call pay"), bearer()
LACKING = 'Bearer error="insufficient_scope", scope="call pay"'


@requirement("R-7.5-01", "R-3.3.2-06", "R-3.3.2-07")
@pytest.mark.parametrize("operation", ["SendMessage", "SendStreamingMessage"])
async def test_a_skill_asks_for_more_than_its_agent_before_anything_is_stored(serve: Serve, operation: str) -> None:
    agent, heard = payments()
    wire = await serve(agent)
    said = message("pay up")
    with refused("PERMISSION_DENIED") as caught:
        await wire.call(operation, {"message": said}, headers=LOOKER)
    assert caught.value.text == "A scope is missing of: call pay"
    assert caught.value.reply.headers["www-authenticate"] == LACKING
    with refused("UNAUTHENTICATED") as caught:
        await wire.call(operation, {"message": said}, headers=keyed("alice"))
    assert caught.value.reply.headers["www-authenticate"].startswith("Bearer")
    assert heard == []
    assert (await wire.send("look here", headers=LOOKER))["status"]["state"] == "TASK_STATE_COMPLETED"
    task = await wire.send(said, headers=PAYER)
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    for caller, reason in ((LOOKER, "PERMISSION_DENIED"), (keyed("alice"), "TASK_NOT_FOUND")):
        with refused(reason):
            await wire.call(operation, {"message": message("a lot", taskId=task["id"])}, headers=caller)
    assert await wire.get(task["id"], headers=LOOKER) == task
    done = await wire.send(message("a lot", taskId=task["id"]), headers=PAYER)
    assert done["artifacts"][0]["parts"] == [{"text": "pay up and a lot"}]


@requirement("R-7.5-01")
async def test_a_direct_answer_asks_for_all_schemes_of_an_alternative(serve: Serve) -> None:
    agent, heard = payments()
    wire = await serve(agent)
    asked = {"message": message("quote me")}
    teller = {"x-teller": KEYS["bob"]}
    for lacking, reason, told in (
        (PAYER, "UNAUTHENTICATED", API_KEY.format("header", "X-Teller")),
        (LOOKER | teller, "PERMISSION_DENIED", LACKING),
        (keyed("alice") | teller, "UNAUTHENTICATED", "Bearer"),
    ):
        with refused(reason) as caught:
            await wire.call("SendMessage", asked, headers=lacking)
        assert caught.value.reply.headers["www-authenticate"].startswith(told)
    assert heard == []
    answered = await wire.call("SendMessage", asked, headers=PAYER | teller)
    assert answered["message"]["parts"] == [{"text": "quote me"}]


@requirement("R-7.5-01")
async def test_the_owners_own_calls_are_asked_for_nothing(serve: Serve) -> None:
    agent, heard = payments()
    await serve(agent)
    async with agent.local() as calls:
        request = SendMessageRequest(message=Message(message_id="m", role=Role.USER, parts=(Part(text="pay up"),)))
        await calls.call(SEND_MESSAGE, request, ServiceParameters())
    assert heard == ["pay up"]


@requirement("R-13.4-10")
async def test_who_guesses_what_a_skill_asks_for_has_to_wait_and_who_knows_it_need_not(serve: Serve) -> None:
    agent = Agent("Bank", store="memory", auth=NAMED, limits=CallLimits(failed_authentications=Rate(0.001, 3)))
    agent.skill(auth=ApiKey(KEYS, header="X-Teller", name="teller"))(_nothing)
    wire = await serve(agent)
    knows = {"x-teller": KEYS["alice"]}
    await wire.send("hello", headers=ALICE | knows)
    for number in range(3):
        with refused("UNAUTHENTICATED"):
            await wire.send("hello", headers=BOB | {"x-teller": f"a-guess-of-his-{number}"})
    # In process there is no address to hold it against; the same guess is one that was wrong before.
    for reason in ("UNAUTHENTICATED", "UNAUTHENTICATED", "LIMIT_EXCEEDED"):
        with refused(reason):
            await wire.send("hello", headers=BOB | {"x-teller": "a-guess-of-his-0"})
    await wire.send("hello", headers=ALICE | knows)
    await wire.send("hello", headers=BOB | knows)


@requirement("R-4.5-01", "R-7.5-01")
async def test_the_card_says_what_skills_ask_for_in_the_shape_of_both_lines(started: Start) -> None:
    agent, _ = payments()
    card = await card_of(await started(agent.asgi()))
    assert set(card["securitySchemes"]) == {"bearer", "apiKey", "teller"}
    assert card["securityRequirements"] == [{"schemes": {"bearer": {"list": ["call"]}}}, {"schemes": {"apiKey": {}}}]
    pay, look, quote = card["skills"]
    assert pay["securityRequirements"] == [{"schemes": {"bearer": {"list": ["call", "pay"]}}}]
    assert pay["security"] == [{"bearer": ["call", "pay"]}]
    assert "securityRequirements" not in look
    assert quote["security"] == [{"bearer": ["call", "pay"], "teller": []}]


def test_a_skill_cannot_ask_for_what_the_card_cannot_say() -> None:
    with pytest.raises(ConfigurationError, match="auth= too"):
        Agent("Open").skill(auth=NAMED)(_nothing)
    with pytest.raises(ConfigurationError, match="another one"):
        Agent("Two", auth=ApiKey(KEYS)).skill(auth=ApiKey(KEYS, header="X-Other"))(_nothing)
    several = Agent("Several", auth=ApiKey(KEYS))
    several.skill(auth=ApiKey(KEYS, header="X-One", name="more"))(_nothing)
    with pytest.raises(ConfigurationError, match="another one"):
        several.skill(auth=ApiKey(KEYS, header="X-Other", name="more"), id="second")(_nothing)
    with pytest.raises(ConfigurationError, match="scopes"):
        NAMED.needing()
    flow = ClientCredentialsOAuthFlow(token_url="https://id.example/token", scopes={"use": "All"})
    with pytest.raises(ConfigurationError, match="does not declare"):
        OAuth2(flow, issuer=ISSUER, audience=AUDIENCE, keys=JWKS, scopes=["use"]).needing("use", "pay")


async def _nothing() -> str:
    return ""
