"""A client's extensions: those that are only named, and those that do something with what is sent and what comes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, TypeVar

from dragoman.client.channel import Channel
from dragoman.extensions.extension import ExtendedCall, Extension
from dragoman.extensions.hooks import check_uris, passed
from dragoman.operations import SEND_MESSAGE, SEND_STREAMING_MESSAGE, Operation
from dragoman.types.card import AgentCard
from dragoman.types.events import StreamEvent
from dragoman.types.reliable import renumbered, unnumbered

__all__ = ["ClientExtensions", "ExtendedChannel", "sent"]

Request = TypeVar("Request")


class ClientExtensions:
    """The extensions of one client, in the order in which they were given.

    Raises:
        ConfigurationError: one is there twice, or has no URI that can be named.
    """

    def __init__(self, given: Sequence[str | Extension] = ()) -> None:
        self.uris = tuple([one if isinstance(one, str) else one.uri for one in given])
        """What every request names."""
        check_uris(self.uris)
        self._active = [one for one in given if isinstance(one, Extension)]

    def __bool__(self) -> bool:
        """Whether there are any that do something."""
        return bool(self._active)

    def declared(self, card: AgentCard) -> list[Extension]:
        """Those of them that are in force with the agent of this card."""
        uris = {extension.uri for extension in card.capabilities.extensions}
        return [extension for extension in self._active if extension.uri in uris]


class ExtendedChannel:
    """A channel with extensions in force. Messages come to it as they are to be sent, since one may be sent often."""

    def __init__(self, channel: Channel, extensions: Sequence[Extension]) -> None:
        self._channel = channel
        self._extensions = extensions

    async def call(self, operation: Operation, request: Any) -> Any:
        result = await self._channel.call(operation, await self._outgoing(operation, request))
        return None if result is None else await self._received(operation, result)

    async def stream(
        self, operation: Operation, request: Any, *, after: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        outgoing = await self._outgoing(operation, request)
        async with aclosing(self._channel.stream(operation, outgoing, after=after)) as events:
            async for event in events:
                yield renumbered(await self._received(operation, unnumbered(event)), event)

    async def aclose(self) -> None:
        await self._channel.aclose()

    async def _outgoing(self, operation: Operation, request: Any) -> Any:
        if operation in (SEND_MESSAGE, SEND_STREAMING_MESSAGE):
            return request
        return await sent(self._extensions, operation, request)

    async def _received(self, operation: Operation, received: Any) -> Any:
        hooks = [one.on_receive for one in self._extensions[::-1]]
        return await passed(hooks, received, _call(self._extensions, operation))


async def sent(extensions: Sequence[Extension], operation: Operation, request: Request) -> Request:
    """The request as these extensions have it."""
    return await passed([one.on_send for one in extensions], request, _call(extensions, operation))


def _call(extensions: Sequence[Extension], operation: Operation) -> ExtendedCall:
    return ExtendedCall(operation=operation.name, extensions=tuple([one.uri for one in extensions]))
