"""Mounted under a path, in other frameworks, beside other agents, and with bindings from outside."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from dragoman import Agent, AgentInterface
from dragoman.dialects.base import HttpRequest
from dragoman.operations import SEND_MESSAGE
from dragoman.ports.call import CallContext
from dragoman.testing.bridge import AsgiBridge
from dragoman.types import Message, Part, Role
from dragoman.types.requests import SendMessageRequest
from tests.behaviour.agents import direct, echo, obedient
from tests.behaviour.cells import NO_TENANTS, OVER_HTTP, Cell
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import BINDINGS, Start, card_of, message, refused, wire_to


def _alone(agent: Agent, _path: str) -> Any:
    return agent.asgi()


def _in_starlette(agent: Agent, path: str) -> Any:
    return Starlette(routes=[Mount(path, agent.asgi())])


def _in_fastapi(agent: Agent, path: str) -> Any:
    app = FastAPI()
    app.mount(path, agent.asgi())
    return app


def _by_itself(agent: Agent, path: str) -> Any:
    app = FastAPI()
    agent.mount(app, path)
    return app


@pytest.mark.parametrize(
    ("base", "address"),
    [
        ("http://agent.example", "agent.example:80"),
        ("https://agent.example", "agent.example:443"),
        ("https://agent.example:8443/", "agent.example:8443"),
        ("http://[::1]:9999", "[::1]:9999"),
        ("https://agent.example/agents/echo", None),
    ],
)
async def test_grpc_is_declared_where_the_server_speaks_http_2_and_nothing_is_in_front(
    started: Start, base: str, address: str | None
) -> None:
    card = await card_of(await started(echo(url=base).asgi(http2=True)))
    found = [entry["url"] for entry in card["supportedInterfaces"] if entry["protocolBinding"] == "GRPC"]
    assert found == ([] if address is None else [address, address])
    order = [(entry["protocolVersion"], entry["protocolBinding"]) for entry in card["supportedInterfaces"]]
    bindings = ("JSONRPC", "HTTP+JSON") if address is None else ("JSONRPC", "HTTP+JSON", "GRPC")
    assert order == [(version, name) for version in ("1.0", "0.3") for name in bindings]


async def test_grpc_is_not_declared_unless_the_server_speaks_http_2(started: Start) -> None:
    card = await card_of(await started(echo().asgi()))
    assert "GRPC" not in {entry["protocolBinding"] for entry in card["supportedInterfaces"]}


@pytest.mark.parametrize(
    ("url", "tenant", "served"),
    [
        ("https://agent.example/v1", "", "1.0"),
        ("https://agent.example", "v1", "1.0"),
        ("https://agent.example", "acme", "the draft"),
    ],
)
async def test_paths_below_v1_are_of_1_0_where_the_interfaces_say_so(
    started: Start, url: str, tenant: str, served: str
) -> None:
    interface = AgentInterface(url=url, protocol_binding="HTTP+JSON", protocol_version="1.0", tenant=tenant)
    bridge = await started(echo(interfaces=[interface]).asgi())
    reply = await bridge.send(HttpRequest("GET", "/v1/tasks/nothing", "", {"a2a-version": "1.0"}))
    assert reply.status == 404
    assert ("type" in json.loads(reply.body)) is (served == "the draft")
    assert ("error" in json.loads(reply.body)) is (served == "1.0")


MOUNTS = {"alone": _alone, "starlette": _in_starlette, "fastapi": _in_fastapi, "mounted": _by_itself}


@pytest.mark.parametrize("cell", OVER_HTTP, ids=lambda cell: cell.key)
@pytest.mark.parametrize("how", sorted(MOUNTS))
async def test_an_agent_works_wherever_it_is_mounted(started: Start, cell: Cell, how: str) -> None:
    path = "" if how == "alone" else "/agents/echo"
    bridge = await started(MOUNTS[how](echo(), path))
    card = await card_of(bridge, path)
    assert all(entry["url"].startswith(f"http://agent.example{path}") for entry in card["supportedInterfaces"])
    wire = await wire_to(bridge, cell, path)
    task = await wire.send("hi")
    assert (await wire.get(task["id"]))["artifacts"][0]["parts"] == [{"text": "hi"}]
    async with wire.send_stream("streamed") as stream:
        assert len(await stream.payloads()) >= 3
    if cell not in NO_TENANTS.cells:
        assert (await wire.send("in a tenant", tenant="acme"))["artifacts"]


@pytest.mark.parametrize("how", sorted(set(MOUNTS) - {"starlette", "fastapi"}))
async def test_json_rpc_answers_with_and_without_a_slash_and_never_redirects(started: Start, how: str) -> None:
    path = "" if how == "alone" else "/agents/echo"
    bridge = await started(MOUNTS[how](echo(), path))
    wire = await wire_to(bridge, "JSONRPC", path)
    request = wire.request("SendMessage", {"message": message()})
    base = request.path.rstrip("/")
    for spelled in {base or "/", base + "/"}:
        reply = await bridge.send(HttpRequest("POST", spelled, "", request.headers, request.body))
        assert reply.status == 200, spelled
        assert "task" in json.loads(reply.body)["result"]


@requirement("R-T-02")
async def test_several_agents_live_in_one_application_each_with_its_card(started: Start, binding: str) -> None:
    app = FastAPI()
    first, second = echo(), direct()
    first.mount(app, "/first")
    second.mount(app, "/second")
    bridge = await started(app)
    assert (await card_of(bridge, "/first"))["name"] == "Echo"
    assert (await card_of(bridge, "/second"))["name"] == "Direct"
    one, other = await wire_to(bridge, binding, "/first"), await wire_to(bridge, binding, "/second")
    task = await one.send("hi")
    assert list(await other.call("SendMessage", {"message": message("hi")})) == ["message"]
    assert (await other.call("ListTasks"))["totalSize"] == 0
    assert (await one.get(task["id"]))["id"] == task["id"]


async def test_what_is_not_the_agents_is_left_to_the_application(started: Start) -> None:
    app = FastAPI()

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    echo().mount(app, "/agent")
    bridge = await started(app)
    reply = await bridge.send(HttpRequest("GET", "/health", "", {"host": "agent.example"}))
    assert (reply.status, json.loads(reply.body)) == (200, {"status": "ok"})


class PlainText:
    """A binding of our own making: a line of text in, a line of text out, at `/plain`."""

    uri = "https://bindings.example/plain-text/v1"
    version = "1.0"

    def url(self, base: str) -> str:
        return f"{base}/plain"

    def takes(self, scope: Mapping[str, Any], path: str) -> bool:
        return scope["type"] == "http" and path == "/plain"

    async def __call__(self, _scope: Any, receive: Any, send: Any, service: Any) -> None:
        said = (await receive())["body"].decode()
        sent = Message(message_id="plain", role=Role.USER, parts=(Part(text=said),))
        task = await service.call(SEND_MESSAGE, SendMessageRequest(message=sent), CallContext())
        headers = [(b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": f"{task.id} {task.text}".encode()})


class OverWebSocket:
    """Another one: the same over a WebSocket."""

    uri = "https://bindings.example/web-socket/v1"
    version = "1.0"

    def url(self, base: str) -> str:
        return f"{base}/socket".replace("http", "ws", 1)

    def takes(self, scope: Mapping[str, Any], path: str) -> bool:
        return scope["type"] == "websocket" and path == "/socket"

    async def __call__(self, _scope: Any, receive: Any, send: Any, service: Any) -> None:
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        said = (await receive())["text"]
        sent = Message(message_id="socket", role=Role.USER, parts=(Part(text=said),))
        task = await service.call(SEND_MESSAGE, SendMessageRequest(message=sent), CallContext())
        await send({"type": "websocket.send", "text": task.text})
        await send({"type": "websocket.close", "code": 1000})


@requirement("R-5.8-02", "R-12.7-01")
async def test_a_binding_from_outside_is_served_and_stands_in_the_card(started: Start) -> None:
    bridge = await started(echo(bindings=[PlainText(), OverWebSocket()]).asgi())
    card = await card_of(bridge)
    entries = {entry["protocolBinding"]: entry for entry in card["supportedInterfaces"]}
    assert list(entries) == [*BINDINGS, PlainText.uri, OverWebSocket.uri]
    assert entries[PlainText.uri] == {
        "url": "http://agent.example/plain",
        "protocolBinding": PlainText.uri,
        "protocolVersion": "1.0",
    }
    reply = await bridge.send(HttpRequest("POST", "/plain", "", {"host": "agent.example"}, b"hello"))
    task_id, said = reply.body.decode().split()
    assert said == "hello"
    wire = await wire_to(bridge, "HTTP+JSON")
    assert (await wire.get(task_id))["artifacts"][0]["parts"] == [{"text": "hello"}]


@requirement("R-12.7-01")
async def test_a_web_socket_can_be_a_binding(started: Start) -> None:
    app = echo(bindings=[OverWebSocket()]).asgi()
    await started(app)
    came = [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": "over the socket"}]
    went: list[Any] = []

    async def receive() -> Any:
        return came.pop(0)

    async def send(event: Any) -> None:
        went.append(event)

    scope: dict[str, Any] = {
        "type": "websocket",
        "path": "/socket",
        "raw_path": b"/socket",
        "headers": [],
        "query_string": b"",
    }
    await app(scope, receive, send)
    assert [event["type"] for event in went] == ["websocket.accept", "websocket.send", "websocket.close"]
    assert went[1]["text"] == "over the socket"


async def test_a_web_socket_that_no_binding_takes_is_closed(started: Start) -> None:
    app = echo().asgi()
    await started(app)
    went: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(event: Any) -> None:
        went.append(event)

    scope: dict[str, Any] = {"type": "websocket", "path": "/", "raw_path": b"/", "headers": [], "query_string": b""}
    await app(scope, receive, send)
    assert [event["type"] for event in went] == ["websocket.close"]


async def test_requests_after_the_end_are_refused_until_another_lifespan_begins(store: str, binding: str) -> None:
    app = obedient(store=store).asgi()
    async with AsgiBridge(app) as bridge:
        wire = await wire_to(bridge, binding)
        task = await wire.send("done")
    with refused("UNAVAILABLE") as fault:
        await wire.get(task["id"])
    assert fault.value.reply.status == 503
    async with AsgiBridge(app) as bridge:
        assert await (await wire_to(bridge, binding)).get(task["id"]) == task
