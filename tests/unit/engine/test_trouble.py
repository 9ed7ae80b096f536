"""When the store is out of order, the task is taken over, or the caller is gone in the middle."""

import asyncio

import pytest

from dragoman.buses.memory import MemoryBus
from dragoman.engine import persistence
from dragoman.engine.world import Limits
from dragoman.errors import StoreUnavailable, UnavailableError
from dragoman.operations import GET_TASK, SEND_MESSAGE
from dragoman.ports.agent import Turn, TurnOutcome
from dragoman.ports.tasks import Commit, Selector, TaskStore
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent
from dragoman.types.requests import GetTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import CALL, QUICK, Stage, message, send, settle, staged, texts


@pytest.fixture(autouse=True)
def _no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persistence, "RETRY_SECONDS", (0.0,))


async def test_a_store_that_is_out_of_order_loses_and_doubles_nothing(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    for number in range(3):
        each_stage.store.failing = 2
        await run.text(f"{number} ")
        await run.remember(f"point {number}", number)
    each_stage.store.failing = 3
    await run.end()
    done = await each_stage.ended(task.id)
    assert (done.state, done.text) == (TaskState.COMPLETED, "0 1 2 ")
    assert "".join(texts([entry.event for entry in await each_stage.log(task.id)][:-1])) == "0 1 2 "
    assert len(await each_stage.store.memos(task.id, 1)) == 3


async def test_a_message_that_waits_is_taken_up_when_the_store_is_back(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin("one")
    run = await agent.run()
    await stage.service.send_message(send("two", immediately=True, task_id=task.id), CALL)
    inbox, calls = stage.store.inbox, 0

    async def failing(task_id: str) -> object:
        nonlocal calls
        calls += 1
        if calls < 3:
            raise StoreUnavailable("out of order")
        return await inbox(task_id)

    stage.store.inbox = failing  # type: ignore[method-assign, assignment]  # out of order for a while
    await run.end()
    run = await agent.run()
    assert run.turn.message.text == "two"
    await run.end()
    assert (await stage.ended(task.id)).state is TaskState.COMPLETED


async def test_a_run_that_was_fenced_off_ends_quietly(
    each_stage: Stage, agent: ScriptedAgent, caplog: pytest.LogCaptureFixture
) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    stored = await each_stage.stored(task.id)
    await each_stage.store.inner.commit(Commit(task_id=task.id, epoch=stored.epoch, after=stored.seq, claim=True))
    await run.text("too late")
    await run.over.wait()
    assert run.cancelled.is_set()
    assert await each_stage.log(task.id) == []
    assert [record for record in caplog.records if record.levelname in {"ERROR", "WARNING"}] == []


async def test_a_step_that_is_fenced_off_does_not_wait_for_ever(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin()
    run = await agent.run()
    stored = await stage.stored(task.id)
    await stage.store.inner.commit(Commit(task_id=task.id, epoch=stored.epoch, after=stored.seq, claim=True))
    outside: list[asyncio.Task[None]] = []

    async def elsewhere(turn: Turn) -> None:
        # As a handler in a thread does: not in the task that is cancelled.
        outside.append(asyncio.ensure_future(turn.remember("point", 1)))

    await run.do(elsewhere)
    with pytest.raises(asyncio.CancelledError):
        await outside[0]


async def test_a_running_task_that_is_erased_stops(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin()
    run = await agent.run()
    await run.text("a")
    assert await each_stage.service.erase(Selector(task_id=task.id)) == (task.id,)
    assert run.over.is_set()
    assert await each_stage.store.inner.locate(task.id) is None


async def test_output_that_cannot_be_stored_fails_the_task(each_store: TaskStore) -> None:
    async def play(turn: Turn) -> TurnOutcome:
        turn.text("fine ")
        await turn.remember("point", 1)
        turn.text("half a pair: \ud800")
        return TurnOutcome()

    async with staged(each_store, ScriptedAgent(play)) as stage:
        task = await stage.service.send_message(send(), CALL)
        assert isinstance(task, Task)
        assert task.state is TaskState.FAILED
        assert [artifact.text for artifact in task.artifacts] == ["fine "]


async def test_a_caller_who_leaves_while_the_task_is_stored_leaves_no_task_that_never_runs(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    reached = asyncio.Event()

    async def slow() -> None:
        reached.set()
        await asyncio.Event().wait()

    each_stage.store.after_create = slow
    sending = asyncio.create_task(each_stage.call(SEND_MESSAGE, send()))
    await reached.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    run = await agent.run()
    await run.text("anyway")
    await run.end()
    done = await each_stage.ended(each_stage.store.created[0].task.id)
    assert (done.state, done.text) == (TaskState.COMPLETED, "anyway")


async def test_a_caller_who_leaves_before_the_task_is_stored_leaves_nothing(stage: Stage, agent: ScriptedAgent) -> None:
    async def never(new: object) -> None:
        await asyncio.Event().wait()

    stage.store.create = never  # type: ignore[method-assign]  # the caller leaves while this waits
    sending = asyncio.create_task(stage.call(SEND_MESSAGE, send()))
    await settle()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    await settle()
    assert await stage.store.claimable(0, 1000) == ()
    assert agent.runs == []


@pytest.mark.parametrize("available", [True, False])
async def test_a_caller_who_leaves_while_the_answer_is_stored_leaves_a_task_that_runs(
    each_stage: Stage, agent: ScriptedAgent, *, available: bool
) -> None:
    task = await each_stage.begin()
    with pytest.raises(RunOver):
        await (await agent.run()).ask("Which?")
    await each_stage.ended(task.id)
    reached = asyncio.Event()
    committed = each_stage.store.commit

    async def slow(commit: Commit) -> None:
        await committed(commit)
        reached.set()
        await asyncio.Event().wait()

    each_stage.store.commit = slow  # type: ignore[method-assign]  # the caller leaves when this has stored
    sending = asyncio.create_task(each_stage.call(SEND_MESSAGE, send("this", task_id=task.id)))
    await reached.wait()
    each_stage.store.commit = committed  # type: ignore[method-assign]  # as it was
    each_stage.store.failing = 0 if available else 2
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending
    run = await agent.run()
    answer, _ = await run.ask("Which?")
    assert answer == message("this", task_id=task.id, context_id=task.context_id)
    await run.end()
    assert (await each_stage.ended(task.id)).state is TaskState.COMPLETED


async def test_a_caller_who_leaves_before_its_answer_is_stored_takes_nothing_from_another_who_has_answered(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    task = await each_stage.begin()
    with pytest.raises(RunOver):
        await (await agent.run()).ask("Which?")
    await each_stage.ended(task.id)
    reached = asyncio.Event()
    committed = each_stage.store.commit

    async def never(commit: Commit) -> None:
        reached.set()
        await asyncio.Event().wait()

    each_stage.store.commit = never  # type: ignore[method-assign]  # the caller leaves while this waits
    leaving = asyncio.create_task(each_stage.call(SEND_MESSAGE, send("mine", task_id=task.id)))
    await reached.wait()
    each_stage.store.commit = committed  # type: ignore[method-assign]  # as it was
    await each_stage.call(SEND_MESSAGE, send("theirs", task_id=task.id, immediately=True))
    run = await agent.run()
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await settle()
    answer, _ = await run.ask("Which?")
    assert answer == message("theirs", task_id=task.id, context_id=task.context_id)
    await run.end()
    done = await each_stage.ended(task.id)
    assert [said.text for said in done.history] == ["hello", "Which?", "theirs"]


async def test_what_a_store_cannot_do_now_is_unavailable(stage: Stage) -> None:
    await stage.store.inner.close()
    with pytest.raises(UnavailableError):
        await stage.call(GET_TASK, GetTaskRequest(id="any"))
    with pytest.raises(UnavailableError):
        await stage.call(SEND_MESSAGE, send())
    await stage.store.inner.open()


async def test_tasks_end_within_the_grace_of_a_stopping_server(each_store: TaskStore, agent: ScriptedAgent) -> None:
    async with staged(each_store, agent) as stage:
        quick = await stage.begin("quick")
        run = await agent.run()
        slow = await stage.begin("slow")
        stuck = await agent.run()
        await stuck.text("so far")
        closing = asyncio.create_task(stage.service.close())
        await settle()
        await run.end()
        await closing
        assert stuck.cancelled.is_set()
        await stage.store.inner.open()
        assert (await stage.task(quick.id)).state is TaskState.COMPLETED
        ended = await stage.task(slow.id)
        assert (ended.state, [artifact.text for artifact in ended.artifacts]) == (TaskState.FAILED, ["so far"])
        event = (await stage.log(slow.id))[-1].event
        assert event.metadata == {"reason": "worker-lost"}


async def test_a_task_that_begins_while_the_server_stops_is_not_left_behind(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent) as stage:
        await stage.begin("first")
        first = await agent.run()
        closing = asyncio.create_task(stage.service.close())
        await settle()
        late = await stage.begin("late")
        await agent.run()
        await first.end()
        await closing
        await stage.store.inner.open()
        assert (await stage.task(late.id)).state is TaskState.FAILED


async def test_a_stopping_server_does_not_wait_for_a_store_that_never_comes_back(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent) as stage:
        task = await stage.begin()
        run = await agent.run()
        stage.store.failing = 1_000_000
        await run.text("never stored")
        await stage.service.close()
        stage.store.failing = 0
        await stage.store.inner.open()
        assert (await stage.task(task.id)).state is TaskState.WORKING


async def test_what_an_earlier_process_left_running_is_failed_at_the_start(
    each_store: TaskStore, agent: ScriptedAgent
) -> None:
    async with staged(each_store, agent) as stage:
        parked = await stage.begin("parked")
        with pytest.raises(RunOver):
            await (await agent.run()).ask("Which?")
        await stage.ended(parked.id)
        lost = await stage.begin("lost")
        await (await agent.run()).text("so far")
        stage.store.failing = 1_000_000
        await stage.service.close()
        stage.store.failing = 0
        await stage.service.open()
        ended = await stage.task(lost.id)
        assert ended.state is TaskState.FAILED
        event = (await stage.log(lost.id))[-1].event
        assert event.metadata == {"reason": "worker-lost"}
        assert (await stage.task(parked.id)).state is TaskState.INPUT_REQUIRED
        await stage.service.send_message(send("this", immediately=True, task_id=parked.id), CALL)
        run = await agent.run()
        await run.ask("Which?")
        await run.end()
        assert (await stage.ended(parked.id)).state is TaskState.COMPLETED


async def test_the_grace_of_the_tasks_runs_from_the_end_of_the_streams(agent: ScriptedAgent) -> None:
    grace = 0.5
    async with staged(MemoryStore(), agent, limits=Limits(cancel_grace=0.05, drain_grace=grace)) as stage:
        await stage.begin()
        await agent.run()
        loop = asyncio.get_running_loop()
        begun, passed = loop.time(), loop.create_future()
        stage.service.end_streams()
        loop.call_later(0.8 * grace, passed.set_result, None)
        await passed
        await stage.service.close()
        assert grace <= loop.time() - begun < 1.6 * grace


async def test_a_service_that_was_closed_refuses_every_call_until_it_is_opened(agent: ScriptedAgent) -> None:
    agent.direct = message()
    async with staged(MemoryStore(), agent) as stage:
        await stage.service.close()
        with pytest.raises(UnavailableError):
            await stage.call(SEND_MESSAGE, send())
        await stage.service.open()
        assert await stage.call(SEND_MESSAGE, send()) is not None


async def test_a_run_that_begins_when_the_server_has_stopped_is_over_at_once(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent) as stage:
        reached, go_on = asyncio.Event(), asyncio.Event()

        async def slow() -> None:
            reached.set()
            await go_on.wait()

        stage.store.after_create = slow
        sending = asyncio.create_task(stage.begin())
        await reached.wait()
        await stage.service.close()
        go_on.set()
        task = await sending
        await settle()
        assert agent.runs == []
        stage.store.after_create = None
        await stage.service.open()
        assert (await stage.task(task.id)).state is TaskState.FAILED


async def test_a_start_that_fails_leaves_the_store_closed(agent: ScriptedAgent) -> None:
    stage = Stage(MemoryStore(), agent, MemoryBus(), QUICK)

    stage.store.silent = True
    with pytest.raises(StoreUnavailable):
        await stage.service.open()
    with pytest.raises(StoreUnavailable):
        await stage.store.inner.inbox("any")
