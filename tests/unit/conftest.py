"""Every test here ends in time, whatever it waits for."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

LONGEST = 30.0
"""Seconds that one test may take."""


def pytest_runtest_setup(item: pytest.Item) -> None:
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        item.obj = _bounded(item.obj)


def _bounded(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def bounded(*args: Any, **kwargs: Any) -> None:
        async with asyncio.timeout(LONGEST):
            await test(*args, **kwargs)

    return bounded
