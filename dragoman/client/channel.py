"""How a client calls operations, whatever carries them."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Protocol

import msgspec

from dragoman.client.login.presenter import Presenter
from dragoman.dialects.base import Target
from dragoman.operations import Operation
from dragoman.types.card import AgentInterface
from dragoman.types.events import StreamEvent

__all__ = ["MAX_REPLY", "Channel", "ChannelFactory", "ChannelOptions", "resuming"]

MAX_REPLY = 64 * 1024 * 1024
"""Bytes that a reply, or one event of a stream, may have unless the caller says otherwise."""


class Channel(Protocol):
    """The way to one interface of one agent.

    Nothing is sent twice. What is raised is an `A2AError` (the agent's word) or a `TransportError`;
    `ConnectFailed` promises that nothing of the request was sent.
    """

    async def call(self, operation: Operation, request: Any) -> Any:
        """The result of an operation that does not stream."""
        ...

    def stream(
        self, operation: Operation, request: Any, *, after: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        """The events of an operation that streams. Nothing is sent before the first one is asked for.

        `after` is the number of the last event that the caller has, where the agent numbers events. Events are read
        only as fast as they are asked for. Closing the generator ends the stream at once and leaves the task alone.
        """
        ...

    async def aclose(self) -> None:
        """Gives back all connections; open streams end."""
        ...


class ChannelOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller wants of every channel. Times are in seconds. Its `repr` shows no header."""

    extensions: tuple[str, ...] = ()
    """URIs of the extensions that every request names."""
    headers: Mapping[str, str] = {}
    """Further headers, or the like of them, on every request; names are lower case."""
    connect_timeout: float = 10.0
    idle_timeout: float = 300.0
    """How long nothing may come. There is no limit on the whole."""
    max_reply: int = MAX_REPLY
    presenter: Presenter | None = None
    """What makes the caller known to this interface; `presenter.answered` and `streamed` make calls with it."""

    def __repr__(self) -> str:
        return f"ChannelOptions(extensions={self.extensions!r})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [("extensions", self.extensions)]


def resuming(target: Target, after: int | None) -> Target:
    """The target of a request for what came after an event."""
    if after is None:
        return target
    parameters = msgspec.structs.replace(target.parameters, last_event_id=after)
    return msgspec.structs.replace(target, parameters=parameters)


ChannelFactory = Callable[[AgentInterface, ChannelOptions], Channel]
"""Makes the channel to an interface of a custom binding (specification section 12)."""
