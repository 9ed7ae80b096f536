"""The official SDKs' servers push to our receiver, in every version and binding."""

import asyncio

import msgspec
import pytest

from dragoman import TaskHandle, TaskState, connect
from dragoman.client.discovery import minor
from dragoman.types import AgentCard, StreamEvent, Task, TaskStatusUpdateEvent
from tests.interop.columns import COLUMNS, Column
from tests.interop.stage import Stage

SERVERS = [column for column in COLUMNS if column.role == "server"]


def only(card: AgentCard, column: Column) -> AgentCard:
    """The card with the interface of the column alone."""
    chosen = [
        interface
        for interface in card.supported_interfaces
        if (minor(interface.protocol_version), interface.protocol_binding) == (column.version, column.binding)
    ]
    return msgspec.structs.replace(card, supported_interfaces=(chosen[0],))


@pytest.mark.parametrize("column", SERVERS, ids=str)
async def test_a_task_of_an_official_server_is_pushed_to_its_end(stage: Stage, column: Column) -> None:
    told: list[StreamEvent] = []
    ended = asyncio.Event()

    async def on_event(event: StreamEvent) -> None:
        told.append(event)
        if isinstance(event, Task | TaskStatusUpdateEvent) and event.status.state is TaskState.COMPLETED:
            ended.set()

    async with connect(stage.server(column.peer), versions=[column.version]) as client:
        card = only(await client.card(), column)
    async with (
        connect(card) as client,
        client.receiver(on_event=on_event) as receiver,
        receiver.serve(),
    ):
        handle = await client.start("count 3 0.2 up", webhook=receiver)
        assert isinstance(handle, TaskHandle)
        done = await handle.result(via=receiver, deadline=20)
        assert done.text == "1 2 3 "
        async with asyncio.timeout(20):
            await ended.wait()
    about = {event.id if isinstance(event, Task) else getattr(event, "task_id", "") for event in told}
    assert about == {handle.id}
