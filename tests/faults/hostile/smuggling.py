"""Requests that two servers in a row could end at different places, or take for another one each."""

from tests.faults.hostile.cases import KEY, Case, Cases, requested, sent

__all__ = ["SMUGGLING"]

SMUGGLED = sent("smuggled")
BODY = b'{"message":{}}'
CHUNKS = b"e\r\n" + BODY + b"\r\n0\r\n\r\n"
CHUNKED = "transfer-encoding: chunked"


def _framed(*lines: str, body: bytes = CHUNKS) -> bytes:
    return requested("POST", "/message:send", b"", *lines, sized=False) + body


def _refused(**bytes_: bytes) -> Cases:
    return {name.replace("_", " "): Case("400", (said + SMUGGLED,)) for name, said in bytes_.items()}


SMUGGLING: Cases = {
    **_refused(
        a_length_and_chunks=_framed("content-length: 4", CHUNKED),
        chunks_and_a_length=_framed(CHUNKED, "content-length: 4"),
        a_length_of_nothing_and_chunks=_framed("content-length: 0", CHUNKED),
        two_lengths=_framed("content-length: 14", "content-length: 4", body=BODY),
        the_same_length_twice=_framed("content-length: 14", "content-length: 14", body=BODY),
        a_list_of_lengths=_framed("content-length: 14, 14", body=BODY),
        a_length_with_plus=_framed("content-length: +14", body=BODY),
        a_negative_length=_framed("content-length: -1", body=BODY),
        a_length_with_a_space_inside=_framed("content-length: 1 4", body=BODY),
        a_length_in_hexadecimal=_framed("content-length: 0xe", body=BODY),
        a_length_with_a_fraction=_framed("content-length: 14.0", body=BODY),
        a_length_with_an_underscore=_framed("content-length: 1_4", body=BODY),
        a_length_in_other_digits=_framed("content-length: \xb9\xb2", body=BODY),
        an_endless_length=_framed("content-length: " + "9" * 40, body=BODY),
        an_empty_length=_framed("content-length:", body=BODY),
        a_length_beyond_64_bits=_framed("content-length: 18446744073709551630", body=BODY),
        chunks_twice=_framed(CHUNKED, CHUNKED),
        chunks_twice_in_one_field=_framed("transfer-encoding: chunked, chunked"),
        chunks_and_identity=_framed("transfer-encoding: chunked, identity"),
        identity_and_chunks=_framed("transfer-encoding: identity", CHUNKED),
        another_coding_below_chunks=_framed("transfer-encoding: gzip, chunked"),
        a_coding_that_is_none=_framed("transfer-encoding: xchunked"),
        chunked_in_quotes=_framed('transfer-encoding: "chunked"'),
        chunked_behind_a_vertical_tab=_framed("transfer-encoding: \x0bchunked"),
        chunked_before_a_form_feed=_framed("transfer-encoding: chunked\x0c"),
        chunked_behind_a_no_break_space=_framed("transfer-encoding: \xa0chunked"),
        chunked_with_a_parameter=_framed("transfer-encoding: chunked;q=1"),
        no_coding_at_all=_framed("transfer-encoding:", "content-length: 14", body=BODY),
        a_space_before_the_colon_of_chunks=_framed("transfer-encoding : chunked"),
        a_tab_before_the_colon_of_chunks=_framed("transfer-encoding\t: chunked"),
        a_name_with_a_NUL=_framed("transfer-encoding\0: chunked"),
        chunks_in_a_folded_field=_framed("transfer-encoding:\r\n chunked"),
        a_length_in_a_folded_field=_framed("content-length:\r\n 14", body=BODY),
        a_field_before_the_first=b"POST / HTTP/1.1\r\n host: agent.example\r\n\r\n",
        chunks_behind_a_bare_line_feed=_framed("x: y\ntransfer-encoding: chunked"),
        chunks_behind_a_bare_carriage_return=_framed("x: y\rtransfer-encoding: chunked"),
        chunks_in_http_1_0=_framed(CHUNKED).replace(b"HTTP/1.1", b"HTTP/1.0"),
        a_size_of_a_chunk_beyond_64_bits=_framed(CHUNKED, body=b"1000000000000000e\r\n" + BODY + b"\r\n0\r\n\r\n"),
        a_negative_size_of_a_chunk=_framed(CHUNKED, body=b"-e\r\n" + BODY + b"\r\n0\r\n\r\n"),
        a_size_of_a_chunk_with_a_prefix=_framed(CHUNKED, body=b"0xe\r\n" + BODY + b"\r\n0\r\n\r\n"),
        a_size_of_a_chunk_with_a_space=_framed(CHUNKED, body=b" e\r\n" + BODY + b"\r\n0\r\n\r\n"),
        a_size_of_a_chunk_with_an_underscore=_framed(CHUNKED, body=b"0_e\r\n" + BODY + b"\r\n0\r\n\r\n"),
        no_size_of_a_chunk=_framed(CHUNKED, body=b"\r\n" + BODY + b"\r\n0\r\n\r\n"),
        a_chunk_that_goes_on=_framed(CHUNKED, body=b"2\r\n" + BODY + b"\r\n0\r\n\r\n"),
        chunks_with_bare_line_feeds=_framed(CHUNKED, body=b"e\n" + BODY + b"\n0\n\n"),
        a_line_feed_in_what_a_chunk_adds=_framed(CHUNKED, body=b"e;a\nb\r\n" + BODY + b"\r\n0\r\n\r\n"),
        a_carriage_return_ends_what_a_chunk_adds=_framed(CHUNKED, body=b"e;a\rb\r\n" + BODY + b"\r\n0\r\n\r\n"),
    ),
    "a version that is a list": Case("400", (b"POST / HTTP/1.1, HTTP/1.0\r\nhost: x\r\n\r\n" + SMUGGLED,)),
    "a version before there were fields": Case("408", (b"GET /healthz\r\n",)),
    "version 0.9 with fields": Case("505", (b"GET /healthz HTTP/0.9\r\nhost: x\r\n\r\n",)),
    "version 1.2": Case("400", (b"GET /healthz HTTP/1.2\r\nhost: x\r\n\r\n",)),
    "version 2 without its preface": Case("505", (b"GET /healthz HTTP/2.0\r\nhost: x\r\n\r\n",)),
    "an end of trailers that is a request": Case(
        "400 INVALID_PARAMS", (_framed(CHUNKED, body=CHUNKS[:-2] + b"x-api-key: a\r\n\r\n") + SMUGGLED,)
    ),
    "a body that GET does not have": Case("404 TASK_NOT_FOUND", (requested("GET", "/tasks/t", SMUGGLED, kind=""),)),
    "the authority of another in the target": Case(
        "404 TASK_NOT_FOUND", (requested("GET", "http://other.example/tasks/t", kind="") + SMUGGLED,)
    ),
    "an upgrade to HTTP/2 with a body": Case(
        "400 INVALID_PARAMS",
        (
            requested("POST", "/message:send", BODY, "upgrade: h2c", "http2-settings: AAMAAABkAARAAAAA").replace(
                b"connection: close", b"connection: close, Upgrade, HTTP2-Settings"
            )
            + SMUGGLED,
        ),
    ),
    "an upgrade to something else": Case(
        "404 TASK_NOT_FOUND",
        (
            requested("GET", "/tasks/t", b"", "upgrade: websocket", "sec-websocket-version: 13", kind="").replace(
                b"connection: close", b"connection: close, upgrade"
            )
            + SMUGGLED,
        ),
    ),
    "a tunnel": Case("405", (b"CONNECT internal:80 HTTP/1.1\r\nhost: internal:80\r\n\r\n" + SMUGGLED,)),
    "a second request after one that is to be the last": Case("200", (sent() + SMUGGLED,)),
    "a key that is a field's name": Case("400", (f"GET / HTTP/1.1\r\n{KEY}\r\n\r\n".encode(),)),
}
