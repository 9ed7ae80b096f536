"""What an agent publishes of itself: its cards, signed if it has keys for it, and the keys that others verify with."""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from dragoman.dialects.card import CardShape, encode_card
from dragoman.hosts.cards import CardPublisher
from dragoman.hosts.keys import KEYS_PATH, KeyPublisher
from dragoman.ports.access import ExtendedCard
from dragoman.ports.call import CallContext, Principal
from dragoman.types.card import AgentCapabilities, AgentCard

if TYPE_CHECKING:
    from dragoman.cards.signer import CardSigner
    from dragoman.signing.keys import KeyRing

    SignCards = KeyRing | CardSigner
else:
    # What signs is loaded where somebody signs.
    SignCards = Any

__all__ = ["SignCards", "card_publisher", "card_signer", "completed", "extended_card", "key_publisher"]

log = logging.getLogger("dragoman.server")

SIGNED_CARDS = 64


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


def extended_card(
    given: ExtendedCard | None, public_at: Callable[[str], AgentCard], signer: "CardSigner | None"
) -> Callable[[CallContext], Awaitable[AgentCard]] | None:
    """Gives each caller the extended card as it is at the moment; None if there is none."""
    if given is None:
        return None
    signed = _Signed(signer)

    async def card_for(call: CallContext) -> AgentCard:
        card = given if isinstance(given, AgentCard) else await _made(given, call.principal)
        # What somebody has signed is nobody else's to complete.
        return card if card.signatures else signed(completed(card, public_at(call.base)))

    return card_for


async def _made(make: Callable[[Principal], AgentCard | Awaitable[AgentCard]], principal: Principal) -> AgentCard:
    made = make(principal)
    card = made if isinstance(made, AgentCard) else await made
    if not isinstance(card, AgentCard):  # pyright: ignore[reportUnnecessaryIsInstance] -- the function is others' code
        raise TypeError(f"an extended card is an AgentCard, not {type(card).__name__}")
    return card


def completed(card: AgentCard, public: AgentCard) -> AgentCard:
    """The extended card with what it leaves out: interfaces, capabilities and skills of the public card; and with what
    that says of schemes, since these are enforced.
    """
    asked = {skill.id: skill.security_requirements for skill in public.skills}
    skills = [
        skill
        if skill.security_requirements
        else msgspec.structs.replace(skill, security_requirements=asked.get(skill.id, ()))
        for skill in card.skills
    ]
    secured = public.security_schemes or public.security_requirements
    return msgspec.structs.replace(
        card,
        supported_interfaces=card.supported_interfaces or public.supported_interfaces,
        capabilities=_stated(card.capabilities, public.capabilities),
        skills=tuple(skills) or public.skills,
        security_schemes=public.security_schemes if secured else card.security_schemes,
        security_requirements=public.security_requirements if secured else card.security_requirements,
    )


def _stated(own: AgentCapabilities, public: AgentCapabilities) -> AgentCapabilities:
    """The capabilities with those of the public card where nothing is stated."""
    told = {name: getattr(own, name) for name in AgentCapabilities.__struct_fields__}
    return msgspec.structs.replace(public, **{name: value for name, value in told.items() if value not in (None, ())})


class _Signed:
    """Signs each card once, for as long as the same keys sign; of the last 64 cards the signatures are kept."""

    def __init__(self, signer: "CardSigner | None") -> None:
        self._signer = signer
        self._by: tuple[str, ...] = ()
        self._made: dict[bytes, AgentCard] = {}

    def __call__(self, card: AgentCard) -> AgentCard:
        if self._signer is None:
            return card
        if (by := self._signer.signing()) != self._by:
            self._by = by
            self._made.clear()
        known = encode_card(card)
        if known not in self._made:
            if len(self._made) >= SIGNED_CARDS:
                del self._made[next(iter(self._made))]
            self._made[known] = self._signer.signed(card)
        return self._made[known]


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
