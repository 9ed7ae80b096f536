"""The fake clock and the fake identifiers keep the promises of the ports."""

from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from dragoman.ports.world import Clock, Ids
from dragoman.testing.clock import FakeClock, FakeIds


def test_the_clock_moves_by_hand_only() -> None:
    fake = FakeClock(datetime(2031, 5, 6, 7, 8, 9, 123_456, tzinfo=timezone(timedelta(hours=2))))
    clock: Clock = fake
    start = datetime(2031, 5, 6, 5, 8, 9, 123_000, tzinfo=UTC)
    assert [clock.now(), clock.now()] == [start, start]
    assert fake.advance(1.5) == clock.now() == start + timedelta(seconds=1.5)
    assert clock.now().utcoffset() == timedelta(0)


def test_the_clock_is_cut_to_milliseconds() -> None:
    clock = FakeClock()
    start = clock.now()
    assert clock.advance(0.0019) == start + timedelta(milliseconds=1)


def test_the_clock_refuses_what_no_clock_does() -> None:
    clock = FakeClock()
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="zone"):
        FakeClock(datetime(2030, 1, 1))  # noqa: DTZ001 -- that it has no zone is the point


def test_ids_are_uuids_that_differ_and_repeat_from_run_to_run() -> None:
    def some(ids: Ids) -> list[str]:
        return [ids.new(), ids.task("", "c"), ids.new(), ids.task("acme", "c")]

    made = some(FakeIds())
    assert len(set(made)) == 4
    assert made == some(FakeIds())
    assert [str(UUID(one)) for one in made] == made
    assert {UUID(one).version for one in made} == {4}


def test_the_first_byte_of_a_task_id_tells_tenant_and_context() -> None:
    ids = FakeIds()
    assert ids.task("acme", "c")[:2] == ids.task("acme", "c")[:2]
    assert len({ids.task("acme", str(number))[:2] for number in range(100)}) > 50
    assert ids.task("a", "bc")[:2] != ids.task("ab", "c")[:2]
