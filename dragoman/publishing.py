"""What an agent publishes of itself: its cards, signed if it has keys for it, and the keys that others verify with."""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.dialects.card import CardShape, encode_card
from dragoman.hosts.cards import CardPublisher
from dragoman.hosts.keys import KEYS_PATH, KeyPublisher
from dragoman.types.card import AgentCard

if TYPE_CHECKING:
    from dragoman.cards.signer import CardSigner
    from dragoman.signing.keys import KeyRing

    SignCards = KeyRing | CardSigner
else:
    # What signs is loaded where somebody signs.
    SignCards = Any

__all__ = ["SignCards", "card_publisher", "card_signer", "extended_card", "key_publisher"]

log = logging.getLogger("dragoman.server")


def card_signer(given: SignCards | None, card: AgentCard, url: str | None) -> "CardSigner | None":
    """Who signs the card, if anybody does. Keys alone are found where an agent with a public URL under https publishes
    them. An agent that takes its address from the requests signs any that a caller names, which is warned of.
    """
    if given is None:
        return None
    if url is None and not card.supported_interfaces:
        log.warning("%s has no url=, and signs its card for whatever address a caller says it has", card.name)
    from dragoman.cards.signer import CardSigner

    base = (url or "").rstrip("/")
    jku = base + KEYS_PATH if base.startswith("https://") else None
    return given if isinstance(given, CardSigner) else CardSigner(given, jku=jku)


def extended_card(card: AgentCard | None, signer: "CardSigner | None") -> Callable[[], AgentCard] | None:
    """Gives the extended card as it is at the moment; None if there is none."""
    if card is None:
        return None
    return (lambda: card) if signer is None else signer.standing(card)


def card_publisher(
    card_at: Callable[[str], AgentCard], shape: CardShape, since: datetime, signer: "CardSigner | None"
) -> CardPublisher:
    """The card at its well-known address. It is signed once for each base URL, and anew when other keys sign."""
    if signer is None:
        return CardPublisher(card_at, lambda card: encode_card(card, shape), since=since)
    return CardPublisher(
        card_at, lambda card: encode_card(signer.signed(card), shape), since=since, edition=signer.signing
    )


def key_publisher(others: Callable[[], bytes | None], signer: "CardSigner | None") -> KeyPublisher:
    """The keys that cards are verified with, and those of the other key set, if there is one."""
    if signer is None:
        return KeyPublisher(others)

    def key_set() -> bytes:
        listed: list[dict[str, Any]] = msgspec.json.decode(others() or b'{"keys":[]}')["keys"]
        named = {key["kid"]: key for key in (*signer.public_keys(), *listed)}
        return msgspec.json.encode({"keys": list(named.values())})

    return KeyPublisher(key_set)
