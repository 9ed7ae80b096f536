"""Agent cards as documents: their canonical form, signatures over it, and what can be said of a card by itself."""

from dragoman.cards.keys import CardKeys, Fetch, NoKey
from dragoman.cards.signer import CardSigner
from dragoman.cards.verdict import CardVerdict, Outcome, SignatureVerdict
from dragoman.cards.verification import verify_card

__all__ = [
    "CardKeys",
    "CardSigner",
    "CardVerdict",
    "Fetch",
    "NoKey",
    "Outcome",
    "SignatureVerdict",
    "verify_card",
]
