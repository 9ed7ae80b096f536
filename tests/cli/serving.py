"""The scripted agent on a real socket: both bindings, spoken from the specification alone."""

import json
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from tests.cli.scripted import Json, Recorded, Refused, ScriptedAgent

__all__ = ["serving"]

CODES = {
    "TASK_NOT_FOUND": (-32001, 404, "NOT_FOUND"),
    "TASK_NOT_CANCELABLE": (-32002, 400, "FAILED_PRECONDITION"),
    "UNSUPPORTED_OPERATION": (-32004, 400, "FAILED_PRECONDITION"),
    "INVALID_PARAMS": (-32602, 400, "INVALID_ARGUMENT"),
    "INTERNAL_ERROR": (-32603, 500, "INTERNAL"),
}

_CONFIGS = {
    ("POST", False): "CreateTaskPushNotificationConfig",
    ("GET", False): "ListTaskPushNotificationConfigs",
    ("GET", True): "GetTaskPushNotificationConfig",
    ("DELETE", True): "DeleteTaskPushNotificationConfig",
}


class _Sockets:
    def __init__(self, agent: ScriptedAgent) -> None:
        self._agent = agent

    async def on_card(self, request: web.Request) -> web.StreamResponse:
        self._record("card", {}, request)
        if "card" in self._agent.refuse:
            return web.Response(
                status=self._agent.refuse["card"].status or 404, text=self._agent.refuse["card"].message
            )
        return web.json_response(self._agent.card())

    async def on_rpc(self, request: web.Request) -> web.StreamResponse:
        envelope = json.loads(await request.read())
        params: Json = envelope.get("params") or {}
        self._record(envelope["method"], params, request)

        def wrapped(answer: Json) -> Json:
            return {"jsonrpc": "2.0", "id": envelope["id"], **answer}

        try:
            answer = await self._agent.operate(envelope["method"], params)
        except Refused as refused:
            if refused.status is not None:
                return web.Response(status=refused.status, text=refused.message)
            code, _, _ = CODES[refused.reason]
            error = {"code": code, "message": refused.message, "data": [_info(refused.reason)]}
            return web.json_response(wrapped({"error": error}))
        if isinstance(answer, dict):
            return web.json_response(wrapped({"result": answer}))
        return await self._sse(request, answer, lambda event: wrapped({"result": event}))

    async def on_rest(self, request: web.Request) -> web.StreamResponse:
        operation, params = await self._rest_call(request)
        self._record(operation, params, request)
        try:
            answer = await self._agent.operate(operation, params)
        except Refused as refused:
            if refused.status is not None:
                return web.Response(status=refused.status, text=refused.message)
            _, http, grpc = CODES[refused.reason]
            error = {"code": http, "status": grpc, "message": refused.message, "details": [_info(refused.reason)]}
            return web.json_response({"error": error}, status=http)
        if isinstance(answer, dict):
            return web.json_response(answer)
        return await self._sse(request, answer, lambda event: event)

    async def _rest_call(self, request: web.Request) -> tuple[str, Json]:
        body = await request.read()
        params: Json = {**dict(request.query), **(json.loads(body) if body.strip() else {})}
        path = request.match_info["tail"]
        if self._agent.tenant and path.startswith(f"{self._agent.tenant}/"):
            params["tenant"] = self._agent.tenant
            path = path.removeprefix(f"{self._agent.tenant}/")
        if path in ("message:send", "message:stream"):
            return ("SendMessage" if path.endswith("send") else "SendStreamingMessage"), params
        if path == "tasks":
            return "ListTasks", params
        if "/pushNotificationConfigs" in path:
            task_id, _, config_id = path.removeprefix("tasks/").partition("/pushNotificationConfigs")
            operation = _CONFIGS[request.method, bool(config_id)]
            return operation, {**params, "taskId": task_id, **({"id": config_id[1:]} if config_id else {})}
        name, _, verb = path.removeprefix("tasks/").partition(":")
        operation = {"": "GetTask", "cancel": "CancelTask", "subscribe": "SubscribeToTask"}[verb]
        return operation, {**params, "id": name}

    async def _sse(
        self, request: web.Request, events: AsyncIterator[Json], frame: Callable[[Json], Json]
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        sent = 0
        async for event in events:
            if self._agent.cut_after is not None and sent >= self._agent.cut_after:
                self._agent.cut_after = None
                assert request.transport is not None
                request.transport.abort()
                return response
            await response.write(f"data: {json.dumps(frame(event))}\n\n".encode())
            sent += 1
        return response

    def _record(self, operation: str, params: Json, request: web.Request) -> None:
        self._agent.requests.append(
            Recorded(
                operation,
                params,
                {name.lower(): value for name, value in request.headers.items()},
                dict(request.query),
                request.path,
                time.monotonic(),
            )
        )


@asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncGenerator[ScriptedAgent, None]:
    """A scripted agent on a free loopback port."""
    agent = ScriptedAgent()
    sockets = _Sockets(agent)
    app = web.Application()
    app.router.add_get("/.well-known/agent-card.json", sockets.on_card)
    app.router.add_get("/elsewhere/card.json", sockets.on_card)
    app.router.add_post("/rpc", sockets.on_rpc)
    app.router.add_route("*", "/rest/{tail:.*}", sockets.on_rest)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        agent.base = f"{'http' if context is None else 'https'}://127.0.0.1:{port}"
        yield agent
    finally:
        await agent.close()
        await runner.cleanup()


def _info(reason: str) -> Json:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}
