"""Bindings from outside: whoever speaks A2A over something else plugs it in here (specification section 12)."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Protocol

from dragoman.dialects.status import status_of
from dragoman.engine.service import Service
from dragoman.errors import A2AError
from dragoman.hosts.calls import fields_of

__all__ = ["Binding", "Receive", "Scope", "Send", "turn_away"]

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
        """Answers the connection, by calls of the service.

        Who calls has been found out already: `scope["principal"]` belongs into the `CallContext` of each call, and
        `scope["credentials"]` and `scope["base"]` too.
        """
        ...


async def turn_away(scope: Scope, error: A2AError, send: Send) -> None:
    """Refuses a connection of a custom binding before it has seen it, in plain HTTP."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    body = error.message.encode()
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"%d" % len(body))]
    headers += [(name.encode(), value.encode("latin-1")) for name, value in fields_of(error).items()]
    await send({"type": "http.response.start", "status": status_of(error).http, "headers": headers})
    await send({"type": "http.response.body", "body": body})
