"""How long a client waits between attempts, without a clock."""

from datetime import UTC, datetime

import pytest

from dragoman.client.pacing import Pauses, seconds_until


class Slept:
    """The pauses that were made, with chance always the same."""

    def __init__(self, chance: float) -> None:
        self.seconds: list[float] = []
        self.pauses = Pauses(2.0, chance=lambda: chance, sleep=self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.seconds.append(round(seconds, 6))


async def test_looks_grow_apart_and_never_come_closer_than_the_interval() -> None:
    early, late = Slept(0.0), Slept(1.0)
    for slept in (early, late):
        for _ in range(6):
            await slept.pauses.after_look()
    assert early.seconds == [2.0, 4.0, 8.0, 16.0, 20.0, 20.0]
    assert late.seconds == [2.2, 4.4, 8.8, 17.6, 22.0, 22.0]


async def test_after_cuts_any_part_of_a_growing_limit_is_waited() -> None:
    early, late = Slept(0.0), Slept(1.0)
    for slept in (early, late):
        for _ in range(8):
            await slept.pauses.after_cut()
    assert early.seconds == [0.0] * 8
    assert late.seconds == [0.2, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0, 20.0]


async def test_news_begins_it_all_anew() -> None:
    slept = Slept(1.0)
    for attempt in (slept.pauses.after_look, slept.pauses.after_cut):
        await attempt()
        await attempt()
        slept.pauses.news()
        await attempt()
        assert slept.seconds[-3] == slept.seconds[-1] < slept.seconds[-2]
        slept.pauses.news()


async def test_a_wish_of_the_agent_comes_first_and_has_a_limit() -> None:
    slept = Slept(0.5)
    await slept.pauses.after_cut(30.0)
    await slept.pauses.after_cut(1e6)
    assert slept.seconds == [30.1, 601.0]


async def test_pauses_do_not_outgrow_numbers() -> None:
    slept = Slept(1.0)
    for _ in range(5000):
        await slept.pauses.after_cut()
    assert slept.seconds[-1] == 20.0


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("field", "seconds"),
    [
        ("120", 120.0),
        (" 5 ", 5.0),
        ("0", 0.0),
        ("9" * 500, 999_999_999.0),
        ("Fri, 02 Jan 2026 03:05:05 GMT", 60.0),
        ("Fri, 02 Jan 2026 04:05:05 +0100", 60.0),
        ("Fri, 02 Jan 2026 03:05:05 -0000", 60.0),
        ("Fri, 02 Jan 2026 03:00:00 GMT", 0.0),
        ("", None),
        ("-5", None),
        ("1.5", None),
        ("soon", None),
        ("\u0665", None),
        ("Fri, 99 Jan 2026 03:05:05 GMT", None),
        (f"Fri, 02 Jan {'9' * 30} 03:05:05 GMT", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(field: str, seconds: float | None) -> None:
    assert seconds_until(field, lambda: NOW) == seconds
