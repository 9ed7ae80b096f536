"""Sharing, tenants and skills by what a real identity provider says of its people."""

from typing import Any

import pytest

from dragoman import Agent, TaskContext
from dragoman.auth import by_claim
from tests.behaviour.issued import KINDS, Issued
from tests.behaviour.manifest import requirement
from tests.behaviour.test_identity import by
from tests.behaviour.wire import Serve, message, refused
from tests.idp.process import IdentityProvider


def tokens(idp: IdentityProvider, kind: str, scope: str, *people: str) -> list[dict[str, Any]]:
    """Calls by these people, whose organisation is acme but for bob's."""
    client = "app-opaque" if "introspection" in kind else "app"
    return [by(idp.tokens(client, scope, person)["access_token"]) for person in people]


@requirement("R-13.1-01", "R-13.1-03", "R-7.5-01", "R-3.3.2-07")
@pytest.mark.parametrize("kind", KINDS)
async def test_colleagues_share_and_who_may_pay_pays(serve: Serve, idp: IdentityProvider, kind: str) -> None:
    scheme = Issued(idp).scheme(kind)
    agent = Agent("Till", store="memory", auth=scheme, access=by_claim("org"))

    @agent.skill(auth=scheme.needing("pay"))
    async def pay(task: TaskContext) -> str:
        return f"{await task.ask('How much?')} for {task.caller.rpartition(' ')[2]}"

    wire = await serve(agent)
    alice, amy, bob = tokens(idp, kind, "openid call pay", "alice", "amy", "bob")
    (poor,) = tokens(idp, kind, "openid call", "alice")
    with refused("PERMISSION_DENIED") as caught:
        await wire.send("pay", **poor)
    assert caught.value.reply.headers["www-authenticate"] == 'Bearer error="insufficient_scope", scope="call pay"'
    task = await wire.send("pay", **alice)
    assert await wire.get(task["id"], **amy) == await wire.get(task["id"], **poor) == task
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], **bob)
    with refused("TASK_NOT_FOUND"):
        await wire.send(message("7", taskId=task["id"]), **bob)
    with refused("PERMISSION_DENIED"):
        await wire.send(message("7", taskId=task["id"]), **poor)
    done = await wire.send(message("7", taskId=task["id"]), **amy)
    assert done["artifacts"][0]["parts"] == [{"text": "7 for alice"}]


@requirement("R-13.1-03")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_tenant_is_the_organisation(serve: Serve, idp: IdentityProvider, kind: str) -> None:
    agent = Agent("Till", store="memory", auth=Issued(idp).scheme(kind), access="tenant", tenants=by_claim("org"))

    @agent.skill
    async def say(task: TaskContext) -> str:
        return task.text

    wire = await serve(agent)
    alice, amy, bob = tokens(idp, kind, "openid call", "alice", "amy", "bob")
    task = await wire.send("hello", **alice)
    assert await wire.get(task["id"], **amy) == task
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], **bob)
    if wire.cell.line == "1.0":
        assert await wire.get(task["id"], tenant="acme", **amy) == task
        for tenant in ("acme", "nowhere"):
            with refused("PERMISSION_DENIED"):
                await wire.get(task["id"], tenant=tenant, **bob)
