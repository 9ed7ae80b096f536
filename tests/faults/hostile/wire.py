"""Exactly these bytes, over a socket of one's own, and in a few words what came of it."""

import re
import socket
from contextlib import suppress
from struct import pack, unpack

from hpack import Decoder, Encoder

__all__ = ["HTTP2", "block", "frame", "head", "over_http1", "over_http2"]

PATIENCE = 10.0
"""Seconds that the server has for everything; its own times are far below."""
OPEN = "left open"
CLOSED = "closed"
CODES = [
    "NO",
    "PROTOCOL",
    "INTERNAL",
    "FLOW",
    "SETTINGS",
    "CLOSED",
    "SIZE",
    "REFUSED",
    "CANCEL",
    "COMPRESSION",
    "CONNECT",
    "CALM",
]
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
"""The preface, and settings that say nothing."""
RST_STREAM, GOAWAY, HEADERS, DATA = 3, 7, 1, 0
FRAME = 9
"""Bytes before the payload of each."""
_REASON = re.compile(rb'"reason":\s*"([A-Z_]+)"')
_CODE = re.compile(rb'"code":\s*(-?\d+)')


def _everything(line: socket.socket) -> tuple[bytes, bool]:
    """What came, and whether the server has closed by then."""
    came = b""
    while True:
        try:
            piece = line.recv(65536)
        except TimeoutError:
            return came, False
        except ConnectionError:
            return came, True
        if not piece:
            return came, True
        came += piece


def over_http1(port: int, *pieces: bytes) -> str:
    """The answers, as `status` or `status reason`, with `+` between; `closed` if there is none. Whatever is not closed
    at the end is `left open`.
    """
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
        with suppress(ConnectionError):  # it was refused before all was said, which is told all the same
            for piece in pieces:
                line.sendall(piece)
        came, closed = _everything(line)
    answers: list[str] = []
    while came:
        answer, came = _first(came)
        answers.append(answer)
    return "+".join(answers + ([] if closed else [OPEN])) or CLOSED


def _first(came: bytes) -> tuple[str, bytes]:
    top, _, rest = came.partition(b"\r\n\r\n")
    line, *fields = top.split(b"\r\n")
    if not line.startswith(b"HTTP/1.1 "):
        return f"nonsense {came[:40]!r}", b""
    named = dict(field.lower().split(b": ", 1) for field in fields)
    size = int(named.get(b"content-length", b"0"))
    if named.get(b"transfer-encoding") == b"chunked":
        size = rest.index(b"0\r\n\r\n") + 5
    body, rest = rest[:size], rest[size:]
    return _told(line[9:12].decode(), body), rest


def _told(status: str, body: bytes) -> str:
    reason = _REASON.search(body) or (_CODE.search(body) if b'"error"' in body else None)
    return status if reason is None else f"{status} {reason[1].decode()}"


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"", *, size: int | None = None) -> bytes:
    """A frame of HTTP/2; `size` lies about its payload."""
    length = len(payload) if size is None else size
    return pack(">LBL", length << 8 | kind, flags, stream) + payload


def block(*fields: tuple[str | bytes, str | bytes]) -> bytes:
    """A header block without state, of these fields as they are."""
    return bytes(Encoder().encode([*fields], huffman=False))


def head(*fields: tuple[str | bytes, str | bytes], stream: int = 1, end: bool = True) -> bytes:
    """The one frame of a head."""
    return frame(HEADERS, 0x4 | end, stream, block(*fields))


def over_http2(port: int, *pieces: bytes) -> str:
    """What became of the first stream, or of the connection: an answer as over HTTP/1.1, or `grpc code`, or `reset` or
    `goaway` with its code, or `closed` or `left open`.
    """
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as line:
        with suppress(ConnectionError):  # it was refused before all was said, which is told all the same
            for piece in pieces:
                line.sendall(piece)
        answer = _Answer()
        while answer.outcome is None:
            try:
                piece = line.recv(65536)
            except TimeoutError:
                return OPEN
            except ConnectionError:
                return CLOSED
            if not piece:
                return CLOSED
            answer.feed(piece)
    return answer.outcome


class _Answer:
    """What comes back over a connection of HTTP/2, until it is known what became of its first stream."""

    def __init__(self) -> None:
        self.outcome: str | None = None
        self._came = self._body = b""
        self._decoder = Decoder()
        self._fields: dict[str, str] = {}

    def feed(self, data: bytes) -> None:
        self._came += data
        while self.outcome is None and len(self._came) >= FRAME:
            size, kind, flags, stream = unpack(">LBBL", b"\0" + self._came[:FRAME])
            if len(self._came) < FRAME + size:
                return
            payload, self._came = self._came[FRAME : FRAME + size], self._came[FRAME + size :]
            self._frame(kind, flags, stream, payload)

    def _frame(self, kind: int, flags: int, stream: int, payload: bytes) -> None:
        if kind == GOAWAY:
            self.outcome = f"goaway {CODES[unpack('>L', payload[4:8])[0]]}"
        if kind == HEADERS:  # also of another stream, for the table
            self._fields |= {str(name): str(value) for name, value in self._decoder.decode(payload)}
        if stream != 1:
            return
        if kind == RST_STREAM:
            self.outcome = f"reset {CODES[unpack('>L', payload)[0]]}"
        self._body += payload if kind == DATA else b""
        if kind in {HEADERS, DATA} and flags & 1:
            status = self._fields.get("grpc-status")
            self.outcome = _told(self._fields[":status"], self._body) if status is None else f"grpc {status}"
