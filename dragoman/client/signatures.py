"""What a client makes of the signatures of its agent's card (specification section 8.4.3)."""

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, get_args

import msgspec

from dragoman.errors import ConfigurationError, DragomanError, ReplyMalformed
from dragoman.types.card import AgentCard

if TYPE_CHECKING:
    from dragoman.cards.keys import CardKeys
    from dragoman.cards.verdict import CardVerdict

__all__ = ["CardDocument", "CardJudge", "CardNotVerified", "CardSignatures", "verdict_of"]

CardSignatures = Literal["ignore", "report", "require"]
"""What is done about signatures: nothing; they are verified, and it is said what they show; or a card that is not
verified is refused.
"""
RELIED_ON = 300.0
"""Seconds after which the same card is looked at anew: keys expire, and are revoked."""

log = logging.getLogger("dragoman.client")


class CardNotVerified(DragomanError):
    """The card is not signed, or not by a key that counts, and the client takes no such card. `verdict` says more."""

    def __init__(self, name: str, verdict: "CardVerdict") -> None:
        self.verdict = verdict
        super().__init__(f"The agent card of {name!r} is not verified: {verdict.reason}")


class CardDocument(msgspec.Struct, frozen=True, eq=False):
    """A card, and the document that it was read from; None if it came as a value."""

    card: AgentCard
    body: bytes | None = None


async def verdict_of(document: CardDocument, keys: "CardKeys | None") -> "CardVerdict":
    """What the signatures of a card show that could be read; nothing, if its document can be read in two ways."""
    from dragoman.cards.verdict import CardVerdict, Outcome, SignatureVerdict
    from dragoman.cards.verification import verify_card

    if not document.card.signatures:
        return CardVerdict(outcome=Outcome.ABSENT)
    try:
        return await verify_card(document.body or document.card, keys)
    except ReplyMalformed as error:
        found = SignatureVerdict(valid=False, reason=str(error))
        return CardVerdict(outcome=Outcome.UNVERIFIABLE, signatures=(found,))


class CardJudge:
    """Judges cards by what the caller has chosen. `verdict` is that of the last card, None before the first.

    Raises:
        ConfigurationError: there is no such choice, or verified cards are required without a key to verify them with.
    """

    def __init__(
        self, policy: CardSignatures, keys: "CardKeys | None", *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        if policy not in get_args(CardSignatures):
            raise ConfigurationError(f"card_signatures is one of {', '.join(get_args(CardSignatures))}, not {policy!r}")
        if policy == "require" and keys is None:
            raise ConfigurationError("to require signed cards takes card_keys, the keys that count")
        self._policy = policy
        self._keys = keys
        self._clock = clock
        self._seen: CardDocument | None = None
        self._until = 0.0
        self._judged: AgentCard | None = None
        self.verdict: CardVerdict | None = None

    async def accepted(self, document: CardDocument) -> AgentCard:
        """The card to go by: of a verified one what was signed, else the card as it is.

        Raises:
            CardNotVerified: verified cards are required, and this is none.
        """
        if self._policy == "ignore":
            return document.card
        if self._judged is None or document is not self._seen or self._clock() >= self._until:
            await self._judge(document)
        assert self._judged is not None
        return self._judged

    async def _judge(self, document: CardDocument) -> None:
        self._judged = None
        verdict = self.verdict = await verdict_of(document, self._keys)
        if self._policy == "require" and verdict.card is None:
            raise CardNotVerified(document.card.name, verdict)
        if verdict.forged:
            log.warning("the agent card of %r is not what was signed: %s", document.card.name, verdict.reason)
        self._seen, self._until = document, self._clock() + RELIED_ON
        # What is equal stays the same object, by which a client knows that its agent is as it was.
        self._judged = document.card if verdict.card in (None, document.card) else verdict.card
