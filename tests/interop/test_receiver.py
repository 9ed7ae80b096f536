"""The servers of the official SDKs push to our receiver, in every version and binding that they have.

What they cannot do with webhooks at all is in `webhook_limits`, and in docs/interop.md.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, MutableMapping, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from dragoman import Client, InputRequired, TaskHandle, TaskState, connect
from dragoman.client.discovery import minor
from dragoman.client.receiver.hosting import hosted
from dragoman.client.receiver.route import Receive, Route, Scope, Send
from dragoman.errors import InvalidParamsError
from dragoman.types import (
    AgentCard,
    Artifact,
    AuthenticationInfo,
    StreamEvent,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskStatusUpdateEvent,
)
from tests.interop.columns import COLUMNS, Column
from tests.interop.stage import Stage

PATIENCE = 20.0
SERVERS = [column for column in COLUMNS if column.role == "server"]
NEVER_SET = {Column("server", "0.3", "js-1.3.0", "HTTP+JSON")}
"""Servers that take webhooks with a message alone."""
STEPS = ["1 ", "1 2 ", "1 2 3 "]


class Told(list[StreamEvent]):
    """A handler of events that keeps them."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = asyncio.Event()

    async def __call__(self, event: StreamEvent) -> None:
        self.append(event)
        if isinstance(event, Task | TaskStatusUpdateEvent) and event.status.state is TaskState.COMPLETED:
            self.ended.set()


class Noted(Route):
    """A receiver's route that counts what it answers."""

    def __init__(self) -> None:
        self.route: Route | None = None
        self.statuses: Counter[int] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def noted(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.statuses[message["status"]] += 1
            await send(message)

        assert self.route is not None
        await self.route(scope, receive, noted)


@asynccontextmanager
async def opened(stage: Stage, column: Column) -> AsyncGenerator[Client]:
    """Our client of the one interface that the column names."""
    async with connect(stage.server(column.peer), versions=[column.version]) as client:
        card = only(await client.card(), column)
    async with connect(card) as client:
        yield client


def only(card: AgentCard, column: Column) -> AgentCard:
    """The card with the interface of the column alone."""
    chosen = [
        interface
        for interface in card.supported_interfaces
        if (minor(interface.protocol_version), interface.protocol_binding) == (column.version, column.binding)
    ]
    return msgspec.structs.replace(card, supported_interfaces=(chosen[0],))


def assert_in_order(told: Sequence[StreamEvent], task_id: str, column: Column) -> None:
    """Each event is typed and of the task, the text only grows, and what comes last is the end."""
    about = {event.id if isinstance(event, Task) else getattr(event, "task_id", "") for event in told}
    assert about == {task_id}
    states = [event.status.state for event in told if isinstance(event, Task | TaskStatusUpdateEvent)]
    assert states.count(TaskState.COMPLETED) == 1
    assert states[-1] is TaskState.COMPLETED
    texts = read(told)
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))
    if column.version == "1.0" or column.peer == "py-1.3.0":
        assert [text for text, event in zip(texts, told, strict=True) if is_piece(event)] == STEPS
    else:
        assert {type(event) for event in told} == {Task}
        assert texts[-1] == STEPS[-1]


def is_piece(event: StreamEvent) -> bool:
    return isinstance(event, TaskArtifactUpdateEvent)


def read(told: Sequence[StreamEvent]) -> list[str]:
    """The text as it is known after each event."""
    texts: list[str] = []
    for event in told:
        known = texts[-1] if texts else ""
        if isinstance(event, Task):
            known = words(*event.artifacts)
        elif isinstance(event, TaskArtifactUpdateEvent):
            known = (known if event.append else "") + words(event.artifact)
        texts.append(known)
    return texts


def words(*artifacts: Artifact) -> str:
    return "".join(part.text or "" for artifact in artifacts for part in artifact.parts)


@pytest.mark.parametrize("column", SERVERS, ids=str)
async def test_a_task_is_pushed_from_its_creation_to_its_end(stage: Stage, column: Column) -> None:
    told = Told()
    known = AuthenticationInfo(scheme="Bearer", credentials="secret")
    async with opened(stage, column) as client:
        receiver = client.receiver(on_event=told, authentication=known)
        async with receiver.serve(), asyncio.timeout(PATIENCE):
            handle = await client.start("count 3 0.02 up", webhook=receiver)
            assert isinstance(handle, TaskHandle)
            assert (await handle.result(via=receiver)).text == "1 2 3 "
            await told.ended.wait()
    assert isinstance(told[0], Task)
    assert_in_order(told, handle.id, column)


@pytest.mark.parametrize("column", [column for column in SERVERS if column not in NEVER_SET], ids=str)
async def test_a_waiting_task_is_pushed_from_when_it_is_watched_and_strangers_are_refused(
    stage: Stage, column: Column
) -> None:
    told, noted = Told(), Noted()
    async with opened(stage, column) as client, hosted(noted, "127.0.0.1", 0, None) as origin:
        receiver = client.receiver(origin, told)
        noted.route = receiver.app
        async with asyncio.timeout(PATIENCE):
            with pytest.raises(InputRequired) as asked:
                await client.ask("count 3 0.02")
            handle = asked.value.handle
            await client.create_task_push_notification_config(
                TaskPushNotificationConfig(task_id=handle.id, id="strange", url=origin, token="guessed")
            )
            await receiver.watch(handle)
            handle = await handle.reply("up")
            assert (await handle.result(via=receiver)).text == "1 2 3 "
            await told.ended.wait()
    assert_in_order(told, handle.id, column)
    assert noted.statuses.keys() >= {200, 401}
    assert noted.statuses[200] >= len(told)


@pytest.mark.parametrize("column", sorted(NEVER_SET), ids=str)
async def test_a_server_that_takes_no_webhook_for_a_task_that_is_there_says_so(stage: Stage, column: Column) -> None:
    async with opened(stage, column) as client, client.receiver() as receiver, receiver.serve():
        with pytest.raises(InputRequired) as asked:
            await client.ask("count 3 0.02")
        with pytest.raises(InvalidParamsError, match="missing pushNotificationConfig"):
            await receiver.watch(asked.value.handle)
