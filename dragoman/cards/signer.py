"""Signs cards (specification section 8.4.2)."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from dragoman.cards.canonical import FOR_SDKS, Form, canonical, readings
from dragoman.dialects.card import card_members
from dragoman.errors import ConfigurationError
from dragoman.signing.keys import KeyRing, SigningKey
from dragoman.types.card import AgentCard, AgentCardSignature

__all__ = ["CardSigner"]


class CardSigner:
    """Signs with every key of a ring that has begun and is still published, so that who knows only the older of two
    keys can verify as well as who knows only the newer one.

    Each key signs the form of the specification and, where that has empty members, also the form without them, which
    is the only one that verifies in the official SDKs; its header says so, and it counts for nothing here. Where one
    signature is both, its header says that too, and it counts for a card without anything empty alone. Legacy members
    beside those of the schema are not covered.

    Args:
        keys: the ring.
        jku: where its public keys are found: an https URL of a JWK Set, told in the header of each signature.
        clock: seconds since 1970.

    Raises:
        ConfigurationError: `jku` is not under https.
    """

    def __init__(self, keys: KeyRing, *, jku: str | None = None, clock: Callable[[], float] = time.time) -> None:
        if jku is not None and not jku.startswith("https://"):
            raise ConfigurationError("the `jku` of signatures is an https URL: keys are fetched over nothing else")
        self._keys = keys
        self._jku = jku
        self._clock = clock

    def signed(self, card: AgentCard) -> AgentCard:
        """The card with its signatures, which follow those that it has. Takes some 0.2 ms a key, with RS256 3 ms."""
        made = tuple(self.signatures(card_members(card)))
        return msgspec.structs.replace(card, signatures=(*card.signatures, *made))

    def signing(self) -> tuple[str, ...]:
        """The ids of the keys that sign now."""
        return tuple(key.id for key in self._signing())

    def public_keys(self) -> list[dict[str, Any]]:
        """The JWKs that those who verify must know now."""
        return [key.public_jwk() for key in self._keys.published(self._clock())]

    def signatures(self, members: dict[str, Any]) -> Iterator[AgentCardSignature]:
        """The signatures over a card's JSON.

        Raises:
            ReplyMalformed: it is not that of a card.
        """
        bare = [payload for form, payload, _ in readings(members) if form is Form.SDK]
        payloads: list[tuple[bytes, dict[str, Any]]] = [(canonical(members), {} if bare else {FOR_SDKS: False})]
        payloads += [(payload, {FOR_SDKS: True}) for payload in bare]
        for key in self._signing():
            for payload, marked in payloads:
                yield self._signature(key, payload, marked)

    def _signing(self) -> list[SigningKey]:
        now = self._clock()
        current = self._keys.current(now)
        begun = {entry.key.id for entry in self._keys.keys if entry.signs_from <= now}
        return [key for key in self._keys.published(now) if key is current or key.id in begun]

    def _signature(self, key: SigningKey, payload: bytes, marked: dict[str, Any]) -> AgentCardSignature:
        header = {"typ": "JOSE", **({} if self._jku is None else {"jku": self._jku}), **marked}
        protected, _, signature = key.sign(payload, header).split(".")
        return AgentCardSignature(protected=protected, signature=signature)
