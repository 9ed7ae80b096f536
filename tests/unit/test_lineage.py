"""What a run has set off elsewhere."""

import asyncio
import contextvars
import logging
import threading

import pytest

from dragoman.lineage import Lineage, current_lineage, open_lineage


def test_a_canceled_run_cancels_its_children_once_the_last_first() -> None:
    lineage, canceled = Lineage(), list[str]()
    for name in ("a", "b", "c"):
        lineage.adopt(lambda name=name: canceled.append(name))  # type: ignore[misc]  # a default binds the name
    lineage.cancel()
    lineage.cancel()
    assert canceled == ["c", "b", "a"]
    assert lineage.canceled


def test_a_child_that_has_ended_is_left_alone() -> None:
    lineage, canceled = Lineage(), list[str]()
    ended = lineage.adopt(lambda: canceled.append("a"))
    lineage.adopt(lambda: canceled.append("b"))
    ended()
    ended()
    lineage.cancel()
    assert canceled == ["b"]


def test_a_child_of_a_canceled_run_is_canceled_at_once() -> None:
    lineage, canceled = Lineage(), list[str]()
    lineage.cancel()
    lineage.adopt(lambda: canceled.append("late"))
    assert canceled == ["late"]


def test_a_child_that_cannot_be_canceled_does_not_keep_the_others(caplog: pytest.LogCaptureFixture) -> None:
    lineage, canceled = Lineage(), list[str]()
    lineage.adopt(lambda: canceled.append("a"))

    def broken() -> None:
        raise OSError("no way there")

    lineage.adopt(broken)
    with caplog.at_level(logging.ERROR):
        lineage.cancel()
    assert canceled == ["a"]
    assert "no way there" in caplog.text


async def test_a_lineage_reaches_the_tasks_and_threads_of_its_run_and_nobody_else() -> None:
    found: list[Lineage | None] = []

    async def look() -> None:
        found.append(current_lineage())

    async def run() -> Lineage:
        lineage = open_lineage()
        await asyncio.create_task(look())
        await asyncio.to_thread(lambda: found.append(current_lineage()))
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(lambda: found.append(current_lineage()),))
        thread.start()
        await asyncio.to_thread(thread.join, 10)
        return lineage

    lineage = await asyncio.create_task(run())
    assert found == [lineage] * 3
    assert current_lineage() is None


async def test_a_run_within_a_run_has_a_lineage_of_its_own() -> None:
    outer = open_lineage()

    async def inner() -> bool:
        return open_lineage() is current_lineage() is not outer

    assert await asyncio.create_task(inner())
    assert current_lineage() is outer
