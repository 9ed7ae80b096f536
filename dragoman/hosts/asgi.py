"""One plain ASGI application for all bindings, mountable in any framework.

A request is read, decoded by its dialect, answered by the service, and written; nothing here knows an operation.
"""

from collections.abc import Callable, Sequence
from typing import Any

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.dialects.negotiate import Negotiator
from dragoman.engine.service import Service
from dragoman.errors import A2AError
from dragoman.hosts.binding import Binding, Receive, Scope, Send
from dragoman.hosts.calls import Calls, Stream
from dragoman.hosts.cards import CardPublisher
from dragoman.hosts.grpc.host import GRPC, GrpcHost
from dragoman.hosts.grpc.services import GrpcServices
from dragoman.hosts.keys import KEYS_PATH, KeyPublisher
from dragoman.hosts.mounting import mount_on
from dragoman.hosts.origin import Proxies, base_url
from dragoman.hosts.probes import PROBE_PATHS, Probes
from dragoman.hosts.reading import Disconnected, read_body, request_headers, request_path
from dragoman.hosts.streaming import write_stream

__all__ = ["Application"]

CARD_PATHS = frozenset({"/.well-known/agent-card.json", "/.well-known/agent.json"})


class Application:
    """The agent as an ASGI application. Opens with the lifespan, or else on the first request.

    Requests after the end of the lifespan are refused as unavailable, until another begins. `grpc_services` are the
    full names of the services that the negotiator's dialects of gRPC serve.
    """

    def __init__(
        self,
        service: Service,
        negotiator: Negotiator,
        cards: CardPublisher,
        *,
        keys: KeyPublisher,
        proxies: Proxies,
        bindings: Sequence[Binding],
        grpc_services: Sequence[str] = (),
        max_body_bytes: int,
        activated: Callable[[tuple[str, ...]], tuple[str, ...]],
        first: Callable[[], Any],
        open_: Callable[[], Any],
        close: Callable[[], Any],
    ) -> None:
        self._calls = Calls(service, negotiator, activated, first)
        self._grpc = GrpcHost(self._calls, GrpcServices(service, grpc_services), max_body_bytes)
        self._cards = cards
        self._keys = keys
        self._probes = Probes(service, first)
        self._proxies = proxies
        self._bindings = tuple(bindings)
        self._max_body_bytes = max_body_bytes
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
                await binding(scope, receive, send, self._calls.service)
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
        if path == KEYS_PATH:
            await _write(self._keys.reply(scope["method"], headers), send)
            return
        if path in PROBE_PATHS:
            await _write(await self._probes.reply(scope["method"], path), send)
            return
        if headers.get("content-type", "").startswith(GRPC):
            await self._grpc(scope, path, headers, receive, send)
            return
        query = scope["query_string"].decode("latin-1")
        limits = self._calls.service.limits
        try:
            body = await read_body(scope, headers, receive, self._max_body_bytes, limits.body_timeout)
        except A2AError as error:
            reply = self._calls.refuse(HttpRequest(scope["method"], path, query, headers), error)
            if scope["http_version"] < "2":
                # What of the body is still to come is not wanted any more.
                reply.headers["connection"] = "close"
            await _write(reply, send)
            return
        answer = await self._calls.answer(HttpRequest(scope["method"], path, query, headers, body))
        if isinstance(answer, Stream):
            await write_stream(answer, public=self._calls.public, stall=limits.send_stall, receive=receive, send=send)
        else:
            await _write(answer, send)

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
