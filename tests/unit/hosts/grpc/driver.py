"""The HTTP/2 side of an ASGI application, without HTTP/2: one gRPC call after another, in process."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from dragoman.hosts.binding import Scope
from dragoman.testing.bridge import AsgiApp

__all__ = ["Answer", "Line", "framed", "post", "unframed"]

Event = MutableMapping[str, Any]


def framed(message: bytes, flag: int = 0) -> bytes:
    return bytes([flag]) + len(message).to_bytes(4, "big") + message


def unframed(body: bytes) -> list[bytes]:
    """The messages of an answer, as they are on the wire."""
    messages: list[bytes] = []
    while body:
        end = 5 + int.from_bytes(body[1:5], "big")
        assert len(body) >= end
        messages.append(body[5:end])
        body = body[end:]
    return messages


class Answer(msgspec.Struct):
    """A whole answer, as its caller sees it."""

    status: int
    head: dict[str, str]
    body: bytes
    trailers: dict[str, str]

    @property
    def code(self) -> int:
        return int(self.trailers["grpc-status"])

    @property
    def messages(self) -> list[bytes]:
        return unframed(self.body)


class Line:
    """One stream of a connection: what the caller says goes in, what the application writes comes out."""

    def __init__(self, path: str, headers: Mapping[str, str], *, version: str = "2", trailers: bool = True) -> None:
        given = {"content-type": "application/grpc", "te": "trailers", **headers}
        self.scope: Scope = {
            "type": "http",
            "http_version": version,
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "extensions": {"http.response.trailers": {}} if trailers else {},
        }
        self.takes = asyncio.Event()
        self.takes.set()
        self.gone = False
        self._said: asyncio.Queue[Event] = asyncio.Queue()
        self._events: list[Event] = []
        self._news = asyncio.Event()

    def say(self, body: bytes, *, more: bool = False) -> None:
        self._said.put_nowait({"type": "http.request", "body": body, "more_body": more})

    def leave(self) -> None:
        self.gone = True
        self._said.put_nowait({"type": "http.disconnect"})

    async def receive(self) -> Event:
        return await self._said.get()

    async def send(self, event: Event) -> None:
        await self.takes.wait()
        if self.gone:
            raise OSError("the caller has gone")
        kinds = [earlier["type"] for earlier in self._events]
        assert self._allowed(event, kinds), f"{event['type']} after {kinds}"
        self._events.append(event)
        self._news.set()

    def _allowed(self, event: Event, kinds: list[str]) -> bool:
        """The order that ASGI asks for."""
        if event["type"] == "http.response.start":
            return not kinds
        if event["type"] == "http.response.body":
            return bool(kinds) and not self._body_ended()
        return self._body_ended() and kinds[-1] != event["type"] == "http.response.trailers"

    def _body_ended(self) -> bool:
        return any(
            event["type"] == "http.response.body" and not event.get("more_body", False) for event in self._events
        )

    @property
    def body(self) -> bytes:
        return b"".join(event.get("body", b"") for event in self._events)

    async def messages(self, count: int) -> list[bytes]:
        """The first so many messages, when they have come."""
        while len(found := unframed(self.body)) < count:
            self._news.clear()
            await self._news.wait()
        return found

    @property
    def answer(self) -> Answer:
        start, last = self._events[0], self._events[-1]
        trailers = _text(last["headers"]) if last["type"] == "http.response.trailers" else {}
        return Answer(start["status"], _text(start["headers"]), self.body, trailers)

    @asynccontextmanager
    async def open(self, app: AsgiApp) -> AsyncGenerator[asyncio.Task[None], None]:
        """Has the application answer; it must have ended at the end."""
        running = asyncio.create_task(_answered(app, self))
        try:
            yield running
            async with asyncio.timeout(5):
                await running
        finally:
            running.cancel()


async def _answered(app: AsgiApp, line: Line) -> None:
    await app(line.scope, line.receive, line.send)


def _text(fields: Any) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in fields}


async def post(app: AsgiApp, path: str, body: bytes, **options: Any) -> Answer:
    """The answer to a call whose request is these bytes."""
    headers: Mapping[str, str] = options.pop("headers", {})
    line = Line(path, headers, **options)
    line.say(body)
    async with line.open(app):
        pass
    return line.answer
