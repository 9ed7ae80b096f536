"""One plain ASGI application for all bindings, mountable in any framework.

A request is read, decoded by its dialect, answered by the service, and written; nothing here knows an operation.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.dialects.negotiate import Negotiator
from dragoman.engine.service import Service
from dragoman.errors import A2AError
from dragoman.hosts.account import Account
from dragoman.hosts.binding import Binding, Receive, Scope, Send, turn_away
from dragoman.hosts.bodies import Bodies
from dragoman.hosts.calls import Calls, Stream
from dragoman.hosts.cards import CardPublisher
from dragoman.hosts.fields import fields_by_name, reply_fields
from dragoman.hosts.gate import Gate
from dragoman.hosts.grpc.host import GRPC, GrpcHost
from dragoman.hosts.grpc.services import GrpcServices
from dragoman.hosts.keys import KEYS_PATH, KeyPublisher
from dragoman.hosts.mounting import mount_on
from dragoman.hosts.origin import Proxies, base_url, caller_behind, peer_of
from dragoman.hosts.probes import PROBE_PATHS, Probes
from dragoman.hosts.reading import Disconnected, read_body, request_path
from dragoman.hosts.streaming import write_stream
from dragoman.ports.auth import Credentials, Peer

__all__ = ["Application"]

CARD_PATHS = frozenset({"/.well-known/agent-card.json", "/.well-known/agent.json"})
ELSEWHERE = CARD_PATHS | {KEYS_PATH, *PROBE_PATHS}


class Application:
    """The agent as an ASGI application. Opens with the lifespan, or else on the first request.

    Requests after the end of the lifespan are refused as unavailable, until another begins. `grpc_services` are the
    full names of the services that the negotiator's dialects of gRPC serve. Calls pass the `gate`; the card,
    the keys, the probes, and health and reflection of gRPC are open to anybody.
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
        gate: Gate,
        account: Account,
    ) -> None:
        self._calls = Calls(
            service,
            negotiator,
            activated,
            first,
            gate=gate,
            account=account,
            base=lambda about, headers: base_url(about, headers, proxies),
        )
        self._bodies = bodies = Bodies(max_body_bytes, self._caller)
        self._grpc = GrpcHost(self._calls, GrpcServices(service, grpc_services), max_body_bytes, self._caller, bodies)
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
                await self._bound(binding, scope, receive, send)
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

    async def _bound(self, binding: Binding, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._first()
            headers = fields_by_name(scope["headers"])
            query = scope["query_string"].decode("latin-1")
            scope["credentials"] = credentials = Credentials(headers, query, self._caller(scope, headers))
            scope["principal"] = await self._calls.enter(binding.uri, credentials)
            scope["base"] = base_url(scope, headers, self._proxies)
        except Exception as error:  # noqa: BLE001 -- nobody gets in by a defect
            await turn_away(scope, self._calls.public(error), send)
            return
        await binding(scope, receive, send, self._calls.service)

    async def _http(self, scope: Scope, path: str, receive: Receive, send: Send) -> None:
        headers = fields_by_name(scope["headers"])
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
        seconds = self._calls.service.limits.body_timeout
        try:
            body = await read_body(scope, headers, receive, self._max_body_bytes, seconds, bodies=self._bodies)
        except A2AError as error:
            request = HttpRequest(scope["method"], path, query, headers)
            reply = self._calls.refuse(request, error, self._caller(scope, headers))
            if scope["http_version"] < "2":
                # What of the body is still to come is not wanted any more.
                reply.headers["connection"] = "close"
            await _write(reply, send)
            return
        request = HttpRequest(scope["method"], path, query, headers, body)
        answer = await self.exchange(request, peer_of(scope), scope, receive, send)
        if answer is not None:
            await _write(answer, send)

    # Requests that are there in full, for hosts that have them so.

    def takes(self, request: HttpRequest) -> bool:
        """Whether this is a call of an operation over JSON-RPC or HTTP+JSON, of a length that is taken."""
        return not (
            self._bindings
            or len(request.body) > self._max_body_bytes
            or request.path in ELSEWHERE
            or request.headers.get("content-type", "").startswith(GRPC)
        )

    async def exchange(
        self, request: HttpRequest, peer: Peer, about: Mapping[str, Any], receive: Receive, send: Send
    ) -> HttpReply | None:
        """The answer to a call, or None for a stream, which is sent."""
        answer = await self._calls.answer(request, caller_behind(peer, request.headers, self._proxies), about)
        if not isinstance(answer, Stream):
            return answer
        stall = self._calls.service.limits.send_stall
        await write_stream(answer, public=self._calls.public, stall=stall, receive=receive, send=send)
        return None

    def _caller(self, scope: Mapping[str, Any], headers: Mapping[str, str]) -> Peer:
        return caller_behind(peer_of(scope), headers, self._proxies)

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
    await send({"type": "http.response.start", "status": reply.status, "headers": reply_fields(reply)})
    await send({"type": "http.response.body", "body": reply.body})
