"""Calls for which extensions are in force (specification section 4.6)."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from dragoman.core.capability import activated_extensions
from dragoman.engine.feed import Batch, DirectFeed, Feed, TaskFeed
from dragoman.engine.world import World
from dragoman.operations import Operation
from dragoman.ports.call import CallContext
from dragoman.ports.extensions import CallHooks
from dragoman.types.card import AgentCapabilities
from dragoman.types.events import StreamEvent
from dragoman.types.reliable import renumbered, unnumbered

__all__ = ["ExtendedFeed", "extended_call", "in_force"]


class ExtendedFeed:
    """A feed as the extensions in force have it for its reader. Numbers are none of their business."""

    def __init__(self, feed: TaskFeed | DirectFeed, hooks: CallHooks) -> None:
        self._feed = feed
        self._hooks = hooks

    @property
    def task_id(self) -> str:
        """The task that it reads; empty for a direct answer."""
        return self._feed.task_id if isinstance(self._feed, TaskFeed) else ""

    @property
    def cut(self) -> bool:
        return self._feed.cut

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> Batch:
        return [(seq, await self._shown(event)) for seq, event in await anext(self._feed)]

    def close(self) -> None:
        self._feed.close()

    async def _shown(self, event: StreamEvent) -> StreamEvent:
        shown: StreamEvent = renumbered(await self._hooks.event(unnumbered(event)), event)
        return shown


def in_force(
    world: World, capabilities: AgentCapabilities, operation: Operation, context: CallContext
) -> tuple[CallContext, CallHooks | None]:
    """The context with only those of the named extensions that the agent has, and what these do with the call."""
    active = activated_extensions(context.parameters.extensions, capabilities)
    parameters = msgspec.structs.replace(context.parameters, extensions=active)
    context = msgspec.structs.replace(context, parameters=parameters)
    return context, None if world.extensions is None else world.extensions.hooks(operation, context)


async def extended_call(
    hooks: CallHooks, method: Callable[[Any, CallContext], Awaitable[Any]], request: Any, context: CallContext
) -> Any:
    """What the method gives for the request, both as the extensions have it."""
    result = await method(await hooks.request(request), context)
    return ExtendedFeed(result, hooks) if isinstance(result, TaskFeed | DirectFeed) else await hooks.response(result)
