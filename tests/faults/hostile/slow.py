"""Callers who begin and do not go on: in each phase the server's own time is waited for."""

from struct import pack

from tests.faults.hostile.cases import Case, Cases, requested, sent
from tests.faults.hostile.malformed import GRPC, REST
from tests.faults.hostile.wire import block, frame, head

__all__ = ["SLOW"]

SLOW: Cases = {
    "nothing": Case("closed", ()),
    "half a preface": Case("closed", (b"PR",)),
    "half a method": Case("408", (b"PO",)),
    "half a target": Case("408", (b"GET /tas",)),
    "half a head": Case("408", (b"GET /tasks/t HTTP/1.1\r\nhost: a\r\nx-a: b",)),
    "a head without its end": Case("408", (b"GET /tasks/t HTTP/1.1\r\nhost: a\r\n",)),
    "half a body": Case(
        "400 INVALID_REQUEST", (requested("POST", "/message:send", b"{", "content-length: 100", sized=False),)
    ),
    "no body": Case(
        "400 INVALID_REQUEST", (requested("POST", "/message:send", b"", "content-length: 100", sized=False),)
    ),
    "a chunk without its end": Case(
        "400 INVALID_REQUEST",
        (requested("POST", "/message:send", b"", "transfer-encoding: chunked", sized=False) + b"ff\r\nabc",),
    ),
    "chunks without an end": Case(
        "400 INVALID_REQUEST",
        (requested("POST", "/message:send", b"", "transfer-encoding: chunked", sized=False) + b"1\r\n{\r\n",),
    ),
    "a wait for word that is never used": Case(
        "100+400 INVALID_REQUEST",
        (requested("POST", "/message:send", b"", "content-length: 100", "expect: 100-continue", sized=False),),
    ),
    "half a body, over JSON-RPC": Case(
        "200 INVALID_REQUEST", (requested("POST", "/", b'{"id": 1,', "content-length: 100", sized=False),)
    ),
    "nothing behind an answer": Case("200", (sent("kept").replace(b"connection: close\r\n", b""),)),
    "half a head behind an answer": Case("200+408", (sent("kept").replace(b"connection: close\r\n", b"") + b"GET /",)),
    "nothing behind the preface": Case("goaway NO", (), http2=True),
    "half a frame": Case("goaway CALM", (frame(6, 0, 0, b"abc", size=8),), http2=True),
    "half a head of HTTP/2": Case("goaway CALM", (frame(1, 1, 1, block(*REST)),), http2=True),
    "no body, over HTTP/2": Case(
        "400 INVALID_REQUEST",
        (head((":method", "POST"), (":scheme", "http"), (":path", "/message:send"), *REST[3:], end=False),),
        http2=True,
    ),
    "half a message of gRPC": Case("grpc 3", (head(*GRPC, end=False), frame(0, 0, 1, pack(">BL", 0, 100))), http2=True),
}
