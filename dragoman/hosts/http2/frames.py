"""HTTP/2 frames as bytes, the codes of its errors, and the two kinds of fault (RFC 9113 sections 4 to 7)."""

from struct import Struct

__all__ = [
    "ACK",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONTINUATION",
    "DATA",
    "END_HEADERS",
    "END_STREAM",
    "ENHANCE_YOUR_CALM",
    "FLOW_CONTROL_ERROR",
    "FRAME_SIZE_ERROR",
    "GOAWAY",
    "HEADERS",
    "INTERNAL_ERROR",
    "MAX_FRAME",
    "MAX_WINDOW",
    "NO_ERROR",
    "PADDED",
    "PING",
    "PREFACE",
    "PRIORITY",
    "PRIORITY_FLAG",
    "PROTOCOL_ERROR",
    "PUSH_PROMISE",
    "REFUSED_STREAM",
    "RST_STREAM",
    "SETTINGS",
    "STREAM_CLOSED",
    "WINDOW_UPDATE",
    "ConnectionFault",
    "StreamFault",
    "data_prefix",
    "goaway",
    "header_block",
    "ping",
    "ping_ack",
    "reset",
    "settings",
    "window_update",
]

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_FRAME = 16_384
"""The least payload that an endpoint has to take; we neither take nor send more, so that streams mix well."""
MAX_WINDOW = 2**31 - 1

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)

END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITY_FLAG = 0x20

NO_ERROR, PROTOCOL_ERROR, INTERNAL_ERROR, FLOW_CONTROL_ERROR = 0x0, 0x1, 0x2, 0x3
STREAM_CLOSED, FRAME_SIZE_ERROR, REFUSED_STREAM, CANCEL = 0x5, 0x6, 0x7, 0x8
COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 0x9, 0xB

_HEAD = Struct(">HBBBL").pack
"""Length in 16 and 8 bits, type, flags, stream."""
_LONG = Struct(">HBBBLL").pack
_GOAWAY = Struct(">HBBBLLL").pack
_SETTING = Struct(">HL").pack


class ConnectionFault(Exception):
    """What the peer did ends the connection: GOAWAY with `code`, and `reason` for whoever debugs the peer."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class StreamFault(Exception):
    """What the peer did ends one stream: RST_STREAM with `code`."""

    def __init__(self, stream: int, code: int, reason: str) -> None:
        super().__init__(reason)
        self.stream = stream
        self.code = code


def data_prefix(size: int, stream: int, *, end: bool) -> bytes:
    """What stands before `size` bytes of DATA."""
    return _HEAD(size >> 8, size & 0xFF, DATA, end, stream)


def header_block(block: bytes, stream: int, *, end: bool) -> bytes:
    """HEADERS, and CONTINUATION frames if the block is larger than a frame may be."""
    size = len(block)
    if size <= MAX_FRAME:
        return _HEAD(size >> 8, size & 0xFF, HEADERS, END_HEADERS | end, stream) + block
    frames = [_HEAD(MAX_FRAME >> 8, 0, HEADERS, end, stream), block[:MAX_FRAME]]
    for begin in range(MAX_FRAME, size, MAX_FRAME):
        part = block[begin : begin + MAX_FRAME]
        last = END_HEADERS if begin + MAX_FRAME >= size else 0
        frames += [_HEAD(len(part) >> 8, len(part) & 0xFF, CONTINUATION, last, stream), part]
    return b"".join(frames)


def reset(stream: int, code: int) -> bytes:
    return _LONG(0, 4, RST_STREAM, 0, stream, code)


def window_update(stream: int, increment: int) -> bytes:
    """For the whole connection if `stream` is 0."""
    return _LONG(0, 4, WINDOW_UPDATE, 0, stream, increment)


def ping(payload: bytes) -> bytes:
    """`payload` is 8 bytes."""
    return _HEAD(0, 8, PING, 0, 0) + payload


def ping_ack(payload: bytes) -> bytes:
    return _HEAD(0, 8, PING, ACK, 0) + payload


def settings(values: dict[int, int] | None) -> bytes:
    """A SETTINGS frame of these values by identifier; the acknowledgement of the peer's for None."""
    if values is None:
        return _HEAD(0, 0, SETTINGS, ACK, 0)
    body = b"".join(_SETTING(name, value) for name, value in values.items())
    return _HEAD(0, len(body), SETTINGS, 0, 0) + body


def goaway(last: int, code: int, reason: str = "") -> bytes:
    """`last` is the highest stream that was or will be answered."""
    debug = reason.encode()[:200]
    return _GOAWAY(0, 8 + len(debug), GOAWAY, 0, 0, last, code) + debug
