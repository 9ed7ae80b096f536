"""The official Python SDK's client, driven through the scenarios; prints what it saw as one JSON line for each.

Run by the peer's interpreter: `python python_client.py BINDING ECHO_URL SLOW_URL`.
"""

import asyncio
import json
import sys
import time
import traceback
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

from a2a.client import Client, ClientConfig, ClientFactory
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError

Facts = dict[str, Any]


class Agents:
    """The clients of one binding: each agent once for whole answers, once for streams."""

    def __init__(self, binding: str, echo_url: str, slow_url: str) -> None:
        self.binding, self.echo_url, self.slow_url = binding, echo_url, slow_url

    async def open(self) -> None:
        self.echo = await self._client(self.echo_url, streaming=False)
        self.slow = await self._client(self.slow_url, streaming=False)
        self.slow_stream = await self._client(self.slow_url, streaming=True)

    async def close(self) -> None:
        for client in (self.echo, self.slow, self.slow_stream):
            await client.close()

    async def _client(self, url: str, *, streaming: bool) -> Client:
        config = ClientConfig(streaming=streaming, supported_protocol_bindings=[self.binding])
        return await ClientFactory(config).create_from_url(url)


def request(text: str, *, task: Task | None = None, context: str = "", at_once: bool = False) -> SendMessageRequest:
    message = Message(
        message_id=str(uuid.uuid4()),
        role=Role.ROLE_USER,
        parts=[Part(text=text)],
        task_id=task.id if task else "",
        context_id=task.context_id if task else context,
    )
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=at_once))


async def send(client: Client, text: str, **options: Any) -> Task:
    async for answer in client.send_message(request(text, **options)):
        return answer.task
    raise AssertionError("no answer")


def state_of(state: TaskState) -> str:
    return TaskState.Name(state).removeprefix("TASK_STATE_").lower().replace("_", "-")


def text_of(task: Task) -> str:
    return "".join(part.text for artifact in task.artifacts for part in artifact.parts)


def seen(task: Task) -> Facts:
    return {"state": state_of(task.status.state), "text": text_of(task)}


async def watch(events: AsyncIterator[StreamResponse]) -> Facts:
    """What came, in order; artifacts put together by the rules of append."""
    kinds: list[str] = []
    texts: dict[str, str] = {}
    state = ""
    times: list[float] = []
    async for event in events:
        kind = event.WhichOneof("payload")
        kinds.append(kind)
        if kind == "task":
            state = state_of(event.task.status.state)
            texts = {a.artifact_id: "".join(p.text for p in a.parts) for a in event.task.artifacts}
        elif kind == "status_update":
            state = state_of(event.status_update.status.state)
        elif kind == "artifact_update":
            times.append(time.monotonic())
            update = event.artifact_update
            before = texts.get(update.artifact.artifact_id, "") if update.append else ""
            texts[update.artifact.artifact_id] = before + "".join(p.text for p in update.artifact.parts)
    return {
        "first": kinds[0],
        "tasks": kinds.count("task"),
        "chunks": len(times),
        "spread": times[-1] - times[0] if times else 0,
        "text": "".join(texts.values()),
        "state": state,
    }


async def name_of_error(call: Awaitable[object]) -> str:
    try:
        await call
    except A2AError as error:
        return type(error).__name__
    return "no error"


async def blocking(agents: Agents) -> Facts:
    return seen(await send(agents.echo, "hello"))


async def stream(agents: Agents) -> Facts:
    return await watch(agents.slow_stream.send_message(request("20 0.05 up")))


async def get(agents: Agents) -> Facts:
    sent = await send(agents.echo, "keep this")
    task = await agents.echo.get_task(GetTaskRequest(id=sent.id))
    bare = await agents.echo.get_task(GetTaskRequest(id=sent.id, history_length=0))
    return seen(task) | {
        "same": task.id == sent.id and task.context_id == sent.context_id,
        "history": [part.text for message in task.history for part in message.parts],
        "history_of_none": len(bare.history),
    }


async def pages(agents: Agents) -> Facts:
    context = str(uuid.uuid4())
    sent = [(await send(agents.echo, f"number {n}", context=context)).id for n in range(3)]
    sizes, found, token, total = [], [], "", 0
    for _ in range(5):
        page = await agents.echo.list_tasks(ListTasksRequest(context_id=context, page_size=2, page_token=token))
        sizes.append(len(page.tasks))
        found += [task.id for task in page.tasks]
        token, total = page.next_page_token, page.total_size
        if not token:
            break
    return {"sizes": sizes, "total": total, "newest_first": found == sent[::-1]}


async def cancel(agents: Agents) -> Facts:
    task = await send(agents.slow, "400 0.05 up", at_once=True)
    canceled = await agents.slow.cancel_task(CancelTaskRequest(id=task.id))
    later = await agents.slow.get_task(GetTaskRequest(id=task.id))
    return {
        "before": state_of(task.status.state),
        "state": state_of(canceled.status.state),
        "later": state_of(later.status.state),
    }


async def subscribe(agents: Agents) -> Facts:
    task = await send(agents.slow, "20 0.05 up", at_once=True)
    return await watch(agents.slow_stream.subscribe(SubscribeToTaskRequest(id=task.id)))


async def leave(agents: Agents) -> Facts:
    """A stream closed early does not touch the task."""
    task = Task()
    async with aclosing(agents.slow_stream.send_message(request("10 0.05 up"))) as events:
        async for event in events:
            if event.HasField("task"):
                task = event.task
            if event.HasField("artifact_update"):
                break
    return await watch(agents.slow_stream.subscribe(SubscribeToTaskRequest(id=task.id)))


async def follow_up(agents: Agents) -> Facts:
    asked = await send(agents.slow, "5 0.01")
    question = "".join(part.text for part in asked.status.message.parts)
    done = await send(agents.slow, "down", task=asked)
    return seen(done) | {"asked": state_of(asked.status.state), "question": question, "same": done.id == asked.id}


async def stream_follow_up(agents: Agents) -> Facts:
    asked = await watch(agents.slow_stream.send_message(request("5 0.01")))
    task = await send(agents.slow, "5 0.01")
    answer = await watch(agents.slow_stream.send_message(request("up", task=task)))
    return answer | {"asked": asked["state"]}


async def errors(agents: Agents) -> Facts:
    done = await send(agents.echo, "done")
    nobody = str(uuid.uuid4())
    return {
        "get unknown": await name_of_error(agents.echo.get_task(GetTaskRequest(id=nobody))),
        "cancel unknown": await name_of_error(agents.echo.cancel_task(CancelTaskRequest(id=nobody))),
        "cancel completed": await name_of_error(agents.echo.cancel_task(CancelTaskRequest(id=done.id))),
        "send to completed": await name_of_error(send(agents.echo, "more", task=done)),
        "send to unknown": await name_of_error(
            send(agents.echo, "more", task=Task(id=nobody, context_id=done.context_id))
        ),
        "subscribe to unknown": await name_of_error(
            watch(agents.slow_stream.subscribe(SubscribeToTaskRequest(id=nobody)))
        ),
    }


SCENARIOS: tuple[Callable[[Agents], Awaitable[Facts]], ...] = (
    blocking,
    stream,
    get,
    pages,
    cancel,
    subscribe,
    leave,
    follow_up,
    stream_follow_up,
    errors,
)


async def main() -> None:
    agents = Agents(*sys.argv[1:4])
    await agents.open()
    for scenario in SCENARIOS:
        try:
            async with asyncio.timeout(20):
                facts = await scenario(agents)
        except Exception:  # noqa: BLE001 - whatever broke is what the test reports
            facts = {"broken": traceback.format_exc()}
        print(json.dumps({"scenario": scenario.__name__, **facts}), flush=True)
    await agents.close()


if __name__ == "__main__":
    asyncio.run(main())
