"""Bodies and frames that are not what they say they are."""

from struct import pack

from tests.faults.hostile.cases import KEY, Case, Cases, posted, rpc
from tests.faults.hostile.wire import frame, head

__all__ = ["MALFORMED", "grpc"]

PARSE = "400 PARSE_ERROR"
RPC_PARSE = "200 PARSE_ERROR"
BAD = "400 INVALID_PARAMS"
SEND = "/lf.a2a.v1.A2AService/SendMessage"
ALPHA = [(":method", "POST"), (":scheme", "http"), (":path", SEND), (":authority", "agent.example")]
GRPC = [*ALPHA, ("content-type", "application/grpc"), ("te", "trailers"), ("a2a-version", "1.0"), ("x-api-key", KEY)]
REST = [
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/tasks/t"),
    (":authority", "a"),
    ("x-api-key", KEY),
    ("a2a-version", "1.0"),
]

POSTED = [(":method", "POST"), (":scheme", "http"), (":path", "/message:send"), *REST[3:]]


def grpc(expected: str, body: bytes, **further: str) -> Case:
    """A call over gRPC with this body."""
    fields = [*GRPC, *[(name.replace("_", "-"), value) for name, value in further.items()]]
    return Case(expected, (head(*fields, end=False), *_data(body)), http2=True)


def _data(body: bytes) -> list[bytes]:
    pieces = [body[at : at + 16_384] for at in range(0, len(body), 16_384)] or [b""]
    return [frame(0, piece is pieces[-1], 1, piece) for piece in pieces]


def _message(data: bytes, flag: int = 0) -> bytes:
    return pack(">BL", flag, len(data)) + data


def _frames(expected: str, *pieces: bytes) -> Case:
    return Case(expected, pieces, http2=True)


def _head(expected: str, *fields: tuple[str | bytes, str | bytes], without: str = "") -> Case:
    return _frames(expected, head(*[field for field in REST if field[0] != without], *fields))


MALFORMED: Cases = {
    "no body": Case(BAD, (posted(b""),)),
    "half an object": Case(PARSE, (posted(b'{"message":'),)),
    "two objects": Case(PARSE, (posted(b"{}{}"),)),
    "more behind an object": Case(PARSE, (posted(b"{} x"),)),
    "single quotes": Case(PARSE, (posted(b"{'message': {}}"),)),
    "a comma too many": Case(PARSE, (posted(b'{"message": {},}'),)),
    "a comment": Case(PARSE, (posted(b"/* */ {}"),)),
    "no number": Case(PARSE, (posted(b'{"message": NaN}'),)),
    "a number beyond all": Case(BAD, (posted(b'{"message": 1e999}'),)),
    "a number of 100 kB": Case(BAD, (posted(b'{"message": ' + b"9" * 100_000 + b"}"),)),
    "bytes that are no UTF-8": Case(PARSE, (posted(b'{"message": "\xff\xfe"}'),)),
    "UTF-16": Case(PARSE, (posted('{"message": {}}'.encode("utf-16")),)),
    "a mark of byte order": Case(PARSE, (posted(b'\xef\xbb\xbf{"message": {}}'),)),
    "half a surrogate": Case(
        PARSE, (posted(b'{"message": {"messageId": "\\ud800", "role": "ROLE_USER", "parts": [{"text": "a"}]}}'),)
    ),
    "an overlong NUL": Case(PARSE, (posted(b'{"message": "\xc0\x80"}'),)),
    "a control character": Case(PARSE, (posted(b'{"message": "\x01"}'),)),
    "a list": Case(BAD, (posted(b"[]"),)),
    "a text": Case(BAD, (posted(b'"hello"'),)),
    "nothing": Case(BAD, (posted(b"null"),)),
    "another type": Case("400 CONTENT_TYPE_NOT_SUPPORTED", (posted(b"<a/>", kind="application/xml"),)),
    "a form": Case(
        "400 CONTENT_TYPE_NOT_SUPPORTED", (posted(b"message=hello", kind="application/x-www-form-urlencoded"),)
    ),
    "a bomb that is compressed": Case(PARSE, (posted(b"\x1f\x8b", "content-encoding: gzip"),)),
    "half an object, over JSON-RPC": Case(RPC_PARSE, (rpc(b'{"jsonrpc":'),)),
    "bytes that are no UTF-8, over JSON-RPC": Case(RPC_PARSE, (rpc(b'{"jsonrpc": "2.0", "method": "\xff"}'),)),
    "a batch": Case("200 INVALID_REQUEST", (rpc(b'[{"jsonrpc": "2.0", "id": 1, "method": "GetTask"}]'),)),
    "an empty batch": Case("200 INVALID_REQUEST", (rpc(b"[]"),)),
    "another JSON-RPC": Case(
        "200 INVALID_REQUEST", (rpc({"jsonrpc": "1.0", "id": 1, "method": "GetTask", "params": {"id": "t"}}),)
    ),
    "an id that is an object, over JSON-RPC": Case(
        "200 INVALID_REQUEST", (rpc({"jsonrpc": "2.0", "id": {}, "method": "GetTask", "params": {"id": "t"}}),)
    ),
    "a method twice": Case(
        "200 TASK_NOT_FOUND", (rpc(b'{"jsonrpc":"2.0","id":1,"method":"x","method":"GetTask","params":{"id":"t"}}'),)
    ),
    "no message": grpc("grpc 12", b""),
    "half a prefix": grpc("grpc 13", b"\0\0\0"),
    "a message cut short": grpc("grpc 13", pack(">BL", 0, 100) + b"abc"),
    "a message longer than its length": grpc("grpc 13", pack(">BL", 0, 1) + b"\x0a\x00abc"),
    "two messages": grpc("grpc 12", _message(b"") * 2),
    "a flag that means nothing": grpc("grpc 13", _message(b"", 7)),
    "a compressed message without a coding": grpc("grpc 13", _message(b"\x1f\x8b", 1)),
    "a coding that is none": grpc("grpc 12", _message(b"abc", 1), grpc_encoding="snappy"),
    "a compressed message that is none": grpc("grpc 13", _message(b"abc", 1), grpc_encoding="gzip"),
    "bytes that are no protobuf": grpc("grpc 3", _message(b"\xff" * 50)),
    "a varint without end": grpc("grpc 3", _message(b"\x08" + b"\xff" * 11)),
    "a length beyond the message": grpc("grpc 3", _message(b"\x12\xff\xff\xff\xff\x0f")),
    "a group that does not end": grpc("grpc 3", _message(b"\x0b" * 100)),
    "a field of number nothing": grpc("grpc 3", _message(b"\x00\x00")),
    "a text that is no UTF-8": grpc("grpc 3", _message(b"\x0a\x02\xff\xfe")),
    "a timeout that is none": grpc("grpc 13", _message(b""), grpc_timeout="99999999999S"),
    "a kind of gRPC that is not served": Case(
        "415", (head(*ALPHA, ("content-type", "application/grpc-web+proto")),), http2=True
    ),
    "gRPC over HTTP/1.1": Case("505", (posted(b"", kind="application/grpc"),)),
    "gRPC by GET": Case(
        "405", (head((":method", "GET"), *ALPHA[1:], ("content-type", "application/grpc")),), http2=True
    ),
    "a service that is none": Case(
        "grpc 12", (head(*[(":path", "/a.b.C/D") if field[0] == ":path" else field for field in GRPC]),), http2=True
    ),
    "a preface that is none": Case("goaway PROTOCOL", (), http2=True, preface=b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"),
    "no settings first": _frames("goaway PROTOCOL", frame(6, 0, 1, bytes(8))),
    "a frame that is too large": _frames("goaway SIZE", frame(0, 0, 1, b"", size=20_000)),
    "data of a stream that was not opened": _frames("goaway PROTOCOL", frame(0, 0, 1, b"a")),
    "a head of a server's stream": _frames("goaway PROTOCOL", head(*REST, stream=2)),
    "a head of no stream": _frames("goaway PROTOCOL", head(*REST, stream=0)),
    "padding beyond the frame": _frames("goaway PROTOCOL", frame(1, 0xD, 1, b"\xff\x82")),
    "a promise": _frames("goaway PROTOCOL", frame(5, 4, 1, bytes(8))),
    "a continuation of nothing": _frames("goaway PROTOCOL", frame(9, 4, 1, b"")),
    "something between the fragments of a head": _frames(
        "goaway PROTOCOL", frame(1, 1, 1, b"\x82"), frame(6, 0, 0, bytes(8))
    ),
    "settings of half a size": _frames("goaway SIZE", frame(4, 0, 0, bytes(5))),
    "settings with a window beyond 31 bits": _frames("goaway FLOW", frame(4, 0, 0, pack(">HL", 4, 2**31))),
    "a window that overflows": _frames("goaway FLOW", frame(8, 0, 0, pack(">L", 2**31 - 1))),
    "a window that grows by nothing": _frames("goaway PROTOCOL", frame(8, 0, 0, pack(">L", 0))),
    "a ping of half a size": _frames("goaway SIZE", frame(6, 0, 0, bytes(4))),
    "a reset of a stream that was not opened": _frames("goaway PROTOCOL", frame(3, 0, 5, bytes(4))),
    "a block that is cut off": _frames("goaway COMPRESSION", frame(1, 5, 1, b"\x00\x0aabc")),
    "an index that is none": _frames("goaway COMPRESSION", frame(1, 5, 1, b"\xff\xff\xff\x0f")),
    "an index of nothing": _frames("goaway COMPRESSION", frame(1, 5, 1, b"\x80")),
    "an integer without end": _frames("goaway COMPRESSION", frame(1, 5, 1, b"\xff" * 20)),
    "a Huffman code that is none": _frames("goaway COMPRESSION", frame(1, 5, 1, b"\x00\x84\xff\xff\xff\xff\x00")),
    "a table beyond what is allowed": _frames("goaway COMPRESSION", frame(1, 5, 1, b"\x3f\xe1\xff\x03")),
    "a field of a connection": _head("reset PROTOCOL", ("connection", "close")),
    "chunks over HTTP/2": _head("reset PROTOCOL", ("transfer-encoding", "chunked")),
    "an upgrade over HTTP/2": _head("reset PROTOCOL", ("upgrade", "h2c")),
    "te that is not trailers": _head("reset PROTOCOL", ("te", "gzip")),
    "a name in capitals": _head("reset PROTOCOL", ("X-A", "b")),
    "a name with a colon": _head("reset PROTOCOL", ("x:a", "b")),
    "a value with a line break": _head("reset PROTOCOL", ("x-a", "b\r\nx-b: c")),
    "a value with a NUL, over HTTP/2": _head("reset PROTOCOL", ("x-a", "b\0")),
    "a value with a space before": _head("reset PROTOCOL", ("x-a", " b")),
    "a pseudo-header twice": _frames("reset PROTOCOL", head(*REST[:3], (":path", "/healthz"), *REST[3:])),
    "a pseudo-header behind a field": _head("reset PROTOCOL", (":path", "/healthz")),
    "a pseudo-header of an answer": _frames("reset PROTOCOL", head((":status", "200"), *REST)),
    "a pseudo-header that is none": _frames("reset PROTOCOL", head((":admin", "1"), *REST)),
    "no method": _head("reset PROTOCOL", without=":method"),
    "no path": _head("reset PROTOCOL", without=":path"),
    "no scheme": _head("reset PROTOCOL", without=":scheme"),
    "two hosts over HTTP/2": _head("reset PROTOCOL", ("host", "other.example")),
    "an authority with a user": _frames(
        "reset PROTOCOL", head(*REST[:3], (":authority", "me@agent.example"), *REST[4:])
    ),
    "a path with a space, over HTTP/2": _frames("reset PROTOCOL", head(*REST[:2], (":path", "/a b"), *REST[3:])),
    "a path with a request in it": _frames(
        "reset PROTOCOL", head(*REST[:2], (":path", "/ HTTP/1.1\r\nhost: a"), *REST[3:])
    ),
    "a method with a request in it": _frames("reset PROTOCOL", head((":method", "GET / HTTP/1.1"), *REST[1:])),
    "a length that is not the body's": _frames(
        "reset PROTOCOL", head(*POSTED, ("content-length", "5"), end=False), frame(0, 1, 1, b"abc")
    ),
    "two lengths over HTTP/2": _head("reset PROTOCOL", ("content-length", "0"), ("content-length", "1")),
    "a length with a sign, over HTTP/2": _head("reset PROTOCOL", ("content-length", "+0")),
    "a tunnel over HTTP/2": _frames("501", head((":method", "CONNECT"), (":authority", "internal:80"))),
}
