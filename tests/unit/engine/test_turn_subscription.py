"""Subscribing to the current turn alone, as callers of older protocols do."""

import asyncio
from collections.abc import AsyncIterable

import pytest

from dragoman.engine.feed import Batch
from dragoman.errors import TaskNotFoundError
from dragoman.operations import SUBSCRIBE_TO_TASK
from dragoman.testing.agent import RunOver, ScriptedAgent
from dragoman.types.events import StreamEvent
from dragoman.types.requests import SubscribeToTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import Stage, bounded, texts


async def events_of(feed: AsyncIterable[Batch]) -> list[StreamEvent]:
    return [event async for batch in feed for _, event in batch]


@bounded
async def test_a_task_that_has_ended_is_shown_once(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    await (await agent.run()).end()
    await stage.ended(task.id)
    feed = await stage.call(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task.id, turn=True))
    (shown,) = await events_of(feed)
    assert isinstance(shown, Task)
    assert shown.state is TaskState.COMPLETED
    assert not feed.cut


@bounded
async def test_the_stream_ends_when_the_task_asks_for_input(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    feed = await stage.call(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task.id, turn=True))
    asking = asyncio.create_task(run.ask("Which?"))
    first, *rest = await events_of(feed)
    assert isinstance(first, Task)
    assert texts(rest) == ["[Which?]"]
    # With nobody left who waits for it, the run is parked.
    with pytest.raises(RunOver):
        await asking
    again = await stage.call(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task.id, turn=True))
    (shown,) = await events_of(again)
    assert isinstance(shown, Task)
    assert shown.state is TaskState.INPUT_REQUIRED


@bounded
async def test_a_turn_of_an_unknown_task_is_not_found(stage: Stage) -> None:
    with pytest.raises(TaskNotFoundError):
        await stage.call(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="unknown", turn=True))
