"""How deliveries share the event loop with calls."""

import asyncio
from collections.abc import Callable

import pytest

from dragoman.push.pace import HIDDEN, SHARE, Metered, Pace

STEP = 0.0005


class Machine:
    """One thread with two kinds of work, in small steps: calls, which want a part of its time, and deliveries."""

    def __init__(self, crowd: float = 0.0) -> None:
        self.crowd = crowd
        self.kept_waiting = 0.0
        self.now = 0.0
        self.ran = 0.0
        self.pace = Pace(lambda: self.now, self)
        self.delivered = 0.0
        self.called = 0.0

    def run(self, seconds: float, *, calls: Callable[[float], bool], cost: float = STEP) -> None:
        """For so long; `calls` says whether there is a call to answer, which goes first every other time."""
        until, turn = self.now + seconds, False
        held = 0.0
        while self.now < until:
            turn = not turn
            if turn and calls(self.now):
                self._use(STEP)
                self.called += STEP
            elif self.now >= held:
                held = self.now + self.pace.wait()
                if held <= self.now:
                    self._use(cost * HIDDEN)
                    self.delivered += cost * HIDDEN
                    self.pace.spent(cost)
            elif calls(self.now):
                self._use(STEP)
                self.called += STEP
            else:
                self.now += STEP

    def used(self) -> float:
        return self.ran

    def waited(self) -> float:
        return self.kept_waiting

    def close(self) -> None:
        """Nothing is open."""

    def _use(self, seconds: float) -> None:
        """Runs, and is kept waiting for as much as others on the same machine take."""
        self.now += seconds * (1 + self.crowd)
        self.ran += seconds
        self.kept_waiting += seconds * self.crowd


def test_with_nothing_else_to_do_deliveries_have_nearly_all_of_it() -> None:
    machine = Machine()
    machine.run(5.0, calls=lambda _: False)
    assert machine.delivered > 0.9 * 5


def test_under_calls_without_end_they_have_a_small_share_and_always_that() -> None:
    machine = Machine()
    machine.run(1.0, calls=lambda _: True)
    machine.delivered = 0.0
    machine.run(5.0, calls=lambda _: True)
    assert 0.5 * SHARE < machine.delivered / 5 < 1.5 * SHARE
    assert machine.called / 6 > 0.8


def test_that_others_have_the_processor_too_makes_no_difference() -> None:
    machine = Machine(crowd=4.0)
    machine.run(5.0, calls=lambda _: True)
    machine.delivered = machine.ran = 0.0
    machine.run(20.0, calls=lambda _: True)
    assert machine.delivered / machine.ran < 1.5 * SHARE
    machine.run(2.0, calls=lambda _: False)
    machine.delivered = machine.ran = 0.0
    machine.run(5.0, calls=lambda _: False)
    assert machine.delivered / machine.ran > 0.99


def test_callers_that_deliveries_have_slowed_down_are_found_out() -> None:
    machine = Machine()
    # They have so little because deliveries have the most: one call, and then a delivery of fifty times its length.
    machine.run(0.5, calls=lambda _: True, cost=50 * STEP)
    machine.delivered = 0.0
    machine.run(5.0, calls=lambda _: True, cost=50 * STEP)
    assert machine.delivered / 5 < 2 * SHARE


def test_when_calls_end_deliveries_have_all_of_it_soon() -> None:
    machine = Machine()
    machine.run(3.0, calls=lambda _: True)
    machine.run(0.4, calls=lambda _: False)
    machine.delivered = 0.0
    machine.run(1.0, calls=lambda _: False)
    assert machine.delivered > 0.9


def test_a_few_calls_are_no_reason_to_hold_back() -> None:
    machine = Machine()
    machine.run(5.0, calls=lambda now: now % 0.025 < STEP)
    assert machine.delivered > 0.75 * 5


def test_a_long_delivery_is_paid_for_later() -> None:
    machine = Machine()
    machine.run(1.0, calls=lambda _: True)
    machine.pace.spent(0.05)
    assert machine.pace.wait() > 0


# The meter.


async def test_the_meter_counts_the_steps_of_the_work_and_not_its_waits() -> None:
    times = iter(range(100))
    spent: list[float] = []

    async def work() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "done"

    assert await Metered(work(), lambda: float(next(times)), spent.append) == "done"
    assert spent == [1.0] * 3


async def test_what_the_work_raises_comes_through() -> None:
    async def work() -> None:
        await asyncio.sleep(0)
        raise ValueError("so")

    with pytest.raises(ValueError, match="so"):
        await Metered(work(), lambda: 0.0, lambda _: None)


async def test_a_cancellation_reaches_the_work_which_may_clean_up() -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            seen.append("cleaned")

    async def metered() -> None:
        await Metered(work(), lambda: 0.0, lambda _: None)

    task = asyncio.get_running_loop().create_task(metered())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cleaned"]


async def test_time_limits_work_inside() -> None:
    async def work() -> str:
        try:
            async with asyncio.timeout(0.001):
                await asyncio.Event().wait()
        except TimeoutError:
            return "late"
        return "early"

    assert await Metered(work(), lambda: 0.0, lambda _: None) == "late"
