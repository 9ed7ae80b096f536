"""One request: a stream of HTTP/2 on one side, an ASGI call on the other."""

import asyncio
from asyncio import Future, Task
from collections.abc import Iterable, MutableMapping
from contextlib import suppress
from enum import IntEnum
from http import HTTPStatus
from logging import getLogger
from typing import Any, Protocol

from dragoman.hosts.http2.credit import Credit
from dragoman.hosts.http2.fields import encoded_date, encoded_fields, encoded_status
from dragoman.hosts.http2.frames import CANCEL, FLOW_CONTROL_ERROR, INTERNAL_ERROR, PROTOCOL_ERROR, StreamFault
from dragoman.hosts.http2.head import Head
from dragoman.hosts.http2.outlet import Outlet
from dragoman.hosts.site import Site

__all__ = ["Owner", "Stream"]

CONTINUE = encoded_status(HTTPStatus.CONTINUE)
BODILESS = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})

_log = getLogger(__name__)


class _Response(IntEnum):
    NONE = 0
    STARTED = 1
    BODY_ENDED = 2
    """The trailers, or the rest of them, are to come."""
    COMPLETE = 3


class Owner(Protocol):
    """What a stream asks of its connection."""

    site: Site
    outlet: Outlet

    def read(self, stream: "Stream", count: int) -> None:
        """The application has taken this much of the body."""
        ...

    def answered(self, stream: "Stream") -> None:
        """The response is whole."""
        ...

    def reset(self, stream: "Stream", code: int) -> None:
        """Ends the stream before its time, if it is open still; it is lost."""
        ...


class Stream:
    """As `Sender`, and as `receive` and `send` of ASGI."""

    __slots__ = (
        "_bodiless",
        "_body",
        "_expects",
        "_head",
        "_missing",
        "_news",
        "_owner",
        "_reported",
        "_response",
        "_trailers",
        "_waiter",
        "credit",
        "ended",
        "ending",
        "gone",
        "moved",
        "number",
        "pending",
        "queued",
        "task",
        "window",
    )

    def __init__(self, owner: Owner, number: int, head: Head, credit: Credit) -> None:
        self._owner = owner
        self.number = number
        self._head = head
        self.credit = credit
        self.window = owner.outlet.stream_window
        self.pending: memoryview | None = None
        self.ending = False
        self.queued = False
        self.moved = 0.0
        self.ended = False
        """The request is whole."""
        self.gone = False
        """Reset by either side, or the connection is lost: nothing can be sent any more."""
        self.task: Task[None] | None = None
        self._body: bytes | bytearray = b""
        self._missing = head.length
        self._expects = head.expects
        self._reported = False
        self._news: asyncio.Event | None = None
        self._waiter: Future[None] | None = None
        self._response = _Response.NONE
        self._bodiless = False
        self._trailers: list[bytes] | None = None

    # What comes from the peer.

    def feed(self, body: bytes, size: int, *, end: bool) -> None:
        """A part of the body, which came in a frame of `size` bytes.

        :raises StreamFault: the body is not as long as announced, or more than the window.
        """
        if not self.credit.arrived(size):
            raise StreamFault(self.number, FLOW_CONTROL_ERROR, "more data than the window")
        if self._missing is not None:
            self._missing -= len(body)
            if self._missing < 0 or (end and self._missing):
                raise StreamFault(self.number, PROTOCOL_ERROR, "not as long as content-length says")
        if not self._body:
            self._body = body
        elif body:
            if isinstance(self._body, bytes):
                self._body = bytearray(self._body)  # many small parts cost their bytes and no more
            self._body += body
        self.ended = end
        if self._news is not None:
            self._news.set()

    def lose(self) -> int:
        """Nothing comes and nothing goes any more.

        :returns: how many bytes of the body nobody will read.
        """
        self.gone = True
        self.drained()
        return self.forget()

    def forget(self) -> int:
        """Drops what was not read; returns its size. Whoever waits in `receive` is told of the end."""
        unread, self._body = len(self._body), b""
        if self._news is not None:
            self._news.set()
        return unread

    def drained(self) -> None:
        self.pending = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # What the application calls.

    async def receive(self) -> dict[str, Any]:
        """`http.request` with all that is there; `http.disconnect` after the response, and when the client is gone."""
        if self._expects and self._response == _Response.NONE and not self.gone:
            self._expects = False
            self._owner.outlet.fields(CONTINUE, self.number, end=False)
        while not self.gone and self._response != _Response.COMPLETE:
            if self._body or (self.ended and not self._reported):
                body, self._body = self._body, b""
                self._reported = self.ended
                self._owner.read(self, len(body))
                return {"type": "http.request", "body": bytes(body), "more_body": not self.ended}
            if self._news is None:
                self._news = asyncio.Event()
            self._news.clear()
            await self._news.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: MutableMapping[str, Any]) -> None:
        """Waits while the client does not read.

        :raises OSError: the client is gone.
        :raises RuntimeError: ASGI has no such message here.
        """
        if self._owner.outlet.paused:
            await self._owner.outlet.writable()
        if self.gone:
            raise ConnectionResetError("the client is gone")
        kind, response = message["type"], self._response
        if kind == "http.response.body" and response == _Response.STARTED:
            await self._send_body(message.get("body", b""), more=message.get("more_body", False))
        elif kind == "http.response.start" and response == _Response.NONE:
            self._start(message["status"], message.get("headers", ()), trailers=message.get("trailers", False))
        elif (
            kind == "http.response.trailers"
            and self._trailers is not None
            and _Response.NONE < response < _Response.COMPLETE
        ):
            self._end_with(self._trailers, message)
        else:
            raise RuntimeError(f"{kind} does not come here: the response is {response.name}")

    def _start(self, status: int, headers: Iterable[Iterable[bytes]], *, trailers: bool) -> None:
        block = encoded_status(status) + encoded_fields(headers) + encoded_date()
        if self._owner.site.hsts is not None:
            block += encoded_fields([(b"strict-transport-security", self._owner.site.hsts)])
        self._trailers = [] if trailers else None
        self._bodiless = self._head.method == "HEAD" or status in BODILESS
        self._response = _Response.STARTED
        self._owner.outlet.fields(block, self.number, end=self._bodiless and not trailers)

    async def _send_body(self, body: bytes | bytearray | memoryview, *, more: bool) -> None:
        end = not more and self._trailers is None
        if self._bodiless:
            body = b""
        if not more:
            self._response = _Response.BODY_ENDED
        if body or (end and not self._bodiless):
            whole = body if isinstance(body, bytes) else bytes(body)
            if not self._owner.outlet.data(self, whole, end=end) and self.pending is not None:
                await self._turn()
        if end:
            self._complete()

    async def _turn(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        except asyncio.CancelledError:
            self._owner.reset(self, CANCEL)  # half a message is out, and nothing can stand behind it
            raise
        finally:
            self._waiter = None
        if self.gone:
            raise ConnectionResetError("the client is gone")

    def _end_with(self, trailers: list[bytes], message: MutableMapping[str, Any]) -> None:
        self._response = _Response.BODY_ENDED
        trailers.append(encoded_fields(message.get("headers", ())))
        if not message.get("more_trailers", False):
            self._owner.outlet.fields(b"".join(trailers), self.number, end=True)
            self._complete()

    def _complete(self) -> None:
        self._response = _Response.COMPLETE
        self._owner.answered(self)

    # The call.

    async def run(self, scope: dict[str, Any]) -> None:
        """Calls the application, and ends the stream whatever comes of it."""
        try:
            await self._owner.site.application(scope, self.receive, self.send)
        except asyncio.CancelledError:
            self._owner.reset(self, CANCEL)
            raise
        except Exception as error:  # noqa: BLE001 -- whatever an application raises ends its own request only
            if self.gone and isinstance(error, OSError):
                return  # as `send` promised
            _log.exception("The application failed on %s %s.", scope["method"], scope["path"])
        else:
            if self.gone or self._response == _Response.COMPLETE:
                return
            _log.error("The application left %s %s without a whole answer.", scope["method"], scope["path"])
        if self._response == _Response.NONE:
            await self.decline(HTTPStatus.INTERNAL_SERVER_ERROR)
        else:
            self._owner.reset(self, INTERNAL_ERROR)

    async def decline(self, status: HTTPStatus) -> None:
        """A short answer of the server itself, if there is still anybody to read it."""
        body = status.phrase.encode()
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", b"%d" % len(body))]
        with suppress(OSError):
            await self.send({"type": "http.response.start", "status": status, "headers": headers})
            await self.send({"type": "http.response.body", "body": body})
