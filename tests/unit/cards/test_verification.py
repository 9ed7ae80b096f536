"""What verifies, and what does not: above all, what attackers would send."""

import hashlib
import hmac
import json
from typing import Any

import pytest

from dragoman.cards import CardKeys, Outcome
from dragoman.cards.canonical import Form, canonical, readings
from dragoman.dialects.card import card_members, encode_card
from dragoman.errors import ReplyMalformed
from dragoman.signing.keys import SigningKey
from dragoman.types.card import AgentCapabilities, AgentSkill
from tests.behaviour.manifest import requirement
from tests.unit.cards.parts import (
    KEY,
    OTHER,
    by_hand,
    card,
    decoded,
    document,
    encoded,
    keys_of,
    signed,
    verdict,
)

PAYLOAD = canonical(card_members(card()))


@requirement("R-8.4.3-01")
@pytest.mark.parametrize("algorithm", ["ES256", "EdDSA", "RS256"])
async def test_a_signed_card_verifies_as_a_value_and_as_a_document(algorithm: Any) -> None:
    key = SigningKey.generate(algorithm)
    given = signed(card(), key)
    for shown in (given, encode_card(given), document(given, url="https://agent.example/")):
        found = await verdict(shown, keys_of(key))
        assert (found.outcome, found.reason, found.card) == (Outcome.VERIFIED, "", given)
        first, for_sdks = found.signatures
        assert (first.key_id, first.algorithm, first.form) == (key.id, algorithm, Form.SPECIFICATION)
        assert (for_sdks.valid, for_sdks.for_sdks) == (False, True)


@requirement("R-8.4.3-01")
@pytest.mark.parametrize(
    "changed",
    [
        {"name": "Übersetzer \U0001f5fb"},
        {"version": "1.1"},
        {"description": " "},
        {"capabilities": AgentCapabilities(streaming=True)},
        {"security_schemes": {}},
        {"default_output_modes": ("text/plain", "text/html")},
        {"documentation_url": "https://x.example/"},
    ],
)
async def test_a_card_that_was_changed_does_not_verify(changed: dict[str, Any]) -> None:
    other = card(**changed, signatures=signed().signatures)
    found = await verdict(other, keys_of(KEY))
    assert (found.outcome, found.card, found.forged) == (Outcome.UNVERIFIABLE, None, True)
    assert "the signature is wrong" in found.reason


async def test_every_single_character_of_a_card_counts() -> None:
    given = signed()
    body = document(given)
    end = body.index(b'"signatures"')
    for at in range(0, end, 13):
        other = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
        try:
            found = await verdict(other, keys_of(KEY))
        except ReplyMalformed:
            continue
        # A member with another name is one that the schema does not know, or one that is missing.
        assert found.outcome is not Outcome.VERIFIED or found.card == given, other[at - 10 : at + 10]


@requirement("R-8.4.1-07")
async def test_a_second_signature_does_not_break_the_first() -> None:
    both = signed(signed(card(), KEY), OTHER)
    for key in (KEY, OTHER):
        found = await verdict(both, keys_of(key))
        assert found.outcome is Outcome.VERIFIED
        judged = [one for one in found.signatures if not one.for_sdks]
        assert [(one.key_id, one.reason) for one in judged if one.valid] == [(key.id, "")]
        assert [one.reason for one in judged if not one.valid] == ["its key is not known"]


async def test_a_card_without_signatures_is_told_apart_from_one_that_cannot_be_verified() -> None:
    assert (await verdict(card(), keys_of(KEY))).outcome is Outcome.ABSENT
    nothing: list[Any] = []
    for empty in (nothing, None):
        assert (await verdict(document(card(), signatures=empty), keys_of(KEY))).outcome is Outcome.ABSENT
    unknown = await verdict(signed(), keys_of(OTHER))
    assert (unknown.outcome, unknown.reason, unknown.forged) == (Outcome.UNVERIFIABLE, "its key is not known", False)
    without = await verdict(signed(), None)
    assert (without.outcome, without.reason) == (Outcome.UNVERIFIABLE, "there are no keys to verify it with")


def _with(signature: Any, given: dict[str, Any] | None = None) -> bytes:
    return document(card(), **{"signatures": [signature], **(given or {})})


def _unsecured(algorithm: str) -> dict[str, Any]:
    return {"protected": encoded({"alg": algorithm, "kid": KEY.id, "typ": "JOSE"}), "signature": "AA"}


def _confused() -> dict[str, Any]:
    """Signed with the public key, which everybody has, as if it were a secret that two share."""
    protected = encoded({"alg": "HS256", "kid": KEY.id, "typ": "JOSE"})
    secret = json.dumps(KEY.public_jwk()).encode()
    mac = hmac.new(secret, f"{protected}.{encoded(PAYLOAD)}".encode(), hashlib.sha256).digest()
    return {"protected": protected, "signature": encoded(mac)}


def _header(**members: Any) -> dict[str, Any]:
    """A right signature whose header was changed afterwards."""
    good = by_hand(PAYLOAD)
    return {**good, "protected": encoded(decoded(good["protected"]) | members)}


STRANGER = SigningKey.generate("ES256", key_id=KEY.id)

ATTACKS: dict[str, tuple[Any, str]] = {
    "alg none": (_unsecured("none"), "its algorithm is not accepted"),
    "alg None": (_unsecured("None"), "its algorithm is not accepted"),
    "alg none without signature": ({**_unsecured("none"), "signature": ""}, "it cannot be read"),
    "the public key as a secret": (_confused(), "its algorithm is not accepted"),
    "another algorithm of the key's kind": (_header(alg="ES384"), "its algorithm is not accepted"),
    "an algorithm of another kind": (_header(alg="EdDSA"), "for another algorithm"),
    "no algorithm": (_header(alg=None), "names no algorithm or no key"),
    "a list of algorithms": (_header(alg=["ES256"]), "names no algorithm or no key"),
    "no key": (_header(kid=None), "names no algorithm or no key"),
    "an empty key": (_header(kid=""), "names no algorithm or no key"),
    "a path as key": (_header(kid="../../etc/passwd"), "its key is not known"),
    "a statement as key": (_header(kid="' or 1=1 --"), "its key is not known"),
    "a number as key": (_header(kid=1), "names no algorithm or no key"),
    "a header that was changed": (_header(x="y"), "wrong"),
    "a key in the header": (
        by_hand(PAYLOAD, STRANGER, kid="mine", jwk=STRANGER.public_jwk()),
        "its key is not known",
    ),
    "a stranger's key with our id": (by_hand(PAYLOAD, STRANGER), "wrong"),
    "a stranger's key set": (by_hand(PAYLOAD, STRANGER, kid="mine", jku="https://evil.example/keys"), "not fetched"),
    "something critical": (by_hand(PAYLOAD, exp=1, crit=["exp"]), "cannot be read|not known here"),
    "a payload that is not encoded": (_header(b64=False), "not known here|cannot be read|wrong"),
    "a header with a member twice": (
        {**by_hand(PAYLOAD), "protected": encoded(b'{"alg":"ES256","alg":"none","kid":"first"}')},
        "its header cannot be read",
    ),
    "headers that say one thing twice": ({**by_hand(PAYLOAD), "header": {"kid": KEY.id}}, "say one thing twice"),
    "a header that is no object": ({**by_hand(PAYLOAD), "protected": encoded(b"[]")}, "its header cannot be read"),
    "a header that is no JSON": ({**by_hand(PAYLOAD), "protected": "e30e30"}, "its header cannot be read"),
    "a header with padding": ({**by_hand(PAYLOAD), "protected": "e30="}, "it cannot be read"),
    "a dot": ({**by_hand(PAYLOAD), "signature": "AA.AA"}, "it cannot be read"),
    "a line's end": ({**by_hand(PAYLOAD), "signature": by_hand(PAYLOAD)["signature"] + "\n"}, "it cannot be read"),
    "a long header": ({**by_hand(PAYLOAD), "protected": "A" * 9000}, "it cannot be read"),
    "a short signature": (
        {**by_hand(PAYLOAD), "signature": by_hand(PAYLOAD)["signature"][:-4]},
        "wrong|cannot be read",
    ),
    "zeros for a signature": ({**by_hand(PAYLOAD), "signature": encoded(bytes(64))}, "wrong|cannot be read"),
    "no object": ("e30.e30.AA", "it is no signature"),
    "nothing": ({}, "it is no signature"),
    "null": (None, "it is no signature"),
    "numbers": ({"protected": 1, "signature": 2}, "it is no signature"),
    "a list": ([], "it is no signature"),
    "over pretty JSON": (by_hand(json.dumps(json.loads(PAYLOAD), indent=1).encode()), "wrong"),
    "over another order": (by_hand(json.dumps(card_members(card())).encode()), "wrong"),
    "over the form with its signatures": (by_hand(json.dumps({"signatures": []}).encode()), "wrong"),
    "over nothing": (by_hand(b""), "wrong"),
    "over an empty card": (by_hand(b"{}"), "wrong"),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_attack_verifies_nothing(attack: str) -> None:
    signature, reason = ATTACKS[attack]
    found = await verdict(_with(signature), keys_of(KEY, OTHER))
    assert (found.outcome, found.card) == (Outcome.UNVERIFIABLE, None)
    (one,) = found.signatures
    assert not one.valid
    assert any(piece in one.reason for piece in reason.split("|")), one.reason


async def test_the_attacks_begin_with_a_signature_that_verifies() -> None:
    assert (await verdict(_with(by_hand(PAYLOAD)), keys_of(KEY))).outcome is Outcome.VERIFIED


async def test_a_wrong_signature_beside_a_right_one_is_told_and_does_not_count() -> None:
    wrong = by_hand(PAYLOAD, STRANGER)
    found = await verdict(document(card(), signatures=[wrong, by_hand(PAYLOAD)]), keys_of(KEY))
    assert found.outcome is Outcome.VERIFIED
    assert [(one.valid, one.forged) for one in found.signatures] == [(False, True), (True, False)]
    assert not found.forged


async def test_members_that_were_not_signed_are_not_in_the_card_that_may_be_relied_on() -> None:
    added = {
        "url": "https://evil.example/",
        "additionalInterfaces": [{"url": "https://evil.example/", "transport": "JSONRPC"}],
        "supportsAuthenticatedExtendedCard": True,
        "security": [{"key": ["admin"]}],
        "protocolVersion": "0.3.0",
    }
    given = signed()
    found = await verdict(document(given, **added), keys_of(KEY))
    assert (found.outcome, found.card) == (Outcome.VERIFIED, given)


async def test_a_signature_that_covers_no_address_verifies_nothing() -> None:
    older: dict[str, Any] = {"name": "n", "url": "https://agent.example/", "capabilities": {}, "skills": []}
    bare = by_hand(canonical(older))
    found = await verdict(json.dumps({**older, "signatures": [bare]}).encode(), keys_of(KEY))
    assert (found.outcome, found.reason) == (Outcome.UNVERIFIABLE, "it covers no address of the agent")


async def test_a_signature_over_a_whole_document_covers_the_members_of_older_cards() -> None:
    older: dict[str, Any] = {
        "name": "é",
        "url": "https://agent.example/",
        "capabilities": {},
        "skills": [],
        "description": "",
    }
    for form, payload, _ in list(readings(older))[3:]:
        good = json.dumps({**older, "signatures": [by_hand(payload)]}).encode()
        found = await verdict(good, keys_of(KEY))
        assert [one.form for one in found.signatures] == [form]
        assert found.card is not None
        assert found.card.supported_interfaces[0].url == "https://agent.example/"
        bad = good.replace(b"agent.example", b"evil.example!")
        assert (await verdict(bad, keys_of(KEY))).outcome is Outcome.UNVERIFIABLE


async def test_the_form_of_the_sdks_counts_unless_it_is_ruled_out() -> None:
    (payload,) = (payload for form, payload, _ in readings(card_members(card())) if form is Form.SDK)
    body = _with(by_hand(payload))
    assert [one.form for one in (await verdict(body, keys_of(KEY))).signatures] == [Form.SDK]
    strict = await verdict(body, keys_of(KEY, sdk_forms=False))
    assert (strict.outcome, strict.reason) == (Outcome.UNVERIFIABLE, "the signature is wrong")


async def test_of_very_many_signatures_only_the_first_are_looked_at() -> None:
    good = by_hand(PAYLOAD)
    found = await verdict(document(card(), signatures=[*[_unsecured("none")] * 16, good]), keys_of(KEY))
    assert found.outcome is Outcome.UNVERIFIABLE
    assert (len(found.signatures), found.signatures[-1].reason) == (17, "only 16 signatures are looked at")


async def test_what_a_header_claims_is_told_short_and_on_one_line() -> None:
    found = await verdict(_with(_header(kid="a\n\x1b[31m" + "b" * 500)), keys_of(KEY))
    assert found.signatures[0].key_id == "a??[31m" + "b" * 73


async def test_signatures_that_are_no_list_make_it_no_card() -> None:
    with pytest.raises(ReplyMalformed, match="not a list"):
        await verdict(document(card(), signatures={"protected": "a"}), keys_of(KEY))


async def test_what_is_made_for_sdks_does_not_count_where_the_form_of_the_specification_is_known() -> None:
    given = signed()
    for_sdks = card(signatures=given.signatures[1:], security_requirements=())
    found = await verdict(for_sdks, keys_of(KEY))
    assert (found.outcome, found.reason) == (
        Outcome.UNVERIFIABLE,
        "it is meant for readers that leave out what is empty",
    )


async def test_nothing_empty_can_be_added_to_a_signed_card_that_has_nothing_empty() -> None:
    given = signed(
        card(
            description="d",
            icon_url=None,
            capabilities=AgentCapabilities(streaming=True),
            skills=(AgentSkill(id="s", name="S", description="does", tags=("t",)),),
            security_requirements=({"key": ("read",)},),
        )
    )
    members = card_members(given)
    assert len(members["signatures"]) == 1
    assert (await verdict(document(given), keys_of(KEY))).card == given
    free: dict[str, Any] = {"schemes": {"key": {"list": []}}}
    for changed in ({"securityRequirements": [*members["securityRequirements"], free]}, {"iconUrl": ""}):
        found = await verdict(document(given, **changed), keys_of(KEY))
        assert (found.outcome, found.forged) == (Outcome.UNVERIFIABLE, True)


@pytest.mark.parametrize("algorithms", [("ES256",), ("EdDSA", "ES256")])
async def test_only_algorithms_that_are_accepted_count(algorithms: tuple[str, ...]) -> None:
    keys = CardKeys({"keys": [KEY.public_jwk(), OTHER.public_jwk()]}, algorithms=algorithms)
    found = await verdict(signed(card(), KEY, OTHER), keys)
    assert {one.algorithm for one in found.signatures if one.valid} == set(algorithms)


async def test_a_value_without_an_address_is_verified_as_it_stands_and_a_document_is_not() -> None:
    given = signed(card(supported_interfaces=()))
    assert (await verdict(given, keys_of(KEY))).card == given
    assert (await verdict(encode_card(given), keys_of(KEY))).reason == "it covers no address of the agent"
