"""Speaks HTTP to an ASGI application in the same process, streaming, without a socket.

`AsgiBridge` sends raw requests; `AsgiTransport` puts a client on top of it. Unlike most test clients, a reply can be
read while the application is still writing it, and an application learns when its client has gone.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from dragoman.client.transport import HttpResponse
from dragoman.dialects.base import HttpReply, HttpRequest

__all__ = ["AsgiApp", "AsgiBridge", "AsgiTransport", "LiveReply"]

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]

DEFAULT_ORIGIN = "http://agent.test"
GRACE_SECONDS = 5.0
"""How long an application may take to end when its client has gone, or at its shutdown."""
BUFFERED_CHUNKS = 16
"""Chunks that an application may send before its client reads; then `send` waits, as on a socket."""


class AsgiBridge:
    """An application and its lifespan, for as long as the context is open.

    Applications without lifespan are fine. An exception that leaves the application is raised to whoever waits for the
    reply, as it is.
    """

    def __init__(self, app: AsgiApp, *, origin: str = DEFAULT_ORIGIN, grace_seconds: float = GRACE_SECONDS) -> None:
        self._app = app
        self._origin = origin
        self._grace = grace_seconds
        self._lifespan = _Lifespan(app, grace_seconds)

    async def __aenter__(self) -> Self:
        await self._lifespan.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._lifespan.stop()

    async def send(self, request: HttpRequest) -> HttpReply:
        """Sends a request and reads the whole reply."""
        async with self.open(request) as live:
            body = b"".join([chunk async for chunk in live.body()])
            return HttpReply(live.status, live.headers, body)

    @asynccontextmanager
    async def open(
        self, request: HttpRequest, *, whole: bool = True, origin: str | None = None
    ) -> AsyncGenerator["LiveReply", None]:
        """Sends a request; enters when the head of the reply has come. Leaving is the client's disconnect.

        Args:
            request: `path` starts with a slash and is percent-encoded.
            whole: False leaves the body unfinished: the application waits for the rest until the disconnect.
            origin: where the request goes, if not to the bridge's origin.

        Raises:
            TimeoutError: the application went on for longer than the grace time after the disconnect.
        """
        exchange = _Exchange(_scope(request, origin or self._origin, self._lifespan.state), request.body, whole=whole)
        running = asyncio.create_task(exchange.run(self._app))
        try:
            yield await exchange.head()
        finally:
            exchange.disconnect()
            async with asyncio.timeout(self._grace):
                await running
        exchange.check()


class LiveReply:
    """A reply whose head has come. Header names are lower case; fields of one name are joined by `, `."""

    def __init__(self, start: Event, chunks: "asyncio.Queue[Event | None]", failure: Callable[[], None]) -> None:
        self.status: int = start["status"]
        self.headers = _joined(start.get("headers", ()))
        self._chunks = chunks
        self._failure = failure

    async def body(self) -> AsyncIterator[bytes]:
        """The chunks as the application sends them; empty ones are left out. To be read once."""
        while True:
            event = await self._chunks.get()
            if event is None:
                self._failure()
                return
            if event.get("body"):
                yield bytes(event["body"])
            if not event.get("more_body", False):
                return


class AsgiTransport:
    """An application as the transport of a client: `connect(url, http=AsgiTransport(app))`, whatever host the URL has.

    The application's lifespan runs while the context is open.
    """

    def __init__(self, app: AsgiApp) -> None:
        self._bridge = AsgiBridge(app)

    async def __aenter__(self) -> Self:
        await self._bridge.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._bridge.__aexit__(kind, error, trace)

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> AsyncGenerator[HttpResponse, None]:
        parts = urlsplit(url)
        request = HttpRequest(method, parts.path or "/", parts.query, dict(headers), body)
        async with self._bridge.open(request, origin=f"{parts.scheme}://{parts.netloc}") as live:
            yield live

    async def aclose(self) -> None:
        """Nothing to give back: there are no connections, and the lifespan ends with the context."""


class _Exchange:
    """One request and its reply, as the application sees them."""

    def __init__(self, scope: Scope, body: bytes, *, whole: bool) -> None:
        self._scope = scope
        self._incoming: list[Event] = [{"type": "http.request", "body": body, "more_body": not whole}]
        self._outgoing: asyncio.Queue[Event | None] = asyncio.Queue(BUFFERED_CHUNKS)
        self._gone = asyncio.Event()
        self._error: BaseException | None = None

    async def run(self, app: AsgiApp) -> None:
        try:
            await app(self._scope, self._receive, self._send)
        except Exception as error:  # noqa: BLE001 -- the application's fault, whatever it is, goes to who waits
            self._error = error
        await self._put(None)

    async def head(self) -> LiveReply:
        start = await self._outgoing.get()
        if start is None:
            self.check()
            raise RuntimeError("The application ended without a reply")
        if start["type"] != "http.response.start":
            raise RuntimeError(f"The application began its reply with {start['type']}")
        return LiveReply(start, self._outgoing, self.check)

    def disconnect(self) -> None:
        """Tells the application, and lets it write into the void from now on."""
        self._gone.set()

    def check(self) -> None:
        """Raises what left the application, if anything did."""
        if self._error is not None:
            raise self._error

    async def _receive(self) -> Event:
        if self._incoming:
            return self._incoming.pop()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, event: Event) -> None:
        if event["type"] in {"http.response.start", "http.response.body"}:
            await self._put(event)

    async def _put(self, event: Event | None) -> None:
        """Hands the event to the reader, waiting for room, unless there is no reader any more."""
        if self._gone.is_set():
            return
        if not self._outgoing.full():
            self._outgoing.put_nowait(event)
            return
        placing = asyncio.ensure_future(self._outgoing.put(event))
        leaving = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait((placing, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            placing.cancel()
            leaving.cancel()


class _Lifespan:
    """The application's startup and shutdown, in a task of its own."""

    def __init__(self, app: AsgiApp, grace_seconds: float) -> None:
        self.state: dict[str, Any] = {}
        self._app = app
        self._grace = grace_seconds
        self._to_app: asyncio.Queue[Event] = asyncio.Queue()
        self._from_app: asyncio.Queue[Event | None] = asyncio.Queue()
        self._running: asyncio.Task[None] | None = None
        self._supported = False
        self._error: Exception | None = None

    async def start(self) -> None:
        self._running = asyncio.create_task(self._run())
        await self._step("startup", self._running)

    async def stop(self) -> None:
        if self._running is not None and not self._running.done():
            await self._step("shutdown", self._running)
            await self._running
        if self._error is not None:
            raise self._error

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": self.state}
        try:
            await self._app(scope, self._to_app.get, self._answer)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it goes to who holds the context
            # Raising at once is the specification's way to say that there is no lifespan; later it is a fault.
            self._error = error if self._supported else None
        finally:
            self._from_app.put_nowait(None)

    async def _answer(self, event: Event) -> None:
        self._supported = True
        self._from_app.put_nowait(event)

    async def _step(self, name: str, running: asyncio.Task[None]) -> None:
        self._to_app.put_nowait({"type": f"lifespan.{name}"})
        try:
            async with asyncio.timeout(self._grace):
                said = await self._from_app.get()
        except TimeoutError:
            running.cancel()
            raise
        if said is not None and said["type"] == f"lifespan.{name}.failed":
            await running
            raise RuntimeError(f"The application's {name} failed: {said.get('message', '')}") from self._error


def _scope(request: HttpRequest, origin: str, state: Mapping[str, Any]) -> Scope:
    target = urlsplit(origin)
    headers = {"host": target.netloc, **request.headers}
    if request.body and "transfer-encoding" not in headers:
        headers.setdefault("content-length", str(len(request.body)))
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": target.scheme,
        "path": unquote(request.path),
        "raw_path": request.path.encode(),
        "query_string": request.query.encode(),
        "root_path": "",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 50000),
        "server": (target.hostname, target.port or {"https": 443}.get(target.scheme, 80)),
        "state": dict(state),
    }


def _joined(fields: Any) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in fields:
        key, text = bytes(name).decode("latin-1").lower(), bytes(value).decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers
