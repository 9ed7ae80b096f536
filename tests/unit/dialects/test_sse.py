"""Server-sent events, framed and read back however the bytes are split."""

import itertools
import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.dialects.sse import EventReader, ServerSentEvent, frame
from dragoman.errors import ReplyMalformed

STREAM = (
    b"\xef\xbb\xbf: hello\n"
    b"id: 1\ndata: one\n\n"
    b"event: error\r\ndata:two\r\ndata: lines\r\n\r\n"
    b"retry: 1500\rid: 2\rdata\r\r"
    b"unknown: x\nid: a\0b\ndata:  two spaces\n\n"
    b"event: nothing\n\n"
    b"data: caf\xc3\xa9\n\n"
    b"data: never closed\n"
)
EVENTS = [
    ServerSentEvent("one", "message", "1"),
    ServerSentEvent("two\nlines", "error", "1"),
    ServerSentEvent("", "message", "2"),
    ServerSentEvent(" two spaces", "message", "2"),
    ServerSentEvent("caf\u00e9", "message", "2"),
]


def test_a_whole_stream_is_read() -> None:
    reader = EventReader()
    assert reader.feed(STREAM) == EVENTS
    assert reader.retry == 1500


def test_single_bytes_are_enough() -> None:
    reader = EventReader()
    assert [event for byte in STREAM for event in reader.feed(bytes([byte]))] == EVENTS


@given(cuts=st.lists(st.integers(0, len(STREAM))))
def test_it_does_not_matter_where_the_bytes_are_split(cuts: list[int]) -> None:
    reader = EventReader()
    places = [0, *sorted(cuts), len(STREAM)]
    pieces = [STREAM[start:end] for start, end in itertools.pairwise(places)]
    assert [event for piece in pieces for event in reader.feed(piece)] == EVENTS


@pytest.mark.parametrize(
    "chunks",
    [[b"data: " + b"x" * 200], [b"data: " + b"x" * 60 + b"\n", b"data: " + b"x" * 60 + b"\n"], [b"x" * 90, b"x" * 90]],
    ids=["one line", "many lines", "no line end"],
)
def test_an_event_that_is_too_long_ends_the_reading(chunks: list[bytes]) -> None:
    reader = EventReader(max_event_bytes=100)
    *before, last = chunks
    for chunk in before:
        assert reader.feed(chunk) == []
    with pytest.raises(ReplyMalformed, match="longer than 100 bytes"):
        reader.feed(last)


def test_lines_without_a_text_count_as_well() -> None:
    reader = EventReader(max_event_bytes=100)
    with pytest.raises(ReplyMalformed, match="longer than 100 bytes"):
        reader.feed(b"data\n" * 200)


def test_many_short_events_are_no_long_one() -> None:
    reader = EventReader(max_event_bytes=100)
    assert sum(len(reader.feed(b"data: 0123456789\n\n")) for _ in range(100)) == 100


@given(
    value=st.text(st.characters(codec="utf-8")),
    seq=st.none() | st.integers(0, 2**60),
    event=st.none() | st.sampled_from(["error", "ping"]),
)
def test_what_is_framed_is_read_back(value: str, seq: int | None, event: str | None) -> None:
    framed = b": a sign of life\n\n" + frame(msgspec.json.encode(value), seq=seq, event=event)
    (read,) = EventReader().feed(framed)
    assert msgspec.json.decode(read.data) == value
    assert (read.event, read.id) == (event or "message", "" if seq is None else str(seq))


def test_a_frame_has_no_character_that_any_reader_could_take_for_a_line_end() -> None:
    text = "".join(map(chr, [*range(0x100), *range(0x2000, 0x2100), 0x1F600]))
    framed = frame(msgspec.json.encode(text))
    assert len(framed.decode().splitlines()) == len(framed.splitlines()) == 2


@pytest.mark.parametrize("line", [b"data:\n", b"data:a\n", b"data: ab\n", b"data:\xff\n"])
def test_short_lines_take_no_more_memory_than_their_bytes(line: bytes) -> None:
    reader = EventReader(max_event_bytes=128 * 1024)
    tracemalloc.start()
    try:
        with pytest.raises(ReplyMalformed, match="longer than"):
            list(map(reader.feed, itertools.repeat(line * 100)))
        assert tracemalloc.get_traced_memory()[1] < 512 * 1024
    finally:
        tracemalloc.stop()


def test_an_event_is_as_long_as_it_was_on_the_wire() -> None:
    reader = EventReader(max_event_bytes=60)
    assert [event.data for event in reader.feed(b"data:\n" * 10 + b"\n")] == ["\n" * 9]
    with pytest.raises(ReplyMalformed, match="longer than"):
        reader.feed(b"data:\n" * 11)
