"""A receiver without sockets, in virtual time, and an agent that is asked for its tasks."""

import functools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, MutableMapping
from random import Random
from typing import Any, NamedTuple

from dragoman.client.receiver import Receiver
from dragoman.errors import TaskNotFoundError, UnsupportedOperationError
from dragoman.types.events import StreamEvent
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.reliable import numbered
from dragoman.types.requests import DeleteTaskPushNotificationConfigRequest, GetTaskRequest, SubscribeToTaskRequest
from dragoman.types.task import Task
from tests.simulation.loop import SeededLoop

__all__ = ["URL", "Agent", "Json", "Reply", "artifact", "headers_of", "post", "status", "task", "virtual"]

Json = dict[str, Any]
URL = "https://caller.example/hooks"


def virtual(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Runs an asynchronous test on a loop whose time moves on when nobody has anything to do."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        loop = SeededLoop.of(Random(1))
        loop.run_until_complete(test(*args, **kwargs))
        assert loop.broken == []

    return run


class Agent:
    """What a receiver asks of a client, answered from memory."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.numbers: dict[str, int] = {}
        """What a subscription says the task is at; without, it cannot be subscribed to."""
        self.configs: list[TaskPushNotificationConfig] = []
        self.deleted: list[tuple[str, str]] = []
        self.looks = 0
        self.trouble: Exception | None = None
        self.before_looks: Callable[[], Awaitable[None]] | None = None
        """What happens while the task is being looked at."""

    async def create_task_push_notification_config(
        self, config: TaskPushNotificationConfig
    ) -> TaskPushNotificationConfig:
        if self.trouble is not None:
            raise self.trouble
        self.configs.append(config)
        return config

    async def delete_task_push_notification_config(self, request: DeleteTaskPushNotificationConfigRequest) -> None:
        self.deleted.append((request.task_id, request.id))

    async def get_task(self, request: GetTaskRequest) -> Task:
        self.looks += 1
        if self.trouble is not None:
            raise self.trouble
        if request.id not in self.tasks:
            raise TaskNotFoundError
        return self.tasks[request.id]

    async def subscribe_to_task(self, request: SubscribeToTaskRequest) -> AsyncGenerator[StreamEvent, None]:
        if request.id not in self.numbers:
            raise UnsupportedOperationError
        self.looks += 1
        if self.before_looks is not None:
            await self.before_looks()
        yield numbered(self.tasks[request.id], self.numbers[request.id])

    def receiver(self, on_event: Any = None, **options: Any) -> Receiver:
        options.setdefault("clock", lambda: 1_000_000.0)
        client: Any = self
        return Receiver(client, URL, on_event, **options)

    async def watched(self, receiver: Receiver, task_id: str = "t-1") -> str:
        """Has the receiver watch a task, and gives the token that the agent was told."""
        await receiver.watch(task_id)
        token = self.configs[-1].token
        assert token is not None
        return token


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str


def headers_of(token: str | None = None, seq: int | None = None, task_id: str = "t-1", **more: str) -> dict[str, str]:
    """As our own agents send them; `more` with underscores for hyphens."""
    headers = {"content-type": "application/a2a+json"}
    if token is not None:
        headers["a2a-notification-token"] = token
    if seq is not None:
        headers["webhook-id"] = f"{task_id}:{seq}:c-1"
    return headers | {name.replace("_", "-"): value for name, value in more.items()}


async def post(
    receiver: Receiver,
    body: Json | bytes,
    headers: Mapping[str, str],
    *,
    method: str = "POST",
    receive: Callable[[], Awaitable[MutableMapping[str, Any]]] | None = None,
) -> Reply:
    """One request; `receive` in place of the body gives it in pieces."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    sent: list[MutableMapping[str, Any]] = []

    async def whole() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    scope = {"type": "http", "method": method, "path": "/", "http_version": "1.1", "headers": fields}
    await receiver.app(scope, receive or whole, send)
    if not sent:
        return Reply(0, {}, "")
    start, answer = sent
    named = {name.decode(): value.decode() for name, value in start["headers"]}
    return Reply(start["status"], named, answer["body"].decode())


def task(state: str = "WORKING", text: str = "", task_id: str = "t-1") -> Json:
    shown: Json = {"id": task_id, "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}}
    if text:
        shown["artifacts"] = [{"artifactId": "a", "parts": [{"text": text}]}]
    return {"task": shown}


def status(state: str, task_id: str = "t-1") -> Json:
    return {"statusUpdate": {"taskId": task_id, "contextId": "c", "status": {"state": f"TASK_STATE_{state}"}}}


def artifact(text: str, task_id: str = "t-1", *, append: bool = True) -> Json:
    shown = {"artifactId": "a", "parts": [{"text": text}]}
    return {"artifactUpdate": {"taskId": task_id, "contextId": "c", "artifact": shown, "append": append}}
