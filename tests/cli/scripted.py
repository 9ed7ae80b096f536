"""An agent on a real socket that records every request and plays what a test asks for, over both bindings.

It is written from the specification alone and shares no code with the package.
"""

import asyncio
import json
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiohttp import web

__all__ = ["BINDINGS", "Json", "Recorded", "Refused", "ScriptedAgent", "Step", "always", "done", "serving", "state"]

Json = dict[str, Any]
BINDINGS = ("JSONRPC", "HTTP+JSON")
SETTLED = {"COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED"}

CODES = {
    "TASK_NOT_FOUND": (-32001, 404, "NOT_FOUND"),
    "TASK_NOT_CANCELABLE": (-32002, 400, "FAILED_PRECONDITION"),
    "UNSUPPORTED_OPERATION": (-32004, 400, "FAILED_PRECONDITION"),
    "INVALID_PARAMS": (-32602, 400, "INVALID_ARGUMENT"),
    "INTERNAL_ERROR": (-32603, 500, "INTERNAL"),
}


class Recorded(NamedTuple):
    """A request as it came. `operation` is `card` for card fetches; `params` hold the tenant wherever it stood;
    header names are lower case.
    """

    operation: str
    params: Json
    headers: Mapping[str, str]
    query: Mapping[str, str]
    path: str
    at: float


class Refused(Exception):
    """Makes the agent answer with this error of the protocol, or with a bare HTTP status."""

    def __init__(self, reason: str, message: str = "no", status: int | None = None) -> None:
        self.reason = reason
        self.message = message
        self.status = status
        super().__init__(reason)


class Step(NamedTuple):
    """After `delay` seconds the task gets this state, status text and artifact."""

    delay: float = 0.0
    state: str | None = None
    text: str | None = None
    artifact: Json | None = None


def state(name: str, text: str | None = None, delay: float = 0.0) -> Step:
    return Step(delay, name, text)


def done(text: str = "hello", delay: float = 0.0) -> tuple[Step, ...]:
    """Gives one artifact and completes."""
    return (Step(delay, artifact={"artifactId": "a1", "name": "answer", "parts": [{"text": text}]}), state("COMPLETED"))


Script = Callable[[Json, Json], "Json | tuple[Step, ...]"]
"""From a message and its task: the message to answer with directly, or the steps to play. May raise Refused."""


def always(answer: Json | tuple[Step, ...]) -> Script:
    """The script that answers every message alike."""

    def script(message: Json, task: Json) -> Json | tuple[Step, ...]:
        return answer

    return script


class ScriptedAgent:
    """The agent. Everything about it can be changed before and between requests."""

    def __init__(self) -> None:
        self.script: Script = lambda message, _: done("".join(p.get("text", "") for p in message["parts"]))
        self.requests: list[Recorded] = []
        self.tasks: dict[str, Json] = {}
        self.streaming = True
        self.bindings: tuple[tuple[str, str], ...] = tuple((binding, "1.0") for binding in BINDINGS)
        self.tenant: str | None = None
        self.card_extra: Json = {}
        self.cut_after: int | None = None
        """How many events a stream has before its connection is dropped; once for each time it is set."""
        self.on_subscription: tuple[Step, ...] = ()
        """What a task goes through once somebody subscribes to it."""
        self.refuse: dict[str, Refused] = {}
        self.base = ""
        self._feeds: dict[str, list[asyncio.Queue[Json]]] = {}
        self._players: set[asyncio.Task[None]] = set()

    # What the tests look at.

    def calls(self, *operations: str) -> list[Recorded]:
        """The requests for these operations, or all but the card fetches."""
        return [r for r in self.requests if (r.operation in operations if operations else r.operation != "card")]

    @property
    def sends(self) -> list[Recorded]:
        return self.calls("SendMessage", "SendStreamingMessage")

    def url(self, binding: str) -> str:
        return self.base + ("/rpc" if binding == "JSONRPC" else "/rest")

    def card(self) -> Json:
        interfaces = [
            {
                "url": self.url(binding),
                "protocolBinding": binding,
                "protocolVersion": version,
                **({"tenant": self.tenant} if self.tenant else {}),
            }
            for binding, version in self.bindings
        ]
        return {
            "name": "Scripted",
            "description": "Plays what it is told.",
            "version": "7",
            "supportedInterfaces": interfaces,
            "capabilities": {"streaming": self.streaming},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [{"id": "play", "name": "Play", "description": "Plays.", "tags": ["test"]}],
            **self.card_extra,
        }

    def add(self, name: str, task_id: str = "t-1", **members: Any) -> Json:
        """Puts a task into the agent without any message."""
        task: Json = {"id": task_id, "contextId": f"c-{task_id}", "status": _status(name), **members}
        self.tasks[task_id] = task
        return task

    # The operations.

    async def operate(self, operation: str, params: Json) -> Json | AsyncIterator[Json]:
        if operation in self.refuse:
            raise self.refuse[operation]
        answers: dict[str, Callable[[Json], Awaitable[Json | AsyncIterator[Json]]]] = {
            "SendMessage": self._send,
            "SendStreamingMessage": self._stream,
            "GetTask": self._get,
            "CancelTask": self._cancel,
            "ListTasks": self._list,
            "SubscribeToTask": self._subscribe,
        }
        return await answers[operation](params)

    def _begin(self, params: Json) -> Json:
        message = params["message"]
        if "taskId" in message:
            task = self._named(message["taskId"])
            if task["status"]["state"].endswith("_REQUIRED"):
                task["status"] = _status("SUBMITTED")
        else:
            number = len(self.tasks) + 1
            task = self.add("SUBMITTED", f"task-{number}")
            task["contextId"] = message.get("contextId", task["contextId"])
        played = self.script(message, task)
        if isinstance(played, dict):
            self.tasks.pop(task["id"])
            return {"message": played}
        self._start(task, played)
        return {"task": task}

    def _start(self, task: Json, steps: tuple[Step, ...]) -> None:
        player = asyncio.create_task(self._play(task, steps))
        self._players.add(player)
        player.add_done_callback(self._players.discard)

    async def _play(self, task: Json, steps: tuple[Step, ...]) -> None:
        for step in steps:
            await asyncio.sleep(step.delay)
            ids = {"taskId": task["id"], "contextId": task["contextId"]}
            if step.artifact is not None:
                task.setdefault("artifacts", []).append(step.artifact)
                self._emit(task, {"artifactUpdate": {**ids, "artifact": step.artifact, "lastChunk": True}})
            if step.state is not None:
                task["status"] = _status(step.state, step.text)
                self._emit(task, {"statusUpdate": {**ids, "status": task["status"]}})

    def _emit(self, task: Json, event: Json) -> None:
        for feed in self._feeds.get(task["id"], []):
            feed.put_nowait(json.loads(json.dumps(event)))

    async def _send(self, params: Json) -> Json:
        answer = self._begin(params)
        immediate = params.get("configuration", {}).get("returnImmediately", False)
        if "task" in answer and not immediate:
            await asyncio.wait(self._players)
        return answer

    async def _stream(self, params: Json) -> AsyncIterator[Json]:
        answer = self._begin(params)
        return self._events(answer)

    async def _subscribe(self, params: Json) -> AsyncIterator[Json]:
        task = self._named(params["id"])
        if _settled(task):
            raise Refused("UNSUPPORTED_OPERATION", "the task is over")
        if self.on_subscription:
            self._start(task, self.on_subscription)
        return self._events({"task": task})

    async def _events(self, first: Json) -> AsyncIterator[Json]:
        task = first.get("task")
        feed: asyncio.Queue[Json] = asyncio.Queue()
        if task is not None:
            self._feeds.setdefault(task["id"], []).append(feed)
        yield json.loads(json.dumps(first))
        over = task is None or _settled(task)
        while not over:
            event = await feed.get()
            yield event
            over = "statusUpdate" in event and _settled(event["statusUpdate"])

    async def _get(self, params: Json) -> Json:
        task = dict(self._named(params["id"]))
        if "historyLength" in params and "history" in task:
            length = int(params["historyLength"])
            task["history"] = task["history"][-length:] if length else []
        return task

    async def _cancel(self, params: Json) -> Json:
        task = self._named(params["id"])
        if _settled(task) and not task["status"]["state"].endswith("_REQUIRED"):
            raise Refused("TASK_NOT_CANCELABLE", "the task is over")
        task["status"] = _status("CANCELED")
        return task

    async def _list(self, params: Json) -> Json:
        wanted = [t for t in self.tasks.values() if params.get("status", t["status"]["state"]) == t["status"]["state"]]
        wanted = [t for t in wanted if params.get("contextId", t["contextId"]) == t["contextId"]]
        start, size = int(params.get("pageToken") or 0), int(params.get("pageSize", 50))
        following = str(start + size) if start + size < len(wanted) else ""
        return {
            "tasks": wanted[start : start + size],
            "nextPageToken": following,
            "pageSize": size,
            "totalSize": len(wanted),
        }

    def _named(self, task_id: str) -> Json:
        if task_id not in self.tasks:
            raise Refused("TASK_NOT_FOUND", f"no task {task_id}")
        return self.tasks[task_id]

    # The wire.

    async def on_card(self, request: web.Request) -> web.StreamResponse:
        self._record("card", {}, request)
        if "card" in self.refuse:
            return web.Response(status=self.refuse["card"].status or 404, text=self.refuse["card"].message)
        return web.json_response(self.card())

    async def on_rpc(self, request: web.Request) -> web.StreamResponse:
        envelope = json.loads(await request.read())
        params: Json = envelope.get("params") or {}
        self._record(envelope["method"], params, request)

        def wrapped(answer: Json) -> Json:
            return {"jsonrpc": "2.0", "id": envelope["id"], **answer}

        try:
            answer = await self.operate(envelope["method"], params)
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
            answer = await self.operate(operation, params)
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
        if self.tenant and path.startswith(f"{self.tenant}/"):
            params["tenant"] = self.tenant
            path = path.removeprefix(f"{self.tenant}/")
        if path in ("message:send", "message:stream"):
            return ("SendMessage" if path.endswith("send") else "SendStreamingMessage"), params
        if path == "tasks":
            return "ListTasks", params
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
            if self.cut_after is not None and sent >= self.cut_after:
                self.cut_after = None
                assert request.transport is not None
                request.transport.abort()
                return response
            await response.write(f"data: {json.dumps(frame(event))}\n\n".encode())
            sent += 1
        return response

    def _record(self, operation: str, params: Json, request: web.Request) -> None:
        self.requests.append(
            Recorded(
                operation,
                params,
                {name.lower(): value for name, value in request.headers.items()},
                dict(request.query),
                request.path,
                time.monotonic(),
            )
        )

    async def close(self) -> None:
        for player in list(self._players):
            player.cancel()
        await asyncio.gather(*self._players, return_exceptions=True)


@asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncGenerator[ScriptedAgent, None]:
    """A scripted agent on a free loopback port."""
    agent = ScriptedAgent()
    app = web.Application()
    app.router.add_get("/.well-known/agent-card.json", agent.on_card)
    app.router.add_get("/elsewhere/card.json", agent.on_card)
    app.router.add_post("/rpc", agent.on_rpc)
    app.router.add_route("*", "/rest/{tail:.*}", agent.on_rest)
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


def _settled(thing: Json) -> bool:
    return str(thing["status"]["state"]).removeprefix("TASK_STATE_") in SETTLED


def _status(name: str, text: str | None = None) -> Json:
    status: Json = {"state": f"TASK_STATE_{name}", "timestamp": "2026-01-02T03:04:05.678Z"}
    if text is not None:
        status["message"] = {"messageId": f"m-{text[:8]}", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return status


def _info(reason: str) -> Json:
    return {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}
