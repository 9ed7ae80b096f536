"""Configurations that come with messages: checked before anything is stored, stored with it or right after it."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import msgspec
import pytest

from dragoman.buses.memory import MemoryBus
from dragoman.engine.service import Service
from dragoman.errors import (
    Fenced,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    StoreUnavailable,
    TaskNotFoundError,
    UnavailableError,
)
from dragoman.operations import CREATE_PUSH_CONFIG, SEND_MESSAGE
from dragoman.ports.call import CallContext, Scope
from dragoman.ports.push import NewPush
from dragoman.ports.tasks import Commit, Selector
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent
from dragoman.types.card import AgentCapabilities, AgentExtension
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.reliable import RELIABLE
from dragoman.types.requests import SendMessageConfiguration, SendMessageRequest, ServiceParameters
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import ANYONE, KEPT, QUICK, Stage, bounded, message, send

CONFIG = TaskPushNotificationConfig(url="https://hook.example", id="c")
NAMED = CallContext(dialect="0.3/GRPC", parameters=ServiceParameters(extensions=(RELIABLE,)))
CAPABILITIES = AgentCapabilities(push_notifications=True, extensions=(AgentExtension(uri=RELIABLE),))


class Pushes:
    """What the engine asks for, in order, with what it finds in the store then."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.done: list[Any] = []
        self.kept: list[NewPush] = []
        self.refusal: Exception | None = None
        self.trouble: Exception | None = None
        """That of the store, when a configuration is put there."""

    async def open(self, worker: Callable[[], str]) -> None:
        await self._stage.store.beat(worker())
        self.done.append(("open", len(await self._stage.store.claimable(0, 9))))
        if self.refusal is not None:
            raise self.refusal

    async def close(self, grace: float) -> None:
        await self._stage.store.beat("somebody")
        self.done.append(("close", grace <= QUICK.drain_grace))

    async def check(self, config: TaskPushNotificationConfig, task_id: str, scope: Scope) -> None:
        assert (config, scope) == (CONFIG, ANYONE)
        self.done.append(("check", task_id, len(self._stage.store.created)))
        if self.refusal is not None:
            raise self.refusal

    def new(self, config: TaskPushNotificationConfig, task_id: str, scope: Scope, dialect: str) -> NewPush:
        return NewPush(task_id=task_id, id=config.id, scope=scope, dialect=dialect, origin="o", sealed=b"s", worker="w")

    async def put(self, new: NewPush) -> None:
        if self.trouble is not None:
            raise self.trouble
        self.done.append("put")
        self.kept.append(new)

    def stored(self, new: NewPush) -> None:
        self.done.append("stored")
        if new.task_id:
            assert self._stage.store.created[-1].push == new
        self.kept.append(new)

    def erased(self, task_ids: Sequence[str]) -> None:
        self.done.append(("erased", *task_ids))

    async def create(self, config: TaskPushNotificationConfig, context: CallContext) -> TaskPushNotificationConfig:
        assert context == NAMED
        raise StoreUnavailable(config.id)

    async def get(self, request: Any, context: CallContext) -> Any:
        raise AssertionError((request, context))

    page = delete = get


class Pushing:
    """An engine with pushes."""

    def __init__(self, agent: ScriptedAgent) -> None:
        self.agent = agent
        self.store = MemoryStore()
        self.stage = Stage(self.store, agent, MemoryBus(), QUICK, KEPT)
        self.pushes = Pushes(self.stage)
        self.service = Service(msgspec.structs.replace(self.stage.world, pushes=self.pushes), CAPABILITIES)

    async def send(self, text: str = "hello", context: CallContext = NAMED, **members: Any) -> Any:
        configuration = SendMessageConfiguration(return_immediately=True, task_push_notification_config=CONFIG)
        request = SendMessageRequest(message=message(text, **members), configuration=configuration)
        return await self.service.call(SEND_MESSAGE, request, context)

    async def parked(self) -> Task:
        """A task that waits for its caller, which came without a configuration."""
        task = await self.service.send_message(send("ask", immediately=True), NAMED)
        assert isinstance(task, Task)
        with pytest.raises(RunOver):
            await (await self.agent.run()).ask("Which?")
        return task


@pytest.fixture
async def pushing(agent: ScriptedAgent) -> AsyncIterator[Pushing]:
    pushing = Pushing(agent)
    await pushing.service.open()
    pushing.pushes.done.clear()
    yield pushing
    await pushing.service.close()


async def test_a_new_task_is_stored_with_its_configuration_and_all_its_events_are_to_be_delivered(
    pushing: Pushing,
) -> None:
    task = await pushing.send()
    assert pushing.pushes.done == [("check", "", 0), "stored"]
    (push,) = pushing.pushes.kept
    assert (push.task_id, push.cursor, push.dialect) == (task.id, 0, "0.3/GRPC")
    assert push.opened == pushing.stage.store.created[0].task.status


async def test_what_an_answer_brings_about_is_to_be_delivered(pushing: Pushing) -> None:
    task = await pushing.parked()
    before = (await pushing.stage.stored(task.id)).seq
    await pushing.send("red", task_id=task.id)
    assert pushing.pushes.done == [("check", task.id, 1), "put"]
    assert [(push.task_id, push.cursor) for push in pushing.pushes.kept] == [(task.id, before)]
    assert (await pushing.stage.stored(task.id)).seq > before


async def test_a_message_to_a_task_at_work_brings_one_that_hears_what_follows(pushing: Pushing) -> None:
    task = await pushing.service.send_message(send("one", immediately=True), NAMED)
    assert isinstance(task, Task)
    run = await pushing.agent.run()
    await pushing.send("two", task_id=task.id)
    assert [(push.task_id, push.cursor) for push in pushing.pushes.kept] == [(task.id, 1)]
    await run.end(TaskState.FAILED, "no")


async def test_a_direct_answer_is_stored_with_the_configuration_that_waits_for_it(
    pushing: Pushing, agent: ScriptedAgent
) -> None:
    agent.direct = message("yes")
    answer = await pushing.send(context=CallContext())
    push = pushing.pushes.kept.pop()
    assert (push.task_id, push.answer, push.cursor) == ("", answer, None)
    assert pushing.pushes.done == [("check", "", 0), "put"]


async def test_a_direct_answer_that_is_known_again_is_stored_together_with_its_configuration(
    pushing: Pushing, agent: ScriptedAgent
) -> None:
    agent.direct = message("yes")
    answer = await pushing.send()
    assert pushing.pushes.done == [("check", "", 0), "stored"]
    push = await pushing.store.get_push("", ANYONE, CONFIG.id)
    assert push is not None
    assert push.answer == answer


@bounded
async def test_a_message_that_comes_again_to_a_task_at_work_sets_no_second_configuration(
    pushing: Pushing, agent: ScriptedAgent
) -> None:
    task = await pushing.service.send_message(send("one", immediately=True), NAMED)
    assert isinstance(task, Task)
    run = await agent.run()
    for _ in range(2):
        await pushing.send("two", task_id=task.id)
    assert len(pushing.pushes.kept) == 1
    await run.end(TaskState.FAILED, "no")


async def test_a_message_that_loses_a_race_sets_its_configuration_once(pushing: Pushing, agent: ScriptedAgent) -> None:
    task = await pushing.parked()

    async def lose(_: Commit) -> None:
        pushing.stage.store.before_commit = None
        raise Fenced

    pushing.stage.store.before_commit = lose
    await pushing.send("red", task_id=task.id)
    assert len(pushing.pushes.kept) == 1
    await (await agent.run()).end()


async def test_what_is_refused_leaves_nothing_behind(pushing: Pushing, agent: ScriptedAgent) -> None:
    task = await pushing.parked()
    before = await pushing.stage.stored(task.id)
    pushing.pushes.refusal = InvalidParamsError("not there")
    for task_id in (None, task.id):
        with pytest.raises(InvalidParamsError):
            await pushing.send("red", task_id=task_id)
    agent.direct = message("never said")
    with pytest.raises(InvalidParamsError):
        await pushing.send()
    assert len(pushing.stage.store.created) == 1
    assert await pushing.stage.stored(task.id) == before
    assert pushing.pushes.kept == []


@bounded
async def test_a_configuration_that_cannot_be_stored_leaves_the_answer_for_another_time(
    pushing: Pushing, agent: ScriptedAgent
) -> None:
    task = await pushing.parked()
    before = await pushing.stage.stored(task.id)
    pushing.pushes.trouble = StoreUnavailable("not now")
    with pytest.raises(UnavailableError):
        await pushing.send("red", task_id=task.id)
    assert await pushing.stage.stored(task.id) == before
    pushing.pushes.trouble = None
    await pushing.send("red", task_id=task.id)
    await (await agent.run()).end()


async def test_a_message_to_a_task_at_work_that_the_agent_refuses_brings_none(
    pushing: Pushing, agent: ScriptedAgent
) -> None:
    task = await pushing.service.send_message(send("one", immediately=True), NAMED)
    assert isinstance(task, Task)
    agent.refusal = InvalidParamsError("not that")
    with pytest.raises(InvalidParamsError):
        await pushing.send("two", task_id=task.id)
    assert pushing.pushes.kept == []


async def test_a_message_that_is_not_taken_brings_no_configuration(pushing: Pushing) -> None:
    with pytest.raises(TaskNotFoundError):
        await pushing.send(task_id="unknown")
    assert pushing.pushes.kept == []


async def test_a_message_that_comes_twice_brings_one_configuration(pushing: Pushing, agent: ScriptedAgent) -> None:
    first = await pushing.send()
    assert (await pushing.send()).id == first.id
    agent.direct = message("yes")
    assert await pushing.send("again") == await pushing.send("again")
    assert [push.task_id for push in pushing.pushes.kept] == [first.id, ""]


async def test_erased_tasks_are_told_of(pushing: Pushing) -> None:
    task = await pushing.service.send_message(send(immediately=True), NAMED)
    assert isinstance(task, Task)
    await pushing.service.erase(Selector(task_id=task.id))
    assert pushing.pushes.done == [("erased", task.id)]


async def test_a_store_that_cannot_be_reached_is_told_as_that(pushing: Pushing) -> None:
    with pytest.raises(UnavailableError):
        await pushing.service.call(CREATE_PUSH_CONFIG, CONFIG, NAMED)


async def test_deliveries_begin_after_the_worker_and_end_before_the_store(agent: ScriptedAgent) -> None:
    pushing = Pushing(agent)
    for _ in range(2):
        await pushing.service.open()
        assert pushing.service.ready
        await pushing.service.close()
    # Each has found the store open.
    assert pushing.pushes.done == [("open", 0), ("close", True)] * 2
    with pytest.raises(StoreUnavailable):
        await pushing.stage.store.beat("w")


async def test_deliveries_that_cannot_begin_leave_nothing_open(agent: ScriptedAgent) -> None:
    pushing = Pushing(agent)
    pushing.pushes.refusal = StoreUnavailable("not now")
    with pytest.raises(StoreUnavailable, match="not now"):
        await pushing.service.open()
    assert not pushing.service.ready
    assert pushing.pushes.done == [("open", 0), ("close", True)]
    with pytest.raises(UnavailableError):
        await pushing.send()
    pushing.pushes.refusal = None
    await pushing.service.open()
    assert (await pushing.send()).id
    await pushing.service.close()


async def test_without_pushes_none_is_taken_whatever_the_card_declares(stage: Stage) -> None:
    service = Service(stage.world, CAPABILITIES)
    asking = SendMessageConfiguration(task_push_notification_config=CONFIG)
    with pytest.raises(PushNotificationNotSupportedError):
        await service.call(SEND_MESSAGE, SendMessageRequest(message=message(), configuration=asking), NAMED)
    with pytest.raises(PushNotificationNotSupportedError):
        await service.call(CREATE_PUSH_CONFIG, CONFIG, NAMED)
