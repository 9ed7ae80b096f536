"""Bindings from outside: whoever speaks A2A over something else plugs it in here (specification section 12)."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Protocol

from dragoman.engine.service import Service

__all__ = ["Binding", "Receive", "Scope", "Send"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class Binding(Protocol):
    """A custom binding: declared in the card under its URI, called for the requests that it takes."""

    uri: str
    """What `protocolBinding` says."""
    version: str
    """The protocol version of its interface, Major.Minor."""

    def url(self, base: str) -> str:
        """Its interface URL, given the base URL of the agent without a slash at the end."""
        ...

    def takes(self, scope: Mapping[str, Any], path: str) -> bool:
        """Whether this ASGI connection (`http` or `websocket`) is for this binding; `path` is relative to the base."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send, service: Service) -> None:
        """Answers the connection, by calls of the service."""
        ...
