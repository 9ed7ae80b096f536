"""Server-sent events: framing for the server, an incremental reader for the client (WHATWG HTML, section 9.2)."""

import re

import msgspec

from dragoman.errors import ReplyMalformed

__all__ = ["EventReader", "ServerSentEvent", "frame"]

MAX_EVENT_BYTES = 16 * 1024 * 1024

_LINE_END = re.compile(rb"\r\n|\r|\n")
# U+0085, U+2028 and U+2029.
_LINE_END_TO_SOME = re.compile(rb"\xc2\x85|\xe2\x80[\xa8\xa9]")
_BOM = b"\xef\xbb\xbf"


class ServerSentEvent(msgspec.Struct, frozen=True):
    """One event. `id` is the last one that the stream has named so far."""

    data: str
    event: str = "message"
    id: str = ""


def frame(data: bytes, *, seq: int | None = None, event: str | None = None) -> bytes:
    """One event with one line of data: JSON without a line end in it, as we write it.

    Characters that only some readers take for a line end, those of httpx among them, are escaped.
    """
    if not data.isascii():
        data = _LINE_END_TO_SOME.sub(_escaped, data)
    name = b"" if event is None else b"event: %b\n" % event.encode()
    number = b"" if seq is None else b"id: %d\n" % seq
    return b"%b%bdata: %b\n\n" % (number, name, data)


def _escaped(found: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(found[0].decode())


class EventReader:
    """Turns the bytes of a stream, split anywhere, into events. Does no I/O.

    An event that is not closed by an empty line is not an event. `retry` is the delay that the server asks for before
    a new connection, in milliseconds, or None.
    """

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self.retry: int | None = None
        self._max = max_event_bytes
        self._id = ""
        self._name = ""
        self._data = bytearray()
        self._size = 0
        self._partial = bytearray()
        self._skip_line_feed = False
        self._first = True

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """The events that end within `chunk`, in order.

        Raises:
            ReplyMalformed: an event is longer than `max_event_bytes`.
        """
        if self._skip_line_feed and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skip_line_feed = False
        if not chunk:
            return []
        self._skip_line_feed = chunk.endswith(b"\r")
        *lines, rest = _LINE_END.split(chunk)
        events: list[ServerSentEvent] = []
        for line in lines:
            whole = bytes(self._partial + line) if self._partial else line
            self._partial.clear()
            self._read_line(whole, events)
        self._partial += rest
        self._check_size(len(self._partial))
        return events

    def _check_size(self, more: int) -> None:
        if self._size + more > self._max:
            raise ReplyMalformed(f"An event of the stream is longer than {self._max} bytes")

    def _read_line(self, line: bytes, events: list[ServerSentEvent]) -> None:
        if self._first:
            self._first = False
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(events)
            return
        self._check_size(len(line))
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            # Not as lines, each of which would take more than its text.
            self._data += value
            self._data += b"\n"
            # As it came: lines without a text take time too.
            self._size += len(line) + 1
        else:
            self._read_field(name, value.decode(errors="replace"))

    def _read_field(self, name: bytes, value: str) -> None:
        if name == b"event":
            self._name = value
        elif name == b"id":
            self._id = self._id if "\0" in value else value
        elif name == b"retry" and value.isascii() and value.isdigit():
            self.retry = int(value[:9])

    def _dispatch(self, events: list[ServerSentEvent]) -> None:
        if self._data:
            text = self._data[:-1].decode(errors="replace")
            events.append(ServerSentEvent(text, self._name or "message", self._id))
            self._data.clear()
        self._name = ""
        self._size = 0
