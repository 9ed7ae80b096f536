"""What stands between a client and its agent: where the card comes from, and which channel carries the calls."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from dragoman.client.channel import Channel
from dragoman.client.local import InProcess, LocalChannel, LocalService
from dragoman.client.route import Route
from dragoman.client.signatures import CardDocument, CardJudge
from dragoman.errors import ConfigurationError
from dragoman.types.card import AgentCard
from dragoman.types.reliable import RELIABLE
from dragoman.types.requests import ServiceParameters

if TYPE_CHECKING:
    from dragoman.cards.verdict import CardVerdict

__all__ = ["CARD_TOLERANCE", "Link", "LocalLink", "RemoteLink", "declares_reliable"]

CARD_TOLERANCE = 60.0
"""Seconds for which calls rely on a card that its agent gave no time, or a shorter one."""


def declares_reliable(card: AgentCard) -> bool:
    return any(extension.uri == RELIABLE for extension in card.capabilities.extensions)


class Link(Protocol):
    """Open from entering to leaving; asks nobody before it is asked."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def card(self, tolerance: float = 0.0) -> AgentCard:
        """The agent's card; with a tolerance, in seconds, one seen that short a time ago."""
        ...

    async def extended(self, card: AgentCard) -> AgentCard:
        """The extended card, once it was fetched, as far as its signatures allow to go by it."""
        ...

    @property
    def verdict(self) -> "CardVerdict | None":
        """What the signatures of the card show, of the extended one once it was fetched; None if nobody has looked."""
        ...

    async def channel(self) -> Channel: ...

    async def repeatable(self) -> bool:
        """Whether the agent knows a message again that it is sent twice."""
        ...


class _Closing(Protocol):
    async def aclose(self) -> None: ...


class RemoteLink:
    """To an agent that is reached through the interfaces of its card.

    Args:
        source: gives the card, as fresh as caching rules ask, with a tolerance in seconds.
        plan: chooses the interfaces of a card.
        closing: what is closed with the link, in this order.
        judge: makes what says which cards are gone by.
    """

    def __init__(
        self,
        source: Callable[[float], Awaitable[CardDocument]],
        plan: Callable[[AgentCard], Route],
        closing: Sequence[_Closing],
        judge: Callable[[], CardJudge],
    ) -> None:
        self._source = source
        self._plan = plan
        self._closing = closing
        self._judge, self._judge_of_extended = judge(), judge()
        self._planned: AgentCard | None = None
        self._routes: list[Route] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one in (*self._routes, *self._closing):
            await one.aclose()

    async def card(self, tolerance: float = 0.0) -> AgentCard:
        return await self._judge.accepted(await self._source(tolerance))

    async def extended(self, card: AgentCard) -> AgentCard:
        return await self._judge_of_extended.accepted(CardDocument(card))

    @property
    def verdict(self) -> "CardVerdict | None":
        return self._judge_of_extended.verdict or self._judge.verdict

    async def channel(self) -> Channel:
        card = await self.card(CARD_TOLERANCE)
        if card is not self._planned and card != self._planned:
            # Streams may still run over the earlier routes, which therefore stay until the end.
            self._routes.append(self._plan(card))
            self._planned = card
        return self._routes[-1]

    async def repeatable(self) -> bool:
        return declares_reliable(await self.card(CARD_TOLERANCE))


class LocalLink:
    """To an agent in the same process, which runs while the link is open."""

    def __init__(self, agent: InProcess, parameters: ServiceParameters) -> None:
        self._agent = agent
        self._parameters = parameters
        self._running: AbstractAsyncContextManager[LocalService] | None = None
        self._service: LocalService | None = None

    async def __aenter__(self) -> Self:
        self._running = self._agent.local()
        self._service = await self._running.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._running is not None
        self._service = None
        await self._running.__aexit__(kind, error, trace)

    async def card(self, tolerance: float = 0.0) -> AgentCard:  # noqa: ARG002 -- it is always the present one
        return self._open().card()

    async def extended(self, card: AgentCard) -> AgentCard:
        return card

    @property
    def verdict(self) -> "CardVerdict | None":
        return None

    async def channel(self) -> Channel:
        return LocalChannel(self._open(), self._parameters)

    async def repeatable(self) -> bool:
        # There is no connection that could be cut.
        return False

    def _open(self) -> LocalService:
        if self._service is None:
            raise ConfigurationError("Open the client first: async with connect(agent) as client")
        return self._service
