"""An agent that records every request and plays what a test asks for; `serving` puts it on a socket.

It is written from the specification alone and shares no code with the package.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["BINDINGS", "Json", "Recorded", "Refused", "ScriptedAgent", "Step", "always", "done", "state"]

Json = dict[str, Any]
BINDINGS = ("JSONRPC", "HTTP+JSON")
SETTLED = {"COMPLETED", "FAILED", "CANCELED", "REJECTED", "INPUT_REQUIRED", "AUTH_REQUIRED"}


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
        self.push = True
        self.configs: dict[str, dict[str, Json]] = {}
        """Push notification configurations by task and id."""
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
            "capabilities": {"streaming": self.streaming, "pushNotifications": self.push},
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
            "CreateTaskPushNotificationConfig": self._create_config,
            "GetTaskPushNotificationConfig": self._get_config,
            "ListTaskPushNotificationConfigs": self._list_configs,
            "DeleteTaskPushNotificationConfig": self._delete_config,
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

    async def _create_config(self, params: Json) -> Json:
        task_id = self._named(params["taskId"])["id"]
        config = {"id": f"cfg-{len(self.configs.get(task_id, {})) + 1}", **params}
        self.configs.setdefault(task_id, {})[config["id"]] = config
        return config

    async def _get_config(self, params: Json) -> Json:
        found = self.configs.get(params["taskId"], {}).get(params["id"])
        if found is None:
            raise Refused("TASK_NOT_FOUND", f"no configuration {params['id']}")
        return found

    async def _list_configs(self, params: Json) -> Json:
        listed = list(self.configs.get(self._named(params["taskId"])["id"], {}).values())
        start, size = int(params.get("pageToken") or 0), int(params.get("pageSize", 50))
        following = str(start + size) if start + size < len(listed) else ""
        return {"configs": listed[start : start + size], "nextPageToken": following}

    async def _delete_config(self, params: Json) -> Json:
        self.configs.get(params["taskId"], {}).pop(params["id"], None)
        return {}

    def _named(self, task_id: str) -> Json:
        if task_id not in self.tasks:
            raise Refused("TASK_NOT_FOUND", f"no task {task_id}")
        return self.tasks[task_id]

    async def close(self) -> None:
        for player in list(self._players):
            player.cancel()
        await asyncio.gather(*self._players, return_exceptions=True)


def _settled(thing: Json) -> bool:
    return str(thing["status"]["state"]).removeprefix("TASK_STATE_") in SETTLED


def _status(name: str, text: str | None = None) -> Json:
    status: Json = {"state": f"TASK_STATE_{name}", "timestamp": "2026-01-02T03:04:05.678Z"}
    if text is not None:
        status["message"] = {"messageId": f"m-{text[:8]}", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return status
