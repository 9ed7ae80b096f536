"""Readers of what is pushed: `events`, and the waiting for a result."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any

import pytest

from dragoman.client.receiver import Receiver, ReceiverLimits
from dragoman.client.view import TaskView
from dragoman.errors import ConfigurationError, TransportError, UnavailableError
from dragoman.types.content import Message, Part, Role
from dragoman.types.events import StreamEvent
from dragoman.types.push import AuthenticationInfo
from dragoman.types.requests import SendMessageRequest
from dragoman.types.task import TaskState, TaskStatus
from tests.unit.client.receiver.stage import Agent, Json, artifact, headers_of, post, status, task, virtual
from tests.unit.client.receiver.test_order import now, stored, words


class Pushing:
    """A receiver without a handler, and what its agent posts."""

    def __init__(self, **limits: Any) -> None:
        self.agent = Agent()
        self.receiver = self.agent.receiver(limits=ReceiverLimits(**limits))
        self._seq = 0

    async def begin(self) -> None:
        self.agent.tasks["t-1"] = stored(TaskState.WORKING, "so far")
        self._token = await self.agent.watched(self.receiver)

    async def push(self, *bodies: Json) -> None:
        for body in bodies:
            self._seq += 1
            assert (await post(self.receiver, body, headers_of(self._token, self._seq))).status == 200

    async def read(self) -> list[str]:
        return [words(event) async for event in self.receiver.events("t-1")]


@virtual
async def test_events_wait_for_the_first_reader_and_end_with_the_task() -> None:
    pushing = Pushing()
    await pushing.begin()
    await pushing.push(task(), artifact("a"))
    reading = asyncio.ensure_future(pushing.read())
    await asyncio.sleep(1)
    await pushing.push(artifact("b"), status("COMPLETED"))
    assert await reading == ["Task working", "a", "b", "completed"]
    assert pushing.agent.looks == 0


@virtual
async def test_a_late_reader_has_the_task_as_it_is() -> None:
    pushing = Pushing()
    await pushing.begin()
    await pushing.push(task(), status("COMPLETED"))
    assert await pushing.read() == ["Task working", "completed"]
    pushing.agent.tasks["t-1"] = stored(TaskState.COMPLETED, "all")
    assert await pushing.read() == ["Task completed: all"]


@virtual
async def test_a_task_that_nobody_watches_yet_is_watched_from_its_present_state_on() -> None:
    pushing = Pushing()
    await pushing.begin()
    pushing.agent.tasks["t-2"] = stored(TaskState.WORKING, "two", "t-2")
    told: list[str] = []
    async with aclosing(pushing.receiver.events("t-2")) as events:
        told.append(words(await anext(events)))
        assert [config.task_id for config in pushing.agent.configs] == ["t-1", "t-2"]
        token = pushing.agent.configs[-1].token
        assert (await post(pushing.receiver, artifact("x", "t-2"), headers_of(token, 7, "t-2"))).status == 200
        told.append(words(await anext(events)))
    assert told == ["Task working: two", "x"]


@pytest.mark.parametrize("limits", [{"kept_events": 3}, {"kept_bytes": 500}])
@virtual
async def test_a_slow_reader_costs_no_memory_and_has_the_task_instead(limits: dict[str, int]) -> None:
    pushing = Pushing(**limits)
    await pushing.begin()
    pushing.agent.tasks["t-1"] = stored(TaskState.WORKING, "all of it")
    await pushing.push(task(), *(artifact(str(number)) for number in range(7)))
    reading = asyncio.ensure_future(pushing.read())
    await asyncio.sleep(1)
    await pushing.push(status("COMPLETED"))
    assert await reading == ["Task working: all of it", "completed"]


@virtual
async def test_what_is_in_the_task_that_a_late_reader_gets_is_not_told_again() -> None:
    pushing = Pushing(kept_events=3)
    await pushing.begin()
    await pushing.push(task(), *(artifact(str(number)) for number in range(2, 6)))
    pushing.agent.tasks["t-1"] = stored(TaskState.WORKING, "2 to 6")
    pushing.agent.numbers["t-1"] = 6
    pushing.agent.before_looks = lambda: pushing.push(artifact("6"), artifact("7"))
    reading = asyncio.ensure_future(pushing.read())
    await asyncio.sleep(1)
    await pushing.push(status("COMPLETED"))
    assert await reading == ["Task working: 2 to 6", "7", "completed"]


@virtual
async def test_two_readers_have_every_event_each_and_one_that_leaves_disturbs_nobody() -> None:
    pushing = Pushing()
    await pushing.begin()
    first: AsyncGenerator[StreamEvent, None] = pushing.receiver.events("t-1")
    begun = asyncio.ensure_future(anext(first))
    second = asyncio.ensure_future(pushing.read())
    await asyncio.sleep(1)
    await pushing.push(task())
    assert words(await begun) == "Task working"
    await first.aclose()
    await pushing.push(artifact("a"), status("COMPLETED"))
    assert await second == ["Task working", "a", "completed"]


async def heard(pushing: Pushing, view: TaskView) -> list[str]:
    return [words(event) async for event in pushing.receiver.news(view)]


@virtual
async def test_a_result_is_looked_at_once_when_the_task_is_said_to_have_ended() -> None:
    pushing = Pushing()
    await pushing.begin()
    view = TaskView(pushing.agent.tasks["t-1"])
    waiting = asyncio.ensure_future(heard(pushing, view))
    await asyncio.sleep(10)
    await pushing.push(task(), artifact("a"))
    assert pushing.agent.looks == 0
    pushing.agent.tasks["t-1"] = stored(TaskState.COMPLETED, "all")
    await pushing.push(status("COMPLETED"))
    assert await waiting == ["Task working", "a", "Task completed: all"]
    assert pushing.agent.looks == 1
    assert view.task == pushing.agent.tasks["t-1"]


@virtual
async def test_an_end_that_was_told_before_anybody_waited_is_not_waited_for() -> None:
    pushing = Pushing()
    await pushing.begin()
    await pushing.push(task(), status("INPUT_REQUIRED"))
    pushing.agent.tasks["t-1"] = stored(TaskState.INPUT_REQUIRED, "")
    assert await heard(pushing, TaskView(stored(TaskState.WORKING, ""))) == ["Task input-required"]
    assert now() == 0.0


@virtual
async def test_where_nothing_comes_for_a_while_the_task_is_looked_at() -> None:
    pushing = Pushing(quiet=60.0)
    await pushing.begin()
    waiting = asyncio.ensure_future(heard(pushing, TaskView(stored(TaskState.WORKING, "so far"))))
    await asyncio.sleep(100)
    assert pushing.agent.looks == 1
    pushing.agent.tasks["t-1"] = stored(TaskState.COMPLETED, "all")
    assert await waiting == ["Task working: so far", "Task completed: all"]
    assert now() == 120.0


@virtual
async def test_an_agent_out_of_reach_is_asked_again_until_it_answers() -> None:
    pushing = Pushing()
    await pushing.begin()
    view = TaskView(stored(TaskState.WORKING, ""))
    waiting = asyncio.ensure_future(heard(pushing, view))
    pushing.agent.trouble = TransportError("no way")
    await asyncio.sleep(0)
    await pushing.push(status("COMPLETED"))
    await asyncio.sleep(60)
    pushing.agent.trouble = UnavailableError()
    await asyncio.sleep(60)
    assert view.trouble is pushing.agent.trouble
    pushing.agent.trouble = None
    pushing.agent.tasks["t-1"] = stored(TaskState.COMPLETED, "all")
    assert await waiting == ["Task completed: all"]


@virtual
async def test_a_question_that_was_answered_is_no_end_until_nothing_else_comes() -> None:
    pushing = Pushing(quiet=60.0)
    await pushing.begin()
    asked = TaskStatus(state=TaskState.INPUT_REQUIRED)
    question = stored(TaskState.INPUT_REQUIRED, "")
    pushing.agent.tasks["t-1"] = question
    waiting = asyncio.ensure_future(heard(pushing, TaskView(question, answered=asked)))
    await asyncio.sleep(1)
    pushing.agent.tasks["t-1"] = stored(TaskState.COMPLETED, "all")
    await pushing.push(status("WORKING"), status("COMPLETED"))
    assert await waiting == ["working", "Task completed: all"]
    pushing.agent.tasks["t-2"] = stored(TaskState.INPUT_REQUIRED, "", "t-2")
    view = TaskView(pushing.agent.tasks["t-2"], answered=asked)
    began = now()
    assert await heard(pushing, view) == ["Task input-required"] * 2
    assert now() - began == 60.0


@virtual
async def test_a_receiver_without_a_client_or_a_url_says_so() -> None:
    alone = Receiver(None, None, token="ours", any_task=True)
    with pytest.raises(ConfigurationError, match="no client"):
        await alone.watch("t-1")
    with pytest.raises(ConfigurationError, match="no URL"):
        _ = alone.url
    reading = asyncio.ensure_future(anext(alone.events("t-1")))
    await asyncio.sleep(0)
    assert (await post(alone, artifact("x"), headers_of("ours"))).status == 200
    assert words(await reading) == "x"


@virtual
async def test_what_credentials_alone_have_pushed_before_the_agent_answered_counts() -> None:
    agent = Agent()
    bearer = AuthenticationInfo(scheme="Bearer", credentials="key-1")
    receiver = agent.receiver(authentication=bearer)
    message = Message(message_id="m", role=Role.USER, parts=(Part(text="go"),))
    with receiver.expecting(SendMessageRequest(message=message)) as (told, became):
        config = told.configuration.task_push_notification_config
        assert config is not None
        for body in (task(), status("COMPLETED")):
            assert (await post(receiver, body, headers_of(authorization="Bearer key-1"))).status == 200
        became("t-1")
    await asyncio.sleep(1)
    assert agent.deleted == [("t-1", config.id)]
    assert (await post(receiver, task(task_id="t-2"), headers_of(authorization="Bearer key-1"))).status == 404
    assert [words(event) async for event in receiver.events("t-1")] == ["Task working", "completed"]


@virtual
async def test_a_message_that_was_not_sent_is_not_waited_for() -> None:
    receiver = Agent().receiver()
    message = Message(message_id="m", role=Role.USER, parts=(Part(text="go"),))
    sent: list[SendMessageRequest] = []
    with suppress(TransportError), receiver.expecting(SendMessageRequest(message=message)) as (told, _):
        sent.append(told)
        raise TransportError("no way")
    config = sent[0].configuration.task_push_notification_config
    assert config is not None
    assert (await post(receiver, task(), headers_of(config.token))).status == 410


@virtual
async def test_of_a_task_that_begins_with_its_configuration_the_creation_comes_first() -> None:
    agent = Agent()
    receiver = agent.receiver()
    message = Message(message_id="m", role=Role.USER, parts=(Part(text="go"),))
    with receiver.expecting(SendMessageRequest(message=message)) as (told, became):
        config = told.configuration.task_push_notification_config
        assert config is not None
        early = asyncio.ensure_future(post(receiver, artifact("2"), headers_of(config.token, 2)))
        await asyncio.sleep(1)
        assert (await post(receiver, task("SUBMITTED"), headers_of(config.token, 1))).status == 200
        assert (await early).status == 200
        became("t-1")
    assert (await post(receiver, status("COMPLETED"), headers_of(config.token, 3))).status == 200
    assert [words(event) async for event in receiver.events("t-1")] == ["Task submitted", "2", "completed"]
    assert now() == 1.0
