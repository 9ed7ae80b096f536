"""What a card asks of its callers: alternatives, each of schemes that apply together (specification section 4.5)."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec

from dragoman.client.login.need import Need
from dragoman.client.login.origins import origin_of
from dragoman.client.login.placing import has_place
from dragoman.client.words import shown
from dragoman.types.card import AgentCard, MutualTlsSecurityScheme, SecurityRequirement

__all__ = ["Alternatives", "Place", "asked_of_all", "offered"]

_WELL_KNOWN = "/.well-known/"
MOST_ALTERNATIVES = 64
"""That are looked at: for each somebody may have to be asked."""
MOST_INTERFACES = 64
"""Among which an agent is looked for that has no well-known place."""


class Place(msgspec.Struct, frozen=True):
    """Where secrets would go, and where the card comes from; both origins in their plain form, the latter None for a
    card from a file or a value. `certificate`: whether the client has one.
    """

    origin: str
    card: str | None = None
    """URL of the card."""
    certificate: bool = False
    public: bool = False
    """As `Need.public`."""


class Alternatives(msgspec.Struct, frozen=True):
    """What is enough, in the order in which it is tried."""

    needs: tuple[tuple[Need, ...], ...]
    """Each alternative; those that need nothing at the end, since who has credentials wants to be known."""
    told: str
    """In words, not many."""
    names: tuple[str, ...]
    """Of all schemes that are asked for."""

    @property
    def asks(self) -> bool:
        """Whether anything is asked for."""
        return bool(self.names)

    def fits(self, *, query: bool) -> bool:
        """Whether an alternative has all its places where there is, or is not, a query."""
        met = (all(has_place(need.scheme, query=query) for need in each) for each in self.needs)
        return not self.asks or any(met)


def asked_of_all(card: AgentCard, place: Place) -> Alternatives:
    """What the card's own requirements ask."""
    return _alternatives(card, card.security_requirements, place)


def offered(card: AgentCard, place: Place) -> Alternatives:
    """What an agent can be met with that wants to know its caller: its requirements, else those of its skills, else
    any of its schemes.
    """
    skills = [requirement for skill in card.skills for requirement in skill.security_requirements]
    schemes: list[SecurityRequirement] = [{name: ()} for name in card.security_schemes]
    return _alternatives(card, card.security_requirements or skills or schemes, place)


def _alternatives(card: AgentCard, requirements: Sequence[SecurityRequirement], place: Place) -> Alternatives:
    few = _few(requirements)
    agent = _agent(card, place)
    found = [needs for each in few if (needs := _needs(card, each, place, agent)) is not None]
    told = shown(", or ".join(" and ".join(each) for each in few if each))
    names = tuple(dict.fromkeys(name for each in few for name in each))
    return Alternatives(tuple(sorted(found, key=lambda needs: not needs)), told, names)


def _few(requirements: Sequence[SecurityRequirement]) -> list[SecurityRequirement]:
    """The first of those that differ."""
    few: list[SecurityRequirement] = []
    for each in requirements:
        if each not in few:
            few.append(each)
            if len(few) == MOST_ALTERNATIVES:
                break
    return few


def _needs(card: AgentCard, requirement: SecurityRequirement, place: Place, agent: str) -> tuple[Need, ...] | None:
    """What one alternative needs besides the certificate; None if nobody can meet it."""
    schemes = {name: card.security_schemes.get(name) for name in requirement}
    secret = [name for name, scheme in schemes.items() if not isinstance(scheme, MutualTlsSecurityScheme)]
    if None in schemes.values() or (len(secret) < len(schemes) and not place.certificate):
        return None
    return tuple(
        Need(
            name=name,
            scheme=scheme,
            scopes=requirement[name],
            origin=place.origin,
            agent=agent,
            card=place.card,
            alone=len(secret) == 1,
            public=place.public,
        )
        for name, scheme in schemes.items()
        if scheme is not None and not isinstance(scheme, MutualTlsSecurityScheme)
    )


def _agent(card: AgentCard, place: Place) -> str:
    if place.card is not None and _WELL_KNOWN in place.card and origin_of(place.card) == place.origin:
        return place.card.partition(_WELL_KNOWN)[0]
    few = card.supported_interfaces[:MOST_INTERFACES]
    here = (one.url for one in few if origin_of(one.url) == place.origin)
    url = next(here, place.origin)
    return urlsplit(url)._replace(query="", fragment="").geturl() if "://" in url else place.origin
