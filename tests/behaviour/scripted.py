"""An agent that answers as it was told, on a real socket, and keeps every request as it came."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.behaviour.wire import BINDINGS, ROUTES

__all__ = ["TASK", "Scripted", "Seen", "scripted"]

TASK: dict[str, Any] = {
    "id": "t-1",
    "contextId": "c 1/ü",
    "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-02T03:04:05.678Z"},
    "artifacts": [{"artifactId": "a", "parts": [{"text": "done"}]}],
}


class Seen(msgspec.Struct, frozen=True):
    """One request, with what it asked for whatever the binding."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    operation: str
    params: dict[str, Any]


class Scripted:
    """The script: the card, the answers by operation, and what was asked. Answers that are lists are streamed."""

    def __init__(self, binding: str) -> None:
        self.binding = binding
        self.seen: list[Seen] = []
        self.cards: list[Seen] = []
        self.answers: dict[str, Any] = {"SendMessage": {"task": TASK}, "GetTask": TASK, "CancelTask": TASK}
        self.answers["ListTasks"] = {"tasks": [TASK], "nextPageToken": "", "pageSize": 50, "totalSize": 1}
        self.answers["SendStreamingMessage"] = [{"task": TASK}]
        self.changes: dict[str, Any] = {}
        self.card_headers = {"cache-control": "max-age=60", "etag": '"one"'}
        self.url = ""

    @property
    def interfaces(self) -> list[dict[str, Any]]:
        """Ours first, then the other binding."""
        names = sorted(BINDINGS, key=lambda name: name != self.binding)
        return [self.interface(name) for name in names]

    def interface(self, binding: str, **members: Any) -> dict[str, Any]:
        path = "rpc" if binding == "JSONRPC" else "rest"
        return {
            "url": f"{self.url}/{path}",
            "protocolBinding": binding,
            "protocolVersion": "1.0",
            **members,
        }

    def card(self) -> dict[str, Any]:
        return {
            "name": "Scripted",
            "description": "Says what it is told to.",
            "version": "1",
            "supportedInterfaces": self.interfaces,
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [],
            **self.changes,
        }

    def asked(self, operation: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.operation == operation]

    # The server.

    async def give_card(self, request: web.Request) -> web.Response:
        self.cards.append(await _seen(request, "", {}))
        if request.headers.get("if-none-match") == self.card_headers.get("etag"):
            return web.Response(status=304, headers=self.card_headers)
        return web.json_response(self.card(), headers=self.card_headers)

    async def rpc(self, request: web.Request) -> web.StreamResponse:
        call = await request.json()
        self.seen.append(await _seen(request, call["method"], call.get("params", {})))

        def wrapped(result: Any) -> Any:
            return {"jsonrpc": "2.0", "id": call["id"], "result": result}

        return await self._answer(request, self.answers[call["method"]], wrapped)

    async def rest(self, request: web.Request) -> web.StreamResponse:
        operation, found = _route(request.method, "/" + request.match_info["tail"])
        body = await request.read()
        params: dict[str, Any] = {**found, **dict(request.query), **(json.loads(body) if body else {})}
        self.seen.append(await _seen(request, operation, params))
        return await self._answer(request, self.answers[operation], lambda result: result)

    async def _answer(self, request: web.Request, answer: Any, wrapped: Callable[[Any], Any]) -> web.StreamResponse:
        if not isinstance(answer, list):
            return web.json_response(wrapped(answer))
        stream = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await stream.prepare(request)
        events: list[Any] = cast("Any", answer)
        for event in events:
            await stream.write(f"data: {json.dumps(wrapped(event))}\n\n".encode())
        return stream


async def _seen(request: web.Request, operation: str, params: dict[str, Any]) -> Seen:
    headers = {name.lower(): value for name, value in request.headers.items()}
    raw = request.raw_path.partition("?")
    return Seen(request.method, raw[0], raw[2], headers, await request.read(), operation, params)


def _route(method: str, path: str) -> tuple[str, dict[str, str]]:
    """The operation of a path, and the tenant and ids in it."""
    for operation, (verb, route) in ROUTES.items():
        at, given = path.split("/")[1:], route.split("/")[1:]
        extra = {"tenant": at[0]} if len(at) == len(given) + 1 else {}
        at = at[len(at) - len(given) :] if len(at) >= len(given) else []
        pairs = list(zip(at, given, strict=False))
        if verb == method and pairs and all(_fits(here, there) for here, there in pairs):
            ids = {there[1 : there.index("}")]: here.split(":")[0] for here, there in pairs if there.startswith("{")}
            return operation, {**extra, **ids}
    raise LookupError(f"{method} {path}")


def _fits(here: str, there: str) -> bool:
    if not there.startswith("{"):
        return here == there
    _, _, verb = there.partition("}")
    return here.endswith(verb) if verb else ":" not in here


@asynccontextmanager
async def scripted(binding: str) -> AsyncGenerator[Scripted]:
    """The agent, served; interfaces of the given binding first."""
    agent = Scripted(binding)
    app = web.Application()
    app.router.add_get("/.well-known/agent-card.json", agent.give_card)
    app.router.add_post("/rpc", agent.rpc)
    app.router.add_route("*", "/rest/{tail:.*}", agent.rest)
    async with TestServer(app) as server:
        agent.url = str(server.make_url("")).rstrip("/")
        yield agent
