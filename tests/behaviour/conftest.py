"""Agents behind a wire: in process, with the raw bytes, in every cell."""

import asyncio
import functools
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent
from tests.behaviour.addresses import Called, somewhere
from tests.behaviour.agents import echo
from tests.behaviour.cells import FINAL_JSON, Cell, cells_of
from tests.behaviour.rpc import Bridge
from tests.behaviour.sockets import Over
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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "without(*losses): cells that lose what the test is about are left out")
    config.addinivalue_line("markers", "only(*cells): the test runs in these cells alone")


STORES = ("memory", "sqlite")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each cell in turn, and each store; both stores only where the wire is of 1.0 over JSON: no store knows a wire."""
    stores = STORES if "store" in metafunc.fixturenames else ("memory",)
    if {"cell", "store_kind"} <= set(metafunc.fixturenames):
        cells = cells_of(metafunc.definition.iter_markers)
        pairs = [(cell, store) for cell in cells for store in (stores if cell in FINAL_JSON else stores[:1])]
        ids = [f"{cell.key}-{store}" if len(stores) > 1 else cell.key for cell, store in pairs]
        metafunc.parametrize(("cell", "store_kind"), pairs, ids=ids)
    elif "store_kind" in metafunc.fixturenames:
        metafunc.parametrize("store_kind", stores)


@pytest.fixture(params=BINDINGS)
def binding(request: pytest.FixtureRequest) -> str:
    """Each binding of 1.0 over JSON in turn, where a test starts applications of its own."""
    return str(request.param)


@pytest.fixture
def store(store_kind: str, tmp_path: Path) -> str:
    """Each store in turn, as an agent takes it."""
    return "memory" if store_kind == "memory" else f"sqlite:///{tmp_path / 'tasks.db'}"


@pytest.fixture
async def started() -> AsyncIterator[Start]:
    """Starts ASGI applications and ends them after the test."""
    async with AsyncExitStack() as stack:

        async def start(app: Any) -> Bridge:
            return await stack.enter_async_context(Bridge(app))

        yield start


@pytest.fixture
async def serve(cell: Cell, store_kind: str, started: Start) -> Serve:
    """Serves an agent, and gives the wire to it in one of the cells."""

    async def serving(agent: Agent) -> Wire:
        app = agent.asgi()
        wire = await wire_to(await started(app), cell)
        wire.app = app
        return wire

    return serving


@pytest.fixture
def called(cell: Cell, store_kind: str, started: Start) -> Called:
    """Serves an agent to callers who call from where they say, and gives the wire to it in one of the cells."""

    async def serving(agent: Agent) -> Wire:
        return await wire_to(await started(somewhere(agent.asgi())), cell)

    return serving


@pytest.fixture
async def over_jsonrpc(started: Start) -> Wire:
    """An echoing agent over JSON-RPC, for what only that binding has."""
    return await wire_to(await started(echo().asgi()), "JSONRPC")


@pytest.fixture
async def over_http(started: Start) -> Wire:
    """An echoing agent over HTTP+JSON, for what only that binding has."""
    return await wire_to(await started(echo().asgi()), "HTTP+JSON")


@pytest.fixture(params=("JSONRPC", "HTTP+JSON", "GRPC"))
async def over(request: pytest.FixtureRequest) -> AsyncIterator[Over]:
    """Each binding in turn."""
    async with AsyncExitStack() as stack:
        yield Over(request.param, stack)
