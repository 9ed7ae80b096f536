"""The canonical form of a card, signed (specification section 8.4.1), and what others take for it.

The official SDKs leave out empty members, required ones too; some escape what is not ASCII, some sign members that the
schema does not know. What is made here has the form of the specification; what is verified may have any of these.
"""

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from dragoman.dialects.card import stated_members
from dragoman.dialects.codec import parse_json
from dragoman.errors import A2AError, ReplyMalformed
from dragoman.types.json import Json

__all__ = ["FOR_SDKS", "Form", "Reading", "canonical", "parsed", "readings", "without_empties"]

FOR_SDKS = "dragoman:for-sdks"
"""The member of a protected header that is true where beside this signature stands one over the form of the
specification, and this one is for readers that do not know that form: who does must not be content with less. It is
false where one signature is right for both, since nothing is empty: then nothing empty can have been added either.
"""
_MOST_EXACT = 2**53
Reading = tuple["Form", bytes, dict[str, Any]]
"""A form, the bytes that would have been signed, and the members that they cover."""


class Form(enum.Enum):
    """What a signature was made over."""

    SPECIFICATION = "specification"
    """The members that the schema knows, with the presence of section 8.4.1."""
    SDK = "sdk"
    """The same without anything empty, as the official SDKs sign; so nobody notices if something empty is added."""
    ESCAPED = "escaped"
    """As `SDK`, with what is not ASCII escaped, and members in the order of code points: older Python SDKs."""
    WHOLE = "whole"
    """The whole document, members that the schema does not know too."""
    WHOLE_SDK = "whole-sdk"
    WHOLE_ESCAPED = "whole-escaped"


def parsed(body: bytes) -> dict[str, Any]:
    """The members of a card that is to be verified.

    Raises:
        ReplyMalformed: it is no JSON object, is nested too deeply, or has a member twice, so that two readers could see
            two cards.
    """
    try:
        parse_json(body)
        members = json.loads(body, object_pairs_hook=_unique)
    except A2AError as error:
        raise ReplyMalformed(error.message) from None
    except (ValueError, RecursionError) as error:
        raise ReplyMalformed(f"The card is not JSON: {error}") from None
    if not isinstance(members, dict):
        raise ReplyMalformed("The agent card is not an object")
    return cast("dict[str, Any]", members)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ReplyMalformed("The card has a member twice")
    return members


def canonical(card: Mapping[str, Any]) -> bytes:
    """The bytes that a card's JSON is signed as, its signatures left out.

    Raises:
        ReplyMalformed: a member is wrong, or nobody can write it in this form (a lone surrogate).
    """
    return _jcs(stated_members(_unsigned(card)))


def readings(card: Mapping[str, Any]) -> Iterator[Reading]:
    """All that a signature of the card may be over, the form of the specification first; none twice.

    Raises as `canonical` does.
    """
    seen: set[bytes] = set()
    whole = _unsigned(card)
    for members, forms in (
        (stated_members(whole), (Form.SPECIFICATION, Form.SDK, Form.ESCAPED)),
        (whole, (Form.WHOLE, Form.WHOLE_SDK, Form.WHOLE_ESCAPED)),
    ):
        bare = without_empties(members)
        for form, payload in zip(forms, (_jcs(members), _jcs(bare), _escaped(bare)), strict=True):
            if payload not in seen:
                seen.add(payload)
                yield form, payload, members


def _unsigned(card: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in card.items() if name != "signatures"}


def without_empties(members: Mapping[str, Any]) -> dict[str, Any]:
    """The members without empty strings, lists and objects, without null, and without what holds nothing else."""
    return cast("dict[str, Any]", _filled(members) or {})


def _filled(value: Json) -> Any:
    """What is left of a value; None if nothing is."""
    if isinstance(value, Mapping):
        return {name: left for name, item in value.items() if (left := _filled(item)) is not None} or None
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [left for item in value if (left := _filled(item)) is not None] or None
    return None if value == "" else value


def _jcs(members: Any) -> bytes:
    """The form of RFC 8785. Numbers are doubles there: of larger integers the last digits are lost."""
    import rfc8785

    try:
        return rfc8785.dumps(_doubles(members))
    except (ValueError, OverflowError, RecursionError) as error:
        raise ReplyMalformed(f"The card has no canonical form: {error}") from None


def _doubles(value: Json) -> Any:
    if isinstance(value, Mapping):
        return {name: _doubles(item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_doubles(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool) and not -_MOST_EXACT < value < _MOST_EXACT:
        return float(value)
    return value


def _escaped(members: Any) -> bytes:
    return json.dumps(members, separators=(",", ":"), sort_keys=True).encode()
