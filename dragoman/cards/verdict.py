"""What verifying a card has found."""

import enum

import msgspec

from dragoman.cards.canonical import Form
from dragoman.types.card import AgentCard

__all__ = ["CardVerdict", "Outcome", "SignatureVerdict"]


class Outcome(enum.Enum):
    """What is known of a card."""

    VERIFIED = "verified"
    """One signature at least is that of a trusted key, over all that `CardVerdict.card` says."""
    UNVERIFIABLE = "unverifiable"
    """There are signatures; none of them shows anything."""
    ABSENT = "absent"
    """There is no signature."""


class SignatureVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One signature. What names it is what its header claims, shortened; only if it is valid that means anything."""

    valid: bool
    reason: str
    """Why it is not; empty if it is."""
    key_id: str = ""
    algorithm: str = ""
    form: Form | None = None
    """What it was made over, if it is valid."""
    for_sdks: bool = False
    """Whether it is one that Dragoman adds for readers that do not know the form of the specification."""
    forged: bool = False
    """Whether a trusted key was found, and the signature is not that key's over this card."""


class CardVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome, the verdict of each signature in the card's order, and what of the card may be relied on."""

    outcome: Outcome
    signatures: tuple[SignatureVerdict, ...] = ()
    card: AgentCard | None = None
    """The card as far as the signature covers it, if it is verified."""

    @property
    def reason(self) -> str:
        """Why it is not verified, in a line; empty if it is."""
        if self.outcome is Outcome.VERIFIED:
            return ""
        meant = [one for one in self.signatures if not one.for_sdks] or self.signatures
        found = dict.fromkeys(one.reason for one in meant)
        return "; ".join(found) or "the card is not signed"

    @property
    def forged(self) -> bool:
        """Whether nothing is verified, and a signature that names a trusted key is wrong: the card was changed, or
        somebody pretends.
        """
        return self.outcome is Outcome.UNVERIFIABLE and any(one.forged for one in self.signatures)
