"""Agents on real sockets, all bindings on one port, and clients of them."""

import ssl
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from dragoman import Agent, Client, connect
from dragoman.client.receiver.hosting import hosted
from tests.behaviour.rpc import Bridge

__all__ = ["Over", "at"]


@asynccontextmanager
async def at(agent: Agent, tls: ssl.SSLContext | None = None) -> AsyncGenerator[str, None]:
    """The origin at which the agent is served, all bindings on one port."""
    async with AsyncExitStack() as stack:
        application = agent.asgi(http2=True)
        await stack.enter_async_context(Bridge(application))
        served: Any = application
        yield await stack.enter_async_context(hosted(served, "127.0.0.1", 0, tls))


class Over:
    """Connects to agents over one binding, for as long as the test takes."""

    def __init__(self, binding: str, stack: AsyncExitStack) -> None:
        self.binding = binding
        self._stack = stack

    async def __call__(self, agent: Agent, tls: ssl.SSLContext | None = None, **options: Any) -> Client:
        url = await self._stack.enter_async_context(at(agent, tls))
        return await self._stack.enter_async_context(connect(url, bindings=[self.binding], **options))
