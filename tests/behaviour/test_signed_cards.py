"""Cards that an agent signs: at their well-known address in every shape, and the extended one."""

import base64
import json
from typing import Any

import msgspec
import pytest

from dragoman.cards import CardKeys, CardSigner, Outcome, verify_card
from dragoman.dialects.base import HttpRequest
from dragoman.dialects.card import CARD_SHAPES, CardShape
from dragoman.signing.keys import KeyRing, RingKey, SigningKey
from dragoman.types.card import AgentInterface
from tests.behaviour.agents import echo
from tests.behaviour.cells import FINAL_JSON, Cell, only
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Start

FIRST, SECOND = SigningKey.generate("ES256", key_id="first"), SigningKey.generate("EdDSA", key_id="second")
INTERFACE = AgentInterface(url="https://agent.example/", protocol_binding="JSONRPC", protocol_version="1.0")
KEYS = CardKeys({"keys": [FIRST.public_jwk(), SECOND.public_jwk()]})


async def fetched(bridge: Any, path: str = "/.well-known/agent-card.json", host: str = "agent.example") -> Any:
    reply = await bridge.send(HttpRequest("GET", path, headers={"host": host}))
    assert reply.status == 200
    return reply


async def outcome(body: bytes) -> Outcome:
    return (await verify_card(body, KEYS)).outcome


@requirement("R-8.4.3-01")
@pytest.mark.parametrize("shape", CARD_SHAPES)
async def test_the_served_card_verifies_for_each_address_in_every_shape(started: Start, shape: CardShape) -> None:
    bridge = await started(echo(sign_cards=KeyRing.of(FIRST, SECOND), card_shape=shape).asgi())
    for host in ("agent.example", "other.example"):
        first, again = await fetched(bridge, host=host), await fetched(bridge, host=host)
        assert f"//{host}" in json.loads(first.body)["supportedInterfaces"][0]["url"]
        assert await outcome(first.body) is Outcome.VERIFIED
        assert (first.body, first.headers["etag"]) == (again.body, again.headers["etag"])
    keys = json.loads((await fetched(bridge, "/.well-known/jwks.json")).body)["keys"]
    assert keys == [FIRST.public_jwk(), SECOND.public_jwk()]


@requirement("R-8.4.3-01")
@only(*FINAL_JSON, Cell("1.0", "GRPC"))
async def test_the_extended_card_verifies_over_every_binding(serve: Serve) -> None:
    more = msgspec.structs.replace(echo().card, name="More of it", description="", supported_interfaces=(INTERFACE,))
    wire = await serve(echo(extended_card=more, sign_cards=KeyRing.of(FIRST)))
    card = await wire.call("GetExtendedAgentCard")
    assert card["name"] == "More of it"
    assert await outcome(json.dumps(card).encode()) is Outcome.VERIFIED
    assert await outcome(json.dumps(card | {"name": "Less of it"}).encode()) is Outcome.UNVERIFIABLE


async def test_when_another_key_signs_cards_are_signed_anew(started: Start) -> None:
    now = 1000.0
    ring = KeyRing([RingKey(FIRST, 0.0, 3000.0), RingKey(SECOND, 2000.0)])
    more = msgspec.structs.replace(echo().card, name="More of it", supported_interfaces=(INTERFACE,))
    bridge = await started(echo(extended_card=more, sign_cards=CardSigner(ring, clock=lambda: now)).asgi())

    async def signers() -> list[set[str]]:
        call: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", "params": {}}
        headers = {"host": "agent.example", "content-type": "application/json", "a2a-version": "1.0"}
        extended = json.loads(
            (await bridge.send(HttpRequest("POST", "/", headers=headers, body=json.dumps(call).encode()))).body
        )
        cards = [json.loads((await fetched(bridge)).body), extended["result"]]
        found = [await verify_card(json.dumps(card).encode(), KEYS) for card in cards]
        return [{one.key_id for one in verdict.signatures if one.valid} for verdict in found]

    assert await signers() == [{"first"}] * 2
    now = 2000.0
    assert await signers() == [{"first", "second"}] * 2
    now = 3000.0
    assert await signers() == [{"second"}] * 2


@pytest.mark.parametrize(
    ("url", "jku"),
    [("https://agent.example/a/", "https://agent.example/a/.well-known/jwks.json"), ("http://agent.example", None)],
)
async def test_signatures_say_where_the_keys_are_if_the_agent_knows_its_address(
    started: Start, url: str, jku: Any
) -> None:
    bridge = await started(echo(url=url, sign_cards=KeyRing.of(FIRST)).asgi())
    card = json.loads((await fetched(bridge)).body)
    protected = msgspec.json.decode(_decoded(card["signatures"][0]["protected"]))
    assert protected.get("jku") == jku


@pytest.mark.parametrize(
    ("how", "warned"), [({}, True), ({"url": "https://agent.example"}, False), ({"interfaces": [INTERFACE]}, False)]
)
async def test_an_agent_that_signs_any_address_is_warned_and_one_with_its_own_signs_no_other(
    started: Start, caplog: pytest.LogCaptureFixture, how: Any, warned: Any
) -> None:
    bridge = await started(echo(sign_cards=KeyRing.of(FIRST), **how).asgi())
    assert ("has no url=" in caplog.text) is warned
    card = await fetched(bridge, host="evil.example")
    assert (b"evil.example" in card.body, await outcome(card.body)) == (warned, Outcome.VERIFIED)


def _decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "==")


async def test_without_keys_cards_are_not_signed_and_no_keys_are_there(started: Start) -> None:
    bridge = await started(echo().asgi())
    assert "signatures" not in json.loads((await fetched(bridge)).body)
    reply = await bridge.send(HttpRequest("GET", "/.well-known/jwks.json", headers={"host": "agent.example"}))
    assert reply.status == 404
