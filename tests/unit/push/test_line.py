"""What a line has of its task's log."""

import pytest
from msgspec.structs import replace

from dragoman.ports.call import Scope
from dragoman.ports.tasks import Entry
from dragoman.push.line import LINE_ENTRIES, Line, Space
from tests.unit.push.stage import START, chunk
from tests.unit.push.test_schedule import PUSH

SIZE = 10


def entries(first: int, last: int) -> list[Entry]:
    return [Entry(seq=seq, event=chunk(str(seq))) for seq in range(first, last + 1)]


def heard(line: Line, first: int, last: int, size: int = SIZE) -> None:
    line.hear(entries(first, last), [size] * (last - first + 1), float(last))


def new(space: Space | None = None, *, cursor: int | None = 4) -> Line:
    """A line that is caught up at this number, or was not read yet."""
    push = None if cursor is None else replace(PUSH, cursor=cursor, seq=cursor, created=START)
    return Line("t", "c", Scope(), space or Space(1_000), push)


def taken(line: Line, cursor: int) -> list[int]:
    """What it has after the cursor."""
    seen: list[int] = []
    while (entry := line.next(cursor)) is not None:
        cursor = entry.seq
        seen.append(cursor)
    return seen


def test_it_keeps_what_continues_at_its_cursor() -> None:
    line = new()
    heard(line, 5, 6)
    heard(line, 7, 7)
    assert (line.last, line.behind) == (7, True)
    assert taken(line, 4) == [5, 6, 7]


def test_after_a_gap_the_log_is_asked() -> None:
    line = new()
    heard(line, 6, 6)
    assert (line.last, taken(line, 4)) == (6, [])
    heard(line, 7, 7)
    assert taken(line, 4) == []
    line.read(entries(5, 7), [SIZE] * 3)
    heard(line, 8, 8)
    assert taken(line, 4) == [5, 6, 7, 8]


def test_what_it_knows_already_changes_nothing() -> None:
    line = new()
    heard(line, 5, 6)
    heard(line, 5, 6)
    heard(line, 3, 4)
    assert taken(line, 4) == [5, 6]


def test_before_it_was_read_it_keeps_what_may_fit() -> None:
    line = new(cursor=None)
    heard(line, 2, 3)
    heard(line, 4, 4)
    assert taken(line, 1) == [2, 3, 4]
    line = new(cursor=None)
    heard(line, 4, 5)
    assert taken(line, 1) == []


@pytest.mark.parametrize("size", [SIZE, 100_000])
def test_it_does_not_keep_more_than_there_is_space_for(size: int) -> None:
    space = Space(10_000_000 if size == SIZE else 50_000)
    line = new(space)
    heard(line, 5, 4 + 2 * LINE_ENTRIES, size)
    kept = len(taken(line, 4))
    assert kept == (LINE_ENTRIES if size == SIZE else 0)
    assert line.last == 4 + 2 * LINE_ENTRIES


def test_what_was_read_is_kept_in_part_at_least() -> None:
    line = new(Space(0))
    line.read(entries(5, 7), [SIZE] * 3)
    assert taken(line, 4) == [5]


def test_space_is_given_back() -> None:
    space = Space(100)
    line = new(space)
    heard(line, 5, 8)
    assert space.free == 60
    assert line.next(6) is not None
    assert space.free == 80
    line.close()
    assert (space.free, line.gone) == (100, True)


def test_an_event_waits_since_it_was_heard() -> None:
    line = new()
    line.since = 1.0
    heard(line, 5, 6)
    heard(line, 7, 8)
    assert line.next(5) is not None
    assert line.since == 6.0
    assert line.next(6) is not None
    assert line.since == 8.0
    # Of what the log has nobody knows: what is known is not less than that.
    line.read(entries(9, 9), [SIZE])
    assert line.next(8) is not None
    assert line.since == 8.0
