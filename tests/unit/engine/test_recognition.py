"""Messages that come twice: taken once, answered alike."""

import asyncio
from typing import Any

import msgspec
import pytest

from dragoman.engine import exchange
from dragoman.engine.recognition import Recognition
from dragoman.engine.world import Keeping
from dragoman.errors import Duplicate, InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from dragoman.operations import SEND_MESSAGE
from dragoman.ports.agent import Turn, TurnOutcome
from dragoman.ports.call import CallContext, Principal, Scope
from dragoman.ports.tasks import Key, NewTask, Selector, TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent
from dragoman.testing.clock import FakeClock
from dragoman.types.card import AgentCapabilities
from dragoman.types.content import Role
from dragoman.types.reliable import RELIABLE
from dragoman.types.requests import SendMessageRequest, ServiceParameters
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import CALL, Stage, message, send, staged

NAMED = CallContext(parameters=ServiceParameters(extensions=(RELIABLE,)))
"""Nobody in particular, who names the extension."""
SOMEBODY = CallContext(principal=Principal("somebody"))
MANY = 12


async def end_at_once(_turn: Turn) -> TurnOutcome:
    return TurnOutcome()


async def sent(stage: Stage, request: SendMessageRequest, context: CallContext = NAMED) -> Task:
    task = await stage.call(SEND_MESSAGE, request, context)
    assert isinstance(task, Task)
    return task


def at_once(text: str = "hello", **members: Any) -> SendMessageRequest:
    return send(text, immediately=True, **members)


@pytest.mark.parametrize("context", [NAMED, SOMEBODY], ids=["named", "somebody"])
async def test_a_message_that_comes_twice_is_one_task(
    each_stage: Stage, agent: ScriptedAgent, context: CallContext
) -> None:
    first = await sent(each_stage, at_once(), context)
    waiting = asyncio.create_task(sent(each_stage, send(), context))
    run = await agent.run()
    await run.text("done")
    await run.end()
    second = await waiting
    assert (second.id, second.state, second.text) == (first.id, TaskState.COMPLETED, "done")
    assert await sent(each_stage, send(), context) == second
    assert len(second.history) == 1
    assert len(each_stage.store.created) == len(agent.runs) == 1


async def test_strangers_who_use_the_same_id_are_not_taken_for_one(stage: Stage, agent: ScriptedAgent) -> None:
    tasks = [await sent(stage, at_once(), CALL) for _ in range(2)]
    assert tasks[0].id != tasks[1].id
    assert all(new.key is None for new in stage.store.created)
    for _ in tasks:
        await (await agent.run()).end()


async def test_an_extension_that_the_card_does_not_declare_has_no_effect(
    stage: Stage, agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage.service, "_capabilities", AgentCapabilities(streaming=True))
    tasks = [await sent(stage, at_once()) for _ in range(2)]
    assert tasks[0].id != tasks[1].id
    for _ in tasks:
        await (await agent.run()).end()


async def test_the_same_id_of_another_caller_or_tenant_is_another_message(stage: Stage, agent: ScriptedAgent) -> None:
    other = CallContext(principal=Principal("somebody else"))
    elsewhere = msgspec.structs.replace(at_once(), tenant="t")
    tasks = [await sent(stage, at_once(), SOMEBODY), await sent(stage, at_once(), other)]
    tasks.append(await sent(stage, elsewhere, SOMEBODY))
    assert len({task.id for task in tasks}) == 3
    for _ in tasks:
        await (await agent.run()).end()


async def check_one_run(stage: Stage, context: CallContext = NAMED) -> None:
    """Sends the same message from many callers at once, and then once more: one task, which ran once."""
    tasks = await asyncio.gather(*(sent(stage, send(), context) for _ in range(MANY)))
    tasks.append(await sent(stage, send(), context))
    assert len({task.id for task in tasks}) == 1
    assert {task.state for task in tasks} == {TaskState.COMPLETED}
    assert len(stage.store.created) == 1


async def test_of_messages_that_come_at_once_one_is_taken(each_store: TaskStore) -> None:
    async with staged(each_store, ScriptedAgent(end_at_once)) as stage:
        await check_one_run(stage)


class NotAtAll(Recognition):
    """The broken twin: no message is known again."""

    def key(self, request: SendMessageRequest, context: CallContext) -> Key | None:  # noqa: ARG002 -- as it is called
        return None


class LooksFirst(MemoryStore):
    """The broken twin: looks whether the key is known, and then stores the task and the key."""

    async def create(self, new: NewTask) -> None:
        known = None if new.key is None else await self.known(new.scope, new.key.message_id)
        await asyncio.sleep(0)
        if known is not None:
            raise known
        await super().create(msgspec.structs.replace(new, key=None))
        if new.key is not None:
            self._keys.put(new.scope, new.key, new.task.id)


@pytest.mark.parametrize("twin", ["recognition", "store"])
async def test_recognition_that_is_not_in_the_same_change_is_found_out(
    monkeypatch: pytest.MonkeyPatch, twin: str
) -> None:
    store = LooksFirst() if twin == "store" else MemoryStore()
    if twin == "recognition":
        monkeypatch.setattr(exchange, "Recognition", NotAtAll)
    async with staged(store, ScriptedAgent(end_at_once)) as stage:
        with pytest.raises(AssertionError):
            await check_one_run(stage)


# Other messages under the same id.


async def test_another_message_under_the_id_is_a_message_of_its_own(each_stage: Stage, agent: ScriptedAgent) -> None:
    first = await sent(each_stage, at_once())
    other = msgspec.structs.replace(at_once("other"), message=message("other", metadata={"n": 1}))
    other = msgspec.structs.replace(other, message=msgspec.structs.replace(other.message, message_id="m-hello"))
    second = await sent(each_stage, other)
    assert second.id != first.id
    assert (await sent(each_stage, at_once())).id == first.id
    assert (await sent(each_stage, other)).id == second.id
    for _ in range(2):
        await (await agent.run()).end()


async def test_where_it_is_so_wished_another_message_under_the_id_is_refused(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent, keeping=Keeping(strict=True)) as stage:
        first = await sent(stage, at_once())
        other = msgspec.structs.replace(at_once(), metadata={"other": True})
        with pytest.raises(InvalidParamsError) as refused:
            await sent(stage, other)
        assert [violation.field for violation in refused.value.violations] == ["message.messageId"]
        assert refused.value.details == {"messageId": "m-hello"}
        assert (await sent(stage, at_once())).id == first.id
        await (await agent.run()).end()


async def test_an_id_is_forgotten_in_time(agent: ScriptedAgent) -> None:
    clock = FakeClock()
    async with staged(MemoryStore(clock), agent, keeping=Keeping(keys=60)) as stage:
        first = await sent(stage, at_once())
        clock.advance(59)
        stage.clock.advance(59)
        assert (await sent(stage, at_once())).id == first.id
        clock.advance(2)
        stage.clock.advance(2)
        assert (await sent(stage, at_once())).id != first.id
        for _ in range(2):
            await (await agent.run()).end()


async def test_a_message_whose_task_was_removed_is_new(each_stage: Stage, agent: ScriptedAgent) -> None:
    first = await sent(each_stage, at_once())
    await (await agent.run()).end()
    await each_stage.ended(first.id)
    await each_stage.service.erase(Selector(task_id=first.id))
    assert (await sent(each_stage, at_once())).id != first.id
    await (await agent.run()).end()


class OutlivesItsTask(MemoryStore):
    """Knows keys of tasks that are gone."""

    async def known(self, scope: Scope, message_id: str) -> Duplicate | None:
        return Duplicate("gone", "", None) if message_id else await super().known(scope, message_id)

    async def create(self, new: NewTask) -> None:
        if new.key is not None:
            raise Duplicate("gone", new.key.digest, None)
        await super().create(new)


async def test_a_key_whose_task_is_gone_keeps_nobody_out(agent: ScriptedAgent) -> None:
    async with staged(OutlivesItsTask(), agent) as stage:
        assert (await sent(stage, at_once())).state is TaskState.WORKING
        await (await agent.run()).end()


# Messages to tasks that exist.


async def parked(stage: Stage, agent: ScriptedAgent) -> Task:
    task = await sent(stage, at_once())
    with pytest.raises(RunOver):
        await (await agent.run()).ask("Which?")
    return await stage.ended(task.id)


async def test_an_answer_that_comes_twice_resumes_once(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await parked(each_stage, agent)
    answers = [asyncio.create_task(sent(each_stage, send("red", task_id=task.id))) for _ in range(MANY)]
    run = await agent.run()
    answer, _ = await run.ask("Which?")
    assert answer is not None
    await run.end()
    for told in await asyncio.gather(*answers):
        assert (told.id, told.state) == (task.id, TaskState.COMPLETED)
        assert [one.text for one in told.history if one.role is Role.USER] == ["hello", "red"]
    assert len(agent.runs) == 2


async def test_a_message_to_a_running_task_waits_once(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await sent(each_stage, at_once())
    run = await agent.run()
    await asyncio.gather(*(sent(each_stage, at_once("more", task_id=task.id)) for _ in range(MANY)))
    assert [one.message.text for one in await each_stage.store.inbox(task.id)] == ["more"]
    await run.end()
    await (await agent.run()).end()
    told = await each_stage.ended(task.id)
    assert len(agent.runs) == 2
    # It has ended, and takes no other message; but this one it has.
    assert (await sent(each_stage, send("more", task_id=task.id))).history == told.history
    with pytest.raises(UnsupportedOperationError):
        await sent(each_stage, send("yet more", task_id=task.id))
    with pytest.raises(UnsupportedOperationError):
        await sent(each_stage, send("more", task_id=task.id), CALL)


async def test_another_message_under_a_known_id_to_a_task_that_has_ended_is_refused(
    stage: Stage, agent: ScriptedAgent
) -> None:
    task = await sent(stage, at_once())
    await (await agent.run()).end()
    await stage.ended(task.id)
    late = send("late", task_id=task.id)
    late = msgspec.structs.replace(late, message=msgspec.structs.replace(late.message, message_id="m-hello"))
    with pytest.raises(UnsupportedOperationError):
        await sent(stage, late)
    with pytest.raises(TaskNotFoundError):
        await sent(stage, send("hello", task_id="unknown"))
