"""Who a client is, towards each of the places that a card leads to."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from dragoman.client.login.asking import Place, asked_of_all, offered
from dragoman.client.login.need import CredentialsWithheld
from dragoman.client.login.origins import Origins, origin_of
from dragoman.client.login.presenter import Presenter
from dragoman.client.login.sources import Auth, login_of
from dragoman.client.login.wallet import Wallet
from dragoman.types.card import AgentCard, AgentInterface

__all__ = ["HARMLESS", "Identity"]

HARMLESS = frozenset({"a2a-extensions", "accept-language", "traceparent", "tracestate", "user-agent", "x-request-id"})
"""Headers that tell nobody's secrets: they may be shown, and go wherever the card leads."""


class Identity:
    """What the caller gave so that agents know who calls, and where it may go.

    Args:
        auth: as `connect` takes it.
        named: `credential_origins`.
        headers: the caller's own, of which nobody knows what is secret.
        places: URLs where the card may be; none for a card from a file or a value.
        certificate: whether the client has one.
        secure: whether an interface is under TLS that does not say so itself.
        has_query: whether the binding of an interface has one.
        public: whether public addresses may be called alone.

    Raises:
        ConfigurationError: `auth` or `named` is none of what they can be.
    """

    def __init__(
        self,
        auth: Auth | None,
        named: Iterable[str],
        headers: Mapping[str, str],
        *,
        places: Sequence[str],
        certificate: bool,
        secure: Callable[[AgentCard, AgentInterface], bool],
        has_query: Callable[[AgentInterface], bool],
        public: bool = False,
    ) -> None:
        # A place that can be read in several ways is not nowhere: it has an origin that no other is like.
        self._origins = Origins(named, (origin_of(places[0]) or "") if places else None)
        self._card = next((url for url in places if "/.well-known/" in url), places[0]) if places else None
        self._wallet = None if auth is None else Wallet(login_of(auth))
        self._headers = headers
        self._secret_headers = sorted(headers.keys() - HARMLESS)
        self._certificate = certificate
        self._secure = secure
        self._has_query = has_query
        self._public = public

    def is_home(self, card: AgentCard, interface: AgentInterface) -> bool:
        """Whether the interface is where the agent is said to be; else it gets nothing that could be secret."""
        return self._origins.are_of(self._origin(card, interface), self._all(card))

    def preferred(self, card: AgentCard, interfaces: Sequence[AgentInterface]) -> Sequence[AgentInterface]:
        """The interfaces without those elsewhere, if there is something to keep from them, and without those that have
        no place for what the card asks for; as long as others are left.
        """
        if self._wallet is None and not self._secret_headers and not self._certificate:
            return interfaces
        home = [one for one in interfaces if self.is_home(card, one)] or interfaces
        if self._wallet is None:
            return home
        asked = asked_of_all(card, Place("", None, self._certificate))
        return [one for one in home if asked.fits(query=self._has_query(one))] or home

    def towards(self, card: AgentCard, interface: AgentInterface, *, own: bool) -> Presenter | None:
        """What makes the caller known to the interface; None if nothing does. `own` says whether the caller brought the
        channel, which sees itself where it carries the headers.

        Raises:
            CredentialsWithheld: the caller's headers would have to go to another origin.
        """
        origin = self._origin(card, interface)
        if self._secret_headers and not own and not self.is_home(card, interface):
            why = self._origins.refusal(origin, interface.url, self._all(card))
            raise CredentialsWithheld(f"{why} (headers: {', '.join(self._secret_headers)})", origin or "")
        if self._wallet is None:
            return None
        place = Place(origin or "", self._card, self._certificate, self._public)
        return Presenter(
            self._wallet,
            asked=asked_of_all(card, place),
            offered=offered(card, place),
            headers=self._headers,
            query=self._has_query(interface),
            refusal=self._origins.refusal(origin, interface.url, self._all(card)),
        )

    async def aclose(self) -> None:
        if self._wallet is not None:
            await self._wallet.aclose()

    def _origin(self, card: AgentCard, interface: AgentInterface) -> str | None:
        return origin_of(interface.url, secure=self._secure(card, interface))

    def _all(self, card: AgentCard) -> list[str | None]:
        """Of the card's interfaces, where these say where the agent is at home."""
        return [self._origin(card, one) for one in card.supported_interfaces] if self._origins.nowhere else []
