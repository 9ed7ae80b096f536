"""A receiver of push notifications on a socket, which does as it is told and keeps all that it was sent."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from dragoman.push.attempt import Attempt

__all__ = ["Answer", "Posted", "Receiver", "Told", "receiving"]


class Posted(msgspec.Struct, frozen=True):
    """One request, names of headers in lower case."""

    target: str
    headers: dict[str, str]
    body: Any
    at: float
    """By the clock of the event loop."""


class Answer(msgspec.Struct, frozen=True):
    """What is answered; not before `hold` is set, if there is one."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    hold: asyncio.Event | None = None


class Receiver:
    """Answers each request as it was told to `say`, then `always` the same."""

    def __init__(self) -> None:
        self.url = ""
        self.origin = ""
        self.posts: list[Posted] = []
        self.always = Answer()
        """What is answered when nothing else was said."""
        self._script: deque[Answer] = deque()
        self._changed = asyncio.Event()

    def say(self, status: int, *headers: tuple[str, str], hold: asyncio.Event | None = None) -> None:
        """How one of the next requests is answered; not before `hold` is set, if there is one."""
        self._script.append(Answer(status, headers, hold))

    @property
    def bodies(self) -> list[Any]:
        return [post.body for post in self.posts]

    @property
    def words(self) -> list[str]:
        """What came, in short."""
        return [_word(body) for body in self.bodies]

    async def until(self, enough: Callable[["Receiver"], bool]) -> None:
        """Waits for what was received to be enough."""
        while not enough(self):
            self._changed.clear()
            await self._changed.wait()

    async def count(self, count: int) -> list[str]:
        """Waits for so many requests; all that came, in short."""
        await self.until(lambda receiver: len(receiver.posts) >= count)
        return self.words

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the requests of one connection, one after the other."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                await self._answer(head.decode(), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, head: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line, *fields = head.rstrip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        now = asyncio.get_running_loop().time()
        answer = self._script.popleft() if self._script else self.always
        self.posts.append(Posted(line.split()[1], headers, body, now))
        self._changed.set()
        if answer.hold is not None:
            await answer.hold.wait()
        said = "".join(f"{name}: {value}\r\n" for name, value in (*answer.headers, ("content-length", "0")))
        writer.write(f"HTTP/1.1 {answer.status} So\r\n{said}\r\n".encode())
        await writer.drain()


class Told:
    """The attempts that an agent was told of; one is put there as `on_attempt`."""

    def __init__(self) -> None:
        self._attempts: list[Attempt] = []
        self._changed = asyncio.Event()

    def __call__(self, attempt: Attempt) -> None:
        self._attempts.append(attempt)
        self._changed.set()

    async def count(self, count: int) -> list[Attempt]:
        """Waits for so many attempts."""
        while len(self._attempts) < count:
            self._changed.clear()
            await self._changed.wait()
        return self._attempts


def _word(body: dict[str, Any]) -> str:
    if "kind" in body:
        return f"{body['kind']} {body['status']['state']}"
    (kind, payload), *_ = body.items()
    if kind == "task":
        return f"task {payload['status']['state'].removeprefix('TASK_STATE_').lower()}"
    if kind == "statusUpdate":
        return str(payload["status"]["state"].removeprefix("TASK_STATE_").lower())
    parts = payload["artifact"]["parts"] if kind == "artifactUpdate" else payload["parts"]
    return "".join(part["text"] for part in parts)


@asynccontextmanager
async def receiving() -> AsyncGenerator[Receiver]:
    """A receiver on a port of its own."""
    receiver = Receiver()
    connections: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        try:
            await receiver.serve(reader, writer)
        except asyncio.CancelledError:
            pass  # the end of the test
        finally:
            connections.discard(task)

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    receiver.origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    receiver.url = f"{receiver.origin}/hook"
    try:
        yield receiver
    finally:
        server.close()
        for task in tuple(connections):
            task.cancel()
        if connections:
            await asyncio.wait(tuple(connections), timeout=5)
