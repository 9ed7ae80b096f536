"""One HTTP/2 connection on the side of the server: from the preface to the last byte."""

import asyncio
from asyncio import TimerHandle, Transport
from contextlib import suppress
from typing import cast

from dragoman.hosts.http2 import frames
from dragoman.hosts.http2.frames import CANCEL, ENHANCE_YOUR_CALM, NO_ERROR, ConnectionFault
from dragoman.hosts.http2.guard import Guard
from dragoman.hosts.http2.limits import Http2Limits
from dragoman.hosts.http2.outlet import DEFAULT_WINDOW, Outlet
from dragoman.hosts.http2.receiver import Receiver
from dragoman.hosts.http2.requests import Requests
from dragoman.hosts.http2.settings import INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS, MAX_HEADER_LIST_SIZE
from dragoman.hosts.site import Site, about

__all__ = ["Http2"]

DEFAULTS = Http2Limits()
QUESTION = b"dragoman"
"""What a PING of ours holds."""
TICKS = 4
"""How often within the shortest of its times a connection is looked at: they are kept to a quarter."""


class Http2(asyncio.Protocol):
    """Answers each request by a task of the site's application.

    The first bytes it is given are the client's preface. A request whose client is gone is not cancelled: its `receive`
    says `http.disconnect`, its `send` raises OSError. Only `abort` cancels.
    """

    _transport: Transport
    outlet: Outlet
    """What it sends."""
    _requests: Requests
    _receiver: Receiver

    def __init__(self, site: Site, limits: Http2Limits = DEFAULTS) -> None:
        self._site = site
        self._limits = limits
        times = site.limits
        own = limits.keep_alive, limits.keep_alive_timeout
        self._period = min(times.idle, times.head_timeout, times.stall, *own) / TICKS
        self._timer: TimerHandle | None = None
        self.over = False
        """The last frame is written; what still comes is dropped."""
        self._seen = 0
        self._quiet_since = 0.0
        self._heard = 0.0
        """When the peer said anything."""
        self._asked: float | None = None
        """When it was asked whether it is there, since it said anything."""

    # Called by the loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        site, limits = self._site, self._limits
        self._transport = transport = cast("Transport", transport)  # uvloop's are none by descent
        transport.set_write_buffer_limits(high=site.limits.high_water)
        guard = Guard(limits, site.loop.time)
        self.outlet = Outlet(site.loop, transport)
        self._requests = Requests(site, self.outlet, limits, {**about(transport), "http_version": "2"})
        self._receiver = Receiver(self._requests, guard, limits)
        self._quiet_since = self._heard = site.loop.time()
        self._timer = site.loop.call_later(self._period, self._tick)
        site.connections.add(self)
        values = {
            MAX_CONCURRENT_STREAMS: limits.max_concurrent_streams,
            INITIAL_WINDOW_SIZE: limits.stream_window,
            MAX_HEADER_LIST_SIZE: site.limits.max_head_bytes,
        }
        self.outlet.write(frames.settings(values), frames.window_update(0, limits.connection_window - DEFAULT_WINDOW))
        if site.closing:
            self.close_gently()

    def data_received(self, data: bytes) -> None:
        if self.over:
            return
        self._heard = self._site.loop.time()
        outlet = self.outlet
        outlet.hold()
        try:
            self._receiver.feed(data)
        except ConnectionFault as fault:
            self._end(fault.code, str(fault))
        outlet.flush()
        if outlet.waiting_control > self._limits.max_control_frames:
            self._end(ENHANCE_YOUR_CALM, "answers are not read")
        if self._receiver.peer_leaves:
            self.close_gently()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- however it ended
        self.over = True
        if self._timer is not None:
            self._timer.cancel()
        self.outlet.close()
        self._requests.lose_all()
        self._site.connections.discard(self)

    def pause_writing(self) -> None:
        self.outlet.pause()

    def resume_writing(self) -> None:
        self.outlet.resume()

    # As `Connection`.

    def close_gently(self) -> None:
        if self.over or self._receiver.closing:
            return
        self._receiver.closing = True
        self.outlet.write(frames.goaway(self._receiver.answered, NO_ERROR, "closing"))
        self._leave()

    def abort(self) -> None:
        self.over = True
        self.outlet.close()
        self._requests.lose_all()
        self._requests.cancel_all()
        self._transport.abort()

    # How it ends.

    def _leave(self) -> None:
        """Closes when no stream is open."""
        if self._requests.open:
            self._requests.when_empty = self._leave
        elif not self.over:
            self._linger()

    def _end(self, code: int, reason: str) -> None:
        if self.over:
            return
        self.outlet.write(frames.goaway(self._receiver.answered, code, reason))
        self._linger()

    def _linger(self) -> None:
        """Lets the peer read what was said last: a socket closed with bytes unread would take it back."""
        self.over = True
        self.outlet.flush()
        self.outlet.close()
        self._requests.lose_all()
        if self._timer is not None:
            self._timer.cancel()
        self._let_go(self._site.loop.time() + self._site.limits.stall)
        if self._transport.can_write_eof():
            with suppress(OSError):  # a peer may have left just now, which is told in its own time
                self._transport.write_eof()
        else:
            self._transport.close()

    def _let_go(self, end: float) -> None:
        """Waits for the peer to take what was written, `end` at the latest, and a little for it to close.

        A transport that closes does so by itself when it can, and one of TLS has more left to send than it counts.
        """
        loop, transport = self._site.loop, self._transport
        if loop.time() < end and transport.get_write_buffer_size():
            self._timer = loop.call_later(self._limits.linger, self._let_go, end)
        elif transport.is_closing():
            self._timer = loop.call_later(max(end - loop.time(), self._limits.linger), transport.abort)
        else:
            self._timer = loop.call_later(self._limits.linger, transport.abort)

    # Times.

    def _tick(self) -> None:
        site, now = self._site, self._site.loop.time()
        self._timer = site.loop.call_later(self._period, self._tick)
        waiting, outlet = self._receiver.waiting_since, self.outlet
        if waiting is not None and now - waiting >= site.limits.head_timeout:
            self._end(ENHANCE_YOUR_CALM, "too slow")
        elif (outlet.paused and now - outlet.paused_since >= site.limits.stall) or self._unheard(now):
            self.over = True
            self._transport.abort()
        elif self._idle(now) >= site.limits.idle:
            self._end(NO_ERROR, "idle")
        elif not outlet.paused:
            self._drop_stalled(now)

    def _idle(self, now: float) -> float:
        if self._requests.open or self._receiver.last != self._seen:
            self._seen = self._receiver.last
            self._quiet_since = now
        return now - self._quiet_since

    def _unheard(self, now: float) -> bool:
        """Asks a silent peer whether it is there; true if it was asked and has had time to answer."""
        if not self._requests.open or now - self._heard < self._limits.keep_alive:
            self._asked = None
        elif self._asked is None:
            self._asked = now
            self.outlet.write(frames.ping(QUESTION))
        return self._asked is not None and now - self._asked >= self._limits.keep_alive_timeout

    def _drop_stalled(self, now: float) -> None:
        for stream in list(self._requests.open.values()):
            if stream.pending is not None and now - stream.moved >= self._site.limits.stall:
                self._requests.reset(stream, CANCEL)
