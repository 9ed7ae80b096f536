"""Tasks that wait for an authorization, and a caller who says what to do then."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from dragoman import AuthRequired, Message, Task, TaskFailed, TaskUnfinished, connect
from dragoman.client import ResultOptions
from dragoman.client.authorizing import ROUNDS, remaining
from tests.unit.client.scripted import Script, events, result, silent, status, task

WAITING = task("AUTH_REQUIRED", said="sign here")


def saying(answer: str | bool | None) -> Callable[[Task, Message | None], str | bool | None]:
    def say(_: Task, __: Message | None) -> str | bool | None:
        return answer

    return say


def offered(agent: Script) -> None:
    """The agent asks, and completes once it was answered."""
    agent.answers["SendStreamingMessage"] = [events({"task": WAITING})]
    agent.answers["SendMessage"] = [result({"task": task("WORKING")})]
    agent.answers["SubscribeToTask"] = [events({"task": task("WORKING")}, status("COMPLETED", "paid"))]
    agent.answers["GetTask"] = [result(task("COMPLETED", said="paid"))]


async def test_ask_goes_on_with_the_answer(agent: Script) -> None:
    offered(agent)
    told: list[tuple[str, str]] = []

    async def sign(waiting: Task, message: Message | None) -> str:
        assert message is not None
        told.append((waiting.id, message.text))
        return "alice"

    async with connect(agent.url, on_auth_required=sign) as client:
        assert await client.ask("pay") == "paid"
    assert told == [("t-1", "sign here")]
    (answer,) = agent.asked("SendMessage")
    assert (answer.params["message"]["taskId"], answer.params["message"]["parts"][0]["text"]) == ("t-1", "alice")


async def test_a_task_in_hand_goes_on_too_and_shows_how_it_ended(agent: Script) -> None:
    offered(agent)
    agent.answers["GetTask"] = [result(WAITING), *agent.answers["GetTask"]]
    threads: list[int] = []

    def sign(_: Task, __: Message | None) -> str:
        threads.append(threading.get_ident())
        return "alice"

    async with connect(agent.url, on_auth_required=sign) as client:
        handle = await client.task("t-1")
        assert (await handle.result()).text == "paid"
        assert handle.task.text == "paid"
    assert threads != [threading.get_ident()]


async def test_an_authorization_given_elsewhere_is_waited_for(agent: Script) -> None:
    offered(agent)
    agent.answers["SubscribeToTask"] = [events({"task": WAITING}, status("WORKING"), status("COMPLETED", "paid"))]
    async with connect(agent.url, on_auth_required=saying(answer=True), poll_interval=0.01) as client:
        assert await client.ask("pay") == "paid"
    assert agent.asked("SendMessage") == []


@pytest.mark.parametrize("answer", [None, False])
async def test_without_an_answer_the_caller_is_told(agent: Script, answer: bool | None) -> None:
    offered(agent)
    async with connect(agent.url, on_auth_required=saying(answer)) as client:
        with pytest.raises(AuthRequired, match="sign here") as raised:
            await client.ask("pay")
        assert raised.value.handle.id == "t-1"
        assert agent.asked("SendMessage") == []


async def test_an_agent_that_asks_without_end_is_left_to_the_caller(agent: Script) -> None:
    offered(agent)
    numbers = iter(range(100))

    async def again(exchange: Any) -> None:
        # Another question each time, told apart by its words.
        asked = task("AUTH_REQUIRED", said=f"again {next(numbers)}")
        await result({"task": asked})(exchange)

    agent.answers["SendMessage"] = [again]
    asked: list[Task] = []

    def sign(waiting: Task, _: Message | None) -> str:
        asked.append(waiting)
        return "alice"

    async with connect(agent.url, on_auth_required=sign) as client:
        with pytest.raises(AuthRequired, match=f"again {ROUNDS - 1}"):
            await client.ask("pay")
    assert len(asked) == ROUNDS == len(agent.asked("SendMessage"))


async def test_what_comes_after_the_answer_is_what_counts(agent: Script) -> None:
    offered(agent)
    agent.answers["SubscribeToTask"] = [events({"task": task("WORKING")}, status("REJECTED", "not you"))]
    async with connect(agent.url, on_auth_required=saying("eve")) as client:
        with pytest.raises(TaskFailed, match="not you"):
            await client.ask("pay")


async def test_the_deadline_counts_over_all_of_it(agent: Script) -> None:
    offered(agent)
    agent.answers["SubscribeToTask"] = [silent]
    async with connect(agent.url, on_auth_required=saying("alice")) as client:
        with pytest.raises(TaskUnfinished) as raised:
            await client.ask("pay", deadline=0.2)
    assert raised.value.task_id == "t-1"
    now = asyncio.get_running_loop().time()
    left = remaining({"deadline": 7.0}, now - 5).get("deadline")
    assert left is not None
    assert 0 < left <= 2
    assert remaining({"deadline": 7.0}, now - 50) == {"deadline": 0.0}
    assert remaining({"cancel_remote": True}, now) == {"cancel_remote": True}


async def test_what_is_left_of_the_deadline_is_for_what_comes_after_the_answer(
    agent: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(options: ResultOptions, _: float) -> ResultOptions:
        return {**options, "deadline": 0.0}

    offered(agent)
    monkeypatch.setattr("dragoman.client.authorizing.remaining", none_left)
    async with connect(agent.url, on_auth_required=saying("alice")) as client:
        with pytest.raises(TaskUnfinished):
            await client.ask("pay", deadline=60.0)


async def test_what_the_callers_function_raises_is_the_callers(agent: Script) -> None:
    offered(agent)

    def broken(_: Task, __: Message | None) -> str:
        raise LookupError("no pen")

    async with connect(agent.url, on_auth_required=broken) as client:
        with pytest.raises(LookupError, match="no pen"):
            await client.ask("pay")
