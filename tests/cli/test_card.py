"""`card`: who has signed a card, what is wrong with it, and what has changed."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.signing.keys import SigningKey
from tests.behaviour.manifest import requirement
from tests.cli.nursery import Nursery
from tests.cli.program import Program
from tests.cli.scripted import ScriptedAgent

CARD: dict[str, Any] = {
    "name": "Übersetzer",
    "description": "Translates.",
    "version": "1",
    "supportedInterfaces": [{"url": "https://a.example/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
    "capabilities": {"streaming": False},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [{"id": "t", "name": "T", "description": "d", "tags": ["words"], "examples": ["Hello."]}],
    "url": "https://a.example/",
}
USED_WRONGLY = 2


@pytest.fixture
def program(tmp_path: Path, nursery: Nursery) -> Program:
    """The program in a folder with a card, a private key, and public ones that count."""
    program = Program(tmp_path, {}, nursery)
    key = SigningKey.generate("ES256", key_id="mine")
    key.write(program.cwd / "key.json")
    (program.cwd / "keys.json").write_text(json.dumps({"keys": [key.public_jwk()]}), encoding="utf-8")
    other = SigningKey.generate("ES256", key_id="theirs")
    (program.cwd / "others.json").write_text(json.dumps({"keys": [other.public_jwk()]}), encoding="utf-8")
    keep(program, "card.json", CARD)
    return program


def keep(program: Program, name: str, card: dict[str, Any]) -> None:
    (program.cwd / name).write_text(json.dumps(card), encoding="utf-8")


async def sign(program: Program, *options: str, source: str = "card.json", name: str = "signed.json") -> dict[str, Any]:
    ran = await program.run("card", "sign", "-a", source, "--key", "key.json", *options)
    assert ran.code == 0, ran.err
    signed: dict[str, Any] = ran.json
    keep(program, name, signed)
    return signed


@requirement("R-8.4.3-02")
@pytest.mark.row("A2ACLI_CARD_GET_004")
async def test_what_signatures_show_is_verified_unverifiable_or_absent(program: Program) -> None:
    signed = await sign(program)
    keep(program, "tampered.json", {**signed, "name": "Other"})
    wrong, unknown = "the signature is wrong", "its key is not known"
    for name, keys, outcome, reason in (
        ("signed.json", "keys.json", "verified", None),
        ("tampered.json", "keys.json", "unverifiable", wrong),
        ("signed.json", "others.json", "unverifiable", unknown),
        ("card.json", "keys.json", "absent", None),
    ):
        told = {"Signature": [outcome]} | ({} if reason is None else {"Signature Reason": [reason]})
        text = await program.run("card", "get", "-a", name, "--keys", keys)
        assert (text.code, {label: text.fields.get(label) for label in told}) == (0, told)
        shown = await program.run("card", "get", "-a", name, "--keys", keys, "-o", "json")
        assert (shown.code, shown.json["version"], f"Signature: {outcome}" in shown.err) == (0, "1", True)
        assert ("Warning:" in shown.err) is (reason == wrong)
        verify = await program.run("card", "verify", "-a", name, "--keys", keys, "-o", "json")
        assert (verify.code, verify.json["signature"]) == (0 if outcome == "verified" else 1, outcome)
        required = await program.run("card", "get", "-a", name, "--keys", keys, "--require-signature", "-o", "json")
        if outcome == "verified":
            assert required.code == 0
        else:
            assert (required.code, required.error["code"]) == (1, "A2ACLI_ERR_CARD_INVALID")
            assert required.error["hint"] == f"See what each signature shows: dragoman card verify -a {name}"


async def test_each_signature_is_told_of_by_itself(program: Program) -> None:
    signed = await sign(program)
    keep(
        program, "both.json", {**signed, "signatures": [{"protected": "e30", "signature": "AA"}, *signed["signatures"]]}
    )
    ran = await program.run("card", "verify", "-a", "both.json", "--keys", "keys.json")
    assert ran.fields["Signed By"] == [
        "unknown unknown: its header names no algorithm or no key",
        "ES256 mine: valid",
    ]


async def test_of_a_verified_card_what_was_signed_is_shown(program: Program) -> None:
    signed = await sign(program)
    keep(program, "more.json", {**signed, "supportsAuthenticatedExtendedCard": True, "security": [{"x": []}]})
    bare = await program.run("card", "get", "-a", "more.json")
    assert (bare.fields["Extended Card"], bare.fields["Security Requirement"]) == (["yes"], ["x"])
    trusting = ("card", "get", "-a", "more.json", "--keys", "keys.json", "--require-signature")
    text = await program.run(*trusting)
    assert (text.code, text.fields["Extended Card"], "Security Requirement" in text.fields) == (0, ["no"], False)
    shown = await program.run(*trusting, "-o", "json")
    assert (shown.code, "securityRequirements" in shown.json) == (0, False)


async def test_a_card_that_can_be_read_in_two_ways_is_shown_and_its_signatures_show_nothing(program: Program) -> None:
    await sign(program)
    for name, outcome in (("card.json", "absent"), ("signed.json", "unverifiable")):
        text = (program.cwd / name).read_text(encoding="utf-8")
        (program.cwd / name).write_text(text.replace('"version"', '"version": "0", "version"', 1), encoding="utf-8")
        ran = await program.run("card", "get", "-a", name, "--keys", "keys.json")
        assert (ran.code, ran.fields["Version"], ran.fields["Signature"]) == (0, ["1"], [outcome])
        reason = ["The card has a member twice"] if outcome == "unverifiable" else None
        assert ran.fields.get("Signature Reason") == reason


@pytest.mark.parametrize("signatures", ["abc", {"protected": "a"}])
async def test_signatures_that_are_no_list_are_not_added_to(program: Program, signatures: Any) -> None:
    keep(program, "odd.json", CARD | {"signatures": signatures})
    ran = await program.run("card", "sign", "-a", "odd.json", "--key", "key.json", "-o", "json")
    assert (ran.code, ran.error["code"]) == (1, "A2ACLI_ERR_CARD_INVALID")
    assert len((await sign(program, "--replace", source="odd.json"))["signatures"]) == 1


async def test_signing_keeps_the_card_and_the_signatures_that_it_has_unless_told_otherwise(program: Program) -> None:
    once = await sign(program, "--jku", "https://keys.example/jwks.json")
    assert {name: value for name, value in once.items() if name != "signatures"} == CARD
    twice = await sign(program, source="signed.json", name="twice.json")
    assert twice["signatures"][:1] == once["signatures"]
    assert len(twice["signatures"]) == 2
    assert len((await sign(program, "--replace", source="twice.json"))["signatures"]) == 1


@pytest.mark.parametrize(
    ("changed", "code", "error"),
    [
        ({"supportedInterfaces": []}, 1, "A2ACLI_ERR_CARD_INVALID"),
        ({"skills": 1}, 1, "A2ACLI_ERR_CARD_INVALID"),
    ],
)
async def test_what_no_signature_would_cover_is_not_signed(
    program: Program, changed: dict[str, Any], code: int, error: str
) -> None:
    keep(program, "card.json", CARD | changed)
    ran = await program.run("card", "sign", "-a", "card.json", "--key", "key.json", "-o", "json")
    assert (ran.code, ran.error["code"]) == (code, error)


async def test_what_is_no_key_and_no_place_of_keys_is_used_wrongly(program: Program) -> None:
    for words in (
        ("sign", "-a", "card.json", "--key", "card.json"),
        ("sign", "-a", "card.json", "--key", "key.json", "--jku", "http://keys.example/"),
        ("verify", "-a", "card.json", "--jku", "http://keys.example/"),
        ("verify", "-a", "card.json", "--keys", "missing.json"),
        ("keys", "--key", "missing.json"),
        ("verify",),
    ):
        assert (await program.run("card", *words)).code == USED_WRONGLY, words


async def test_a_ring_is_made_and_its_public_keys_are_shown(program: Program) -> None:
    made = await program.run("card", "keys", "--key", "ring.json", "--new", "EdDSA")
    again = await program.run("card", "keys", "--key", "ring.json", "--new", "EdDSA")
    assert made.json == again.json
    assert [(jwk["alg"], "d" in jwk) for jwk in made.json["keys"]] == [("EdDSA", False)]


@pytest.mark.row("A2ACLI_CARD_GET_002")
async def test_what_is_wrong_with_a_card_is_named_with_its_place(program: Program, agent: ScriptedAgent) -> None:
    keep(program, "broken.json", CARD | {"version": None, "iconUrl": "icon"})
    good = await program.run("card", "get", "-a", "card.json", "--validate")
    assert (good.code, "the card is valid" in good.err) == (0, True)
    broken = await program.run("card", "get", "-a", "broken.json", "--validate", "-o", "json")
    assert (broken.code, broken.error["code"]) == (1, "A2ACLI_ERR_CARD_INVALID")
    assert "/version is required; /iconUrl must be an absolute URL" in broken.error["message"]
    text = await program.run("card", "validate", "-a", "broken.json")
    assert (text.code, text.fields["Problem"]) == (
        1,
        ["/version is required", "/iconUrl must be an absolute URL, not 'icon'"],
    )
    listed = await program.run("card", "validate", "-a", "broken.json", "-o", "json")
    assert (listed.code, listed.json["valid"]) == (1, False)
    assert listed.json["findings"][0] == {"pointer": "/version", "message": "is required", "severity": "error"}
    advice = await program.run("card", "validate", "-a", agent.base)
    assert (advice.code, "Problem" in advice.fields, bool(advice.fields["Advice"])) == (0, False, True)


async def test_what_has_changed_is_told_in_words(program: Program) -> None:
    keep(program, "new.json", CARD | {"version": "2", "skills": []})
    same = await program.run("card", "diff", "card.json", "card.json")
    assert (same.code, same.out) == (0, "")
    text = await program.run("card", "diff", "card.json", "new.json")
    assert (text.code, text.fields) == (1, {"Change": ["version: 1 is now 2"], "Breaking Change": ["skill t is gone"]})
    breaking = await program.run("card", "diff", "card.json", "new.json", "--breaking", "-o", "json")
    assert (breaking.code, breaking.json) == (1, {"changes": [{"words": "skill t is gone", "breaking": True}]})
    none = await program.run("card", "diff", "new.json", "card.json", "--breaking")
    assert (none.code, none.out) == (0, "")
    missing = await program.run("card", "diff", "card.json", "missing.json", "-o", "json")
    assert missing.error["code"] == "A2ACLI_ERR_CARD_NOT_FOUND"
