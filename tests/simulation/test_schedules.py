"""Schedules by the thousand, in a process of their own: `make sim` with fewer."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.simulation.loop import PROCESS, Deadlock, SeededLoop
from tests.simulation.twins import TWINS

ROOT = Path(__file__).parents[2]
SCHEDULES = 1200


def sim(*arguments: str, hashes: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scripts.sim", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hashes},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def test_every_schedule_keeps_every_promise_and_every_broken_twin_is_caught() -> None:
    run = sim("--schedules", str(SCHEDULES))
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.count("caught") == len(TWINS)


@pytest.mark.parametrize("seed", [3, 6, 17, 105])
def test_the_same_seed_is_the_same_schedule(seed: int) -> None:
    one, other = sim("--seed", str(seed), hashes="1"), sim("--seed", str(seed), hashes="2")
    assert one.stdout.startswith("Outcome(")
    assert one.stdout == other.stdout


def test_time_moves_on_when_nobody_has_anything_to_do() -> None:
    loop = SeededLoop.of(Random(1))

    async def wait() -> list[float]:
        times: list[float] = []
        for seconds in (3600.0, 0.5, 0.0):
            await asyncio.sleep(seconds)
            times.append(loop.time())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await asyncio.sleep(20)
        return [*times, loop.time()]

    assert loop.run_until_complete(wait()) == [3600.0, 3600.5, 3600.5, 3610.5]


def orders(seed: int) -> list[str]:
    """Who had the turns, of two processes with three steps each."""
    loop = SeededLoop.of(Random(seed))
    turns: list[str] = []

    async def steps(name: str) -> None:
        PROCESS.set(name)
        for number in range(3):
            await asyncio.sleep(0)
            turns.append(f"{name}{number}")

    async def both() -> None:
        await asyncio.gather(steps("a"), steps("b"))

    loop.run_until_complete(both())
    return turns


def test_processes_take_turns_as_the_seed_says_and_each_keeps_its_own_order() -> None:
    assert orders(1) == orders(1)
    assert len({tuple(orders(seed)) for seed in range(20)}) > 1
    for seed in range(20):
        assert [turn for turn in orders(seed) if turn.startswith("a")] == ["a0", "a1", "a2"]


def test_a_paused_process_goes_on_later_and_a_dead_one_never() -> None:
    loop = SeededLoop.of(Random(1))
    done: list[tuple[str, float]] = []

    async def work(name: str) -> None:
        await asyncio.sleep(1)
        done.append((name, loop.time()))

    def begin(name: str) -> None:
        PROCESS.set(name)
        loop.create_task(work(name))

    async def watch() -> None:
        for name in ("well", "paused", "dead"):
            loop.call_soon(begin, name)
        await asyncio.sleep(0.5)
        loop.pause("paused")
        loop.kill("dead")
        await asyncio.sleep(4.5)
        loop.resume("paused")
        await asyncio.sleep(5)

    loop.run_until_complete(watch())
    assert done == [("well", 1.0), ("paused", 5.0)]


def test_waiting_for_what_never_comes_is_told() -> None:
    loop = SeededLoop.of(Random(1))
    with pytest.raises(Deadlock):
        loop.run_until_complete(loop.create_future())
