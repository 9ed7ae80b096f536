"""What stands between a client and its agent: where the card comes from, and which channel carries the calls."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Protocol, Self

from dragoman.client.channel import Channel
from dragoman.client.local import InProcess, LocalChannel, LocalService
from dragoman.client.route import Route
from dragoman.client.transport import HttpTransport
from dragoman.errors import ConfigurationError
from dragoman.types.card import AgentCard
from dragoman.types.requests import ServiceParameters

__all__ = ["Link", "LocalLink", "RemoteLink"]


class Link(Protocol):
    """Open from entering to leaving; asks nobody before it is asked."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def card(self) -> AgentCard: ...

    async def channel(self) -> Channel: ...


class RemoteLink:
    """To an agent that is reached through the interfaces of its card.

    Args:
        source: gives the card, fresh as far as caching rules ask.
        plan: chooses the interfaces of a card.
        transport: closed with the link, unless it is the caller's own (None).
    """

    def __init__(
        self,
        source: Callable[[], Awaitable[AgentCard]],
        plan: Callable[[AgentCard], Route],
        transport: HttpTransport | None,
    ) -> None:
        self._source = source
        self._plan = plan
        self._transport = transport
        self._route: Route | None = None
        self._opening = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._route is not None:
            await self._route.aclose()
        if self._transport is not None:
            await self._transport.aclose()

    async def card(self) -> AgentCard:
        return await self._source()

    async def channel(self) -> Channel:
        if self._route is None:
            async with self._opening:
                if self._route is None:
                    self._route = self._plan(await self._source())
        return self._route


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

    async def card(self) -> AgentCard:
        return self._open().card()

    async def channel(self) -> Channel:
        return LocalChannel(self._open(), self._parameters)

    def _open(self) -> LocalService:
        if self._service is None:
            raise ConfigurationError("Open the client first: async with connect(agent) as client")
        return self._service
