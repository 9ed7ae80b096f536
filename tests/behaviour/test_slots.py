"""An agent that runs so many tasks at once and no more, as its callers see it."""

from tests.behaviour.agents import gated
from tests.behaviour.manifest import requirement
from tests.behaviour.test_handlers import texts
from tests.behaviour.test_streams import states_in
from tests.behaviour.wire import Serve

IMMEDIATELY = {"returnImmediately": True}


@requirement("R-3.2.2-04")
async def test_a_task_is_submitted_until_there_is_room_for_it(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store, max_running=1)
    wire = await serve(agent)
    first = await wire.send("one", configuration=IMMEDIATELY)
    second = await wire.send("two", configuration=IMMEDIATELY)
    states = [task["status"]["state"] for task in (first, second)]
    assert states == ["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"]
    assert (await wire.get(second["id"]))["status"]["state"] == "TASK_STATE_SUBMITTED"
    for _ in range(4):
        gate.release()
    assert [texts(await wire.settled(task["id"])) for task in (first, second)] == [["one "], ["two "]]


async def test_a_stream_that_waits_for_room_says_so_first(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store, max_running=1)
    wire = await serve(agent)
    await wire.send("one", configuration=IMMEDIATELY)
    async with wire.send_stream("two") as stream:
        opening = await anext(stream)
        for _ in range(4):
            gate.release()
        rest = await stream.payloads()
    assert opening.payload["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert states_in(rest) == ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"]


@requirement("R-3.1.5-01")
async def test_a_task_that_waits_for_room_can_be_canceled(serve: Serve, store: str) -> None:
    agent, gate = gated(store=store, max_running=1)
    wire = await serve(agent)
    first = await wire.send("one", configuration=IMMEDIATELY)
    second = await wire.send("two", configuration=IMMEDIATELY)
    canceled = await wire.call("CancelTask", {"id": second["id"]})
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"
    assert "artifacts" not in canceled
    for _ in range(2):
        gate.release()
    assert texts(await wire.settled(first["id"])) == ["one "]
