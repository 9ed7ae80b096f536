"""The agent inside another application: under a path, with and without a slash, opened and closed with it."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from dragoman import Agent, ConfigurationError
from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.errors import TaskNotFoundError
from dragoman.testing.bridge import AsgiBridge

FRAMEWORKS = pytest.mark.parametrize("framework", [Starlette, FastAPI])


def echo(name: str) -> Agent:
    agent = Agent(name, "Says back.", store="memory")

    @agent.skill
    async def say(text: str) -> str:
        return f"{name}: {text}"

    return agent


async def asked(bridge: AsgiBridge, path: str, text: str = "hi") -> HttpReply:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "SendMessage",
        "params": {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": text}]}},
    }
    headers = {"content-type": "application/json", "a2a-version": "1.0"}
    return await bridge.send(HttpRequest("POST", path, "", headers, json.dumps(body).encode()))


def said(reply: HttpReply) -> str:
    assert reply.status == 200, reply
    return str(json.loads(reply.body)["result"]["task"]["artifacts"][0]["parts"][0]["text"])


@FRAMEWORKS
async def test_an_agent_answers_at_its_mount_with_and_without_a_slash(framework: Any) -> None:
    app = framework()
    echo("echo").mount(app, "/agents/echo")
    async with AsgiBridge(app) as bridge:
        assert said(await asked(bridge, "/agents/echo")) == "echo: hi"
        assert said(await asked(bridge, "/agents/echo/")) == "echo: hi"
        card = await bridge.send(HttpRequest("GET", "/agents/echo/.well-known/agent-card.json"))
        urls = list(dict.fromkeys(entry["url"] for entry in json.loads(card.body)["supportedInterfaces"]))
        assert urls == ["http://agent.test/agents/echo/", "http://agent.test/agents/echo"]


@FRAMEWORKS
async def test_several_agents_and_the_application_itself_live_side_by_side(framework: Any) -> None:
    async def home(_request: Request) -> PlainTextResponse:
        return PlainTextResponse("home")

    app = framework()
    app.router.add_route("/home", home)
    echo("one").mount(app, "/one/")
    echo("two").mount(app, "two")
    async with AsgiBridge(app) as bridge:
        assert said(await asked(bridge, "/one")) == "one: hi"
        assert said(await asked(bridge, "/two/")) == "two: hi"
        assert (await bridge.send(HttpRequest("GET", "/home"))).body == b"home"
        assert (await asked(bridge, "/oneself")).status in {404, 405}


@FRAMEWORKS
async def test_an_agent_at_the_root_takes_what_is_left(framework: Any) -> None:
    app = framework()
    echo("root").mount(app, "/")
    async with AsgiBridge(app) as bridge:
        assert said(await asked(bridge, "/")) == "root: hi"


@FRAMEWORKS
async def test_a_mounted_agent_opens_and_closes_with_the_application(framework: Any) -> None:
    seen: list[str] = []
    agent = echo("inner")

    @asynccontextmanager
    async def lifespan(_app: Any) -> AsyncGenerator[dict[str, str]]:
        # It is open before the application's own lifespan begins, and until that has ended.
        with pytest.raises(TaskNotFoundError):
            await agent.authorize("unknown")
        seen.append("open")
        yield {"from": "lifespan"}
        with pytest.raises(TaskNotFoundError):
            await agent.authorize("unknown")
        seen.append("closing")

    app = framework(lifespan=lifespan)
    agent.mount(app, "/agent")
    with pytest.raises(ConfigurationError, match="not being served"):
        await agent.authorize("unknown")
    async with AsgiBridge(app) as bridge:
        assert said(await asked(bridge, "/agent")) == "inner: hi"
    assert seen == ["open", "closing"]
    with pytest.raises(ConfigurationError, match="not being served"):
        await agent.authorize("unknown")


async def test_an_application_without_lifespan_is_opened_by_its_first_request() -> None:
    agent = echo("lazy")
    application = agent.asgi()

    async def no_lifespan(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            raise RuntimeError("not here")
        await application(scope, receive, send)

    async with AsgiBridge(no_lifespan) as bridge:
        assert said(await asked(bridge, "/")) == "lazy: hi"


def test_what_is_no_framework_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"asgi\(\)"):
        echo("x").mount(object(), "/x")
