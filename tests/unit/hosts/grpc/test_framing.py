"""Messages of gRPC on the wire: prefixes, compression, limits, and bytes that are no messages."""

import contextlib
import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import RequestTooLargeError
from dragoman.hosts.grpc.framing import MessageReader, frame, unframe
from dragoman.hosts.grpc.status import Code, Fault
from tests.unit.hosts.grpc.driver import framed, unframed

LIMIT = 10_000


def code_of(body: bytes, encoding: str = "") -> Code:
    with pytest.raises(Fault) as caught:
        unframe(body, encoding, LIMIT)
    return caught.value.code


@pytest.mark.parametrize("message", [b"", b"x", b"hello" * 300], ids=len)
def test_a_message_comes_back_as_it_was(message: bytes) -> None:
    assert frame(message) == framed(message)
    assert unframe(frame(message), "", LIMIT) == message
    assert unframe(frame(message, gzip=True), "gzip", LIMIT) == message


def test_only_what_gets_smaller_is_compressed() -> None:
    assert frame(b"x" * 1024, gzip=True)[0] == 0
    packed = frame(b"x" * 1025, gzip=True)
    assert packed[0] == 1
    assert len(packed) < 100
    assert gzip.decompress(packed[5:]) == b"x" * 1025


def test_a_message_need_not_be_compressed_where_it_could_be() -> None:
    assert unframe(framed(b"plain"), "gzip", LIMIT) == b"plain"
    assert unframe(framed(b"plain"), "snappy", LIMIT) == b"plain"


def test_compression_that_is_not_named_or_not_known_is_said_so() -> None:
    assert code_of(framed(gzip.compress(b"x"), 1)) is Code.INTERNAL
    assert code_of(framed(gzip.compress(b"x"), 1), "identity") is Code.INTERNAL
    assert code_of(framed(zlib.compress(b"x"), 1), "deflate") is Code.UNIMPLEMENTED


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"junk",
        gzip.compress(b"x", mtime=0)[:-1],
        gzip.compress(b"x", mtime=0) + b"y",
        gzip.compress(b"x", mtime=0) * 2,
    ],
)
def test_what_is_not_one_gzip_stream_is_refused(packed: bytes) -> None:
    assert code_of(framed(packed, 1), "gzip") is Code.INTERNAL


@pytest.mark.parametrize("body", [b"", framed(b"a") * 2, framed(b"") * 100_000], ids=["none", "two", "many"])
def test_a_call_takes_exactly_one_message(body: bytes) -> None:
    assert code_of(body) is Code.UNIMPLEMENTED


@pytest.mark.parametrize("body", [b"\0", b"\0\0\0\0", framed(b"hello")[:-1], framed(b"a") + b"\0"])
def test_what_is_cut_off_is_refused(body: bytes) -> None:
    assert code_of(body) is Code.INTERNAL


@pytest.mark.parametrize("flag", [2, 128, 255])
def test_a_flag_without_meaning_is_refused(flag: int) -> None:
    assert code_of(framed(b"hello", flag)) is Code.INTERNAL


def test_a_message_may_be_as_long_as_the_limit() -> None:
    assert len(unframe(framed(b"x" * LIMIT), "", LIMIT)) == LIMIT
    assert len(unframe(framed(gzip.compress(b"x" * LIMIT), 1), "gzip", LIMIT)) == LIMIT
    with pytest.raises(RequestTooLargeError, match="10000 bytes"):
        unframe(framed(b"x" * (LIMIT + 1)), "", LIMIT)
    with pytest.raises(RequestTooLargeError):
        unframe(framed(gzip.compress(b"x" * (LIMIT + 1)), 1), "gzip", LIMIT)


def test_a_message_that_says_it_is_too_long_is_not_waited_for() -> None:
    with pytest.raises(RequestTooLargeError):
        list(MessageReader("", LIMIT).feed(b"\0\xff\xff\xff\xff"))


def test_a_bomb_is_not_blown_up() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    tracemalloc.start()
    try:
        with pytest.raises(RequestTooLargeError):
            unframe(framed(bomb, 1), "gzip", 60_000)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@given(st.lists(st.binary(max_size=40), max_size=8), st.data())
def test_messages_are_read_however_they_are_cut_up(messages: list[bytes], data: st.DataObject) -> None:
    wire = b"".join(framed(message) for message in messages)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(wire)), max_size=6)))
    reader = MessageReader("", LIMIT)
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(wire)], strict=True):
        found += reader.feed(wire[start:end])
    reader.end()
    assert found == messages == unframed(wire)


@given(st.binary(max_size=200), st.sampled_from(["", "gzip", "identity", "br"]))
def test_any_bytes_are_a_message_or_a_fault(body: bytes, encoding: str) -> None:
    with contextlib.suppress(Fault, RequestTooLargeError):
        assert isinstance(unframe(body, encoding, 100), bytes)
