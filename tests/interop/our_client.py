"""Our client, driven through the scenarios of the peers' scripts. What it saw has the same shape as theirs."""

import asyncio
import traceback
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import Any

from dragoman import connect
from dragoman.client import Client, InputRequired, TaskHandle
from dragoman.errors import A2AError
from dragoman.types import (
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamEvent,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskStatusUpdateEvent,
)

__all__ = ["see"]

Facts = dict[str, Any]


@dataclass(frozen=True)
class Agents:
    echo: Client
    slow: Client


def see(binding: str, echo_url: str, slow_url: str) -> dict[str, Facts]:
    """What our client saw over this binding, by scenario; `broken` holds the traceback of one that failed."""
    return asyncio.run(_see(binding, echo_url, slow_url))


async def _see(binding: str, echo_url: str, slow_url: str) -> dict[str, Facts]:
    facts: dict[str, Facts] = {}
    async with connect(echo_url, bindings=[binding]) as echo, connect(slow_url, bindings=[binding]) as slow:
        for scenario in SCENARIOS:
            try:
                async with asyncio.timeout(20):
                    facts[scenario.__name__] = await scenario(Agents(echo, slow))
            except Exception:  # noqa: BLE001 - whatever broke is what the test reports
                facts[scenario.__name__] = {"broken": traceback.format_exc()}
    return facts


def _request(text: str, *, task_id: str | None = None, context_id: str | None = None) -> SendMessageRequest:
    parts = (Part(text=text),)
    message = Message(message_id=str(uuid.uuid4()), role=Role.USER, parts=parts, task_id=task_id, context_id=context_id)
    return SendMessageRequest(message=message)


async def _send(client: Client, text: str, **ids: str) -> Task:
    answer = await client.send_message(_request(text, **ids))
    assert isinstance(answer, Task)
    return answer


async def _start(client: Client, text: str) -> TaskHandle:
    handle = await client.start(text)
    assert isinstance(handle, TaskHandle)
    return handle


def _seen(task: Task) -> Facts:
    return {"state": task.state.value, "text": task.text}


async def _watch(events: AsyncGenerator[StreamEvent, None]) -> Facts:
    """What came, in order; artifacts put together by the rules of append."""
    kinds: list[str] = []
    times: list[float] = []
    texts: dict[str, str] = {}
    state = ""
    async with aclosing(events):
        async for event in events:
            kinds.append("task" if isinstance(event, Task) else type(event).__name__)
            if isinstance(event, Task):
                texts = {artifact.artifact_id: artifact.text for artifact in event.artifacts}
            if isinstance(event, Task | TaskStatusUpdateEvent):
                state = event.status.state.value
            if isinstance(event, TaskArtifactUpdateEvent):
                times.append(monotonic())
                name = event.artifact.artifact_id
                texts[name] = (texts.get(name, "") if event.append else "") + event.artifact.text
    return {
        "first": kinds[0],
        "tasks": kinds.count("task"),
        "chunks": len(times),
        "spread": times[-1] - times[0] if times else 0,
        "text": "".join(texts.values()),
        "state": state,
    }


async def _name_of_error(call: Awaitable[object]) -> str:
    try:
        await call
    except A2AError as error:
        return type(error).__name__
    return "no error"


async def blocking(agents: Agents) -> Facts:
    return {**_seen(await _send(agents.echo, "hello")), "text": await agents.echo.ask("hello")}


async def stream(agents: Agents) -> Facts:
    return await _watch(agents.slow.stream("20 0.05 up"))


async def get(agents: Agents) -> Facts:
    sent = await _send(agents.echo, "keep this")
    task = await agents.echo.get_task(GetTaskRequest(id=sent.id))
    bare = await agents.echo.get_task(GetTaskRequest(id=sent.id, history_length=0))
    return _seen(task) | {
        "same": task.id == sent.id and task.context_id == sent.context_id,
        "history": [message.text for message in task.history],
        "history_of_none": len(bare.history),
    }


async def pages(agents: Agents) -> Facts:
    context = str(uuid.uuid4())
    sent = [(await _send(agents.echo, f"number {n}", context_id=context)).id for n in range(3)]
    sizes: list[int] = []
    found: list[str] = []
    token, total = "", 0
    for _ in range(5):
        page = await agents.echo.list_tasks(ListTasksRequest(context_id=context, page_size=2, page_token=token))
        sizes.append(len(page.tasks))
        found += [task.id for task in page.tasks]
        token, total = page.next_page_token, page.total_size
        if not token:
            break
    return {"sizes": sizes, "total": total, "newest_first": found == sent[::-1]}


async def cancel(agents: Agents) -> Facts:
    handle = await _start(agents.slow, "400 0.05 up")
    before = handle.state.value
    canceled = await handle.cancel()
    later = await handle.refresh()
    return {"before": before, "state": canceled.state.value, "later": later.state.value}


async def subscribe(agents: Agents) -> Facts:
    handle = await _start(agents.slow, "20 0.05 up")
    return await _watch(agents.slow.subscribe_to_task(SubscribeToTaskRequest(id=handle.id)))


async def leave(agents: Agents) -> Facts:
    task_id = ""
    async with aclosing(agents.slow.stream("10 0.05 up")) as events:
        async for event in events:
            if isinstance(event, Task):
                task_id = event.id
            if isinstance(event, TaskArtifactUpdateEvent):
                break
    return await _watch((await agents.slow.task(task_id)).events())


async def follow_up(agents: Agents) -> Facts:
    try:
        text = await agents.slow.ask("5 0.01")
    except InputRequired as asked:
        answered = await asked.handle.reply("down")
        facts = _seen(await answered.result())
        same = answered.id == asked.task.id
        return facts | {"asked": asked.task.state.value, "question": asked.question, "same": same}
    return {"asked": "no question", "text": text}


async def stream_follow_up(agents: Agents) -> Facts:
    asked = await _watch(agents.slow.stream("5 0.01"))
    task = await _send(agents.slow, "5 0.01")
    answer = await _watch(agents.slow.stream("up", task_id=task.id, context_id=task.context_id))
    return answer | {"asked": asked["state"]}


async def errors(agents: Agents) -> Facts:
    done = await _send(agents.echo, "done")
    nobody = str(uuid.uuid4())
    return {
        "get unknown": await _name_of_error(agents.echo.get_task(GetTaskRequest(id=nobody))),
        "cancel unknown": await _name_of_error(agents.echo.cancel_task(CancelTaskRequest(id=nobody))),
        "cancel completed": await _name_of_error(agents.echo.cancel_task(CancelTaskRequest(id=done.id))),
        "send to completed": await _name_of_error(_send(agents.echo, "more", task_id=done.id)),
        "send to unknown": await _name_of_error(_send(agents.echo, "more", task_id=nobody)),
        "subscribe to unknown": await _name_of_error(
            _watch(agents.slow.subscribe_to_task(SubscribeToTaskRequest(id=nobody)))
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
