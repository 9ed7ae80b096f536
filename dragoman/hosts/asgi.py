"""One plain ASGI application for all bindings, mountable in any framework.

A request is read, decoded by its dialect, answered by the service, and written; nothing here knows an operation.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any

from dragoman.dialects.base import HttpReply, HttpRequest, Refusal
from dragoman.dialects.negotiate import Negotiator
from dragoman.engine.service import Service
from dragoman.errors import A2AError, InternalError, StoreUnavailable, UnavailableError
from dragoman.hosts.binding import Binding, Receive, Scope, Send
from dragoman.hosts.cards import CardPublisher
from dragoman.hosts.mounting import mount_on
from dragoman.hosts.origin import Proxies, base_url
from dragoman.hosts.reading import Disconnected, read_body, request_headers, request_path
from dragoman.hosts.streaming import write_stream
from dragoman.ports.call import CallContext

__all__ = ["Application"]

log = logging.getLogger("dragoman.hosts")

CARD_PATHS = frozenset({"/.well-known/agent-card.json", "/.well-known/agent.json"})


class Application:
    """The agent as an ASGI application. Opens with the lifespan, or else on the first request.

    Requests after the end of the lifespan are refused as unavailable, until another begins.
    """

    def __init__(
        self,
        service: Service,
        negotiator: Negotiator,
        cards: CardPublisher,
        *,
        proxies: Proxies,
        bindings: Sequence[Binding],
        max_body_bytes: int,
        activated: Callable[[tuple[str, ...]], tuple[str, ...]],
        first: Callable[[], Any],
        open_: Callable[[], Any],
        close: Callable[[], Any],
    ) -> None:
        self._service = service
        self._negotiator = negotiator
        self._cards = cards
        self._proxies = proxies
        self._bindings = tuple(bindings)
        self._max_body_bytes = max_body_bytes
        self._activated = activated
        self._first = first
        self._open = open_
        self._close = close

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = scope["type"]
        if kind == "lifespan":
            await self._lifespan(receive, send)
            return
        path = request_path(scope)
        for binding in self._bindings:
            if binding.takes(scope, path):
                await self._first()
                await binding(scope, receive, send, self._service)
                return
        if kind == "http":
            try:
                await self._http(scope, path, receive, send)
            except Disconnected:
                return
        elif kind == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    def mount_on(self, app: Any, path: str) -> None:
        """Mounts this application in a Starlette or FastAPI application."""
        mount_on(app, path, self, self._open, self._close)

    async def _http(self, scope: Scope, path: str, receive: Receive, send: Send) -> None:
        headers = request_headers(scope)
        if path in CARD_PATHS:
            reply = self._cards.reply(scope["method"], headers, base_url(scope, headers, self._proxies))
            await _write(reply, send)
            return
        query = scope["query_string"].decode("latin-1")
        try:
            body = await read_body(scope, headers, receive, self._max_body_bytes, self._service.limits.body_timeout)
        except A2AError as error:
            dialect = self._negotiator.choose(HttpRequest(scope["method"], path, query, headers))
            reply = dialect.encode_error(error, None)
            # What of the body is still to come is not wanted any more.
            reply.headers["connection"] = "close"
            await _write(reply, send)
            return
        await self._answer(HttpRequest(scope["method"], path, query, headers, body), receive, send)

    async def _answer(self, request: HttpRequest, receive: Receive, send: Send) -> None:
        dialect, call = self._negotiator.decode(request)
        if isinstance(call, Refusal):
            await _write(dialect.encode_error(call.error, call.reply_to), send)
            return
        context = CallContext(parameters=call.parameters)
        extensions = self._activated(call.parameters.extensions) if call.parameters.extensions else ()
        try:
            await self._first()
            result = await self._service.call(call.operation, call.request, context)
            reply = None if call.operation.streams else dialect.encode_result(call, result)
        except Exception as error:  # noqa: BLE001 -- the one place where defects become InternalError
            await _write(dialect.encode_error(self._public(error), call.reply_to), send)
            return
        if reply is None:
            await write_stream(
                dialect,
                call,
                result,
                headers=[(b"a2a-extensions", ", ".join(extensions).encode("latin-1"))] if extensions else (),
                public=self._public,
                stall=self._service.limits.send_stall,
                receive=receive,
                send=send,
            )
            return
        if extensions:
            reply.headers["a2a-extensions"] = ", ".join(extensions)
        await _write(reply, send)

    def _public(self, error: Exception) -> A2AError:
        if isinstance(error, A2AError):
            return error
        if isinstance(error, StoreUnavailable):
            return UnavailableError()
        log.error("a request failed", exc_info=error)
        return InternalError()

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                try:
                    await self._open()
                except Exception as error:  # noqa: BLE001 -- the server prints it, whatever it is
                    await send({"type": "lifespan.startup.failed", "message": str(error)})
                    return
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self._close()
                await send({"type": "lifespan.shutdown.complete"})
                return


async def _write(reply: HttpReply, send: Send) -> None:
    body = reply.body
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in reply.headers.items()]
    if reply.status not in (204, 304) and "content-length" not in reply.headers:
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
