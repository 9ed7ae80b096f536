"""What one connection receives: bytes become frames, and each frame does what RFC 9113 section 6 says."""

from http import HTTPStatus
from struct import Struct, iter_unpack

from dragoman.hosts.http2 import frames
from dragoman.hosts.http2.frames import (
    ACK,
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    MAX_FRAME,
    MAX_WINDOW,
    PADDED,
    PREFACE,
    PRIORITY_FLAG,
    PROTOCOL_ERROR,
    STREAM_CLOSED,
    ConnectionFault,
    StreamFault,
)
from dragoman.hosts.http2.guard import Guard
from dragoman.hosts.http2.head import HeadReader, MalformedError, check_trailers
from dragoman.hosts.http2.limits import Http2Limits
from dragoman.hosts.http2.requests import Requests
from dragoman.hosts.http2.settings import apply_settings

__all__ = ["Receiver"]

_head = Struct(">HBBBL").unpack_from
_HEAD_SIZE = 9


class Receiver:
    """Takes bytes as they come. All methods may raise ConnectionFault; then nothing more may be fed."""

    def __init__(self, requests: Requests, guard: Guard, limits: Http2Limits) -> None:
        self._requests = requests
        self._outlet = requests.outlet
        self._guard = guard
        self._limits = limits
        head = requests.site.limits
        self._heads = HeadReader(head.max_head_bytes, head.max_header_fields)
        self._clock = requests.site.loop.time
        self._rest: bytes = b""
        self._block: bytearray | None = None
        """Of a header block that is not whole."""
        self._block_of = (0, 0)
        """Its stream, and the flags of its HEADERS."""
        self._continuations = 0
        self.greeted = False
        """Preface and SETTINGS have come."""
        self._prefaced = False
        self.last = 0
        """The highest stream that the peer has opened."""
        self.answered = 0
        """The highest that was or will be answered: of those above it GOAWAY says that nothing was done."""
        self.closing = False
        """New streams are not answered."""
        self.peer_leaves = False
        """It has sent GOAWAY."""
        self.waiting_since: float | None = self._clock()
        """When what is not whole began: the greeting, a frame, a header block."""
        self._take = (
            self._data,
            self._headers,
            self._priority,
            self._rst_stream,
            self._settings,
            self._push_promise,
            self._ping,
            self._goaway,
            self._window_update,
            self._continuation,
        )

    def feed(self, data: bytes) -> None:
        """:raises ConnectionFault: the connection has to end."""
        if self._rest:
            data = self._rest + data
        at, end = 0, len(data)
        if not self._prefaced:
            at = self._preface(data)
            if not self._prefaced:
                self._rest = data
                return
        begun = at
        while end - at >= _HEAD_SIZE:
            high, low, kind, flags, stream = _head(data, at)
            size = high << 8 | low
            if size > MAX_FRAME:
                raise ConnectionFault(FRAME_SIZE_ERROR, "a frame is too large")
            begin = at + _HEAD_SIZE
            if begin + size > end:
                break
            at = begin + size
            self._frame(kind, flags, stream & MAX_WINDOW, data[begin:at])
        self._rest = data[at:]
        self._time(progress=at > begun)

    def _preface(self, data: bytes) -> int:
        if not data.startswith(PREFACE[: len(data)]):
            raise ConnectionFault(PROTOCOL_ERROR, "this is not HTTP/2")
        if len(data) < len(PREFACE):
            return 0
        self._prefaced = True
        return len(PREFACE)

    def _time(self, *, progress: bool) -> None:
        whole = self.greeted and self._block is None and not self._rest
        if whole:
            self.waiting_since = None
        elif self.waiting_since is None or (progress and self.greeted and self._block is None):
            self.waiting_since = self._clock()

    def _frame(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if not self.greeted:
            if kind != frames.SETTINGS or flags & ACK:
                raise ConnectionFault(PROTOCOL_ERROR, "the first frame is not SETTINGS")
            self.greeted = True
        if self._block is not None and kind != CONTINUATION:
            raise ConnectionFault(PROTOCOL_ERROR, "a header block is not finished")
        if kind > CONTINUATION:
            self._guard.ignored.take()
            return
        try:
            self._take[kind](flags, stream, payload)
        except StreamFault as fault:
            self._guard.provoked.take()
            self._requests.refuse(fault)

    # Bodies.

    def _data(self, flags: int, number: int, payload: bytes) -> None:
        requests, size = self._requests, len(payload)
        stream = requests.open.get(number)
        if not requests.credit.arrived(size):
            raise ConnectionFault(FLOW_CONTROL_ERROR, "more data than the window")
        if stream is None or stream.ended:
            requests.give_back(size)
            self._stray(number, closes=stream is None)
            return
        body = _unpadded(payload) if flags & PADDED else payload
        end = bool(flags & END_STREAM)
        if not body and not end:
            self._guard.empties.take()
        try:
            stream.feed(body, size, end=end)
        except StreamFault:
            requests.give_back(size)
            raise
        if size > len(body):
            requests.read(stream, size - len(body))

    def _stray(self, number: int, *, closes: bool) -> None:
        """DATA or HEADERS for a stream that takes none: forgiven if they may have been sent before our reset came."""
        if number > self.last or not number % 2:
            raise ConnectionFault(PROTOCOL_ERROR, "a stream that was not opened")
        dropped = self._requests.was_dropped(number)
        if dropped or self.closing:
            self._guard.ignored.take()
        elif closes:
            raise ConnectionFault(STREAM_CLOSED, "the stream is closed")
        else:
            raise StreamFault(number, STREAM_CLOSED, "the request is whole already")

    # Heads.

    def _headers(self, flags: int, number: int, payload: bytes) -> None:
        if not number % 2:
            raise ConnectionFault(PROTOCOL_ERROR, "not a stream of a client")
        if flags & PADDED:
            payload = _unpadded(payload)
        if flags & PRIORITY_FLAG:
            if len(payload) < 5:  # noqa: PLR2004 -- the size of the deprecated fields, which are skipped
                raise ConnectionFault(FRAME_SIZE_ERROR, "HEADERS are too short")
            payload = payload[5:]
        if flags & END_HEADERS:
            self._head(number, flags, payload)
            return
        self._block, self._block_of, self._continuations = bytearray(), (number, flags), 0
        self._gather(payload)

    def _continuation(self, flags: int, number: int, payload: bytes) -> None:
        if self._block is None or number != self._block_of[0]:
            raise ConnectionFault(PROTOCOL_ERROR, "CONTINUATION of nothing")
        self._continuations += 1
        if self._continuations > self._limits.max_continuations:
            raise ConnectionFault(ENHANCE_YOUR_CALM, "too many CONTINUATION frames")
        self._gather(payload)
        if flags & END_HEADERS:
            block, self._block = bytes(self._block), None
            self._head(number, self._block_of[1], block)

    def _gather(self, payload: bytes) -> None:
        assert self._block is not None
        if not payload:
            self._guard.empties.take()
        self._block += payload
        if len(self._block) > self._limits.max_block_bytes:
            raise ConnectionFault(ENHANCE_YOUR_CALM, "the header block is too large")

    def _head(self, number: int, flags: int, block: bytes) -> None:
        end = bool(flags & END_STREAM)
        if number <= self.last:
            self._trailers(number, block, end=end)
            return
        self.last = number
        if not self.closing:
            self.answered = number
        self._guard.opened += 1
        try:
            head = self._heads.head(block)
        except MalformedError as error:
            raise StreamFault(number, PROTOCOL_ERROR, str(error)) from None
        if self.closing:
            self._guard.ignored.take()
        elif head is None:
            self._guard.provoked.take()
            self._requests.decline(number, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, ended=end)
        elif head.method == "CONNECT":
            self._requests.decline(number, HTTPStatus.NOT_IMPLEMENTED, ended=end)
        elif end and head.length:
            raise StreamFault(number, PROTOCOL_ERROR, "not as long as content-length says")
        else:
            self._requests.call(self._requests.start(number, head, ended=end), head)

    def _trailers(self, number: int, block: bytes, *, end: bool) -> None:
        fields = self._heads.fields(block)
        stream = self._requests.open.get(number)
        if stream is None and self._requests.was_dropped(number) is None and not self.closing:
            raise ConnectionFault(PROTOCOL_ERROR, "streams are opened in order")
        if stream is None or stream.ended:
            self._stray(number, closes=stream is None)
            return
        try:
            check_trailers(fields or [])
        except MalformedError as error:
            raise StreamFault(number, PROTOCOL_ERROR, str(error)) from None
        if not end:
            raise StreamFault(number, PROTOCOL_ERROR, "trailers that end nothing")
        stream.feed(b"", 0, end=True)

    # The rest.

    def _priority(self, _flags: int, number: int, payload: bytes) -> None:
        self._guard.ignored.take()
        if not number:
            raise ConnectionFault(PROTOCOL_ERROR, "PRIORITY of no stream")
        if len(payload) != 5:  # noqa: PLR2004 -- as the RFC has it
            raise ConnectionFault(FRAME_SIZE_ERROR, "PRIORITY")

    def _rst_stream(self, _flags: int, number: int, payload: bytes) -> None:
        _sized("RST_STREAM", payload, 4)
        self._known(number)
        self._guard.resets.take()
        stream = self._requests.open.get(number)
        if stream is not None:
            self._requests.lose(stream, dropped=False)

    def _settings(self, flags: int, number: int, payload: bytes) -> None:
        self._guard.settings.take()
        if number:
            raise ConnectionFault(PROTOCOL_ERROR, "SETTINGS of a stream")
        if flags & ACK:
            _sized("SETTINGS", payload, 0)
            return
        if len(payload) % 6:
            raise ConnectionFault(FRAME_SIZE_ERROR, "SETTINGS")
        apply_settings(dict(iter_unpack(">HL", payload)), self._outlet, self._requests.open.values())
        self._outlet.control(frames.settings(None))
        for stream in list(self._requests.open.values()):
            if stream.pending is not None:
                self._outlet.queue(stream)

    def _push_promise(self, _flags: int, _number: int, _payload: bytes) -> None:
        raise ConnectionFault(PROTOCOL_ERROR, "a client promises nothing")

    def _ping(self, flags: int, number: int, payload: bytes) -> None:
        if number:
            raise ConnectionFault(PROTOCOL_ERROR, "PING of a stream")
        _sized("PING", payload, 8)
        self._guard.ping(self._outlet.sent)
        if not flags & ACK:
            self._outlet.control(frames.ping_ack(payload))

    def _goaway(self, _flags: int, number: int, payload: bytes) -> None:
        self._guard.ignored.take()
        if number:
            raise ConnectionFault(PROTOCOL_ERROR, "GOAWAY of a stream")
        if len(payload) < 8:  # noqa: PLR2004 -- the last stream and the code; what follows is for people
            raise ConnectionFault(FRAME_SIZE_ERROR, "GOAWAY")
        self.peer_leaves = True

    def _window_update(self, _flags: int, number: int, payload: bytes) -> None:
        _sized("WINDOW_UPDATE", payload, 4)
        self._guard.update(self._outlet.sent)
        increment = int.from_bytes(payload, "big") & MAX_WINDOW
        if number:
            self._widen(number, increment)
            return
        outlet = self._outlet
        outlet.window += increment
        if not increment or outlet.window > MAX_WINDOW:
            raise ConnectionFault(FLOW_CONTROL_ERROR if increment else PROTOCOL_ERROR, "WINDOW_UPDATE")
        if outlet.crowded:
            if outlet.window < self._limits.dribble:
                self._guard.dribbles.take()
            outlet.pump()

    def _widen(self, number: int, increment: int) -> None:
        self._known(number)
        stream = self._requests.open.get(number)
        if stream is None:
            return
        stream.window += increment
        if not increment or stream.window > MAX_WINDOW:
            raise StreamFault(number, FLOW_CONTROL_ERROR if increment else PROTOCOL_ERROR, "WINDOW_UPDATE")
        if stream.pending is not None:
            if stream.window < min(self._limits.dribble, len(stream.pending)):
                self._guard.dribbles.take()
            self._outlet.queue(stream)

    def _known(self, number: int) -> None:
        if not number % 2 or number > self.last:
            raise ConnectionFault(PROTOCOL_ERROR, "a stream that was not opened")


def _sized(name: str, payload: bytes, size: int) -> None:
    if len(payload) != size:
        raise ConnectionFault(FRAME_SIZE_ERROR, name)


def _unpadded(payload: bytes) -> bytes:
    if not payload or payload[0] >= len(payload):
        raise ConnectionFault(PROTOCOL_ERROR, "padding")
    return payload[1 : len(payload) - payload[0]]
