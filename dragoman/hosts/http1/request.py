"""One request of an HTTP/1.1 connection and its answer, as ASGI has them."""

import asyncio
import logging
from collections.abc import Iterable, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.hosts.binding import Scope
from dragoman.hosts.fields import reply_fields
from dragoman.hosts.http1.heads import NO_BODY, answer_head, whole_answer
from dragoman.hosts.reading import BODILESS
from dragoman.hosts.site import Exchanging

if TYPE_CHECKING:
    from dragoman.hosts.http1.connection import Http1

__all__ = ["Http1Request", "RequestHead"]

log = logging.getLogger("dragoman.hosts")

CHUNKED = b"transfer-encoding: chunked\r\n"
CLOSE = b"connection: close\r\n"
KEEP_ALIVE = b"connection: keep-alive\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
FRAMING = frozenset({"connection", "content-length", "transfer-encoding"})
GONE: MutableMapping[str, Any] = {"type": "http.disconnect"}


class RequestHead(NamedTuple):
    """Request line and fields; the path is that of ASGI, decoded, and as it was sent."""

    method: str
    version: str
    path: str
    raw_path: bytes
    query: bytes
    headers: list[tuple[bytes, bytes]]
    named: dict[str, str]

    def scope(self, about: Scope, state: dict[str, Any]) -> Scope:
        """What an application is told of the request, and `about` its connection."""
        scope = {**about, "http_version": self.version, "method": self.method, "path": self.path}
        scope |= {"raw_path": self.raw_path, "query_string": self.query, "headers": self.headers, "state": state.copy()}
        return scope


class Http1Request:
    """`receive` and `send` of one request, and what its connection tells it. The body waits here until it is taken."""

    __slots__ = (
        "_bodiless",
        "_body",
        "_change",
        "_chunked",
        "_connection",
        "_end_taken",
        "_expects",
        "_gone",
        "_head",
        "_left",
        "_request",
        "_running",
        "begun",
        "complete",
        "ended",
        "keep_alive",
        "waiting_bytes",
    )

    def __init__(self, connection: "Http1", head: RequestHead, *, keep_alive: bool, expects: bool) -> None:
        self._connection = connection
        self._request = head
        self._running: asyncio.Task[None] | None = None
        self._expects = expects
        self._body: list[bytes] = []
        self._end_taken = False
        self._change: asyncio.Future[None] | None = None
        self._gone = False
        self._head = b""
        self.begun = False
        self._chunked = False
        self._bodiless = False
        self._left: int | None = None
        """Bytes of the body that the answer's head still promises."""
        self.keep_alive = keep_alive
        self.complete = False
        """Whether the request's body has come to its end."""
        self.ended = False
        """Whether the answer has."""
        self.waiting_bytes = 0

    # What the connection tells.

    def body_came(self, data: bytes) -> None:
        self._body.append(data)
        self.waiting_bytes += len(data)
        self._wake()

    def body_ended(self) -> None:
        self.complete = True
        self._wake()

    def caller_left(self) -> None:
        self._gone = True
        self._wake()

    def _wake(self) -> None:
        change = self._change
        if change is not None and not change.done():
            change.set_result(None)

    async def _changed(self) -> None:
        self._change = self._connection.site.loop.create_future()
        try:
            await self._change
        finally:
            self._change = None

    # What the application does.

    def start(self) -> None:
        """Runs the application to the end of the answer; one that fails or gives none is answered for."""
        site = self._connection.site
        self._running = site.loop.create_task(self._run())
        site.tasks.add(self._running)

    async def _run(self) -> None:
        site = self._connection.site
        try:
            # A request of any size nearly always comes in one piece, and is whole by now.
            if not (self.complete and site.exchanging is not None and await self._exchanged(site.exchanging)):
                await site.application(self._request.scope(self._connection.about, site.state), self.receive, self.send)
            if not self.ended and not self._gone:
                self._fail(RuntimeError("the application ended before its answer"))
        except asyncio.CancelledError:
            self._connection.abort()
            raise
        except Exception as error:  # noqa: BLE001 -- the one place where an application's defects become an answer
            if not self._gone:
                self._fail(error)
        finally:
            running, self._running = self._running, None
            assert running is not None
            site.tasks.discard(running)

    async def _exchanged(self, application: Exchanging) -> bool:
        """Has the application answer the request as a whole, if it takes it so."""
        head = self._request
        request = HttpRequest(
            head.method,
            head.raw_path.decode("latin-1"),
            head.query.decode("latin-1"),
            head.named,
            b"" if head.method in BODILESS else self._body[0] if len(self._body) == 1 else b"".join(self._body),
        )
        if not application.takes(request):
            return False
        self._taken()
        reply = await application.exchange(
            request, self._connection.peer, self._connection.about, self.receive, self.send
        )
        if reply is not None and not self._gone:
            self._reply(reply)
            if self._connection.slow:
                await self._connection.drained()
        return True

    def _fail(self, error: Exception) -> None:
        log.error("the application failed", exc_info=error)
        self.ended = True
        if self.begun:
            self._connection.abort()
        else:
            self._connection.refuse(500)

    async def receive(self) -> MutableMapping[str, Any]:
        """The next piece of the body; after its end, word that the caller left or has the whole answer."""
        while not (self._gone or self.ended):
            if not self._end_taken and (self._body or self.complete):
                return self._piece()
            if self._expects and not self.begun:
                self._expects = False
                self._connection.write(CONTINUE)
            await self._changed()
        return GONE

    def _piece(self) -> MutableMapping[str, Any]:
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        self._taken()
        return {"type": "http.request", "body": body, "more_body": not self.complete}

    def _taken(self) -> None:
        """The application has what there is of the body."""
        self._body.clear()
        self.waiting_bytes = 0
        self._connection.read_on()
        self._end_taken = self.complete

    def _reply(self, reply: HttpReply) -> None:
        """Writes a whole answer: what nearly all of them are like in one go."""
        connection, request = self._connection, self._request
        if (
            self.keep_alive
            and request.version == "1.1"
            and request.method != "HEAD"
            and reply.status not in NO_BODY
            and reply.headers.keys().isdisjoint(FRAMING)
            and not connection.site.closing
        ):
            connection.write(whole_answer(reply.status, reply.headers, reply.body, connection.further))
            self.begun = self.ended = True
            self._wake()
            connection.answered(self)
        else:
            self._begin(reply.status, reply_fields(reply))
            self._write(reply.body, last=True)

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Writes the answer, and waits while the caller is slow to take it.

        Raises:
            OSError: the caller is gone.
            RuntimeError, ValueError: what the application says is no answer.
        """
        if self._gone:
            raise ConnectionResetError("the caller is gone")
        if self.ended:
            raise RuntimeError("the answer has ended")
        if message["type"] == "http.response.body":
            self._write(message.get("body", b""), last=not message.get("more_body", False))
            if self._connection.slow:
                await self._connection.drained()
        elif message["type"] == "http.response.start" and not self._head and not self.begun:
            self._begin(message["status"], message.get("headers", ()))
        else:
            raise RuntimeError(f"{message['type']} cannot be sent here")

    def _begin(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        fields: list[tuple[bytes, bytes]] = []
        for field in headers:
            name, value = field
            if name == b"connection":
                self.keep_alive = self.keep_alive and value.lower() != b"close"
            elif name != b"transfer-encoding":
                fields.append(field)
                if name == b"content-length":
                    self._left = int(value)
        old = self._request.version == "1.0"
        further = self._connection.further
        self._bodiless = self._request.method == "HEAD" or status in NO_BODY
        if self._left is None and not self._bodiless:
            self._chunked = not old
            self.keep_alive = self.keep_alive and self._chunked
            further += CHUNKED if self._chunked else b""
        # What of the body is still to come when the answer begins is not waited for.
        self.keep_alive = self.keep_alive and self.complete and not self._connection.site.closing
        if not self.keep_alive:
            further += CLOSE
        elif old:
            further += KEEP_ALIVE
        self._head = answer_head(status, fields, further)

    def _write(self, body: bytes, *, last: bool) -> None:
        head = self._head
        if not head and not self.begun:
            raise RuntimeError("an answer begins with its head")
        if self._bodiless:
            body = b""
        elif self._chunked:
            body = (b"%x\r\n%b\r\n" % (len(body), body) if body else b"") + (b"0\r\n\r\n" if last else b"")
        elif self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (last and self._left):
                raise RuntimeError("the body is not as long as the head says")
        self._head, self.begun = b"", True
        self._connection.write(head + body if body else head)
        if last:
            self.ended = True
            self._wake()
            self._connection.answered(self)
