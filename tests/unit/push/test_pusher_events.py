"""What is delivered, and where the pusher has it from."""

import asyncio

import pytest

from dragoman.ports.bus import Hint
from dragoman.ports.push import PushState
from dragoman.ports.tasks import Entry
from dragoman.push.options import PushEvent, PushOptions
from dragoman.types.content import Message, Part, Role
from dragoman.types.task import TaskState
from tests.unit.push.stage import ANYONE, chunk, played, staged, state

HOOK = "https://one.example/a"
OTHER = "https://other.example/b"
DONE = state(TaskState.COMPLETED)
TASK = "1 task working"


@pytest.mark.parametrize(
    ("events", "got"),
    [
        (("task",), [TASK]),
        (("status",), ["3 completed"]),
        (("artifact",), ["2 one"]),
        (("task", "status"), [TASK, "3 completed"]),
        (("message",), []),
    ],
)
@played
async def test_events_can_be_chosen(events: tuple[PushEvent, ...], got: list[str]) -> None:
    async with staged(PushOptions(events=events)) as stage:
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"), DONE)
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == got
        push = await stage.push("t", "a")
        assert (push.state, push.cursor) == (PushState.ENDED, 3)


@played
async def test_some_dialects_get_the_task_as_it_is() -> None:
    async with staged() as stage:
        stage.receivers.takes[HOOK] = 0.5
        await stage.begin("t", HOOK, dialect="bare")
        await asyncio.sleep(0.1)
        await stage.happen("t", chunk("one"), chunk("two"))
        await stage.happen("t", DONE)
        await asyncio.sleep(3)
        # One stands for all that has happened meanwhile.
        assert stage.receivers.got(HOOK) == ["1 task working", "4 task completed onetwo"]
        assert (await stage.push("t", "a")).state is PushState.ENDED


@played
async def test_the_task_as_it_is_stands_in_for_a_log_that_is_gone() -> None:
    async with staged() as stage:
        await stage.begin("t")
        await stage.happen("t", chunk("one"), DONE, hint=False)
        await stage.store.prune(logs_after=0, tasks_after=None, limit=10)
        await stage.put("t", HOOK, cursor=1)
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == ["3 task completed one"]
        assert (await stage.push("t", "a")).state is PushState.ENDED


@played
async def test_a_configuration_of_a_task_that_has_ended_ends_without_a_word() -> None:
    async with staged() as stage:
        await stage.begin("t")
        await stage.happen("t", DONE)
        await stage.put("t", HOOK)
        await asyncio.sleep(1)
        assert stage.receivers.posts == []
        assert (await stage.push("t", "a")).state is PushState.ENDED


@played
async def test_a_direct_answer_is_delivered_once_and_its_configuration_goes() -> None:
    async with staged() as stage:
        stage.receivers.say(HOOK, 500)
        answer = Message(message_id="m", role=Role.AGENT, parts=(Part(text="hi"),))
        await stage.put("", HOOK, answer=answer)
        await asyncio.sleep(10)
        assert stage.receivers.got(HOOK) == ["0 message hi"] * 2
        assert await stage.store.get_push("", ANYONE, "a") is None


# Hints and the log.


@played
async def test_lost_hints_cost_time_and_no_event() -> None:
    async with staged() as stage:
        await stage.begin("t", HOOK)
        await asyncio.sleep(1)
        await stage.happen("t", chunk("one"), hint=False)
        await stage.happen("t", chunk("two"))
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK)[1:] == ["2 one", "3 two"]
        await stage.happen("t", DONE, hint=False)
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK)[3:] == []
        await asyncio.sleep(5)
        assert stage.receivers.got(HOOK)[3:] == ["4 completed"]


@played
async def test_a_hint_of_what_is_not_stored_delivers_nothing() -> None:
    async with staged() as stage:
        await stage.begin("t", HOOK)
        await asyncio.sleep(1)
        stage.bus.publish(Hint("t", (Entry(seq=9, event=chunk("never")),)))
        await asyncio.sleep(10)
        assert stage.receivers.got(HOOK) == [TASK]
        await stage.happen("t", DONE)
        await asyncio.sleep(10)
        assert stage.receivers.got(HOOK) == [TASK, "2 completed"]


@played
async def test_a_long_backlog_is_read_from_the_log_piece_by_piece() -> None:
    async with staged() as stage:
        stage.receivers.takes[HOOK] = 0.001
        await stage.begin("t", HOOK)
        for number in range(500):
            await stage.happen("t", chunk(str(number)))
        await stage.happen("t", DONE)
        await asyncio.sleep(10)
        assert stage.receivers.got(HOOK)[1:-1] == [f"{number + 2} {number}" for number in range(500)]


@played
async def test_nobody_pays_before_there_is_a_first_configuration() -> None:
    async with staged() as stage:
        await stage.begin("t")
        await stage.happen("t", chunk("one"))
        assert stage.bus.heard == 0
        await stage.put("t", HOOK)
        await stage.happen("t", chunk("two"))
        assert stage.bus.heard == 1
        await stage.pusher.close(0)
        await stage.happen("t", chunk("three"))
        assert stage.bus.heard == 1


@played
async def test_a_parked_task_is_forgotten_and_heard_of_when_it_goes_on() -> None:
    async with staged() as stage:
        await stage.begin("t", HOOK)
        await stage.happen("t", state(TaskState.INPUT_REQUIRED))
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == [TASK, "2 input-required"]
        assert stage.pusher.state.known == 0
        await stage.happen("t", state(TaskState.WORKING))
        await asyncio.sleep(0.2)
        assert stage.receivers.got(HOOK)[2:] == ["3 working"]
        await stage.happen("t", chunk("one"), DONE)
        await asyncio.sleep(0.2)
        assert stage.receivers.got(HOOK)[3:] == ["4 one", "5 completed"]


@played
async def test_of_a_parked_task_nothing_is_behind_when_its_interruption_is_not_to_be_told() -> None:
    async with staged(PushOptions(events=("artifact",))) as stage:
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"), state(TaskState.INPUT_REQUIRED))
        await asyncio.sleep(1)
        assert (await stage.push("t", "a")).behind is False
        assert stage.pusher.state.known == 0


@played
async def test_a_task_that_is_silent_for_long_is_forgotten_and_found_again() -> None:
    async with staged() as stage:
        await stage.begin("t", HOOK)
        await asyncio.sleep(400)
        assert stage.pusher.state.known == 0
        await stage.happen("t", chunk("one"), DONE)
        await asyncio.sleep(6)
        assert stage.receivers.got(HOOK)[1:] == ["2 one", "3 completed"]
