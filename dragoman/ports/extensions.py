"""Protocol extensions as the engine sees them (specification section 4.6): what they make of calls, and of what agents
say.
"""

from typing import Any, Protocol, TypeVar

from dragoman.operations import Operation
from dragoman.ports.call import CallContext
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent, TaskUpdate

__all__ = ["CallHooks", "Extensions"]

Said = TypeVar("Said", bound=Message | TaskUpdate)


class CallHooks(Protocol):
    """What the extensions in force make of one call. What they give is of the type that they were given.

    Each method may refuse the call by raising an `A2AError`; anything else that it raises is a defect.
    """

    async def request(self, request: Any) -> Any:
        """The request as the operation is to see it."""
        ...

    async def response(self, result: Any) -> Any:
        """The result of an operation that does not stream, as its caller is to see it."""
        ...

    async def event(self, event: StreamEvent) -> StreamEvent:
        """One event of a stream, as its reader is to see it."""
        ...


class Extensions(Protocol):
    """All that an agent's extensions do. `extensions` are URIs of those in force."""

    def hooks(self, operation: Operation, context: CallContext) -> CallHooks | None:
        """What those that the caller has activated do with this call; None if there is nothing to do."""
        ...

    def emitted(self, extensions: tuple[str, ...], said: Said) -> Said:
        """What the agent says, as it is to be stored. Never raises, and changes no id and no state."""
        ...
