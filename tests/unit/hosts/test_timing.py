"""A wait with an end: what it lets through, and what it stops."""

import asyncio

import pytest

from dragoman.hosts.timing import within


async def at_once() -> str:
    return "done"


async def after(event: asyncio.Event) -> str:
    await event.wait()
    return "done"


async def failing(event: asyncio.Event) -> str:
    await event.wait()
    raise LookupError("nothing there")


async def test_what_ends_at_once_needs_no_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", None)
    assert await within(5, at_once()) == "done"


async def test_what_ends_in_time_gives_its_result_or_its_error() -> None:
    event = asyncio.Event()
    asyncio.get_running_loop().call_soon(event.set)
    assert await within(5, after(event)) == "done"
    event.clear()
    asyncio.get_running_loop().call_soon(event.set)
    with pytest.raises(LookupError, match="nothing there"):
        await within(5, failing(event))


async def test_what_takes_too_long_is_cancelled_and_its_waiter_is_not() -> None:
    stopped = asyncio.Event()

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    with pytest.raises(TimeoutError):
        await within(0.001, endless())
    assert stopped.is_set()
    waiter = asyncio.current_task()
    assert waiter is not None
    assert waiter.cancelling() == 0


async def test_a_cancellation_from_outside_is_no_timeout() -> None:
    waiting = asyncio.create_task(within_a_task())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def within_a_task() -> None:
    await within(5, after(asyncio.Event()))


async def test_of_two_waits_the_one_whose_time_is_over_ends() -> None:
    never = asyncio.Event()

    async def inner() -> str:
        try:
            return await within(5, after(never))
        except TimeoutError:
            return "the inner one"

    with pytest.raises(TimeoutError):
        await within(0.001, inner())
