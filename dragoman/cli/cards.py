"""What the commands of `dragoman card` do."""

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import click
import msgspec

from dragoman.cards import CardKeys, CardSigner, CardVerdict, Outcome, verify_card
from dragoman.cards.canonical import parsed
from dragoman.cards.comparison import compare_cards
from dragoman.cards.validation import Finding, validate_card
from dragoman.cli.invocation import Invocation
from dragoman.cli.reach import document_of
from dragoman.cli.render import Label, card_lines, field
from dragoman.client.discovery import CardInvalid
from dragoman.client.signatures import CardDocument, CardNotVerified, verdict_of
from dragoman.client.wire import encode
from dragoman.errors import ConfigurationError, ReplyMalformed
from dragoman.signing.keys import KeyRing

__all__ = ["diff", "keys", "show", "sign", "validate", "verify"]


async def show(
    invocation: Invocation, keys: Sequence[Path], jku: Sequence[str], *, require_signature: bool, validate: bool
) -> None:
    """The card, of a verified one what was signed. As JSON it stands alone: what its signatures show goes to standard
    error.

    Raises:
        CardNotVerified: it must be, and is not.
        CardInvalid: it must be valid, and is not.
    """
    document = await (_valid(invocation) if validate else document_of(invocation))
    verdict = await verdict_of(document, _trusted(keys, jku))
    card = verdict.card or document.card
    if require_signature and verdict.outcome is not Outcome.VERIFIED:
        raise CardNotVerified(document.card.name, verdict)
    if verdict.forged:
        invocation.out.warn(f"the card is not what was signed: {verdict.reason}")
    if invocation.settings.json:
        invocation.out.document(encode(card))
        for line in _outcome(verdict):
            invocation.out.note(line)
    else:
        invocation.out.lines([*card_lines(card), *_outcome(verdict)])
    if validate:
        invocation.out.note("the card is valid")


async def verify(invocation: Invocation, keys: Sequence[Path], jku: Sequence[str], *, strict: bool) -> int:
    """What the signatures show, each by itself too."""
    body = await _body(invocation)
    try:
        verdict = await verify_card(body, _trusted(keys, jku, strict=strict))
    except ReplyMalformed as error:
        raise CardInvalid(str(error), "") from error
    if verdict.forged:
        invocation.out.warn(f"the card is not what was signed: {verdict.reason}")
    if invocation.settings.json:
        invocation.out.document(msgspec.json.encode(_told(verdict)))
    else:
        invocation.out.lines([*_outcome(verdict), *_signers(verdict)])
    return 0 if verdict.outcome is Outcome.VERIFIED else 1


async def sign(invocation: Invocation, key: Path, jku: str | None, *, replace: bool) -> None:
    """The card's document with signatures behind those that it has, or instead of them."""
    members = _members(await _body(invocation))
    with _usage():
        signer = CardSigner(KeyRing.read(key), jku=jku)
    if not members.get("supportedInterfaces"):
        raise CardInvalid(
            "the card cannot be signed: it has no supportedInterfaces, and no other address is covered", ""
        )
    for one in validate_card(members):
        if one.serious:
            invocation.out.warn(f"{one.pointer} {one.words}")
    former: Any = [] if replace else members.get("signatures") or []
    if not isinstance(former, list):
        raise CardInvalid("the card cannot be signed: its signatures are not a list; --replace leaves them out", "")
    try:
        made = [msgspec.to_builtins(one) for one in signer.signatures(members)]
    except ReplyMalformed as error:
        raise CardInvalid(f"the card cannot be signed: {error}", "") from error
    for signature in made:
        if signature["header"] is None:
            del signature["header"]
    invocation.out.document(msgspec.json.encode({**members, "signatures": [*former, *made]}))


async def keys(invocation: Invocation, key: Path, new: Literal["ES256", "EdDSA", "RS256"] | None) -> None:
    """The public keys of a ring, which is made first if `new` says so."""
    with _usage():
        ring = KeyRing.read(key) if new is None else KeyRing.open(key, new)
    invocation.out.document(ring.jwks(time.time()))


async def validate(invocation: Invocation) -> int:
    """What is wrong with the card, or could be better."""
    found = validate_card(_members(await _body(invocation)))
    valid = not any(one.serious for one in found)
    if invocation.settings.json:
        invocation.out.document(msgspec.json.encode({"valid": valid, "findings": [_finding(one) for one in found]}))
    else:
        labels = {True: Label.PROBLEM, False: Label.ADVICE}
        invocation.out.lines(field(labels[one.serious], f"{one.pointer or '/'} {one.words}") for one in found)
    if valid:
        invocation.out.note("the card is valid")
    return 0 if valid else 1


async def diff(invocation: Invocation, old: str, new: str, *, breaking: bool) -> int:
    """What has changed between the cards that two references name."""
    before = (await document_of(invocation, old)).card
    after = (await document_of(invocation, new)).card
    changes = [one for one in compare_cards(before, after) if one.breaking or not breaking]
    if invocation.settings.json:
        invocation.out.document(msgspec.json.encode({"changes": [msgspec.to_builtins(one) for one in changes]}))
    else:
        labels = {True: Label.BREAKING, False: Label.CHANGE}
        invocation.out.lines(field(labels[one.breaking], one.words) for one in changes)
    return 1 if changes else 0


async def _valid(invocation: Invocation) -> CardDocument:
    """The card, if nothing is wrong with it."""
    try:
        document = await document_of(invocation)
    except CardInvalid as error:
        if error.document:
            _demand_valid(error.document)
        raise
    assert document.body is not None
    _demand_valid(document.body)
    return document


def _demand_valid(body: bytes) -> None:
    problems = [f"{one.pointer} {one.words}" for one in validate_card(_members(body)) if one.serious]
    if problems:
        raise CardInvalid(f"the card is not valid: {'; '.join(problems)}", "")


async def _body(invocation: Invocation) -> bytes:
    """The card's document as it came, also if it is no card."""
    try:
        document = await document_of(invocation)
    except CardInvalid as error:
        if not error.document:
            raise
        return error.document
    assert document.body is not None
    return document.body


def _members(body: bytes) -> dict[str, Any]:
    try:
        return parsed(body)
    except ReplyMalformed as error:
        raise CardInvalid(str(error), "") from error


@contextmanager
def _usage() -> Generator[None]:
    """What the program was told to do cannot be done like this: it was used wrongly."""
    try:
        yield
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error


def _trusted(files: Sequence[Path], jku: Sequence[str], *, strict: bool = False) -> CardKeys | None:
    if not files and not jku:
        return None
    with _usage():
        return CardKeys(*[file.read_bytes() for file in files], jku=jku, sdk_forms=not strict)


def _outcome(verdict: CardVerdict) -> Iterator[str]:
    yield field(Label.SIGNATURE, verdict.outcome.value)
    if verdict.outcome is Outcome.UNVERIFIABLE:
        yield field(Label.SIGNATURE_REASON, verdict.reason)


def _signers(verdict: CardVerdict) -> Iterator[str]:
    for one in verdict.signatures:
        shown = f"{one.algorithm or 'unknown'} {one.key_id or 'unknown'}"
        yield field(Label.SIGNED_BY, f"{shown}: {'valid' if one.valid else one.reason}")


def _told(verdict: CardVerdict) -> dict[str, Any]:
    signatures = [
        {
            "keyId": one.key_id,
            "algorithm": one.algorithm,
            "valid": one.valid,
            "reason": one.reason or None,
            "form": None if one.form is None else one.form.value,
        }
        for one in verdict.signatures
    ]
    return {"signature": verdict.outcome.value, "reason": verdict.reason or None, "signatures": signatures}


def _finding(one: Finding) -> dict[str, Any]:
    return {"pointer": one.pointer, "message": one.words, "severity": "error" if one.serious else "advice"}
