"""The operations over the ports: follow-ups, pages, and what is refused."""

import asyncio

import msgspec
import pytest

from dragoman.engine.service import Service
from dragoman.errors import (
    A2AError,
    ExtensionSupportRequiredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from dragoman.operations import (
    GET_TASK,
    LIST_TASKS,
    OPERATIONS,
    SEND_MESSAGE,
    SEND_STREAMING_MESSAGE,
    SUBSCRIBE_TO_TASK,
)
from dragoman.ports.agent import Turn, TurnOutcome
from dragoman.ports.call import CallContext, Principal
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent, ScriptedRun
from dragoman.types.card import AgentCapabilities, AgentExtension
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.requests import (
    GetTaskRequest,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageConfiguration,
    ServiceParameters,
    SubscribeToTaskRequest,
)
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import CALL, Stage, send, staged


async def park(run: ScriptedRun, state: TaskState = TaskState.INPUT_REQUIRED) -> None:
    with pytest.raises(RunOver):
        await run.ask("Which?", state=state)


async def test_two_answers_at_once_are_an_answer_and_then_a_turn(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("begin")
    await park(await agent.run())
    await each_stage.ended(task.id)
    both = [
        asyncio.create_task(each_stage.call(SEND_MESSAGE, send(text, task_id=task.id))) for text in ("left", "right")
    ]
    run = await agent.run()
    answer, _ = await run.ask("Which?")
    assert answer is not None
    # The other message is in the inbox, sooner or later: the run ends when it is there.
    async with asyncio.timeout(5):
        while not await each_stage.store.inbox(task.id):  # noqa: ASYNC110 -- a store tells nobody of its inbox
            await asyncio.sleep(0)
    assert agent.idle
    await run.end()
    second = await agent.run()
    assert {answer.text, second.turn.message.text} == {"left", "right"}
    await second.end()
    for sent in await asyncio.gather(*both):
        assert isinstance(sent, Task)
        assert sent.state is TaskState.COMPLETED
    assert len(agent.runs) == 3


async def test_a_message_names_the_context_of_its_task_or_none(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    with pytest.raises(InvalidParamsError) as refused:
        await stage.call(SEND_MESSAGE, send("more", task_id=task.id, context_id="another"))
    assert len(refused.value.violations) == 1
    await stage.call(SEND_MESSAGE, send("more", immediately=True, task_id=task.id, context_id=task.context_id))
    await run.end()
    run = await agent.run()
    assert run.turn.message.context_id == task.context_id
    await run.end()


async def test_a_message_to_a_task_that_ended_or_is_not_there_is_refused(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    await (await agent.run()).end()
    await stage.ended(task.id)
    with pytest.raises(UnsupportedOperationError, match="completed"):
        await stage.call(SEND_MESSAGE, send("more", task_id=task.id))
    for context in (CALL, CallContext(principal=Principal("somebody else"))):
        task_id = "unknown" if context is CALL else task.id
        with pytest.raises(TaskNotFoundError):
            await stage.call(SEND_MESSAGE, send("more", task_id=task_id), context)
        with pytest.raises(TaskNotFoundError):
            await stage.call(GET_TASK, GetTaskRequest(id=task_id), context)
        with pytest.raises(TaskNotFoundError):
            await stage.call(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id=task_id), context)


async def test_a_message_that_does_not_fit_is_refused_and_leaves_no_trace(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    agent.refusal = InvalidParamsError("no")
    with pytest.raises(InvalidParamsError):
        await stage.call(SEND_MESSAGE, send())
    with pytest.raises(InvalidParamsError):
        await stage.call(SEND_MESSAGE, send("more", task_id=task.id))
    assert len(stage.store.created) == 1
    assert await stage.store.inbox(task.id) == ()
    await run.end()


async def test_only_a_task_that_waits_for_it_can_be_authorized(stage: Stage, agent: ScriptedAgent) -> None:
    with pytest.raises(TaskNotFoundError):
        await stage.service.authorize("unknown", True)
    task = await stage.begin()
    run = await agent.run()
    with pytest.raises(UnsupportedOperationError, match="working"):
        await stage.service.authorize(task.id, True)
    await park(run, TaskState.AUTH_REQUIRED)
    await stage.ended(task.id)
    both = [stage.service.authorize(task.id, number) for number in (1, 2)]
    results = await asyncio.gather(*both, return_exceptions=True)
    assert [type(one) for one in results if one is not None] == [UnsupportedOperationError]
    await (await agent.run()).end()


@pytest.mark.parametrize("immediately", [True, False])
async def test_a_negative_history_length_is_refused_before_anything_happens(
    stage: Stage, agent: ScriptedAgent, *, immediately: bool
) -> None:
    with pytest.raises(InvalidParamsError):
        async with asyncio.timeout(1):
            await stage.call(SEND_MESSAGE, send(immediately=immediately, length=-1))
    with pytest.raises(InvalidParamsError):
        await stage.call(SEND_STREAMING_MESSAGE, send(length=-1))
    assert stage.store.created == []
    assert agent.runs == []


async def test_the_history_is_as_long_as_asked_everywhere(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin("first")
    await park(await agent.run())
    await stage.ended(task.id)
    answering = asyncio.create_task(stage.call(SEND_MESSAGE, send("this", length=1, task_id=task.id)))
    run = await agent.run()
    await run.ask("Which?")
    feed = await stage.call(SEND_STREAMING_MESSAGE, send("more", length=2, task_id=task.id))
    ((_, first),) = await anext(feed)
    assert [said.text for said in first.history] == ["Which?", "this"]
    feed.close()
    await run.end()
    await (await agent.run()).end()
    sent = await answering
    assert [said.text for said in sent.history] == ["more"]
    for length, expected in ((None, 4), (0, 0), (2, 2), (9, 4)):
        got = await stage.call(GET_TASK, GetTaskRequest(id=task.id, history_length=length))
        assert len(got.history) == expected
        page = await stage.call(LIST_TASKS, ListTasksRequest(history_length=length))
        assert len(page.tasks[0].history) == expected
    with pytest.raises(InvalidParamsError):
        await stage.call(GET_TASK, GetTaskRequest(id=task.id, history_length=-1))


async def test_pages_hold_every_task_once_whatever_is_begun_meanwhile(each_store: MemoryStore) -> None:
    async def play(_turn: Turn) -> TurnOutcome:
        return TurnOutcome()

    async with staged(each_store, ScriptedAgent(play)) as stage:
        begun = []
        for number in range(7):
            stage.clock.advance(1)
            begun.append((await stage.call(SEND_MESSAGE, send(str(number)))).id)
        seen: list[str] = []
        token = ""
        while True:
            page = await stage.call(LIST_TASKS, ListTasksRequest(page_size=3, page_token=token))
            assert isinstance(page, ListTasksResponse)
            seen += [task.id for task in page.tasks]
            token = page.next_page_token
            if not token:
                break
            stage.clock.advance(1)
            await stage.call(SEND_MESSAGE, send("meanwhile"))
        assert seen == begun[::-1]
        assert page.total_size == 9
        for wrong in (ListTasksRequest(page_size=0), ListTasksRequest(page_size=101), ListTasksRequest(page_token="x")):
            with pytest.raises(InvalidParamsError):
                await stage.call(LIST_TASKS, wrong)


async def test_what_the_card_does_not_declare_is_refused(stage: Stage) -> None:
    service = Service(stage.world, AgentCapabilities())
    for operation in OPERATIONS:
        if operation.needs is not None:
            with pytest.raises(A2AError) as refused:
                await service.call(operation, None, CALL)
            pushes = operation.needs == "push_notifications"
            assert refused.type is (PushNotificationNotSupportedError if pushes else UnsupportedOperationError)
    config = TaskPushNotificationConfig(url="https://x.example", task_id="", id="")
    asking = SendMessageConfiguration(task_push_notification_config=config)
    with pytest.raises(PushNotificationNotSupportedError):
        await service.call(SEND_MESSAGE, msgspec.structs.replace(send(), configuration=asking), CALL)
    assert stage.store.created == []


async def test_a_required_extension_must_be_named(stage: Stage) -> None:
    extensions = (AgentExtension(uri="urn:a", required=True), AgentExtension(uri="urn:b"))
    service = Service(stage.world, AgentCapabilities(extensions=extensions))
    with pytest.raises(ExtensionSupportRequiredError, match="urn:a"):
        await service.call(LIST_TASKS, ListTasksRequest(), CALL)
    named = CallContext(parameters=ServiceParameters(extensions=("urn:a",)))
    assert (await service.call(LIST_TASKS, ListTasksRequest(), named)).total_size == 0


async def test_a_closed_service_lets_its_blocked_callers_go(stage: Stage, agent: ScriptedAgent) -> None:
    waiting = asyncio.create_task(stage.call(SEND_MESSAGE, send()))
    run = await agent.run()
    stage.service.end_streams()
    task = await waiting
    assert task.state is TaskState.WORKING
    await run.end()
