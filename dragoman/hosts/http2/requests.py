"""The open streams of one connection, and the requests that run."""

from asyncio import Task
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from functools import partial
from http import HTTPStatus
from typing import Any

from dragoman.hosts.http2.credit import Credit
from dragoman.hosts.http2.frames import NO_ERROR, REFUSED_STREAM, StreamFault, reset, window_update
from dragoman.hosts.http2.head import Head
from dragoman.hosts.http2.limits import Http2Limits
from dragoman.hosts.http2.outlet import Outlet
from dragoman.hosts.http2.stream import Stream
from dragoman.hosts.site import Site

__all__ = ["Requests"]

NO_HEAD = Head("", {}, [])
REMEMBERED = 256
"""Streams that are closed, and of which it is known how: frames that were on their way are told from wrong ones."""


class Requests:
    """As `Owner` for the streams. A stream is open until both sides have ended it or one has reset it."""

    def __init__(self, site: Site, outlet: Outlet, limits: Http2Limits, scope: dict[str, Any]) -> None:
        self.site = site
        self.outlet = outlet
        self.open: dict[int, Stream] = {}
        self.credit = Credit(limits.connection_window)
        """Of the whole connection."""
        self._limits = limits
        self._scope = scope
        self._running: set[Stream] = set()
        self._closed: OrderedDict[int, bool] = OrderedDict()
        self._forgotten = 0
        """The highest closed stream of which it is no longer known how."""
        self.when_empty: Callable[[], None] | None = None
        """Called whenever the last open stream has closed."""

    def start(self, number: int, head: Head, *, ended: bool) -> Stream:
        """Opens a stream; the application is not called yet.

        :raises StreamFault: there are too many.
        """
        limits = self._limits
        if len(self.open) >= limits.max_concurrent_streams or len(self._running) >= limits.max_running:
            raise StreamFault(number, REFUSED_STREAM, "too many streams")
        stream = Stream(self, number, head, Credit(limits.stream_window))
        self.open[number] = stream
        if ended:
            stream.feed(b"", 0, end=True)
        return stream

    def call(self, stream: Stream, head: Head) -> None:
        """Calls the application."""
        scope: dict[str, Any] = {
            **self._scope,
            **head.scope,
            "headers": head.headers.copy(),
            "extensions": {**self._scope["extensions"], "http.response.trailers": {}},
            "state": self.site.state.copy(),
        }
        self._spawn(stream, stream.run(scope))

    def decline(self, number: int, status: HTTPStatus, *, ended: bool) -> None:
        """Answers without the application.

        :raises StreamFault: as `start`.
        """
        stream = self.start(number, NO_HEAD, ended=ended)
        self._spawn(stream, stream.decline(status))

    def _spawn(self, stream: Stream, call: Coroutine[Any, Any, None]) -> None:
        stream.task = task = self.site.loop.create_task(call)
        self._running.add(stream)
        self.site.tasks.add(task)
        task.add_done_callback(partial(self._done, stream))

    def _done(self, stream: Stream, task: Task[None]) -> None:
        self._running.discard(stream)
        self.site.tasks.discard(task)

    # What streams ask for.

    def read(self, stream: Stream, count: int) -> None:
        self.give_back(count)
        if not stream.ended:
            more = stream.credit.used(count)
            if more:
                self.outlet.write(window_update(stream.number, more))

    def answered(self, stream: Stream) -> None:
        """What the client still has to send is of no use (RFC 9113 section 8.1)."""
        if not stream.ended:
            self.outlet.write(reset(stream.number, NO_ERROR))
        self._close(stream, dropped=not stream.ended)
        self.give_back(stream.forget())

    def reset(self, stream: Stream, code: int) -> None:
        if not stream.gone and self.open.get(stream.number) is stream:
            self.outlet.control(reset(stream.number, code))
            self.lose(stream, dropped=True)

    # What comes from the peer.

    def refuse(self, fault: StreamFault) -> None:
        """Resets a stream that may never have been opened."""
        self.outlet.control(reset(fault.stream, fault.code))
        stream = self.open.get(fault.stream)
        if stream is not None:
            self.lose(stream, dropped=True)
        elif fault.stream not in self._closed:
            self._remember(fault.stream, dropped=True)

    def lose(self, stream: Stream, *, dropped: bool) -> None:
        """Ends a stream before its time; `dropped` if by us: then frames for it may be on their way."""
        self._close(stream, dropped=dropped)
        self.give_back(stream.lose())

    def lose_all(self) -> None:
        for stream in list(self.open.values()):
            self.lose(stream, dropped=True)

    def give_back(self, count: int) -> None:
        """Of the window of the connection."""
        more = self.credit.used(count)
        if more:
            self.outlet.write(window_update(0, more))

    def cancel_all(self) -> None:
        for stream in self._running:
            if stream.task is not None:
                stream.task.cancel()

    def was_dropped(self, number: int) -> bool | None:
        """Of a closed stream: whether frames for it may come; None if it cannot have been open.

        Many may close while a frame is on its way: of those that are forgotten the best is believed.
        """
        return self._closed.get(number, True if number <= self._forgotten else None)

    def _close(self, stream: Stream, *, dropped: bool) -> None:
        if self.open.pop(stream.number, None) is not None:
            self._remember(stream.number, dropped=dropped)
            if not self.open and self.when_empty is not None:
                self.when_empty()

    def _remember(self, number: int, *, dropped: bool) -> None:
        self._closed[number] = dropped
        if len(self._closed) > REMEMBERED:
            self._forgotten = max(self._forgotten, self._closed.popitem(last=False)[0])
