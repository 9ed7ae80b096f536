"""Questions: the run ends, the answer comes, the handler runs again from the top and repeats nothing."""

import asyncio
import gc
import logging
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dragoman import TaskContext
from tests.behaviour.cells import FINAL_JSON, only
from tests.behaviour.test_handlers import new_agent, texts
from tests.behaviour.test_streams import states_in, text_in
from tests.behaviour.wire import Serve, Wire, message

pytestmark = only(*FINAL_JSON)


async def reply(wire: Wire, task: dict[str, Any], text: str) -> dict[str, Any]:
    return await wire.send(message(text, taskId=task["id"]))


async def test_answered_questions_return_at_once_in_order(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)
    runs = 0

    @agent.skill
    async def interview(task: TaskContext) -> str:
        nonlocal runs
        runs += 1
        name = await task.ask("Your name?")
        age = await task.ask("Your age?")
        return f"{task.text}: {name} is {age}"

    wire = await serve(agent)
    task = await wire.send("hello")
    assert task["status"]["message"]["parts"] == [{"text": "Your name?"}]
    task = await reply(wire, task, "Ada")
    assert task["status"]["message"]["parts"] == [{"text": "Your age?"}]
    task = await reply(wire, task, "36")
    assert texts(task) == ["hello: Ada is 36"]
    assert runs == 3


async def test_nothing_from_before_the_last_answer_is_emitted_again(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)

    @agent.skill
    async def careful(task: TaskContext) -> AsyncIterator[Any]:
        yield "before "
        yield {"before": 1}
        await task.status("about to ask")
        answer = await task.ask("Well?")
        yield f"after {answer}"

    wire = await serve(agent)
    async with wire.send_stream() as stream:
        first = await stream.payloads()
    assert text_in(first) == "before "
    task_id = first[0]["task"]["id"]
    async with wire.send_stream(message("yes", taskId=task_id)) as stream:
        second = await stream.payloads()
    assert text_in(second) == "after yes"
    assert states_in(second)[-1] == "TASK_STATE_COMPLETED"
    told = [each["statusUpdate"]["status"].get("message") for each in second if "statusUpdate" in each]
    assert not any(told)
    task = await wire.get(task_id)
    assert "".join(texts(task)) == "before after yes"
    assert len([part for artifact in task["artifacts"] for part in artifact["parts"] if "data" in part]) == 1


async def test_questions_are_matched_by_their_key(serve: Serve) -> None:
    agent = new_agent()
    order = ["one", "two"]

    @agent.skill
    async def keyed(task: TaskContext) -> str:
        answers = {key: await task.ask(f"{key}?", key=key) for key in list(order)}
        return f"{answers['one']} {answers['two']}"

    wire = await serve(agent)
    task = await wire.send()
    assert task["status"]["message"]["parts"] == [{"text": "one?"}]
    task = await reply(wire, task, "1")
    order.reverse()
    task = await reply(wire, task, "2")
    assert texts(task) == ["1 2"]


async def test_another_wording_is_logged_and_not_refused(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    agent = new_agent()
    wordings = iter(["What is it?", "Tell me!"])

    @agent.skill
    async def whimsical(task: TaskContext) -> str:
        return await task.ask(next(wordings))

    wire = await serve(agent)
    task = await wire.send()
    with caplog.at_level(logging.INFO):
        task = await reply(wire, task, "this")
    assert texts(task) == ["this"]
    assert "Tell me!" in caplog.text


async def test_a_question_inside_gather_fails_the_task(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    agent = new_agent()

    @agent.skill
    async def both(task: TaskContext) -> str:
        return "".join(await asyncio.gather(task.ask("a?"), task.ask("b?")))

    wire = await serve(agent)
    with caplog.at_level(logging.ERROR):
        task = await wire.send()
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "gather" in caplog.text


async def test_a_step_runs_once_in_a_turn(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)
    calls: list[str] = []

    async def charge(amount: int) -> dict[str, int]:
        calls.append(f"charged {amount}")
        return {"receipt": amount}

    def count() -> int:
        calls.append("counted")
        return 3

    @agent.skill
    async def pay(task: TaskContext) -> str:
        receipt = await task.step("charge", charge, 5)
        counted = await task.step("count", count)
        return f"{receipt} {counted} {await task.ask('Sure?')}"

    wire = await serve(agent)
    task = await reply(wire, await wire.send(), "yes")
    assert texts(task) == ["{'receipt': 5} 3 yes"]
    assert calls == ["charged 5", "counted"]


async def test_a_step_that_failed_runs_again(serve: Serve) -> None:
    agent = new_agent()
    calls = 0

    def flaky() -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ValueError("first time")
        return calls

    @agent.skill
    async def stubborn(task: TaskContext) -> str:
        try:
            await task.step("flaky", flaky)
        except ValueError:
            await task.ask("again?")
        return str(await task.step("flaky", flaky))

    wire = await serve(agent)
    assert texts(await reply(wire, await wire.send(), "ok"))[-1] in {"2", "3"}


async def test_the_text_of_a_turn_does_not_change_with_its_answers(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    async def remember(task: TaskContext) -> str:
        answer = await task.ask("And?")
        return f"{task.text} {task.message.text} {answer} {answer.text} {[said.text for said in task.messages]}"

    wire = await serve(agent)
    task = await reply(wire, await wire.send("begin"), "end")
    assert texts(task) == ["begin begin end end ['begin', 'end']"]


async def test_asks_and_authorizations_share_a_task(serve: Serve) -> None:
    agent = new_agent()

    @agent.skill
    async def both(task: TaskContext) -> str:
        name = await task.ask("Name?")
        allowed = await task.require_auth("Sign in")
        return f"{name} {allowed.value}"

    wire = await serve(agent)
    task = await reply(wire, await wire.send(), "Ada")
    assert task["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    await agent.authorize(task["id"], {"scope": "all"})
    done = await wire.settled(task["id"])
    assert texts(done) == ["Ada {'scope': 'all'}"]


async def test_two_answers_at_once_are_one_answer_and_one_more_turn(serve: Serve, store: str) -> None:
    agent = new_agent(store=store)

    @agent.skill
    async def asks(task: TaskContext) -> str:
        if task.text == "begin":
            return f"<{await task.ask('Which?')}>"
        return f"<turn {task.text}>"

    wire = await serve(agent)
    task = await wire.send("begin")
    await asyncio.gather(reply(wire, task, "a"), reply(wire, task, "b"), return_exceptions=True)
    done = await wire.settled(task["id"])
    text = "".join(texts(done))
    assert text in {"<a>", "<b>", "<a><turn b>", "<b><turn a>"}


async def test_nothing_of_a_parked_run_stays_in_memory(serve: Serve) -> None:
    agent = new_agent()
    left: list[weakref.ref[TaskContext]] = []

    @agent.skill
    async def asks(task: TaskContext) -> str:
        left.append(weakref.ref(task))
        return await task.ask("Well?")

    wire = await serve(agent)
    task = await wire.send()
    assert task["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    await asyncio.sleep(0)
    gc.collect()
    assert left[0]() is None
