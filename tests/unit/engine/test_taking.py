"""Messages that a run takes while it works: once each, in order, durable before they are given, the same again."""

import asyncio
from collections.abc import Awaitable

import pytest

from dragoman.engine.world import Limits
from dragoman.operations import CANCEL_TASK
from dragoman.ports.agent import Turn
from dragoman.ports.tasks import TurnStart
from dragoman.stores.memory import MemoryStore
from dragoman.testing.agent import RunOver, ScriptedAgent, ScriptedRun
from dragoman.types.content import Message
from dragoman.types.requests import CancelTaskRequest
from dragoman.types.task import Task, TaskState
from tests.unit.engine.stage import ANYONE, CALL, Stage, message, send, settle, staged
from tests.unit.engine.takeover import taken_over


async def post(stage: Stage, task: Task, *words: str) -> None:
    for word in words:
        await stage.service.send_message(send(word, immediately=True, task_id=task.id), CALL)


async def take(run: ScriptedRun, *, wait: bool = True) -> str | None:
    def receive(turn: Turn) -> Awaitable[Message | None]:
        return turn.receive(wait=wait)

    taken = await run.do(receive)
    return None if taken is None else taken.text


def said(task: Task) -> list[str]:
    return [one.text for one in task.history]


async def test_what_is_taken_is_part_of_the_turn_and_begins_none(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await post(each_stage, task, "two", "three")
    assert [await take(run), await take(run, wait=False), await take(run, wait=False)] == ["two", "three", None]
    assert said(await each_stage.task(task.id)) == ["one", "two", "three"]
    await run.end()
    done = await each_stage.ended(task.id)
    assert (done.state, said(done)) == (TaskState.COMPLETED, ["one", "two", "three"])
    assert agent.idle


async def test_a_run_waits_for_a_message(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    taking = asyncio.create_task(take(run))
    await settle()
    await post(each_stage, task, "two")
    assert await taking == "two"
    await run.end()
    await each_stage.ended(task.id)


async def test_what_is_left_begins_the_next_turn(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await post(each_stage, task, "two", "three")
    assert await take(run) == "two"
    await run.end()
    run = await agent.run()
    assert run.turn.message.text == "three"
    assert await take(run, wait=False) is None
    await run.end()
    assert said(await each_stage.ended(task.id)) == ["one", "two", "three"]


async def test_what_is_said_before_a_message_was_taken_is_before_it(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await post(each_stage, task, "two")
    await run.text("heard so far")
    await take(run)
    log = await each_stage.log(task.id)
    assert log[-1].received is not None
    assert all(entry.received is None for entry in log[:-1])
    assert (await each_stage.task(task.id)).text == "heard so far"
    await run.end()
    await each_stage.ended(task.id)


async def test_a_run_that_goes_on_with_an_answer_gets_the_same_messages_again(
    each_stage: Stage, agent: ScriptedAgent
) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await post(each_stage, task, "two", "three")
    assert [await take(run), await take(run)] == ["two", "three"]
    with pytest.raises(RunOver):
        await run.ask("Well?")
    await each_stage.ended(task.id)
    await post(each_stage, task, "yes")
    run = await agent.run()
    await post(each_stage, task, "four")
    assert [await take(run), await take(run)] == ["two", "three"]
    await run.ask("Well?")
    assert await take(run) == "four"
    await run.end()
    done = await each_stage.ended(task.id)
    assert said(done) == ["one", "two", "three", "Well?", "yes", "four"]


async def test_another_attempt_gets_the_same_messages_again(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await post(each_stage, task, "two", "three")
    assert await take(run) == "two"
    await taken_over(each_stage, task.id)
    with pytest.raises(RunOver):
        await take(run)
    run = await agent.run()
    assert [await take(run), await take(run), await take(run, wait=False)] == ["two", "three", None]
    await run.end()
    assert said(await each_stage.ended(task.id)) == ["one", "two", "three"]


async def test_a_receiver_that_leaves_loses_nothing(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin("one")
    run = await agent.run()
    await post(stage, task, "two")
    stage.store.hold()

    async def impatient(turn: Turn) -> None:
        receiving = asyncio.ensure_future(turn.receive(wait=True))
        await stage.store.held()
        receiving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await receiving

    await run.do(impatient)
    stage.store.release()
    assert await take(run) == "two"
    await run.end()
    assert said(await stage.ended(task.id)) == ["one", "two"]


async def test_two_receivers_share_the_messages(each_stage: Stage, agent: ScriptedAgent) -> None:
    task = await each_stage.begin("one")
    run = await agent.run()
    await post(each_stage, task, "two", "three")

    async def both(turn: Turn) -> list[str]:
        taken = await asyncio.gather(turn.receive(wait=True), turn.receive(wait=True))
        return sorted(one.text for one in taken if one is not None)

    assert await run.do(both) == ["three", "two"]
    await run.end()
    assert said(await each_stage.ended(task.id)) == ["one", "two", "three"]


async def test_a_run_that_waits_for_a_message_is_canceled_at_once(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin("one")
    run = await agent.run()
    taking = asyncio.create_task(take(run))
    await stage.call(CANCEL_TASK, CancelTaskRequest(id=task.id))
    with pytest.raises(RunOver):
        await taking
    assert (await stage.ended(task.id)).state is TaskState.CANCELED


async def test_a_message_of_which_nobody_has_told_is_found(agent: ScriptedAgent) -> None:
    async with staged(MemoryStore(), agent, limits=Limits(keep_alive=0.02)) as stage:
        task = await stage.begin("one")
        run = await agent.run()
        taking = asyncio.create_task(take(run))
        await stage.store.inner.post(task.id, ANYONE, message("two"), TurnStart())
        async with asyncio.timeout(10):
            assert await taking == "two"
        await run.end()


async def test_a_store_that_is_out_of_order_for_a_while_costs_no_message(stage: Stage, agent: ScriptedAgent) -> None:
    task = await stage.begin("one")
    run = await agent.run()
    await post(stage, task, "two")
    stage.store.failing = 1
    assert await take(run) == "two"
    await run.end()
    assert said(await stage.ended(task.id)) == ["one", "two"]


async def test_other_tasks_of_the_context_are_seen_newest_first(each_stage: Stage, agent: ScriptedAgent) -> None:
    for number in range(3):
        task = await each_stage.begin(f"n{number}", context_id="c")
        run = await agent.run()
        each_stage.clock.advance(1)
        await run.text(f"did {number}")
        await run.end()
        await each_stage.ended(task.id)
    await each_stage.begin("elsewhere", context_id="other")
    await (await agent.run()).end()
    await each_stage.begin("now", context_id="c")
    run = await agent.run()
    related = await run.do(lambda turn: turn.related(2))
    assert [task.text for task in related] == ["did 2", "did 1"]
    assert [said(task) for task in await run.do(lambda turn: turn.related(10))] == [["n2"], ["n1"], ["n0"]]
    await run.end()
