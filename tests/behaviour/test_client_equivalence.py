"""The client in every cell: one server on one socket, the same calls, and the same values back."""

import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec
import pytest

from dragoman import Client, connect
from dragoman.errors import A2AError, MethodNotFoundError, TaskNotCancelableError, TaskNotFoundError
from dragoman.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    CancelTaskRequest,
    GetTaskRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageRequest,
    Task,
)
from tests.behaviour.cells import CELLS, NO_LISTS, Cell
from tests.behaviour.manifest import requirement
from tests.behaviour.test_equivalence import kept, likened

SERVES = """
from tests.behaviour.test_equivalence import busy

agent = busy()
agent.run(port=0, announce=lambda line: print(line, flush=True))
"""


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """Where the server is."""
    program = [sys.executable, "-c", SERVES]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield f"http://{urlsplit(line.split()[-1]).netloc}"
        finally:
            process.terminate()
            _, errors = process.communicate(timeout=20)
    assert "Traceback" not in errors, errors


def client_in(cell: Cell, origin: str) -> Client:
    """A client that can speak nothing else."""
    url = origin.removeprefix("http://") if cell.binding == "GRPC" else origin
    version = "1.0-draft" if cell.line == "draft" else cell.line
    card = AgentCard(
        name="Busy",
        description="",
        version="1",
        supported_interfaces=(AgentInterface(url=url, protocol_binding=cell.binding, protocol_version=version),),
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=(),
        default_output_modes=(),
        skills=(),
    )
    return connect(card, versions=[version])


def anew() -> Message:
    """A message that was never sent before."""
    return msgspec.structs.replace(MESSAGE, message_id=str(uuid.uuid4()))


MESSAGE = Message(
    message_id="",
    role=Role.USER,
    parts=(
        Part(text="everything", metadata={"a_b": {"c": [1]}}),
        Part(data={"d": {"e": None}}),
        Part(base64="AP8=", media_type="a/b", filename="f"),
        Part(url="https://files.example/ü", media_type="c/d"),
    ),
    metadata={"some_key": [True, 2, "three"]},
    extensions=("https://extensions.example/1",),
)


async def said(client: Client, cell: Cell) -> list[Any]:
    """What the client makes of the answers, as plain values."""
    task = await client.send_message(SendMessageRequest(message=anew()))
    assert isinstance(task, Task)
    got = await client.get_task(GetTaskRequest(id=task.id, history_length=1))
    events = [event async for event in client.send_streaming_message(SendMessageRequest(message=anew()))]
    faults: list[A2AError] = []
    for request in (CancelTaskRequest(id=task.id), CancelTaskRequest(id="unknown")):
        with pytest.raises(A2AError) as caught:
            await client.cancel_task(request)
        faults.append(caught.value)
    assert [type(fault) for fault in faults] == [TaskNotCancelableError, TaskNotFoundError], cell.key
    return [task, got, events, [fault.message for fault in faults]]


NAMES = {"media_type": "mediaType"}
"""By which `kept` knows what is lost."""


def plainly(value: Any) -> Any:
    """Values as JSON has them, what is absent left out."""
    return likened(_named(msgspec.to_builtins(value)), {})


def _named(value: Any) -> Any:
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {NAMES.get(name, name): _named(inner) for name, inner in members.items() if inner not in (None, (), [])}
    return [_named(inner) for inner in cast("Any", value)] if isinstance(value, list | tuple) else value


@requirement("R-5.1-02", "R-A.2-02", "R-4-01")
async def test_the_client_makes_the_same_of_an_agent_in_every_cell(origin: str) -> None:
    answers: dict[str, Any] = {}
    for cell in CELLS:
        async with client_in(cell, origin) as client:
            answers[cell.key] = plainly(await said(client, cell))
    for cell in CELLS:
        assert kept(cell, answers[cell.key]) == kept(cell, answers["1.0/JSONRPC"]), cell.key


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.key)
async def test_the_client_lists_where_there_are_lists(origin: str, cell: Cell) -> None:
    async with client_in(cell, origin) as client:
        task = await client.send_message(SendMessageRequest(message=anew()))
        assert isinstance(task, Task)
        request = ListTasksRequest(context_id=task.context_id)
        if cell in NO_LISTS.cells:
            with pytest.raises(MethodNotFoundError):
                await client.list_tasks(request)
        else:
            assert [one.id for one in (await client.list_tasks(request)).tasks] == [task.id]
