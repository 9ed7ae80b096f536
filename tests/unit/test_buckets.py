"""Token buckets in a bounded table."""

import tracemalloc
from typing import Any

import pytest

from dragoman.buckets import MOST_KEYS, Buckets
from dragoman.errors import ConfigurationError
from dragoman.ports.limits import CallLimits, Rate


class Time:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def test_the_burst_is_taken_at_once_and_one_more_has_to_wait() -> None:
    time = Time()
    buckets: Buckets[str] = Buckets(Rate(500, 1_000), time)
    assert [buckets.take("a") for _ in range(1_000)] == [0.0] * 1_000
    assert buckets.take("a") == pytest.approx(1 / 500, rel=0.01)
    assert buckets.take("b") == 0.0


def test_who_waits_as_long_as_told_gets_one_token_and_no_more() -> None:
    time = Time()
    buckets: Buckets[str] = Buckets(Rate(0.5, 3), time)
    for _ in range(3):
        buckets.take("a")
    wait = buckets.take("a")
    assert wait == pytest.approx(2.0, rel=0.01)
    assert buckets.wait("a") == wait
    time.now += wait - 0.1
    assert buckets.take("a") > 0
    time.now += 0.1
    assert (buckets.take("a"), buckets.take("a") > 0) == (0.0, True)


def test_a_rest_fills_the_bucket_and_no_more_than_that() -> None:
    time = Time()
    buckets: Buckets[str] = Buckets(Rate(1, 5), time)
    for _ in range(5):
        buckets.take("a")
    assert "a" in buckets
    time.now += 3_600
    assert "a" not in buckets
    assert [buckets.take("a") == 0.0 for _ in range(6)] == [True] * 5 + [False]


def test_a_hundred_thousand_keys_take_bounded_room_and_none_is_refused() -> None:
    time = Time()
    buckets: Buckets[str] = Buckets(Rate(0.01, 2), time)
    tracemalloc.start()
    try:
        for number in range(100_000):
            assert buckets.take(f"key {number}") == 0.0
            time.now += 0.0001
        used = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(buckets) <= MOST_KEYS
    assert used < MOST_KEYS * 300


def test_who_has_used_up_most_is_remembered_to_the_last() -> None:
    time = Time()
    buckets: Buckets[str] = Buckets(Rate(0.01, 10), time, most=100)
    for _ in range(10):
        buckets.take("offender")
    for number in range(100_000):
        buckets.take(f"key {number}")
    assert buckets.take("offender") > 0


def test_what_is_full_again_gives_way_before_anything_else() -> None:
    time = Time()
    buckets: Buckets[str] = Buckets(Rate(1, 10), time, most=10)
    for number in range(9):
        buckets.take(f"rested {number}")
    time.now += 5
    buckets.take("lately")
    buckets.take("one more")
    assert len(buckets) == 2
    assert "lately" in buckets


@pytest.mark.parametrize(("per_second", "burst"), [(0, 1), (-1, 1), (float("inf"), 1), (float("nan"), 1), (1, 0)])
def test_a_rate_that_is_none_is_refused(per_second: float, burst: int) -> None:
    with pytest.raises(ConfigurationError, match="a rate is more than 0"):
        Rate(per_second, burst)


@pytest.mark.parametrize("name", CallLimits.__struct_fields__)
def test_a_limit_is_positive_or_none_where_it_may_be(name: str) -> None:
    zero: dict[str, Any] = {name: 0}
    off: dict[str, Any] = {name: None}
    if isinstance(getattr(CallLimits(), name), int):
        with pytest.raises(ConfigurationError, match=f"{name} must be more than 0"):
            CallLimits(**zero)
    if name in {"max_body_bytes", "max_id_length", "max_names", "max_name_length"}:
        with pytest.raises(ConfigurationError, match=f"{name} cannot be switched off"):
            CallLimits(**off)
    else:
        assert getattr(CallLimits(**off), name) is None
