"""The wire as a caller sees it: requests written by hand, answers checked byte for byte, in every cell.

Nothing here uses the project's codecs, so that what the server says is held against the specification alone. Tests
speak the JSON of 1.0; `forms` says it in the cell's own form.
"""

import asyncio
import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from dragoman import Agent
from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.testing.bridge import AsgiBridge, LiveReply
from tests.behaviour.cells import Cell
from tests.behaviour.checks import check_payload
from tests.behaviour.faults import Fault, refused
from tests.behaviour.forms import FORMS, ROUTES, Asked, GrpcForm, Wish
from tests.behaviour.rpc import Bridge, Rpc

__all__ = [
    "BINDINGS",
    "ROUTES",
    "Asked",
    "Fault",
    "Serve",
    "Start",
    "Stream",
    "Wire",
    "card_of",
    "message",
    "refused",
    "wire_to",
]

BINDINGS = ("JSONRPC", "HTTP+JSON")
"""Of 1.0, over JSON."""
_numbers = itertools.count(1)


def message(text: str = "hello", **members: Any) -> dict[str, Any]:
    """A message of the caller with an id of its own; `parts` among the members replaces the text."""
    return {"messageId": f"m-{next(_numbers)}", "role": "ROLE_USER", "parts": [{"text": text}], **members}


class Event(msgspec.Struct, frozen=True):
    """One event of a stream, as 1.0 has it. What has no server-sent events has neither id nor name."""

    id: str | None
    name: str | None
    payload: dict[str, Any]


class Stream:
    """An open stream of events. Comments are kept aside."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self._events = events
        self._kept: list[Event] = []
        self.comments: list[str] = []
        self.alive = asyncio.Event()

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> Event:
        if self._kept:
            return self._kept.pop()
        event = await anext(self._events)
        assert len(event.payload) == 1, event
        assert set(event.payload) <= {"task", "message", "statusUpdate", "artifactUpdate"}, event
        check_payload(event.payload)
        return event

    async def begin(self) -> None:
        """Waits for the first event; raises `Fault` if there is an error instead."""
        self._kept.append(await anext(self))

    async def payloads(self) -> list[dict[str, Any]]:
        """All events that are still to come."""
        return [event.payload async for event in self]

    async def until(self, state: str) -> list[dict[str, Any]]:
        """The events up to and with the one that reports this state."""
        seen: list[dict[str, Any]] = []
        async for event in self:
            seen.append(event.payload)
            body: dict[str, Any] = event.payload.get("task") or event.payload.get("statusUpdate") or {}
            if body.get("status", {}).get("state") == state:
                return seen
        pytest.fail(f"no {state} in {seen}")


class Wire:
    """One agent, one cell."""

    def __init__(self, bridge: AsgiBridge, cell: Cell, path: str) -> None:
        self.bridge, self.cell, self.path = bridge, cell, path
        self.form = FORMS[cell]
        self.app: Any = None
        """The application itself, where it was served for this wire."""

    @property
    def binding(self) -> str:
        return self.cell.binding

    @property
    def jsonrpc(self) -> bool:
        return self.cell.binding == "JSONRPC"

    def request(
        self,
        operation: str,
        params: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        tenant: str = "",
    ) -> Asked:
        """The bytes of a call. `tenant` goes where the binding likes it best."""
        sent = self.form.headers(headers or {})
        return self.form.request(Wish(self.path, operation, dict(params or {}), sent, query or {}, tenant))

    async def send_raw(self, request: HttpRequest) -> HttpReply:
        if isinstance(self.bridge, Bridge):
            return await self.bridge.ask(request)
        return await self.bridge.send(request)

    async def reply(self, operation: str, params: Mapping[str, Any] | None = None, **how: Any) -> HttpReply:
        """The whole answer to a call, unread."""
        return await self.send_raw(self.request(operation, params, **how))

    async def call(self, operation: str, params: Mapping[str, Any] | None = None, **how: Any) -> Any:
        """The result of a call; raises `Fault`."""
        request = self.request(operation, params, **how)
        return self.read(request, await self.send_raw(request))

    def read(self, request: Asked, reply: HttpReply) -> Any:
        """The result inside an answer, its form checked; raises `Fault`."""
        result = self.form.result(request, reply)
        if request.operation != "GetExtendedAgentCard" or self.cell.line == "1.0":
            check_payload(result)
        return result

    async def send(self, what: str | dict[str, Any] = "hello", **how: Any) -> dict[str, Any]:
        """Sends a message and gives the task that comes back; `configuration` and the like are members."""
        members, rest = _divided(how)
        sent = message(what) if isinstance(what, str) else what
        result = await self.call("SendMessage", {"message": sent, **members}, **rest)
        assert list(result) == ["task"]
        task: dict[str, Any] = result["task"]
        return task

    async def get(self, task_id: str, **how: Any) -> dict[str, Any]:
        members, rest = _divided(how)
        task: dict[str, Any] = await self.call("GetTask", {"id": task_id, **members}, **rest)
        return task

    async def stored(self, **filters: Any) -> list[dict[str, Any]]:
        """The tasks that there are, newest first, asked for in 1.0: not every cell can list."""
        listed = await (await wire_to(self.bridge, "JSONRPC")).call("ListTasks", filters)
        assert listed["totalSize"] == len(listed["tasks"])
        tasks: list[dict[str, Any]] = listed["tasks"]
        return tasks

    @asynccontextmanager
    async def stream(
        self, operation: str, params: Mapping[str, Any] | None = None, **how: Any
    ) -> AsyncGenerator[Stream]:
        """An open stream; raises `Fault` when it is refused before it begins."""
        request = self.request(operation, params, **how)
        opened = self._over_grpc(request) if isinstance(self.form, GrpcForm) else self._over_http(request)
        async with opened as stream:
            yield stream

    @asynccontextmanager
    async def _over_grpc(self, request: Asked) -> AsyncGenerator[Stream]:
        assert isinstance(self.bridge, Bridge)
        async with self.bridge.rpc(request) as call:
            stream = Stream(self._messages(request, call))
            await stream.begin()
            yield stream

    async def _messages(self, request: Asked, call: Rpc) -> AsyncIterator[Event]:
        while (message := await call.next()) is not None:
            yield Event(None, None, self.form.event(request, message, error=False))
        assert isinstance(self.form, GrpcForm)
        self.form.end(call.reply)

    @asynccontextmanager
    async def _over_http(self, request: Asked) -> AsyncGenerator[Stream]:
        async with self.bridge.open(request) as reply:
            if reply.headers["content-type"].split(";")[0] != "text/event-stream":
                body = b"".join([chunk async for chunk in reply.body()])
                self.read(request, HttpReply(reply.status, reply.headers, body))
                pytest.fail("a streaming operation gave a single result")
            assert reply.status == 200
            stream = Stream(self._server_sent(request, reply, lambda: stream))
            if self.cell.line == "0.3" and self.jsonrpc:
                await stream.begin()
            assert reply.headers.get("cache-control") == "no-cache"
            yield stream

    async def _server_sent(
        self, request: Asked, reply: LiveReply, stream: Callable[[], Stream]
    ) -> AsyncIterator[Event]:
        text = ""
        async for chunk in reply.body():
            text += bytes(chunk).decode()
            assert "\r" not in text
            *blocks, text = text.split("\n\n")
            for block in blocks:
                if block.startswith(":"):
                    stream().comments.append(block)
                    stream().alive.set()
                else:
                    yield self._server_sent_event(request, block)
        assert text == "", "the stream ended inside an event"

    def _server_sent_event(self, request: Asked, block: str) -> Event:
        lines = [line.split(":", 1) for line in block.split("\n")]
        fields = {name: value.removeprefix(" ") for name, value in lines}
        assert len(fields) == len(lines), block
        assert set(fields) <= {"id", "event", "data"}, block
        payload = self.form.event(request, fields["data"].encode(), error=fields.get("event") == "error")
        return Event(fields.get("id"), fields.get("event"), payload)

    @asynccontextmanager
    async def send_stream(self, what: str | dict[str, Any] = "hello", **how: Any) -> AsyncGenerator[Stream]:
        members, rest = _divided(how)
        sent = message(what) if isinstance(what, str) else what
        async with self.stream("SendStreamingMessage", {"message": sent, **members}, **rest) as stream:
            yield stream

    @asynccontextmanager
    async def subscribe(self, task_id: str, **how: Any) -> AsyncGenerator[Stream]:
        async with self.stream("SubscribeToTask", {"id": task_id}, **how) as stream:
            yield stream

    async def settled(self, task_id: str, state: str = "TASK_STATE_COMPLETED") -> dict[str, Any]:
        """The task once it has reached this state; waits on a subscription."""
        try:
            async with self.subscribe(task_id) as stream:
                await stream.until(state)
        except Fault as fault:
            if fault.reason != "UNSUPPORTED_OPERATION":
                raise
        task = await self.get(task_id)
        assert task["status"]["state"] == state
        return task


Start = Callable[[Any], Awaitable[AsgiBridge]]
"""Starts an ASGI application."""
Serve = Callable[[Agent], Awaitable[Wire]]
"""Serves an agent, and gives the wire to it."""


def _divided(how: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Members of the request, and what goes beside it."""
    beside = {"headers", "query", "tenant"}
    return (
        {key: value for key, value in how.items() if key not in beside},
        {key: value for key, value in how.items() if key in beside},
    )


async def card_of(bridge: AsgiBridge, path: str = "") -> dict[str, Any]:
    """The agent card below this path."""
    reply = await bridge.send(
        HttpRequest("GET", f"{path}/.well-known/agent-card.json", headers={"host": "agent.example"})
    )
    assert reply.status == 200, reply
    card: dict[str, Any] = json.loads(reply.body)
    return card


async def wire_to(bridge: AsgiBridge, cell: Cell | str, path: str = "") -> Wire:
    """The wire to the agent at this path, found through its card; a binding alone means that of 1.0.

    Lines before 1.0 are at the same addresses, and paths of gRPC are fixed.
    """
    cell = Cell("1.0", cell) if isinstance(cell, str) else cell
    if cell.binding == "GRPC":
        return Wire(bridge, cell, "")
    card = await card_of(bridge, path)
    urls: list[str] = [
        entry["url"]
        for entry in card["supportedInterfaces"]
        if (entry["protocolBinding"], entry["protocolVersion"]) == (cell.binding, "1.0")
    ]
    return Wire(bridge, cell, urlsplit(urls[0]).path)
