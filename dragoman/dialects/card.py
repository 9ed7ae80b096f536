"""The agent card as a document: what stands at the well-known address, and what a client makes of what it finds."""

import msgspec

from dragoman.dialects.codec import Codec
from dragoman.dialects.v1_0 import card as v1_0
from dragoman.types.card import AgentCard

__all__ = ["decode_card", "encode_card"]

_codec = Codec(v1_0.AgentCard, v1_0.read_card, v1_0.write_card, shape=v1_0.upgraded, plain=False)
_encode = msgspec.json.Encoder().encode


def encode_card(card: AgentCard) -> bytes:
    """The JSON of the card, members in the order of the specification; the same card gives the same bytes."""
    return _encode(_codec.write(card))


def decode_card(body: bytes) -> AgentCard:
    """The card in `body`, of 1.0 or older. Unknown members are ignored, and members that may be empty may be missing.

    A card of 0.3 gives interfaces of version 0.3, the preferred one first.

    Raises:
        ReplyMalformed: a member is wrong, or there is no name, or no address to call; says which.
    """
    return _codec.decode(body)
