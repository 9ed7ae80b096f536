"""One channel out of several interfaces: the first that can be reached, in order of preference."""

from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from dragoman.client.channel import Channel
from dragoman.errors import ConnectFailed
from dragoman.operations import Operation
from dragoman.types.card import AgentInterface
from dragoman.types.events import StreamEvent

__all__ = ["Route"]


class Route:
    """A channel that goes to the next interface when there was no connection to one, and stays where it got through.

    Every request carries the tenant of the interface it goes to, unless it names one itself.
    """

    def __init__(self, interfaces: Sequence[AgentInterface], opener: Callable[[AgentInterface], Channel]) -> None:
        self._interfaces = tuple(interfaces)
        self._opener = opener
        self._channels: dict[int, Channel] = {}
        self._current = 0

    @property
    def interface(self) -> AgentInterface:
        """The interface in use."""
        return self._interfaces[self._current]

    async def call(self, operation: Operation, request: Any) -> Any:
        for index, last in self._order():
            try:
                result = await self._channel(index).call(operation, self._addressed(index, request))
            except ConnectFailed:
                if last:
                    raise
            else:
                self._current = index
                return result
        return None  # pragma: no cover -- the last interface returned or raised

    async def stream(
        self, operation: Operation, request: Any, *, after: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        for index, last in self._order():
            begun = False
            try:
                stream = self._channel(index).stream(operation, self._addressed(index, request), after=after)
                async with aclosing(stream) as events:
                    async for event in events:
                        self._current, begun = index, True
                        yield event
            except ConnectFailed:
                if last or begun:
                    raise
            else:
                return

    async def aclose(self) -> None:
        for channel in self._channels.values():
            await channel.aclose()

    def _order(self) -> Iterator[tuple[int, bool]]:
        count = len(self._interfaces)
        start = self._current
        return (((start + step) % count, step == count - 1) for step in range(count))

    def _channel(self, index: int) -> Channel:
        if index not in self._channels:
            self._channels[index] = self._opener(self._interfaces[index])
        return self._channels[index]

    def _addressed(self, index: int, request: Any) -> Any:
        tenant = self._interfaces[index].tenant
        return msgspec.structs.replace(request, tenant=tenant) if tenant and not request.tenant else request
