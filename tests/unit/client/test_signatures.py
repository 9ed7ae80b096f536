"""What a client makes of the signatures of its agent's card."""

import json
import logging
from typing import Any

import pytest

from dragoman import connect
from dragoman.cards import CardKeys, CardSigner, Outcome
from dragoman.client import CardCache, CardNotVerified
from dragoman.dialects.card import card_members, decode_card
from dragoman.errors import ConfigurationError
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.types import GetTaskRequest
from tests.behaviour.manifest import requirement
from tests.unit.client.scripted import Script, plain, result, task

KEY = SigningKey.generate(key_id="k")
KEYS = CardKeys(KEY.public_jwk())
NEW = "/.well-known/agent-card.json"
GET = GetTaskRequest(id="t-1")


def publish(agent: Script, **changed: Any) -> None:
    """The agent's card, signed, and then changed."""
    card = CardSigner(KeyRing.of(KEY)).signed(decode_card(json.dumps(agent.card).encode()))
    agent.answers[f"GET {NEW}"] = [plain(json.dumps({**card_members(card), **changed}).encode())]
    agent.answers["GetTask"] = [result(task("WORKING"))]


@requirement("R-8.4.3-02")
@requirement("R-14.3-04")
async def test_a_signed_card_is_verified_without_being_told_to(agent: Script) -> None:
    publish(agent)
    async with connect(agent.url, card_keys=KEYS) as client:
        before = client.card_verdict
        await client.get_task(GET)
        after = client.card_verdict
    assert before is None
    assert after is not None
    assert after.outcome is Outcome.VERIFIED


@requirement("R-8.4.3-02")
async def test_a_card_that_was_changed_is_warned_of_and_used_unless_that_is_ruled_out(
    agent: Script, caplog: pytest.LogCaptureFixture
) -> None:
    publish(agent, name="Somebody else")
    with caplog.at_level(logging.WARNING, "dragoman.client"):
        async with connect(agent.url, card_keys=KEYS) as client:
            await client.get_task(GET)
            await client.get_task(GET)
            assert client.card_verdict is not None
            assert (client.card_verdict.outcome, client.card_verdict.forged) == (Outcome.UNVERIFIABLE, True)
    assert caplog.messages == ["the agent card of 'Somebody else' is not what was signed: the signature is wrong"]
    async with connect(agent.url, card_keys=KEYS, card_signatures="require") as client:
        with pytest.raises(CardNotVerified, match="'Somebody else' is not verified: the signature is wrong") as caught:
            await client.get_task(GET)
    assert caught.value.verdict.outcome is Outcome.UNVERIFIABLE
    assert agent.names() == ["GetTask", "GetTask"]


@requirement("R-14.3-04")
async def test_where_signed_cards_are_required_one_without_signature_is_refused(agent: Script) -> None:
    async with connect(agent.url, card_keys=KEYS, card_signatures="require") as client:
        for _ in range(2):
            with pytest.raises(CardNotVerified, match="is not verified: the card is not signed"):
                await client.card()
        publish(agent)
        assert (await client.card()).name == "Scripted"


async def test_of_a_verified_card_only_what_was_signed_is_used(agent: Script) -> None:
    publish(agent, security=[{"x": []}], supportsAuthenticatedExtendedCard=True)
    async with connect(agent.url, card_keys=KEYS) as client:
        card = await client.card()
        assert (card.security_requirements, card.capabilities.extended_agent_card) == ((), None)
        assert await client.card() == card
    async with connect(agent.url, card_signatures="ignore") as client:
        assert (await client.card()).security_requirements == ({"x": ()},)
        assert client.card_verdict is None


async def test_a_shared_cache_lets_no_card_past_the_client_that_requires_more(agent: Script) -> None:
    publish(agent, name="Somebody else")
    body = plain(
        json.dumps({**agent.card, "signatures": [{"protected": "e30", "signature": "AA"}]}).encode(),
        cache_control="max-age=100",
    )
    agent.answers[f"GET {NEW}"] = [body]
    cache = CardCache()
    async with connect(agent.url, cards=cache) as client:
        await client.card()
    async with connect(agent.url, cards=cache, card_keys=KEYS, card_signatures="require") as client:
        with pytest.raises(CardNotVerified, match="names no algorithm or no key"):
            await client.card()
    assert len(agent.seen) == 1


async def test_signatures_nobody_gave_keys_for_are_unverifiable_and_no_reason_to_warn(
    agent: Script, caplog: pytest.LogCaptureFixture
) -> None:
    publish(agent)
    async with connect(agent.url) as client:
        await client.card()
        assert client.card_verdict is not None
        assert (client.card_verdict.outcome, client.card_verdict.forged) == (Outcome.UNVERIFIABLE, False)
    assert caplog.messages == []


async def test_a_card_with_a_member_twice_is_read_as_ever_but_verifies_nothing(agent: Script) -> None:
    signed = card_members(CardSigner(KeyRing.of(KEY)).signed(decode_card(json.dumps(agent.card).encode())))
    twice = json.dumps(signed).replace('{"name"', '{"name": "Other", "name"', 1).encode()
    agent.answers[f"GET {NEW}"] = [plain(twice)]
    async with connect(agent.url, card_keys=KEYS) as client:
        await client.card()
        assert client.card_verdict is not None
        assert client.card_verdict.reason == "The card has a member twice"
    async with connect(agent.url, card_keys=KEYS, card_signatures="require") as client:
        with pytest.raises(CardNotVerified, match="member twice"):
            await client.card()


@requirement("R-8.4.3-02")
async def test_the_extended_card_is_judged_too(agent: Script) -> None:
    agent.offer(capabilities={"extendedAgentCard": True})
    publish(agent)
    plain_card = decode_card(json.dumps({**agent.card, "name": "Extended"}).encode())
    good = card_members(CardSigner(KeyRing.of(KEY)).signed(plain_card))
    agent.answers["GetExtendedAgentCard"] = [result({**good, "version": "9"}), result(good)]
    async with connect(agent.url, card_keys=KEYS, card_signatures="require") as client:
        with pytest.raises(CardNotVerified, match="'Extended' is not verified: the signature is wrong"):
            await client.get_extended_agent_card()
        assert (await client.card()).name == "Scripted"
        assert (await client.get_extended_agent_card()).name == "Extended"
        assert (await client.card()).name == "Extended"
        assert client.card_verdict is not None
        assert client.card_verdict.outcome is Outcome.VERIFIED


async def test_a_card_given_as_a_value_is_judged_too(agent: Script) -> None:
    card = decode_card(json.dumps(agent.card).encode())
    async with connect(card, card_keys=KEYS, card_signatures="require") as client:
        with pytest.raises(CardNotVerified):
            await client.card()
    async with connect(CardSigner(KeyRing.of(KEY)).signed(card), card_keys=KEYS, card_signatures="require") as client:
        assert (await client.card()).name == "Scripted"


async def test_a_key_that_is_revoked_meanwhile_ends_the_trust() -> None:
    from dragoman.client.signatures import CardDocument, CardJudge
    from tests.unit.cards.parts import KEY as SIGNING
    from tests.unit.cards.parts import NOW, public, signed

    jwks = public(SIGNING)
    jwks["keys"][0]["exp"] = NOW + 400
    now = 0.0
    judge = CardJudge("require", CardKeys(jwks, clock=lambda: NOW + now), clock=lambda: now)
    document = CardDocument(signed())
    first = await judge.accepted(document)
    now = 299.0
    assert await judge.accepted(document) is first
    now = 401.0
    with pytest.raises(CardNotVerified, match="expired"):
        await judge.accepted(document)
    assert judge.verdict is not None
    assert judge.verdict.outcome is Outcome.UNVERIFIABLE


@pytest.mark.parametrize(("policy", "keys"), [("require", None), ("always", KEYS), ("", None)])
def test_choices_that_cannot_be_kept_are_refused_at_once(policy: Any, keys: CardKeys | None) -> None:
    with pytest.raises(ConfigurationError):
        connect("agent.example", card_signatures=policy, card_keys=keys)
