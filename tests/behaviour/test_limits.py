"""How often callers may call, and how much they may have at once: at each limit, and one past it, in every cell."""

import logging
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest

from dragoman import Agent, CallLimits, Rate, TaskContext
from dragoman.auth import ApiKey, Basic
from tests.behaviour.addresses import Called, calling, named
from tests.behaviour.agents import echo, gated, obedient
from tests.behaviour.callers import KEYS, PASSWORDS, basic, keyed
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Fault, Wire, message, refused, wire_to

ALICE, BOB = keyed("alice"), keyed("bob")
SLOW = Rate(0.01, 3)
"""Three at once, and the next after a hundred seconds."""
QUICK: Any = {"cancel_grace": 0.05, "drain_grace": 0.05}
LATER = {"configuration": {"returnImmediately": True}}


# How often.


@requirement("R-13.4-06", "R-13.4-13", "R-13.4-14")
async def test_an_address_may_call_so_often(called: Called) -> None:
    wire = await called(echo(limits=CallLimits(requests_per_address=SLOW)))
    for _ in range(3):
        await wire.send(headers=calling("192.0.2.1"))
    with refused("LIMIT_EXCEEDED") as caught:
        await wire.send(headers=calling("192.0.2.1"))
    assert named(caught.value) == "requestsPerAddress"
    assert caught.value.reply.headers["retry-after"] == "100"
    assert "192.0.2.1" not in caught.value.told
    delays = [detail["retryDelay"] for detail in caught.value.details if "retryDelay" in detail]
    assert [round(float(delay.rstrip("s"))) for delay in delays] == ([100] if wire.binding == "GRPC" else [])
    await wire.send(headers=calling("192.0.2.2"))
    for _ in range(5):
        await wire.send()
    assert len(await wire.stored()) == 9


@requirement("R-13.4-13")
async def test_every_operation_counts_and_the_card_does_not(called: Called) -> None:
    wire = await called(echo(limits=CallLimits(requests_per_address=Rate(0.01, 1))))
    with refused("TASK_NOT_FOUND"):
        await wire.get("no-such-task", headers=calling("192.0.2.1"))
    with refused("LIMIT_EXCEEDED"):
        async with wire.send_stream(headers=calling("192.0.2.1")):
            pass
    await wire_to(wire.bridge, wire.cell)


async def test_a_principal_may_call_so_often_wherever_from(called: Called) -> None:
    wire = await called(echo(auth=ApiKey(KEYS), limits=CallLimits(requests_per_principal=SLOW)))
    for number in range(3):
        await wire.send(headers=ALICE | calling(f"192.0.2.{number}"))
    with refused("LIMIT_EXCEEDED") as caught:
        await wire.send(headers=ALICE | calling("192.0.2.9"))
    assert named(caught.value) == "requestsPerPrincipal"
    assert caught.value.reply.headers["retry-after"] == "100"
    await wire.send(headers=BOB)


async def test_a_task_takes_so_many_messages(called: Called) -> None:
    wire = await called(obedient(auth=ApiKey(KEYS), limits=CallLimits(messages_per_task=SLOW)))
    task, other = await wire.send("ask", headers=ALICE), await wire.send("ask", headers=ALICE)
    with refused("TASK_NOT_FOUND"):
        await wire.send(message("ask", taskId=task["id"]), headers=BOB)
    await wire.send(message("red", taskId=task["id"]), headers=ALICE)
    await wire.send(message("red", taskId=other["id"]), headers=ALICE)


async def test_a_conversation_in_one_task_is_held_to_its_pace(called: Called) -> None:
    agent = Agent("Curious", store="memory", limits=CallLimits(messages_per_task=SLOW))

    @agent.skill(tags=["demo"])
    async def curious(task: TaskContext) -> str:
        """Ask, and ask again."""
        for number in range(5):
            await task.ask("And?", key=str(number))
        return "done"

    wire = await called(agent)
    task = await wire.send()
    for _ in range(3):
        await wire.send(message(taskId=task["id"]))
    with refused("LIMIT_EXCEEDED") as caught:
        await wire.send(message(taskId=task["id"]))
    assert named(caught.value) == "messagesPerTask"
    assert caught.value.reply.headers["retry-after"] == "100"
    assert (await wire.get(task["id"]))["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"


# Credentials.


@requirement("R-13.4-10", "R-13.4-14")
async def test_guesses_are_refused_before_the_password_is_hashed(
    called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []

    def is_password(password: str, _stored: str) -> bool:
        hashed.append(password)
        return password == "alice's password"

    monkeypatch.setattr("dragoman.auth.basic.is_password", is_password)
    wire = await called(echo(auth=Basic(PASSWORDS)))
    for number in range(10):
        with refused("UNAUTHENTICATED"):
            await wire.send(headers=basic("alice", f"guess {number}") | calling("192.0.2.1"))
    assert len(hashed) == 10
    with refused("LIMIT_EXCEEDED") as caught:
        await wire.send(headers=basic("alice", "alice's password") | calling("192.0.2.1"))
    assert named(caught.value) == "failedAuthentications"
    assert caught.value.reply.headers["retry-after"] in {"1", "2"}
    assert len(hashed) == 10
    await wire.send(headers=basic("alice", "alice's password") | calling("192.0.2.2"))


async def test_a_key_that_was_right_stays_so_while_others_guess_from_the_same_address(called: Called) -> None:
    wire = await called(echo(auth=ApiKey(KEYS)))
    here = calling("192.0.2.1")
    for number in range(5):
        with refused("UNAUTHENTICATED"):
            await wire.send(headers={"x-api-key": f"guess {number}"} | here)
    await wire.send(headers=ALICE | here)
    for number in range(5, 10):
        with refused("UNAUTHENTICATED"):
            await wire.send(headers={"x-api-key": f"guess {number}"} | here)
    with refused("LIMIT_EXCEEDED"):
        await wire.send(headers={"x-api-key": "guess 10"} | here)
    await wire.send(headers=ALICE | here)


async def test_the_log_says_nothing_of_what_was_guessed(called: Called, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    wire = await called(echo(auth=ApiKey(KEYS), limits=CallLimits(failed_authentications=Rate(0.01, 1))))
    for _ in range(3):
        with pytest.raises(Fault):
            await wire.send(headers={"x-api-key": "a-secret-guess"} | calling("192.0.2.1"))
    assert "a-secret-guess" not in caplog.text


# How much at once.


@pytest.mark.parametrize("who", [ALICE, calling("192.0.2.1")], ids=["known", "anonymous"])
async def test_a_caller_may_have_so_many_streams_open(called: Called, who: dict[str, str]) -> None:
    agent, gate = gated(
        **QUICK, auth=ApiKey(KEYS) if who is ALICE else None, limits=CallLimits(max_streams_per_caller=2)
    )
    wire = await called(agent)
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(wire.send_stream("one", headers=who))
        begun = await anext(first)
        async with wire.subscribe(begun.payload["task"]["id"], headers=who) as second:
            await anext(second)
            for opening in (wire.send_stream("more", headers=who), wire.subscribe("any", headers=who)):
                with refused("LIMIT_EXCEEDED") as caught:
                    await stack.enter_async_context(opening)
                assert named(caught.value) == "streamsPerCaller"
                assert caught.value.reply.headers["retry-after"] == "1"
            async with wire.send_stream("other", headers=BOB if who is ALICE else calling("192.0.2.2")):
                pass
        third = await stack.enter_async_context(wire.subscribe(begun.payload["task"]["id"], headers=who))
        await anext(third)
        for _ in range(9):
            gate.release()


async def test_there_are_so_many_streams_in_all(called: Called) -> None:
    agent, gate = gated(**QUICK, limits=CallLimits(max_streams=1))
    wire = await called(agent)
    async with wire.send_stream("one", headers=calling("192.0.2.1")):
        with refused("LIMIT_EXCEEDED") as caught:
            async with wire.send_stream("two", headers=calling("192.0.2.2")):
                pass
        assert named(caught.value) == "streams"
    for _ in range(4):
        gate.release()
    async with wire.send_stream("two", headers=calling("192.0.2.2")):
        pass


async def test_a_stream_that_is_refused_for_another_reason_takes_no_place(called: Called) -> None:
    wire = await called(echo(limits=CallLimits(max_streams=1)))
    for _ in range(3):
        with refused("TASK_NOT_FOUND"):
            async with wire.subscribe("no-such-task"):
                pass
    async with wire.send_stream() as stream:
        assert [payload async for payload in stream]
    async with wire.send_stream() as stream:
        assert [payload async for payload in stream]


async def _tasks_up_to(wire: Wire, most: int, who: dict[str, str]) -> str:
    """Begins as many tasks as there may be; gives the limit that refuses one more, in a stream or not."""
    for _ in range(most):
        await wire.send("one", headers=who, **LATER)
    with refused("LIMIT_EXCEEDED") as caught:
        await wire.send("more", headers=who, **LATER)
    with refused("LIMIT_EXCEEDED"):
        async with wire.send_stream("more", headers=who):
            pass
    assert caught.value.reply.headers["retry-after"] == "1"
    return named(caught.value)


async def _all_completed(wire: Wire, who: dict[str, str]) -> None:
    over_jsonrpc = await wire_to(wire.bridge, "JSONRPC")
    for task in (await over_jsonrpc.call("ListTasks", {}, headers=who))["tasks"]:
        with suppress(Fault):  # one that has ended is not subscribed to
            async with over_jsonrpc.subscribe(task["id"], headers=who) as stream:
                await stream.until("TASK_STATE_COMPLETED")
        assert (await wire.get(task["id"], headers=who))["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("max_running", [None, 1], ids=["running", "queued"])
async def test_a_principal_may_have_so_many_tasks_that_run_or_wait(called: Called, max_running: int | None) -> None:
    agent, gate = gated(
        **QUICK, auth=ApiKey(KEYS), max_running=max_running, limits=CallLimits(max_tasks_per_principal=2)
    )
    wire = await called(agent)
    assert await _tasks_up_to(wire, 2, ALICE) == "tasksPerPrincipal"
    await wire.send("one", headers=BOB, **LATER)
    for _ in range(6):
        gate.release()
    await _all_completed(wire, ALICE)
    for _ in range(2):
        gate.release()
    assert (await wire.send("again", headers=ALICE))["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.parametrize("max_running", [None, 1], ids=["running", "queued"])
async def test_there_are_so_many_tasks_in_all(called: Called, max_running: int | None) -> None:
    agent, gate = gated(**QUICK, max_running=max_running, limits=CallLimits(max_tasks=3, max_tasks_per_principal=1))
    wire = await called(agent)
    assert await _tasks_up_to(wire, 3, calling("192.0.2.1")) == "tasks"
    for _ in range(8):
        gate.release()
    await _all_completed(wire, {})
    for _ in range(2):
        gate.release()
    assert (await wire.send("again"))["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_tasks_that_wait_for_their_caller_do_not_count(called: Called) -> None:
    wire = await called(obedient(auth=ApiKey(KEYS), limits=CallLimits(max_tasks_per_principal=1)))
    asked = [await wire.send("ask", headers=ALICE) for _ in range(3)]
    assert (await wire.send(message("red", taskId=asked[0]["id"]), headers=ALICE))["artifacts"]


async def test_a_canceled_task_makes_room_whether_it_ran_or_waited(called: Called) -> None:
    agent, gate = gated(**QUICK, auth=ApiKey(KEYS), max_running=1, limits=CallLimits(max_tasks_per_principal=2))
    wire = await called(agent)
    for _ in range(3):
        runs, waits = [await wire.send("one", headers=ALICE, **LATER) for _ in range(2)]
        with refused("LIMIT_EXCEEDED"):
            await wire.send("more", headers=ALICE, **LATER)
        for task in (waits, runs):
            await wire.call("CancelTask", {"id": task["id"]}, headers=ALICE)
    gate.release()
