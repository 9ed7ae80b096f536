"""HTTP/1.1 on one connection (RFC 9112): httptools parses, each request becomes one run of the ASGI application.

Requests are answered one after the other, in their order. What cannot be parsed is answered with its status and ends
the connection, and so does a request whose body the application did not want.
"""

import asyncio
import contextlib
from collections import deque
from typing import Any, cast

import httptools

from dragoman.hosts.fields import fields_by_name
from dragoman.hosts.http1.heads import expects_word, plain_answer, split_target, without_upgrade
from dragoman.hosts.http1.request import Http1Request, RequestHead
from dragoman.hosts.origin import peer_of
from dragoman.hosts.site import Site, about
from dragoman.ports.auth import Peer

__all__ = ["Http1"]

LINGER = 2.0
"""Seconds in which the rest of an unwanted body is thrown away, so that its sender sees the answer before the end."""
MOST_LINGERED = 4 * 1024 * 1024
CHUNK = 16  # bytes that may stand around each
MOST_WAITING = 256
"""Requests that wait for their turn; one read may bring thousands."""
VERSIONS = frozenset({"1.0", "1.1"})


class _Refused(Exception):
    """What came is no request for the application; it is answered with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class Http1(asyncio.Protocol):
    """A connection; `Connection` says what the server may ask of it."""

    _transport: asyncio.Transport
    about: dict[str, Any]
    """What the scope of every request has."""
    peer: Peer

    def __init__(self, site: Site) -> None:
        self.site = site
        self.slow = False
        """Whether the caller takes what is written too slowly."""
        self.further = b"" if site.hsts is None else b"strict-transport-security: %b\r\n" % site.hsts
        """Lines that every answer has."""
        self._limits = site.limits
        self._max_head_bytes = site.limits.max_head_bytes
        self._loop = site.loop
        self._parser = httptools.HttpRequestParser(self)
        self._current: Http1Request | None = None
        self._incoming: Http1Request | None = None
        """The request whose body is being read."""
        self._waiting: deque[Http1Request] = deque()
        """Requests that came while another was being answered."""
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._trailers = self._trailer_bytes = self._size = self._fed = self._taken = 0
        self._added = 0  # around the chunks of a body, beyond what these need
        self._quiet = 0
        """Bytes since the parser said something: it keeps a field until it has seen the end of it."""
        self._reading_head = self._paused = False
        self._since = 0.0
        """When the connection became idle, the head that is being read began, or the caller became slow."""
        self._drained: asyncio.Future[None] | None = None
        self._refusal = 0
        """The status that what came last is answered with, when its turn comes; nothing is parsed after it."""
        self._lingered = 0
        self._timer: asyncio.TimerHandle | None = None

    # What the transport tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=self._limits.high_water)
        self.about = about(transport)
        self.peer = peer_of(self.about)
        self.site.connections.add(self)
        self._since = self._loop.time()
        self._timer = self._loop.call_later(self._limits.head_timeout, self._look)

    def data_received(self, data: bytes) -> None:
        if self._refusal:
            self._lingered += len(data)
            if self._lingered > MOST_LINGERED:
                self._transport.abort()
            return
        rest: bytes | None = data
        while rest is not None:
            rest = self._feed(rest)

    def _feed(self, data: bytes) -> bytes | None:
        """What is still to be fed; None if that is all."""
        size = self._size = len(data)
        self._fed += size
        self._quiet += size
        reading, self._taken = self._incoming, 0
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            if not isinstance(error.__context__, _Refused):
                raise
            self._refuse(error.__context__.status)
        except httptools.HttpParserUpgrade as upgrade:
            return self._stay(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self._refuse(400)
        else:
            self._added += size - self._taken if reading is not None and reading is self._incoming else 0
            if max(self._quiet, self._added) > self._max_head_bytes or (self._reading_head and self._too_long()):
                self._refuse(431)
        return None

    def _stay(self, rest: bytes) -> bytes | None:
        """No protocol is changed to."""
        method = self._parser.get_method()
        if method == b"CONNECT":
            self._refuse(405)
            return None
        head = without_upgrade(method, self._target, self._parser.get_http_version(), self._headers)
        self._parser = httptools.HttpRequestParser(self)
        return head + rest

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- all the same why
        self.site.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._current is not None:
            self._current.caller_left()
        self._waiting.clear()
        self.resume_writing()

    def pause_writing(self) -> None:
        self.slow = True
        self._since = self._loop.time()

    def resume_writing(self) -> None:
        self.slow = False
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    # What the parser tells.

    def on_message_begin(self) -> None:
        self._target = b""
        self._headers = []
        self._trailers = self._trailer_bytes = self._added = 0
        self._fed = self._size  # what came last holds the beginning
        self._reading_head = True
        if self._current is None:
            self._since = self._loop.time()

    def on_url(self, part: bytes) -> None:
        self._target += part
        self._quiet = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        self._quiet = 0
        if self._reading_head:
            self._headers.append((name.lower(), value))
        else:  # what stands behind the body is no part of the head (RFC 9110 section 6.5.1)
            self._trailers += 1
            self._trailer_bytes += len(name) + len(value)
            if self._too_long():
                raise _Refused(431)

    def _too_long(self) -> bool:
        """Whether the fields so far are too many, or too long; that is counted only if it may be so."""
        if len(self._headers) + self._trailers > self._limits.max_header_fields:
            return True
        if self._fed <= self._max_head_bytes:
            return False
        size = len(self._target) + self._trailer_bytes + sum([len(name) + len(value) for name, value in self._headers])
        return size > self._max_head_bytes

    def on_headers_complete(self) -> None:
        self._quiet = 0
        if self._too_long():
            raise _Refused(431)
        if self._parser.should_upgrade():
            return
        self._reading_head = False
        version = self._parser.get_http_version()
        if version not in VERSIONS:
            raise _Refused(505)
        if len(self._waiting) >= MOST_WAITING:
            raise _Refused(503)
        try:
            head = self._head(version)
            expects = expects_word(self._headers, head.named, version)
        except ValueError:
            raise _Refused(400) from None
        request = Http1Request(self, head, keep_alive=self._parser.should_keep_alive(), expects=expects)
        self._incoming = request
        if self._current is None:
            self._start(request)
        else:
            self._waiting.append(request)
            self._balance()

    def _head(self, version: str) -> RequestHead:
        path, raw_path, query, authority = split_target(self._target)
        if authority is not None:  # it goes before the field (RFC 9112 section 3.2.2)
            self._headers = [(b"host", authority), *(field for field in self._headers if field[0] != b"host")]
        headers, named = self._headers, fields_by_name(self._headers)
        return RequestHead(self._parser.get_method().decode("ascii"), version, path, raw_path, query, headers, named)

    def on_body(self, data: bytes) -> None:
        assert self._incoming is not None
        self._quiet = 0
        self._taken += len(data) + CHUNK
        self._incoming.body_came(data)
        self._balance()

    def on_message_complete(self) -> None:
        if self._incoming is not None:  # else it asked for an upgrade
            self._incoming.body_ended()
            self._incoming = None

    # What a request asks.

    def write(self, data: bytes) -> None:
        self._transport.write(data)

    async def drained(self) -> None:
        """Waits while the caller is slow."""
        while self.slow:
            if self._drained is None or self._drained.done():
                self._drained = self._loop.create_future()
            await asyncio.shield(self._drained)

    def read_on(self) -> None:
        """The body that waited has been taken."""
        if self._paused:
            self._balance()

    def answered(self, request: Http1Request) -> None:
        """The end of an answer has been written: the next request has its turn, or the connection ends."""
        self._current = None
        self._since = self._loop.time()
        if not request.keep_alive or self.site.closing:
            self._end(whole=request.complete and not self._refusal and not self._waiting)
        elif self._waiting:
            self._start(self._waiting.popleft())
            self._balance()
        elif self._refusal:
            self.refuse(self._refusal)

    def refuse(self, status: int) -> None:
        """Answers with nothing but a status, and ends the connection."""
        self._refusal = status
        self._transport.write(plain_answer(status, self.further))
        self._end(whole=False)

    # What the server asks.

    def close_gently(self) -> None:
        if self._current is None and not self._refusal:
            self._close()

    def abort(self) -> None:
        self._transport.abort()

    # Within.

    def _start(self, request: Http1Request) -> None:
        self._current = request
        request.start()

    def _balance(self) -> None:
        """Reads no further while requests wait for their turn, or too much of a body for the application."""
        held = self._incoming is not None and self._incoming.waiting_bytes > self._limits.high_water
        full = held or bool(self._waiting)
        if full is not self._paused and not self._transport.is_closing():
            self._paused = full
            if full:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def _refuse(self, status: int) -> None:
        self._refusal = status
        broken = self._incoming
        if broken is not None:
            # Its body will not come to an end.
            broken.caller_left()
            if broken is not self._current:
                self._waiting.remove(broken)
            elif broken.begun:
                self.abort()
            else:
                self.refuse(status)
        elif self._current is None:
            self.refuse(status)

    def _end(self, *, whole: bool) -> None:
        """Closes: at once if the request was read whole, else when its sender has had time to see the answer."""
        self._refusal = self._refusal or 400
        if whole or not self._transport.can_write_eof():
            self._close()
            return
        self._incoming = None
        self._waiting.clear()
        self._balance()
        with contextlib.suppress(OSError):  # a caller may have left just now, which is told in its own time
            self._transport.write_eof()
        self._let_go(0, 0.0)

    def _close(self) -> None:
        if not self._transport.is_closing():  # of TLS, one that is closed twice cannot be aborted any more
            self._transport.close()
            self._let_go(0, 0.0)

    def _let_go(self, left: int, since: float) -> None:
        """Waits as long as the caller takes what was written, of which `left` bytes were left at `since`.

        One that takes nothing for as long as `stall` is cut; one that took all has a little time to close.
        """
        if self._timer is not None:
            self._timer.cancel()
        loop, now, size = self._loop, self._loop.time(), self._transport.get_write_buffer_size()
        if size and (size != left or now - since < self._limits.stall):
            self._timer = loop.call_later(LINGER, self._let_go, size, since if size == left else now)
        else:
            # A transport that closes does so by itself when it can, and one of TLS has sent more than it counts.
            closing = not size and self._transport.is_closing()
            self._timer = loop.call_later(self._limits.stall if closing else LINGER, self._transport.abort)

    def _look(self) -> None:
        """Ends a connection that is idle, slow with a head, or does not take its answer, for too long."""
        limits = self._limits
        since = self._loop.time() - self._since
        if self._current is not None:
            if self.slow and since >= limits.stall:
                self._transport.abort()
                return
        elif self._reading_head and since >= limits.head_timeout:
            self.refuse(408)
            return
        elif since >= limits.idle:
            self._close()
            return
        self._timer = self._loop.call_later(min(limits.head_timeout, limits.idle), self._look)
