"""An agent on a real socket that answers by a script and keeps what it was asked.

It speaks just enough HTTP/1.1 to be cut, silent, late or wrong at any byte.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Seen:
    """One request as it came."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def name(self) -> str:
        """The JSON-RPC method, else verb and target."""
        if self.target.startswith("/rpc") and self.body:
            return str(json.loads(self.body)["method"])
        return f"{self.method} {self.target}"

    @property
    def params(self) -> Json:
        params: Json = json.loads(self.body)["params"]
        return params


@dataclass
class Exchange:
    """The server's end of a connection, while it answers one request."""

    seen: Seen
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    keep: bool = True

    async def reply(self, body: bytes, status: int = 200, **headers: str) -> None:
        given = {"content-type": "application/json", **{name.replace("_", "-"): text for name, text in headers.items()}}
        await self.head(status, {**given, "content-length": str(len(body))})
        await self.write(body)

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {text}" for name, text in headers.items()), "", ""]
        await self.write("\r\n".join(lines).encode())

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        await self.write(b"%x\r\n%b\r\n" % (len(data), data))


Answer = Callable[[Exchange], Awaitable[None]]


def result(value: Any) -> Answer:
    """A JSON-RPC result."""
    return plain(json.dumps({"jsonrpc": "2.0", "id": 1, "result": value}).encode())


def error(code: int, reason: str) -> Answer:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason, "domain": "a2a-protocol.org"}
    shown = {"code": code, "message": reason.lower(), "data": [info]}
    return plain(json.dumps({"jsonrpc": "2.0", "id": 1, "error": shown}).encode())


def plain(body: bytes, status: int = 200, **headers: str) -> Answer:
    async def answer(exchange: Exchange) -> None:
        await exchange.reply(body, status, **headers)

    return answer


def events(*values: Json, then: str = "end", enveloped: bool = True) -> Answer:
    """A stream of these events, which then ends, is `cut`, or stays `open` until the client goes."""

    async def answer(exchange: Exchange) -> None:
        await exchange.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for value in values:
            shown = {"jsonrpc": "2.0", "id": 1, "result": value} if enveloped else value
            await exchange.chunk(b"data: %b\n\n" % json.dumps(shown).encode())
        if then == "end":
            await exchange.write(b"0\r\n\r\n")
            return
        if then == "open":
            await exchange.reader.read()
        exchange.keep = False

    return answer


async def cut(exchange: Exchange) -> None:
    """Closes the connection without a byte of answer."""
    exchange.keep = False


async def silent(exchange: Exchange) -> None:
    """Says nothing until the client goes."""
    await exchange.reader.read()
    exchange.keep = False


@dataclass
class Script:
    """Answers by the name of the request: each once, in order, the last one for ever."""

    port: int = 0
    answers: dict[str, list[Answer]] = field(default_factory=dict[str, list[Answer]])
    seen: list[Seen] = field(default_factory=list[Seen])
    connections: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the client has closed a connection."""
    card: Json = field(default_factory=dict[str, Any])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def names(self) -> list[str]:
        """The requests after the card's."""
        return [seen.name for seen in self.seen if ".well-known" not in seen.target]

    def asked(self, name: str) -> list[Seen]:
        return [seen for seen in self.seen if seen.name == name]

    def offer(self, **changes: Any) -> None:
        """Publishes a card with these members changed."""
        interface = {"url": f"{self.url}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        card = {
            "name": "Scripted",
            "description": "Says what it is told to say.",
            "version": "1",
            "supportedInterfaces": [interface],
            "capabilities": {"streaming": True},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [],
        }
        self.card = card | changes
        self.answers["GET /.well-known/agent-card.json"] = [plain(json.dumps(self.card).encode())]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        keep = True
        while keep and (seen := await _request(reader)):
            self.seen.append(seen)
            left = self.answers.get(seen.name, [plain(b"not in the script", 404)])
            exchange = Exchange(seen, reader, writer)
            try:
                await (left.pop(0) if len(left) > 1 else left[0])(exchange)
            except ConnectionError:
                break
            keep = exchange.keep
        self.closed.set()
        writer.close()


async def _request(reader: asyncio.StreamReader) -> Seen | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
    method, target, _ = first.split(" ")
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, target, headers, body)


@asynccontextmanager
async def scripted() -> AsyncGenerator[Script, None]:
    """An agent that streams over JSON-RPC, on a port of its own."""
    script = Script()
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.port = server.sockets[0].getsockname()[1]
    script.offer()
    try:
        yield script
    finally:
        server.close()


def task(state: str, text: str = "", *, said: str = "", task_id: str = "t-1") -> Json:
    """A task with one artifact if there is a text, and a status message if something was said."""
    shown: Json = {"id": task_id, "contextId": "c-1", "status": _status(state, said)}
    if text:
        shown["artifacts"] = [{"artifactId": "a", "parts": [{"text": text}]}]
    return shown


def message(text: str) -> Json:
    return {"messageId": "m-1", "role": "ROLE_AGENT", "parts": [{"text": text}]}


def status(state: str, said: str = "") -> Json:
    return {"statusUpdate": {"taskId": "t-1", "contextId": "c-1", "status": _status(state, said)}}


def chunk(text: str, *, append: bool = True) -> Json:
    artifact = {"artifactId": "a", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": "t-1", "contextId": "c-1", "artifact": artifact, "append": append}}


def _status(state: str, said: str) -> Json:
    shown: Json = {"state": f"TASK_STATE_{state}", "timestamp": "2026-01-02T03:04:05.000Z"}
    return shown | ({"message": message(said)} if said else {})
