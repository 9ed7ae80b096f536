"""Calls an agent in the same process, without a socket and without bytes."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, runtime_checkable

import msgspec

from dragoman.operations import Operation
from dragoman.types.card import AgentCard
from dragoman.types.events import StreamEvent
from dragoman.types.requests import ServiceParameters

__all__ = ["InProcess", "LocalChannel", "LocalService"]


class LocalService(Protocol):
    """The eleven operations of a running agent, as values. Errors are `A2AError`s."""

    def card(self) -> AgentCard: ...

    async def call(self, operation: Operation, request: Any, parameters: ServiceParameters) -> Any:
        """The result of an operation that does not stream."""
        ...

    def stream(self, operation: Operation, request: Any, parameters: ServiceParameters) -> AsyncIterator[StreamEvent]:
        """The events of one that does. An async generator is closed when the caller stops."""
        ...


@runtime_checkable
class InProcess(Protocol):
    """An agent that can be called where it is; `dragoman.Agent` is one."""

    def local(self) -> AbstractAsyncContextManager[LocalService]:
        """Runs the agent for as long as the context is open."""
        ...


class LocalChannel:
    """A channel to a service in the same process."""

    def __init__(self, service: LocalService, parameters: ServiceParameters) -> None:
        self._service = service
        self._parameters = parameters

    async def call(self, operation: Operation, request: Any) -> Any:
        return await self._service.call(operation, request, self._parameters)

    async def stream(
        self, operation: Operation, request: Any, *, after: int | None = None
    ) -> AsyncGenerator[StreamEvent, None]:
        parameters = msgspec.structs.replace(self._parameters, last_event_id=after)
        events = self._service.stream(operation, request, parameters)
        try:
            async for event in events:
                yield event
        finally:
            close: Any = getattr(events, "aclose", None)
            if close is not None:
                await close()

    async def aclose(self) -> None:
        """Nothing to give back: the service's context is the client's."""
