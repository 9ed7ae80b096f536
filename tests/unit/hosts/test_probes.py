"""What balancers ask: `/healthz` for as long as the process answers, `/readyz` while calls are taken."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.applications import Starlette

from dragoman import Agent, TaskContext
from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.engine.service import Service
from dragoman.hosts.probes import Probes
from dragoman.server import Application
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import ScriptedAgent
from dragoman.testing.bridge import AsgiBridge
from dragoman.types.card import AgentCapabilities
from tests.unit.engine.stage import Stage, staged


def new_app(store: str = "memory") -> Application:
    agent = Agent("Probed", "Is asked how it is.", store=store)

    @agent.skill
    async def echo(task: TaskContext) -> str:
        return task.text

    return agent.asgi()


async def asked(app: Application, path: str, method: str = "GET") -> HttpReply:
    """The answer of an application that is not told of a lifespan."""
    return await AsgiBridge(app).send(HttpRequest(method, path, "", {}))


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with staged(MemoryStore(), ScriptedAgent()) as open_stage:
        yield open_stage


async def nothing() -> None:
    """Opens what is open."""


async def test_an_application_that_has_been_opened_is_well_and_ready() -> None:
    async with AsgiBridge(new_app()) as bridge:
        for path in ("/healthz", "/readyz"):
            reply = await bridge.send(HttpRequest("GET", path, "", {}))
            assert (reply.status, reply.body) == (200, b'{"status":"ok"}')
            assert reply.headers["content-type"] == "application/json"
            assert reply.headers["cache-control"] == "no-store"


async def test_a_server_that_stops_is_well_and_not_ready(stage: Stage) -> None:
    probes = Probes(stage.service, nothing)
    assert (await probes.reply("GET", "/readyz")).status == 200
    stage.service.end_streams()
    reply = await probes.reply("GET", "/readyz")
    assert (reply.status, reply.body) == (503, b'{"status":"unavailable"}')
    assert (await probes.reply("GET", "/healthz")).status == 200


async def test_a_server_that_has_stopped_is_not_ready_until_it_is_opened_again(stage: Stage) -> None:
    probes = Probes(stage.service, nothing)
    await stage.service.close()
    assert (await probes.reply("GET", "/readyz")).status == 503
    await stage.service.open()
    assert (await probes.reply("GET", "/readyz")).status == 200


async def test_an_application_without_a_lifespan_becomes_ready_by_being_asked() -> None:
    app = new_app()
    assert (await asked(app, "/readyz")).status == 200


async def test_an_application_whose_store_does_not_open_is_well_and_not_ready(tmp_path: Path) -> None:
    app = new_app(f"sqlite:///{tmp_path}")
    assert (await asked(app, "/readyz")).status == 503
    assert (await asked(app, "/healthz")).status == 200


def test_a_service_that_was_never_opened_is_not_ready(stage: Stage) -> None:
    assert not Service(stage.world, AgentCapabilities()).ready


async def test_head_tells_the_same_without_a_body_and_other_verbs_are_refused() -> None:
    app = new_app()
    head = await asked(app, "/healthz", "HEAD")
    assert (head.status, head.headers["content-length"], head.body) == (200, "15", b"")
    post = await asked(app, "/readyz", "POST")
    assert (post.status, post.headers["allow"]) == (405, "GET, HEAD")


async def test_probes_are_under_the_mount() -> None:
    outer = Starlette()
    new = Agent("Mounted", "Is under a path.", store="memory")

    @new.skill
    async def echo(task: TaskContext) -> str:
        return task.text

    new.mount(outer, "/agents/one")
    async with AsgiBridge(outer) as bridge:
        assert (await bridge.send(HttpRequest("GET", "/agents/one/readyz", "", {}))).status == 200
        assert (await bridge.send(HttpRequest("GET", "/readyz", "", {}))).status == 404
