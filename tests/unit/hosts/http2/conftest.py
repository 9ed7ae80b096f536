"""Every test here runs on both event loops that the server runs on."""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable

import pytest
import uvloop


@pytest.hookimpl
def pytest_asyncio_loop_factories() -> dict[str, Callable[[], AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
