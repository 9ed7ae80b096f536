"""Header blocks, and what makes a request's head."""

import tracemalloc
from typing import Any

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from dragoman.hosts.http2.fields import Field, FieldReader, encoded_fields, encoded_status
from dragoman.hosts.http2.frames import ConnectionFault
from dragoman.hosts.http2.head import HeadReader, MalformedError, check_trailers, read_head

LEAST: list[Field] = [(b":method", b"GET"), (b":scheme", b"http"), (b":path", b"/")]
POST: list[Field] = [(b":method", b"POST"), *LEAST[1:]]

names = st.text("abcdefghijklmnopqrstuvwxyz-0123456789", min_size=1, max_size=20).map(str.encode)
values = st.binary(max_size=80).filter(lambda value: not set(value) & set(b"\0\r\n"))
static = st.sampled_from([(b":method", b"GET"), (b"accept", b"*/*"), (b"content-type", b"application/grpc"), LEAST[2]])
fields = st.lists(st.one_of(st.tuples(names, values), static), max_size=12)


@given(st.lists(st.tuples(fields, st.booleans(), st.sampled_from([None, 0, 100, 4096])), max_size=6))
def test_every_block_of_another_encoder_is_understood(blocks: list[tuple[list[Field], bool, int | None]]) -> None:
    encoder, reader = Encoder(), FieldReader(1 << 16, 128)
    for block, huffman, size in blocks:
        if size is not None:
            encoder.header_table_size = size
        assert reader.read(encoder.encode(block, huffman=huffman)) == block


@given(st.lists(fields.map(lambda block: [field for field in block if field[0][:1] != b":"]), max_size=4))
def test_every_block_of_ours_is_understood_by_another_decoder(blocks: list[list[Field]]) -> None:
    decoder = Decoder()
    kept = [[field for field in block if field[0] not in {b"te", b"upgrade"}] for block in blocks]
    for block in kept:
        found: list[Any] = list(decoder.decode(encoded_status(404) + encoded_fields(block), raw=True))
        assert [tuple(field) for field in found] == [(b":status", b"404"), *block]


@given(st.binary(max_size=200))
def test_any_bytes_are_a_block_or_an_error(block: bytes) -> None:
    try:
        FieldReader(1000, 10).read(block)
    except ConnectionFault:
        return


def test_secrets_are_never_to_be_indexed() -> None:
    assert encoded_fields([(b"set-cookie", b"a=b")])[0] & 0xF0 == 0x10
    assert encoded_fields([(b"x-plain", b"a=b")])[0] & 0xF0 == 0


def test_a_response_has_names_in_lower_case_and_nothing_of_a_connection() -> None:
    block = encoded_fields([(b"X-Name", b"v"), (b"Connection", b"close"), (b"Transfer-Encoding", b"chunked")])
    assert [tuple(field) for field in Decoder().decode(block, raw=True)] == [(b"x-name", b"v")]


@pytest.mark.parametrize("field", [(b"", b"v"), (b"a b", b"v"), (b":path", b"/"), (b"a", b"x\ny"), (b"a", b"x\0")])
def test_what_is_no_field_is_not_sent(field: Field) -> None:
    with pytest.raises(ValueError, match="not a header field"):
        encoded_fields([field])


def test_too_many_bytes_or_fields_are_counted_while_the_table_stays_right() -> None:
    encoder, reader = Encoder(), FieldReader(1000, 5)
    assert reader.read(encoder.encode([(b"long", b"x" * 1000), (b"a", b"b")])) is None
    assert reader.read(encoder.encode([(b"n%d" % number, b"v") for number in range(6)])) is None
    assert reader.read(encoder.encode([(b"n5", b"v"), (b"a", b"b")])) == [(b"n5", b"v"), (b"a", b"b")]


@pytest.mark.parametrize(("max_bytes", "max_fields"), [(10_000, 10**9), (10**9, 100)])
def test_of_too_many_fields_none_is_kept(max_bytes: int, max_fields: int) -> None:
    reader = FieldReader(max_bytes, max_fields)
    block = b"\x82" * 60_000
    tracemalloc.start()
    assert reader.read(block) is None
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000


def test_a_head_says_what_asgi_asks_for() -> None:
    head = read_head([*LEAST[:2], (b":path", b"/a%20b/%C3%A4?q=%20"), (b":authority", b"h:1"), (b"accept", b"*/*")])
    assert head.scope == {
        "method": "GET",
        "path": "/a b/ä",
        "raw_path": b"/a%20b/%C3%A4",
        "query_string": b"q=%20",
    }
    assert head.headers == [(b"host", b"h:1"), (b"accept", b"*/*")]


def test_the_authority_is_the_host_and_stands_first() -> None:
    assert read_head([*LEAST, (b"a", b"b"), (b"host", b"h")]).headers == [(b"host", b"h"), (b"a", b"b")]
    both = read_head([*LEAST, (b":authority", b"h"), (b"a", b"b"), (b"host", b"H")])
    assert both.headers == [(b"host", b"h"), (b"a", b"b")]
    assert read_head(LEAST).headers == []


def test_cookies_are_one_field() -> None:
    head = read_head([*LEAST, (b"cookie", b"a=b"), (b"x", b"y"), (b"cookie", b"c=d")])
    assert head.headers == [(b"x", b"y"), (b"cookie", b"a=b; c=d")]


def test_a_length_that_is_said_twice_is_one() -> None:
    assert read_head([*POST, (b"content-length", b"3"), (b"content-length", b"3")]).length == 3
    assert read_head(POST).length is None


MALFORMED: dict[str, list[Field]] = {
    "nothing": [],
    "no method": LEAST[1:],
    "no scheme": [LEAST[0], LEAST[2]],
    "no path": LEAST[:2],
    "an empty path": [*LEAST[:2], (b":path", b"")],
    "an empty scheme": [LEAST[0], (b":scheme", b""), LEAST[2]],
    "a path without a slash": [*LEAST[:2], (b":path", b"a")],
    "a path with a space": [*LEAST[:2], (b":path", b"/a b")],
    "a path that is not ASCII": [*LEAST[:2], (b":path", "/ä".encode())],
    "a path with a fragment": [*LEAST[:2], (b":path", b"/a#b")],
    "a star for GET": [*LEAST[:2], (b":path", b"*")],
    "a method that is no token": [(b":method", b"G T"), *LEAST[1:]],
    "a pseudo-header twice": [*LEAST, LEAST[0]],
    "a pseudo-header behind a field": [*LEAST[:2], (b"a", b"b"), LEAST[2]],
    "a pseudo-header of a response": [*LEAST, (b":status", b"200")],
    "an extended CONNECT": [(b":method", b"CONNECT"), (b":protocol", b"websocket"), *LEAST[1:]],
    "an unknown pseudo-header": [*LEAST, (b":other", b"x")],
    "upper case": [*LEAST, (b"Accept", b"x")],
    "an empty name": [*LEAST, (b"", b"x")],
    "a space in a name": [*LEAST, (b"a b", b"x")],
    "a colon in a name": [*LEAST, (b"a:b", b"x")],
    "a line break in a value": [*LEAST, (b"a", b"x\r\ny")],
    "a NUL in a value": [*LEAST, (b"a", b"x\0y")],
    "a space before a value": [*LEAST, (b"a", b" x")],
    "a tab behind a value": [*LEAST, (b"a", b"x\t")],
    "connection": [*LEAST, (b"connection", b"close")],
    "keep-alive": [*LEAST, (b"keep-alive", b"5")],
    "proxy-connection": [*LEAST, (b"proxy-connection", b"close")],
    "transfer-encoding": [*LEAST, (b"transfer-encoding", b"chunked")],
    "upgrade": [*LEAST, (b"upgrade", b"h2c")],
    "te of something else": [*LEAST, (b"te", b"gzip")],
    "two hosts": [*LEAST, (b"host", b"a"), (b"host", b"a")],
    "a host that is not the authority": [*LEAST, (b":authority", b"a"), (b"host", b"b")],
    "user information": [*LEAST, (b":authority", b"me@h")],
    "an authority with a path": [*LEAST, (b":authority", b"h/p")],
    "a host with a query": [*LEAST, (b"host", b"h?q")],
    "an authority with a port that is none": [*LEAST, (b":authority", b"h:x")],
    "two lengths": [*POST, (b"content-length", b"3"), (b"content-length", b"4")],
    "a length that is no number": [*POST, (b"content-length", b"+3")],
    "a negative length": [*POST, (b"content-length", b"-3")],
    "an endless length": [*POST, (b"content-length", b"9" * 30)],
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_head_is_refused(what: str) -> None:
    with pytest.raises(MalformedError):
        read_head(MALFORMED[what])


def test_te_may_ask_for_trailers() -> None:
    assert read_head([*LEAST, (b"te", b"trailers")]).headers == [(b"te", b"trailers")]


def test_a_star_asks_the_server_itself() -> None:
    assert read_head([(b":method", b"OPTIONS"), LEAST[1], (b":path", b"*")]).scope["raw_path"] == b"*"


def test_trailers_have_no_pseudo_headers() -> None:
    check_trailers([(b"grpc-status", b"0")])
    with pytest.raises(MalformedError):
        check_trailers([LEAST[0]])


def test_a_block_that_says_the_same_is_read_once() -> None:
    heads, encoder = HeadReader(1 << 16, 128), Encoder()
    headers = [*LEAST, (b"x", b"y")]
    first = heads.head(encoder.encode(headers))
    again = encoder.encode(headers)
    assert heads.head(again) is heads.head(again)
    assert heads.head(again) is not first


def test_a_block_is_read_again_when_the_table_has_changed() -> None:
    heads, encoder = HeadReader(1 << 16, 128), Encoder()
    heads.head(encoder.encode([*LEAST, (b"x", b"old")]))
    newest = encoder.encode([*LEAST, (b"x", b"old")])
    before = heads.head(newest)
    assert before is not None
    assert before.headers == [(b"x", b"old")]
    heads.fields(encoder.encode([(b"x", b"new")]))
    after = heads.head(newest)
    assert after is not None
    assert after.headers == [(b"x", b"new")]


def test_a_block_that_names_what_the_table_has_dropped_is_none() -> None:
    heads, encoder = HeadReader(1 << 16, 128), Encoder()
    headers = [*LEAST, (b"x", b"y")]
    heads.head(encoder.encode(headers))
    again = encoder.encode(headers)
    assert heads.head(again) is not None
    heads.fields(b"\x20")
    with pytest.raises(ConnectionFault):
        heads.head(again)


def test_few_heads_are_remembered_and_no_large_ones() -> None:
    heads = HeadReader(1 << 16, 128)

    def block(value: bytes) -> bytes:
        return Encoder().encode([*LEAST, (b"x", value, True)])  # true: leaves the table alone

    assert heads.head(block(b"x" * 5000)) is not heads.head(block(b"x" * 5000))
    kept = [heads.head(block(b"%d" % number)) for number in range(1000)]
    assert heads.head(block(b"999")) is kept[999]
    assert heads.head(block(b"0")) is not kept[0]
