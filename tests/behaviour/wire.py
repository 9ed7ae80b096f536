"""The wire as a caller sees it: requests written by hand, answers checked byte for byte, in either binding.

Nothing here uses the project's codecs, so that what the server says is held against the specification alone.
"""

import asyncio
import itertools
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec
import pytest

from dragoman import Agent
from dragoman.dialects.base import HttpReply, HttpRequest
from dragoman.testing.bridge import AsgiBridge, LiveReply
from tests.behaviour.checks import ERRORS, check_error, check_payload

__all__ = ["BINDINGS", "Fault", "Serve", "Start", "Stream", "Wire", "card_of", "message", "refused", "wire_to"]

BINDINGS = ("JSONRPC", "HTTP+JSON")
VERSION = {"a2a-version": "1.0"}
ROUTES: dict[str, tuple[str, str]] = {
    "SendMessage": ("POST", "/message:send"),
    "SendStreamingMessage": ("POST", "/message:stream"),
    "GetTask": ("GET", "/tasks/{id}"),
    "ListTasks": ("GET", "/tasks"),
    "CancelTask": ("POST", "/tasks/{id}:cancel"),
    "SubscribeToTask": ("POST", "/tasks/{id}:subscribe"),
    "CreateTaskPushNotificationConfig": ("POST", "/tasks/{taskId}/pushNotificationConfigs"),
    "GetTaskPushNotificationConfig": ("GET", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "ListTaskPushNotificationConfigs": ("GET", "/tasks/{taskId}/pushNotificationConfigs"),
    "DeleteTaskPushNotificationConfig": ("DELETE", "/tasks/{taskId}/pushNotificationConfigs/{id}"),
    "GetExtendedAgentCard": ("GET", "/extendedAgentCard"),
}
_numbers = itertools.count(1)


def message(text: str = "hello", **members: Any) -> dict[str, Any]:
    """A message of the caller with an id of its own; `parts` among the members replaces the text."""
    return {"messageId": f"m-{next(_numbers)}", "role": "ROLE_USER", "parts": [{"text": text}], **members}


class Fault(Exception):
    """A refusal, the same in every binding."""

    def __init__(self, reason: str, text: str, details: list[dict[str, Any]], reply: HttpReply) -> None:
        self.reason, self.text, self.details, self.reply = reason, text, details, reply
        super().__init__(f"{reason}: {text}")

    @property
    def fields(self) -> list[str]:
        """The members that the refusal says are wrong."""
        return [violation["field"] for detail in self.details for violation in detail.get("fieldViolations", [])]


def refused(reason: str) -> pytest.RaisesExc[Fault]:
    """Expects a refusal with this reason."""
    assert reason in ERRORS
    return pytest.raises(Fault, match=f"^{reason}: ")


class SseEvent(msgspec.Struct, frozen=True):
    """One server-sent event; `payload` is the stream's event inside the binding's envelope."""

    id: str | None
    name: str | None
    payload: dict[str, Any]


class Stream:
    """An open stream of events. Comments are kept aside."""

    def __init__(self, wire: "Wire", reply: LiveReply, request_id: Any) -> None:
        self._wire, self._request_id = wire, request_id
        self._events = self._parse(reply.body())
        self.comments: list[str] = []
        self.alive = asyncio.Event()

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> SseEvent:
        return await anext(self._events)

    async def _parse(self, chunks: Any) -> AsyncGenerator[SseEvent]:
        text = ""
        async for chunk in chunks:
            text += bytes(chunk).decode()
            assert "\r" not in text
            *blocks, text = text.split("\n\n")
            for block in blocks:
                if block.startswith(":"):
                    self.comments.append(block)
                    self.alive.set()
                else:
                    yield self._event(block)
        assert text == "", "the stream ended inside an event"

    def _event(self, block: str) -> SseEvent:
        lines = [line.split(":", 1) for line in block.split("\n")]
        fields = {name: value.removeprefix(" ") for name, value in lines}
        assert len(fields) == len(lines), block
        assert set(fields) <= {"id", "event", "data"}, block
        body = json.loads(fields["data"])
        if fields.get("event") == "error":
            self._wire.fail(200, body, self._request_id, HttpReply(200, {}, fields["data"].encode()))
        payload = self._wire.opened(body, self._request_id)
        assert len(payload) == 1, payload
        assert set(payload) <= {"task", "message", "statusUpdate", "artifactUpdate"}, payload
        check_payload(payload)
        return SseEvent(fields.get("id"), fields.get("event"), payload)

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
    """One agent, one binding."""

    def __init__(self, bridge: AsgiBridge, binding: str, path: str) -> None:
        self.bridge, self.binding, self.path = bridge, binding, path
        self.app: Any = None
        """The application itself, where it was served for this wire."""

    @property
    def jsonrpc(self) -> bool:
        return self.binding == "JSONRPC"

    def request(
        self,
        operation: str,
        params: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        tenant: str = "",
    ) -> HttpRequest:
        """The bytes of a call. `tenant` goes where the binding likes it best."""
        params = dict(params or {})
        sent = {"host": "agent.example", **VERSION, **(headers or {})}
        if self.jsonrpc:
            if tenant:
                params["tenant"] = tenant
            body: dict[str, Any] = {
                "jsonrpc": "2.0",
                "id": f"r-{next(_numbers)}",
                "method": operation,
                "params": params,
            }
            sent = {"content-type": "application/json", **sent}
            return HttpRequest("POST", self.path, urlencode(query or {}), sent, json.dumps(body).encode())
        verb, route = ROUTES[operation]
        in_path = set(re.findall(r"{(\w+)}", route))
        route = route.format(**{name: quote(str(params.get(name, "")), safe="") for name in in_path})
        rest = {name: value for name, value in params.items() if name not in in_path}
        prefix = f"{self.path}/{quote(tenant, safe='')}" if tenant else self.path
        if verb in {"GET", "DELETE"}:
            written = {name: _in_query(value) for name, value in rest.items()}
            return HttpRequest(verb, prefix + route, urlencode({**written, **(query or {})}, quote_via=quote), sent)
        sent = {"content-type": "application/a2a+json", **sent}
        return HttpRequest(verb, prefix + route, urlencode(query or {}), sent, json.dumps(rest).encode())

    async def send_raw(self, request: HttpRequest) -> HttpReply:
        return await self.bridge.send(request)

    async def reply(self, operation: str, params: Mapping[str, Any] | None = None, **how: Any) -> HttpReply:
        """The whole answer to a call, unread."""
        return await self.send_raw(self.request(operation, params, **how))

    async def call(self, operation: str, params: Mapping[str, Any] | None = None, **how: Any) -> Any:
        """The result of a call; raises `Fault`."""
        request = self.request(operation, params, **how)
        return self.read(request, await self.send_raw(request))

    def read(self, request: HttpRequest, reply: HttpReply) -> Any:
        """The result inside an answer, its form checked; raises `Fault`."""
        body = json.loads(reply.body)
        request_id = json.loads(request.body)["id"] if self.jsonrpc else None
        if "error" in body:
            self.fail(reply.status, body, request_id, reply)
        assert reply.status == 200
        expected = "application/json" if self.jsonrpc else "application/a2a+json"
        assert reply.headers["content-type"].split(";")[0] == expected
        result = self.opened(body, request_id)
        check_payload(result)
        return result

    def opened(self, body: Any, request_id: Any) -> Any:
        """What is inside the binding's envelope."""
        if not self.jsonrpc:
            return body
        assert set(body) == {"jsonrpc", "id", "result"}
        assert (body["jsonrpc"], body["id"]) == ("2.0", request_id)
        return body["result"]

    def fail(self, status: int, body: Any, request_id: Any, reply: HttpReply) -> None:
        reason, text, details = check_error(self.jsonrpc, status, body, request_id, streamed=not reply.headers)
        if reply.headers:
            assert reply.headers["content-type"].split(";")[0] == "application/json"
        raise Fault(reason, text, details, reply)

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

    @asynccontextmanager
    async def stream(
        self, operation: str, params: Mapping[str, Any] | None = None, **how: Any
    ) -> AsyncGenerator[Stream]:
        """An open stream; raises `Fault` when it is refused before it begins."""
        request = self.request(operation, params, **how)
        async with self.bridge.open(request) as reply:
            if reply.headers["content-type"].split(";")[0] != "text/event-stream":
                body = b"".join([chunk async for chunk in reply.body()])
                self.read(request, HttpReply(reply.status, reply.headers, body))
                pytest.fail("a streaming operation gave a single result")
            assert reply.status == 200
            assert reply.headers.get("cache-control") == "no-cache"
            yield Stream(self, reply, json.loads(request.body)["id"] if self.jsonrpc else None)

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


def _in_query(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


async def card_of(bridge: AsgiBridge, path: str = "") -> dict[str, Any]:
    """The agent card below this path."""
    reply = await bridge.send(
        HttpRequest("GET", f"{path}/.well-known/agent-card.json", headers={"host": "agent.example"})
    )
    assert reply.status == 200, reply
    card: dict[str, Any] = json.loads(reply.body)
    return card


async def wire_to(bridge: AsgiBridge, binding: str, path: str = "") -> Wire:
    """The wire to the agent at this path, found through its card."""
    card = await card_of(bridge, path)
    urls: list[str] = [entry["url"] for entry in card["supportedInterfaces"] if entry["protocolBinding"] == binding]
    return Wire(bridge, binding, urlsplit(urls[0]).path)
