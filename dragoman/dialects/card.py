"""The agent card as a document: what stands at the well-known address, and what a client makes of what it finds.

One document serves readers of 1.0, of its draft and of 0.3: the members of 1.0 and, if an interface of 0.3 is declared,
those of 0.3 beside them. The names of the two are disjoint, but for security schemes, which say their kind as member
name and in `type`, and for skills.
"""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec

from dragoman.dialects.codec import Codec
from dragoman.dialects.v0_3 import card as v0_3
from dragoman.dialects.v1_0 import card as v1_0
from dragoman.errors import InvalidParamsError
from dragoman.types.card import AgentCard

__all__ = [
    "CARD_SHAPES",
    "CardShape",
    "card_members",
    "card_violations",
    "decode_card",
    "encode_card",
    "stated_members",
]

CardShape = Literal["everyone", "strict-1.0"]
"""Whether members of 0.3 may stand in the card; `strict-1.0` is for readers that refuse what 1.0 does not have."""
CARD_SHAPES: tuple[CardShape, ...] = get_args(CardShape)

_OLDER = "0.3"

_codec = Codec(v1_0.AgentCard, v1_0.read_card, v1_0.write_card, shape=v1_0.upgraded, plain=False)
_stated: Codec[v1_0.AgentCard, v1_0.AgentCard] = Codec(
    v1_0.AgentCard, lambda card: card, lambda card: card, plain=False
)
_checked: Codec[v1_0.AgentCard, v1_0.AgentCard] = Codec(
    v1_0.AgentCard, lambda card: card, lambda card: card, strict=True, plain=False
)
_encode = msgspec.json.Encoder().encode


def encode_card(card: AgentCard, shape: CardShape = "everyone") -> bytes:
    """The JSON of the card, members in the order of the specification, those of 0.3 after them; the same card gives the
    same bytes.
    """
    written = _codec.write(card)
    if shape != "everyone" or all(one.protocol_version != _OLDER for one in card.supported_interfaces):
        return _encode(written)
    current: dict[str, Any] = msgspec.to_builtins(written)
    return _encode(_joined(current, v0_3.write_card(card)))


def _joined(current: dict[str, Any], older: dict[str, Any]) -> dict[str, Any]:
    joined = {**older, **current}
    joined["skills"] = [{**second, **first} for first, second in zip(current["skills"], older["skills"], strict=True)]
    if "securitySchemes" in current:
        joined["securitySchemes"] = {
            name: {**older["securitySchemes"][name], **scheme} for name, scheme in current["securitySchemes"].items()
        }
    return {**{name: joined[name] for name in current}, **joined}


def decode_card(body: bytes) -> AgentCard:
    """The card in `body`, of 1.0 or older. Unknown members are ignored, and members that may be empty may be missing.

    A card of 0.3 gives interfaces of version 0.3, the preferred one first; one of the 1.0 draft, which states no
    version with the interfaces, gives interfaces of version `1.0-draft`.

    Raises:
        ReplyMalformed: a member is wrong, or there is no name, or no address to call; says which.
    """
    return _codec.decode(body)


def card_members(card: AgentCard) -> dict[str, Any]:
    """The members of 1.0 of the card, as JSON."""
    members: dict[str, Any] = msgspec.json.decode(_encode(_codec.write(card)))
    return members


def stated_members(card: Mapping[str, Any]) -> dict[str, Any]:
    """What a card's JSON states by the schema of 1.0, with the presence that section 8.4.1 asks for.

    Required members are there, even if empty; `optional` ones if they are stated, whatever they say; others unless they
    have the default. What the schema does not know is left out, members of 0.3 too; `params` and `header` stay whole.

    Raises:
        ReplyMalformed: a member is wrong; says which.
    """
    whole = dict(card)
    if whole.get("capabilities") is None:
        whole["capabilities"] = {}
    members: dict[str, Any] = msgspec.to_builtins(_stated.convert(whole))
    return members


def card_violations(card: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What breaks the schema of 1.0 in a card's JSON: paths (`skills[0].name`) with words. At most 20."""
    try:
        _checked.convert(dict(card))
    except InvalidParamsError as error:
        return [(violation.field, violation.description) for violation in error.violations]
    return []
