"""Configurations of push notifications that come with a message, and what of them may not be called."""

import pytest

from tests.behaviour.agents import direct, gated, obedient
from tests.behaviour.configs import HOOK, PUSH, Configs, waiting
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Fault, Serve, Wire, message, refused


@pytest.fixture
async def wire(serve: Serve, store: str) -> Wire:
    return await serve(obedient(store=store, push=PUSH))


@requirement("R-3.1.7-02")
async def test_one_that_comes_with_a_message_is_there_with_its_task(wire: Wire) -> None:
    secret = {"scheme": "Bearer", "credentials": "secret"}
    given = {"id": "c", "url": HOOK, "token": "of-mine", "authentication": secret}
    for word in ("ask", "done"):
        task = await wire.send(word, configuration={"taskPushNotificationConfig": given})
        configs = Configs(wire, task["id"])
        shown = {"id": "c", "taskId": task["id"], "url": HOOK, "token": "of-mine"}
        assert (await configs.call("List"))["configs"] == [{**shown, "authentication": {"scheme": "Bearer"}}]


async def test_one_that_comes_with_a_stream_is_there_before_its_first_event(serve: Serve) -> None:
    agent, gate = gated(push=PUSH)
    wire = await serve(agent)
    async with wire.send_stream("one", configuration={"taskPushNotificationConfig": {"url": HOOK}}) as stream:
        task_id = (await anext(stream)).payload["task"]["id"]
        (config_id,) = await Configs(wire, task_id).ids()
        assert (config_id == task_id) == (wire.cell.line == "0.3")
        gate.release()
        gate.release()
        await stream.payloads()


async def test_one_that_comes_with_an_answer_is_there_from_then_on(wire: Wire) -> None:
    configs = await waiting(wire)
    await configs.create(id="a")
    inline = {"taskPushNotificationConfig": {"id": "b", "url": HOOK}}
    done = await wire.send(message("red", taskId=configs.task_id), configuration=inline)
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    assert await configs.ids() == ["a", "b"]


async def test_one_that_comes_with_a_message_to_a_task_at_work_is_there_at_once(serve: Serve) -> None:
    agent, gate = gated(push=PUSH)
    wire = await serve(agent)
    task = await wire.send("one", configuration={"returnImmediately": True})
    inline = {"taskPushNotificationConfig": {"id": "c", "url": HOOK}, "returnImmediately": True}
    await wire.send(message("two", taskId=task["id"]), configuration=inline)
    assert await Configs(wire, task["id"]).ids() == ["c"]
    for _ in range(4):
        gate.release()
    await wire.settled(task["id"])


async def test_a_direct_answer_comes_as_without_one(serve: Serve) -> None:
    wire = await serve(direct(push=PUSH))
    inline = {"taskPushNotificationConfig": {"id": "c", "url": HOOK}}
    answer = await wire.call("SendMessage", {"message": message("hi"), "configuration": inline})
    assert answer["message"]["parts"] == [{"text": "you said hi"}]


# What may be called.


@requirement("R-13.2-04")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9999/hook",
        "https://127.0.0.1/hook",
        "http://93.184.216.34/hook",
        "https://169.254.169.254/latest",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://2130706433/",
        "https://user:word@93.184.216.34/",
        "ftp://93.184.216.34/",
        "nonsense",
    ],
)
async def test_a_url_that_may_not_be_called_is_refused_before_anything_happens(wire: Wire, url: str) -> None:
    configs = await waiting(wire)
    before = await wire.stored()
    with refused("INVALID_PARAMS") as caught:
        await configs.create(id="c", url=url)
    assert _violated(caught.value) in ([], ["url"])
    with refused("INVALID_PARAMS") as caught:
        await wire.send("done", configuration={"taskPushNotificationConfig": {"url": url}})
    assert _violated(caught.value) in ([], ["configuration.taskPushNotificationConfig.url"])
    with refused("INVALID_PARAMS"):
        inline = {"taskPushNotificationConfig": {"url": url}}
        await wire.send(message("red", taskId=configs.task_id), configuration=inline)
    assert await wire.stored() == before
    assert await configs.ids() == []


def _violated(fault: Fault) -> list[str]:
    """The members that the error names, where the line has details."""
    return [each["field"] for detail in fault.details for each in detail.get("fieldViolations", [])]


async def test_what_cannot_stand_in_a_header_is_refused(wire: Wire) -> None:
    configs = await waiting(wire)
    for wrong in ({"token": "a\r\nX-Evil: b"}, {"authentication": {"scheme": "Bea rer", "credentials": "x"}}):
        with refused("INVALID_PARAMS"):
            await configs.create(id="c", **wrong)
    assert await configs.ids() == []
