"""What extensions do, over every cell: in force where they are named, and the same whatever carries them."""

import logging
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent, AuditLog, BlockingTaskContext, InputRequired, TaskContext, TaskHandle, connect
from dragoman.errors import ExtensionSupportRequiredError
from tests.behaviour.cells import NO_LISTS, NO_SERVER_SENT_EVENTS, without
from tests.behaviour.manifest import requirement
from tests.behaviour.trails import BOTH, INNER, ONE, OUTER, PLAIN, Trail, direct, tell, trailing, trails
from tests.behaviour.wire import Serve, message, refused


async def test_nothing_is_done_for_callers_who_name_no_extension(serve: Serve) -> None:
    wire = await serve(trailing())
    for headers in ({}, {"a2a-extensions": PLAIN}, {"a2a-extensions": "https://extensions.example/inner/v2"}):
        task = await wire.send("abc", headers=headers)
        assert "metadata" not in task
        assert "metadata" not in task["history"][0]
        assert task["artifacts"][0]["parts"] == [{"text": "nothing"}]
        assert "metadata" not in task["artifacts"][0]


async def test_what_is_named_is_done_inwards_in_order_and_outwards_in_reverse(serve: Serve) -> None:
    wire = await serve(trailing())
    task = await wire.send("abc", headers=BOTH)
    assert trails(task) == {"answered": ["inner", "outer"]}
    assert trails(task["history"][0]) == {"asked": ["outer", "inner"]}
    assert trails(task["artifacts"][0]) == {"said": ["outer", "inner"]}
    assert task["artifacts"][0]["parts"] == [{"text": "cba"}]
    task = await wire.send("abc", headers=ONE)
    assert trails(task) == {"answered": ["inner"]}
    assert task["artifacts"][0]["parts"] == [{"text": "nothing"}]


async def test_what_was_said_with_an_extension_is_the_same_for_all_who_read_it(serve: Serve) -> None:
    wire = await serve(trailing())
    task = await wire.send("abc", headers=ONE)
    plain = await wire.get(task["id"])
    assert trails(plain) == {}
    assert trails(plain["artifacts"][0]) == {"said": ["inner"]}
    assert trails(plain["history"][0]) == {"asked": ["inner"]}
    again = await wire.get(task["id"], headers=BOTH)
    assert trails(again) == {"answered": ["inner", "outer"]}
    assert again["artifacts"] == plain["artifacts"]


async def test_each_event_of_a_stream_is_seen_on_its_way_and_none_is_stored_so(serve: Serve) -> None:
    wire = await serve(trailing())
    reliable = "https://dragoman.dev/extensions/reliable/v1"
    async with wire.send_stream("abc", headers={"a2a-extensions": f"{OUTER},{INNER},{reliable}"}) as stream:
        events = [next(iter(payload.values())) for payload in await stream.payloads()]
    assert [trails(event) for event in events] == [{"streamed": ["inner", "outer"]}] * len(events)
    assert [event["metadata"][reliable]["seq"] for event in events] == list(range(1, len(events) + 1))
    said = [event["status"]["message"] for event in events[1:] if "message" in event.get("status", {})]
    assert [trails(one) for one in said] == [{"said": ["outer", "inner"]}]
    assert trails(await wire.get(events[0]["id"])) == {}


async def test_a_direct_answer_goes_through_the_same_hooks(serve: Serve) -> None:
    wire = await serve(direct())
    params = {"message": message("abc")}
    answer = (await wire.call("SendMessage", params, headers=ONE))["message"]
    assert trails(answer) == {"said": ["inner"], "answered": ["inner"]}
    async with wire.send_stream("abc", headers=ONE) as stream:
        (payload,) = await stream.payloads()
    assert trails(payload["message"]) == {"said": ["inner"], "streamed": ["inner"]}


@requirement("R-T-04")
async def test_what_a_caller_says_within_an_extension_can_be_refused(serve: Serve) -> None:
    wire = await serve(trailing())
    with refused("INVALID_PARAMS") as caught:
        await wire.send("refuse", headers=ONE)
    assert "not with this extension" in caught.value.told
    with refused("INVALID_PARAMS"):
        async with wire.send_stream("refuse", headers=ONE):
            pass
    assert await wire.stored() == []
    await wire.send("refuse")


@pytest.mark.parametrize("hook", ["request", "response"])
async def test_a_hook_that_fails_is_an_internal_error_that_tells_nothing(
    serve: Serve, hook: str, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await serve(trailing())
    with caplog.at_level(logging.ERROR), refused("INTERNAL_ERROR") as caught:
        await wire.send(f"break the {hook}", headers=ONE)
    assert "secret" not in caught.value.told
    assert "extensions.example" not in caught.value.told
    assert "secret of the house" in caplog.text
    tasks = await wire.stored()
    assert [task["status"]["state"] for task in tasks] == ["TASK_STATE_COMPLETED"] * (hook == "response")


async def test_a_hook_that_fails_ends_the_stream_and_not_the_task(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await serve(trailing())
    with caplog.at_level(logging.ERROR), refused("INTERNAL_ERROR") as caught:
        async with wire.send_stream("break the stream", headers=ONE) as stream:
            await stream.payloads()
    assert "secret" not in caught.value.told
    (task,) = await wire.stored(includeArtifacts=True)
    assert (await wire.settled(task["id"]))["artifacts"][0]["parts"] == [{"text": "nothing"}]


async def test_what_an_extension_cannot_extend_is_stored_as_it_was_said(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await serve(trailing())
    with caplog.at_level(logging.ERROR):
        async with wire.send_stream("break what is said", headers=ONE) as stream:
            events = [next(iter(payload.values())) for payload in await stream.payloads()]
    assert "secret of the house" in caplog.text
    assert [trails(event["status"]["message"]) for event in events if "message" in event.get("status", {})] == [{}]
    assert events[-1]["status"]["state"] == "TASK_STATE_COMPLETED"


@without(NO_LISTS, NO_SERVER_SENT_EVENTS)
async def test_a_list_is_one_answer(serve: Serve) -> None:
    wire = await serve(trailing())
    await wire.send("abc", headers=ONE)
    listed = await wire.call("ListTasks", headers=ONE)
    assert [trails(task) for task in listed["tasks"]] == [{}]


def asking(store: str) -> Agent:
    agent = Agent("Asking", store=store, extensions=[Trail(INNER), Trail(OUTER)])

    @agent.skill
    async def ask(task: TaskContext) -> str:
        """Ask."""
        answer = await task.ask("which?")
        return f"{answer} {sorted(task.extensions)}"

    return agent


async def test_a_turn_keeps_the_extensions_that_it_began_with(serve: Serve, store: str) -> None:
    wire = await serve(asking(store))
    asked = await wire.send(headers=ONE)
    assert trails(asked["status"]["message"]) == {"said": ["inner"]}
    done = await wire.send(message("that", taskId=asked["id"]), headers={"a2a-extensions": OUTER})
    assert done["artifacts"][0]["parts"] == [{"text": f"that {[INNER]}"}]
    assert trails(done["artifacts"][0]) == {"said": ["inner"]}
    assert trails(done) == {"answered": ["outer"]}
    assert trails(done["history"][-1]) == {"asked": ["outer"]}


async def test_a_turn_keeps_them_over_a_restart(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'tasks.db'}"
    async with connect(asking(store), extensions=[INNER]) as client:
        asked = await client.start("go")
        assert isinstance(asked, TaskHandle)
        with pytest.raises(InputRequired):
            await asked.result()
    async with connect(asking(store)) as client:
        task = await client.task(asked.id)
        done = await (await task.reply("that")).result()
    assert done.text == f"that {[INNER]}"
    assert done.artifacts[0].metadata == {"said": ["inner"]}


async def test_a_handler_in_a_thread_is_offered_the_same(serve: Serve) -> None:
    agent = Agent("Threaded", store="memory", extensions=[Trail(INNER)])

    @agent.skill
    def tell(task: BlockingTaskContext) -> str:
        offered = task.extension(INNER)
        return "nothing" if offered is None else offered.text

    wire = await serve(agent)
    assert (await wire.send("abc"))["artifacts"][0]["parts"] == [{"text": "nothing"}]
    assert (await wire.send("abc", headers=ONE))["artifacts"][0]["parts"] == [{"text": "cba"}]


async def test_in_the_same_process_both_sides_work_too() -> None:
    async with connect(trailing(required=True), extensions=[Trail(OUTER), INNER]) as client:
        answer = await client.start("abc")
        assert isinstance(answer, TaskHandle)
        task = await answer.result()
    assert task.history[0].metadata == {"asked": ["outer", "inner"]}
    assert task.text == "cba"
    async with connect(trailing(required=True)) as client:
        with pytest.raises(ExtensionSupportRequiredError, match="inner"):
            await client.ask("abc")


async def test_an_audit_log_names_the_task_of_an_extended_stream(serve: Serve) -> None:
    told: list[dict[str, Any]] = []
    agent = Agent("Heard", store="memory", audit=AuditLog(told.append), extensions=[Trail(INNER)])
    agent.skill(tell)
    wire = await serve(agent)
    async with wire.send_stream("abc", headers=ONE) as stream:
        payloads = await stream.payloads()
    assert [decision["taskId"] for decision in told] == [payloads[0]["task"]["id"]]
