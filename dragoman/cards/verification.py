"""Verifies the signatures of a card (specification section 8.4.3)."""

import base64
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import msgspec

from dragoman.cards.canonical import FOR_SDKS, Form, Reading, parsed, readings
from dragoman.cards.keys import CardKeys, NoKey
from dragoman.cards.verdict import CardVerdict, Outcome, SignatureVerdict
from dragoman.dialects.card import card_members, decode_card
from dragoman.errors import DragomanError, ReplyMalformed
from dragoman.signing.jws import NotVerified, PublicKeys, verify
from dragoman.types.card import AgentCard

__all__ = ["verify_card"]

MOST = 16
"""Signatures of one card that are looked at."""
LONGEST_HEADER = 8 * 1024
LONGEST_SHOWN = 80

_BASE64URL = re.compile(r"[A-Za-z0-9_-]+\Z")


async def verify_card(card: AgentCard | bytes, keys: CardKeys | None) -> CardVerdict:
    """What the signatures of a card show; a document in bytes is judged as it stands.

    What may be relied on is the verdict's card alone: a document can say more than what was signed.

    Raises:
        ReplyMalformed: there is no card in the bytes, or one that two readers could read in two ways.
    """
    members = parsed(card) if isinstance(card, bytes) else card_members(card)
    given: Any = members.get("signatures") or ()
    if not isinstance(given, list | tuple):
        raise ReplyMalformed("The signatures of the card are not a list")
    signatures = cast("Sequence[Any]", given)
    if not signatures:
        return CardVerdict(outcome=Outcome.ABSENT)
    return await _judged(members, signatures, keys, None if isinstance(card, bytes) else card)


async def _judged(
    members: dict[str, Any], signatures: Sequence[Any], keys: CardKeys | None, value: AgentCard | None
) -> CardVerdict:
    read = () if keys is None else readings(members)
    forms = [one for one in read if one[0] is Form.SPECIFICATION or (keys is not None and keys.sdk_forms)]
    verdicts = [await _verdict(signature, forms, keys) for signature in signatures[:MOST]]
    if len(signatures) > MOST:
        verdicts.append(SignatureVerdict(valid=False, reason=f"only {MOST} signatures are looked at"))
    valid = [one.form for one in verdicts if one.valid]
    # The form that covers most goes before others.
    covered = next((document for form, _, document in forms if form in valid), None)
    # A value says nothing beyond what was signed.
    card = None if covered is None else value or _readable(covered, signatures)
    if card is None:
        return CardVerdict(outcome=Outcome.UNVERIFIABLE, signatures=tuple(_hollow(one) for one in verdicts))
    return CardVerdict(outcome=Outcome.VERIFIED, signatures=tuple(verdicts), card=card)


def _readable(covered: Mapping[str, Any], signatures: Sequence[Any]) -> AgentCard | None:
    """The card that was signed, with its signatures; None if what was signed is not enough to call anybody."""
    formed = [cast("Mapping[str, Any]", one) for one in signatures if isinstance(one, Mapping)]
    try:
        return decode_card(msgspec.json.encode({**covered, "signatures": formed}))
    except DragomanError:
        return None


def _hollow(verdict: SignatureVerdict) -> SignatureVerdict:
    if not verdict.valid:
        return verdict
    return msgspec.structs.replace(verdict, valid=False, form=None, reason="it covers no address of the agent")


class _Header(NamedTuple):
    algorithm: str
    key_id: str
    jku: str | None
    for_sdks: bool | None
    """None if it does not say: it is by somebody else, and may be over any form."""


async def _verdict(signature: Any, forms: Sequence[Reading], keys: CardKeys | None) -> SignatureVerdict:
    try:
        header, protected, value = _header(signature)
    except NotVerified as error:
        return SignatureVerdict(valid=False, reason=str(error))
    named = partial(SignatureVerdict, key_id=_shown(header.key_id), algorithm=_shown(header.algorithm))
    if header.for_sdks:
        return named(valid=False, reason="it is meant for readers that leave out what is empty", for_sdks=True)
    try:
        key = await _key(header, keys)
    except NoKey as error:
        return named(valid=False, reason=str(error))
    reason = "it is wrong"
    tried = [one for one in forms if header.for_sdks is None or one[0] is Form.SPECIFICATION]
    for form, payload, _ in tried:
        token = f"{protected}.{base64.urlsafe_b64encode(payload).decode().rstrip('=')}.{value}"
        try:
            verify(token, key, algorithms=[header.algorithm])
        except NotVerified as error:
            reason = str(error)
        else:
            return named(valid=True, reason="", form=form)
    return named(valid=False, reason=reason, forged=True)


async def _key(header: _Header, keys: CardKeys | None) -> PublicKeys:
    if keys is None:
        raise NoKey("there are no keys to verify it with")
    if header.algorithm not in keys.algorithms:
        raise NoKey("its algorithm is not accepted")
    return await keys.find(header.key_id, header.jku)


def _header(signature: Any) -> tuple[_Header, str, str]:
    """The protected header, which is all that is believed, and the two parts as they stand.

    Raises:
        NotVerified: they have not the form of section 8.4.2.
    """
    given: Mapping[str, Any] = cast("Mapping[str, Any]", signature) if isinstance(signature, Mapping) else {}
    protected, value, loose = given.get("protected"), given.get("signature"), given.get("header")
    if not isinstance(protected, str) or not isinstance(value, str):
        raise NotVerified("it is no signature")
    if not _BASE64URL.match(protected) or not _BASE64URL.match(value) or len(protected) > LONGEST_HEADER:
        raise NotVerified("it cannot be read")
    header = _members(protected)
    if isinstance(loose, Mapping) and header.keys() & cast("Mapping[str, Any]", loose).keys():
        raise NotVerified("its headers say one thing twice")
    algorithm, key_id, jku = header.get("alg"), header.get("kid"), header.get("jku")
    if not isinstance(algorithm, str) or not isinstance(key_id, str) or not key_id:
        raise NotVerified("its header names no algorithm or no key")
    if jku is not None and not isinstance(jku, str):
        raise NotVerified("it cannot be read")
    for_sdks = header[FOR_SDKS] is not False if FOR_SDKS in header else None
    return _Header(algorithm, key_id, jku, for_sdks), protected, value


def _members(protected: str) -> dict[str, Any]:
    try:
        return parsed(base64.urlsafe_b64decode(protected + "=" * (-len(protected) % 4)))
    except (ReplyMalformed, ValueError):
        raise NotVerified("its header cannot be read") from None


def _shown(text: str) -> str:
    """What a stranger wrote, short and on one line."""
    return "".join(sign if sign.isprintable() else "?" for sign in text[:LONGEST_SHOWN])
