"""Agents behind a wire: in process, with the raw bytes in both bindings."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent
from dragoman.testing.bridge import AsgiBridge
from tests.behaviour.agents import echo
from tests.behaviour.wire import BINDINGS, Serve, Start, Wire, wire_to


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Every test here ends in time, whatever it waits for."""
    if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
        item.obj = _bounded(item.obj)


def _bounded(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def bounded(*args: Any, **kwargs: Any) -> None:
        async with asyncio.timeout(60):
            await test(*args, **kwargs)

    return bounded


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> str:
    """Each core binding in turn."""
    return str(request.param)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each store in turn, as an agent takes it."""
    return "memory" if request.param == "memory" else f"sqlite:///{tmp_path / 'tasks.db'}"


@pytest.fixture
async def started() -> AsyncIterator[Start]:
    """Starts ASGI applications and ends them after the test."""
    async with AsyncExitStack() as stack:

        async def start(app: Any) -> AsgiBridge:
            return await stack.enter_async_context(AsgiBridge(app))

        yield start


@pytest.fixture
async def serve(binding: str, started: Start) -> Serve:
    """Serves an agent, and gives the wire to it in one of the bindings."""

    async def serving(agent: Agent) -> Wire:
        app = agent.asgi()
        wire = await wire_to(await started(app), binding)
        wire.app = app
        return wire

    return serving


@pytest.fixture
async def over_jsonrpc(started: Start) -> Wire:
    """An echoing agent over JSON-RPC, for what only that binding has."""
    return await wire_to(await started(echo().asgi()), "JSONRPC")


@pytest.fixture
async def over_http(started: Start) -> Wire:
    """An echoing agent over HTTP+JSON, for what only that binding has."""
    return await wire_to(await started(echo().asgi()), "HTTP+JSON")
