"""The extended card: for each caller its own, complete, signed, and for caches of that caller alone."""

import json
from typing import Any

import msgspec
import pytest

from dragoman.auth import ApiKey, Principal
from dragoman.cards import CardKeys, CardSigner, verify_card
from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.errors import PermissionDeniedError
from dragoman.hosts.cards import CallerCards
from dragoman.publishing import completed
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.types.card import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    APIKeySecurityScheme,
    MutualTlsSecurityScheme,
)
from tests.behaviour.agents import echo
from tests.behaviour.callers import KEYS, keyed
from tests.behaviour.guesses import named, who
from tests.behaviour.manifest import requirement
from tests.behaviour.test_skill_access import payments
from tests.behaviour.wire import Serve, Start, card_of, refused, wire_to

NAMED = named()


def _for(name: str) -> AgentCard:
    bare = AgentCapabilities()
    return msgspec.structs.replace(
        echo().card, name=f"Echo for {name}", supported_interfaces=(), capabilities=bare, skills=()
    )


def _by_caller(principal: Principal) -> AgentCard:
    return _for(principal.id)


async def _by_caller_later(principal: Principal) -> AgentCard:
    if principal.id == "eve":
        raise PermissionDeniedError("There is no card for you")
    return _for(principal.id)


@requirement("R-13.3-01", "R-13.3-06", "R-14.3-05", "R-3.1.11-03")
@pytest.mark.parametrize("given", [_by_caller, _by_caller_later], ids=["at once", "later"])
async def test_each_caller_gets_its_own_card(serve: Serve, given: Any) -> None:
    wire = await serve(echo(auth=NAMED, extended_card=given))
    for name in ("alice", "bob", "alice"):
        card = await wire.call("GetExtendedAgentCard", headers=who(name))
        assert card["name"] == f"Echo for {name}"
        assert "Name" in str(card["securitySchemes"])
        assert [skill["id"] for skill in card["skills"]] == ["echo"]
        assert card["capabilities"]["streaming"] is True
        assert card["capabilities"]["pushNotifications"] is True
    with refused("UNAUTHENTICATED"):
        await wire.call("GetExtendedAgentCard")
    if given is _by_caller_later:
        with refused("PERMISSION_DENIED"):
            await wire.call("GetExtendedAgentCard", headers=who("eve"))


@requirement("R-13.3-06")
async def test_what_an_extended_card_leaves_out_is_as_in_the_public_one(started: Start) -> None:
    agent, _ = payments(extended_card=_by_caller)
    bridge = await started(agent.asgi())
    public = await card_of(bridge)
    wire = await wire_to(bridge, "HTTP+JSON")
    said = wire.request("GetExtendedAgentCard", headers={"host": "agent.example", **keyed("alice")})
    mine = json.loads((await bridge.send(said)).body)
    for member in ("supportedInterfaces", "capabilities", "securitySchemes", "securityRequirements"):
        older = {"type", "in", "name", "bearerFormat", "scheme"}
        assert mine[member] == (public[member] if member != "securitySchemes" else _without(public[member], older))
    assert [skill.get("securityRequirements") for skill in mine["skills"]] == [
        skill.get("securityRequirements") for skill in public["skills"]
    ]


def _without(schemes: dict[str, dict[str, Any]], names: set[str]) -> dict[str, Any]:
    return {key: {name: one for name, one in scheme.items() if name not in names} for key, scheme in schemes.items()}


def test_what_an_extended_card_says_stays_but_for_what_is_enforced() -> None:
    public = msgspec.structs.replace(
        payments()[0].card,
        supported_interfaces=(AgentInterface(url="u", protocol_binding="b", protocol_version="1.0"),),
    )
    own = msgspec.structs.replace(
        _for("alice"),
        supported_interfaces=(AgentInterface(url="mine", protocol_binding="b", protocol_version="1.0"),),
        capabilities=AgentCapabilities(streaming=False),
        skills=(
            *[msgspec.structs.replace(skill, security_requirements=(), name="Mine") for skill in public.skills[:1]],
            AgentSkill(id="more", name="more", description="more"),
        ),
    )
    whole = completed(own, public)
    assert whole.supported_interfaces == own.supported_interfaces
    assert whole.capabilities == msgspec.structs.replace(public.capabilities, streaming=False)
    assert [(skill.name, skill.security_requirements) for skill in whole.skills] == [
        ("Mine", public.skills[0].security_requirements),
        ("more", ()),
    ]


@requirement("R-13.3-03", "R-13.3-08")
async def test_a_caller_may_keep_its_card_for_a_while_and_asks_again_with_its_tag(started: Start) -> None:
    bridge = await started(echo(auth=NAMED | ApiKey(KEYS), extended_card=_by_caller).asgi())
    wire = await wire_to(bridge, "HTTP+JSON")

    async def asked(**headers: str) -> HttpReply:
        return await bridge.send(wire.request("GetExtendedAgentCard", headers=headers))

    first = await asked(**who("alice"))
    tag = first.headers["etag"]
    assert first.headers["cache-control"] == "private, max-age=60"
    assert first.headers["vary"] == "accept, a2a-version, authorization, x-api-key"
    again = await asked(**who("alice"), **{"if-none-match": tag})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    assert "content-type" not in again.headers
    other = await asked(**who("bob"), **{"if-none-match": tag})
    assert (other.status, json.loads(other.body)["name"]) == (200, "Echo for bob")
    assert (await asked(**{"if-none-match": tag})).status == 401
    over_rpc = await wire_to(bridge, "JSONRPC")
    reply = await over_rpc.reply("GetExtendedAgentCard", headers=who("alice"))
    assert reply.headers["cache-control"] == "private, no-store"


@pytest.mark.parametrize(
    ("schemes_", "vary"),
    [
        ({}, "accept, a2a-version"),
        ({"a": APIKeySecurityScheme(location="query", name="k")}, "accept, a2a-version"),
        ({"a": APIKeySecurityScheme(location="cookie", name="k")}, "accept, a2a-version, cookie"),
        ({"a": MutualTlsSecurityScheme(), "b": APIKeySecurityScheme(location="header", name="K")}, "*"),
    ],
)
def test_caches_are_told_what_tells_callers_apart(schemes_: Any, vary: str) -> None:
    reply = CallerCards(schemes_).kept(HttpRequest("GET", "/"), HttpReply(200, {}, b"{}"))
    assert reply.headers["vary"] == vary


async def test_the_card_of_each_caller_is_signed_and_what_somebody_signed_is_left_alone(started: Start) -> None:
    key = SigningKey.generate("ES256")
    foreign = CardSigner(KeyRing.of(SigningKey.generate("ES256"))).signed(_for("carol"))

    def given(principal: Principal) -> AgentCard:
        return foreign if principal.id == "carol" else _for(principal.id)

    bridge = await started(echo(auth=NAMED, extended_card=given, sign_cards=KeyRing.of(key)).asgi())
    wire = await wire_to(bridge, "HTTP+JSON")
    told: list[dict[str, Any]] = []
    for name in ("alice", "bob", "alice"):
        reply = await wire.reply("GetExtendedAgentCard", headers=who(name))
        verdict = await verify_card(reply.body, CardKeys({"keys": [key.public_jwk()]}))
        assert any(one.valid for one in verdict.signatures)
        told.append(json.loads(reply.body))
    assert told[0] == told[2] != told[1]
    carols = json.loads((await wire.reply("GetExtendedAgentCard", headers=who("carol"))).body)
    assert len(carols["signatures"]) == len(foreign.signatures)


async def test_a_function_that_gives_no_card_is_a_defect(serve: Serve) -> None:
    def broken(_: Principal) -> Any:
        return "a card"

    wire = await serve(echo(auth=NAMED, extended_card=broken))
    with refused("INTERNAL_ERROR"):
        await wire.call("GetExtendedAgentCard", headers=who("alice"))
