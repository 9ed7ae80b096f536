"""What is too large, too deep or too much."""

import json
from gzip import compress
from struct import pack

from tests.faults.hostile.cases import Case, Cases, message, posted, requested, rpc
from tests.faults.hostile.malformed import REST, grpc
from tests.faults.hostile.wire import block, frame, head

__all__ = ["DEEP", "OVERSIZED"]

TOO_LARGE = "413 REQUEST_TOO_LARGE"
BAD = "400 INVALID_PARAMS"
POST = head((":method", "POST"), (":scheme", "http"), (":path", "/message:send"), *REST[3:], end=False)
MEGABYTE = b"a" * 1_000_000
CHUNKED = "transfer-encoding: chunked"


def _chunks(*chunks: bytes) -> bytes:
    head = requested("POST", "/message:send", b"", CHUNKED, sized=False)
    return head + b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"


def _with(data: bytes) -> bytes:
    """A message with this as the data of its part."""
    return b'{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"data": ' + data + b"}]}}"


def _nested(depth: int) -> bytes:
    """A protobuf message of 1.0 whose part holds lists in lists."""
    value = b""
    for _ in range(depth):
        value = _field(6, _field(1, value))
    return _field(2, _field(1, b"m") + b"\x20\x01" + _field(5, _field(4, value)))


def _framed(data: bytes, flag: int = 0) -> bytes:
    """A message of gRPC."""
    return pack(">BL", flag, len(data)) + data


def _field(number: int, data: bytes) -> bytes:
    size, length = len(data), b""
    while size > 127:
        length += bytes([size & 127 | 128])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + data


OVERSIZED: Cases = {
    "a head that is too long": Case("431", (requested("GET", "/tasks/t", b"", "x-a: " + "b" * 17_000, kind=""),)),
    "a name that is too long": Case("431", (requested("GET", "/tasks/t", b"", "x" * 17_000 + ": b", kind=""),)),
    "a cookie that is too long": Case(
        "431", (requested("GET", "/tasks/t", b"", "cookie: " + "a=b; " * 4000, kind=""),)
    ),
    "a head of ten megabytes": Case("431", (b"GET / HTTP/1.1\r\nx: ", *[MEGABYTE] * 10)),
    "a body that says that it is too long": Case(
        TOO_LARGE, (requested("POST", "/message:send", b"", "content-length: 131073", sized=False),)
    ),
    "a body that says that it is endless": Case(
        TOO_LARGE, (requested("POST", "/message:send", b"", "content-length: 999999999999", sized=False),)
    ),
    "a body that is too long": Case(TOO_LARGE, (posted(b"x" * 131_073),)),
    "chunks that are too long together": Case(TOO_LARGE, (_chunks(*[b"x" * 1000] * 300),)),
    "a chunk that is too long": Case(TOO_LARGE, (_chunks(MEGABYTE),)),
    "a chunk that says that it is endless": Case(
        TOO_LARGE, (requested("POST", "/message:send", b"", CHUNKED, sized=False) + b"fffffff\r\n" + b"x" * 300_000,)
    ),
    "chunks that add too much": Case(
        "431",
        (
            requested("POST", "/message:send", b"", CHUNKED, sized=False),
            *[b"1;" + b"a" * 16_000 + b"\r\nx\r\n"] * 200,
        ),
    ),
    "a body with too much behind it": Case(
        "431",
        (requested("POST", "/message:send", b"", CHUNKED, sized=False) + b"0\r\n" + b"a: b\r\n" * 60 + b"\r\n",),
    ),
    "too long a body, over JSON-RPC": Case(TOO_LARGE, (rpc(b"x" * 131_073),)),
    "a text of nearly everything": Case(
        "200", (posted(json.dumps({"message": message(messageId="big", parts=[{"text": "a" * 120_000}])}).encode()),)
    ),
    "too many metadata": Case(
        TOO_LARGE, (posted(json.dumps({"message": message(metadata={str(at): at for at in range(30_000)})}).encode()),)
    ),
    "a message that is too long": grpc("grpc 8", pack(">BL", 0, 131_073) + bytes(131_073)),
    "a message that says that it is endless": grpc("grpc 8", pack(">BL", 0, 2**32 - 1) + b"abc"),
    "a message that is a bomb": grpc("grpc 8", _framed(compress(bytes(20_000_000)), 1), grpc_encoding="gzip"),
    "a head that is too long, over HTTP/2": Case(
        "431", (head(*REST, ("x-a", "b" * 16_000), ("x-b", "c" * 200)),), http2=True
    ),
    "too many fields, over HTTP/2": Case("431", (head(*REST, *[("x-a", "b")] * 60),), http2=True),
    "a bomb of references": Case(
        "431",
        (frame(1, 5, 1, block(*REST) + b"\x40\x01x\x7f\xa1\x1e" + b"v" * 4000 + b"\xbe" * 8000),),
        http2=True,
    ),
    "too many crumbs of a cookie": Case("431", (head(*REST, *[("cookie", "a=b")] * 5000),), http2=True),
    "a head without end": Case(
        "goaway CALM",
        (frame(1, 1, 1, block(*REST)), *[frame(9, 0, 1, b"\x00\x01a\x01b" * 100)] * 200),
        http2=True,
    ),
    "too many fragments of a head": Case(
        "goaway CALM", (frame(1, 1, 1, block(*REST)), *[frame(9, 0, 1, b"\x00\x01a\x01b")] * 50), http2=True
    ),
    "fragments of nothing": Case("goaway CALM", (frame(1, 1, 1, b""), *[frame(9, 0, 1, b"")] * 5000), http2=True),
    "a flood of pings": Case("goaway CALM", tuple([frame(6, 0, 0, bytes(8)) * 1000] * 5), http2=True),
    "a flood of settings": Case("goaway CALM", tuple([frame(4, 0, 0, b"") * 1000] * 5), http2=True),
    "a flood of resets": Case(
        "goaway CALM",
        tuple(head(*REST, stream=at, end=False) + frame(3, 0, at, bytes(4)) for at in range(3, 2003, 2)),
        http2=True,
    ),
    "a flood of priorities": Case("goaway CALM", (frame(2, 0, 3, bytes(5)) * 3000,), http2=True),
    "a flood of what is not known": Case("goaway CALM", (frame(77, 0, 0, b"a") * 3000,), http2=True),
    "a flood of empty data": Case("goaway CALM", (POST, frame(0, 0, 1, b"") * 1000), http2=True),
}

DEEP: Cases = {
    "lists in lists": Case(BAD, (posted(b"[" * 100_000),)),
    "lists in lists that end": Case(BAD, (posted(b"[" * 50_000 + b"]" * 50_000),)),
    "objects in objects": Case(BAD, (posted(b'{"a":' * 20_000),)),
    "objects in objects that end": Case(BAD, (posted(b'{"a":' * 20_000 + b"1" + b"}" * 20_000),)),
    "data that are a little too deep": Case(BAD, (posted(_with(b"[" * 150 + b"]" * 150)),)),
    "deep data": Case(BAD, (posted(_with(b"[" * 20_000 + b"]" * 20_000)),)),
    "deep metadata": Case(
        BAD,
        (
            posted(
                b'{"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "a"}]}, "metadata": '
                + b'{"a":' * 20_000
                + b"1"
                + b"}" * 20_001
            ),
        ),
    ),
    "lists in lists, over JSON-RPC": Case("200 INVALID_PARAMS", (rpc(b"[" * 100_000),)),
    "a deep id": Case("200 INVALID_PARAMS", (rpc(b'{"jsonrpc": "2.0", "method": "GetTask", "id": ' + b"[" * 50_000),)),
    "deep params": Case(
        "200 INVALID_PARAMS",
        (
            rpc(
                b'{"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": '
                + b'{"a":' * 20_000
                + b"1"
                + b"}" * 20_001
            ),
        ),
    ),
    "a message of protobuf that is deep": grpc("grpc 3", _framed(_nested(2000))),
    "groups in groups": grpc("grpc 3", pack(">BL", 0, 20_000) + b"\x0b" * 10_000 + b"\x0c" * 10_000),
    "a deep address": Case("404 METHOD_NOT_FOUND", (requested("GET", "/a" * 5000, b"", kind=""),)),
    "deep parameters": Case("200", (requested("GET", "/tasks?a" + "[a]" * 3000 + "=1", b"", kind=""),)),
}
