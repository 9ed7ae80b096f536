"""AUTH_REQUIRED: a task that waits for an authorization, in band or out of band."""

from dragoman import Agent, TaskContext
from tests.behaviour.agents import obedient
from tests.behaviour.manifest import requirement
from tests.behaviour.test_streams import states_in, text_in
from tests.behaviour.wire import Serve, message


@requirement("R-7.6.1-01", "R-7.6.1-02", "R-7.6.1-03", "R-7.6.1-04")
async def test_a_task_that_needs_an_authorization_says_so(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store))
    task = await wire.send("auth")
    assert task["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    assert task["status"]["message"]["parts"] == [{"text": "Please sign in at https://login.example"}]
    assert await wire.get(task["id"]) == task


@requirement("R-7.6.1-03", "R-7.6.1-05", "R-7.6.1-06", "R-7.6.4-01")
async def test_streams_stay_open_until_the_authorization_comes_from_outside(serve: Serve, store: str) -> None:
    agent = obedient(store=store)
    wire = await serve(agent)
    async with wire.send_stream("auth") as stream:
        seen = await stream.until("TASK_STATE_AUTH_REQUIRED")
        task_id = seen[0]["task"]["id"]
        assert text_in(seen) == ""
        async with wire.subscribe(task_id) as second:
            first = (await anext(second)).payload["task"]
            assert first["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
            await agent.authorize(task_id, "a token")
            rest = [await stream.payloads(), await second.payloads()]
    for payloads in rest:
        assert text_in(payloads) == "allowed a token"
        assert states_in(payloads)[-1] == "TASK_STATE_COMPLETED"


@requirement("R-7.6.1-07")
async def test_a_message_goes_on_with_a_task_that_waits_for_an_authorization(serve: Serve) -> None:
    wire = await serve(obedient())
    task = await wire.send("auth")
    done = await wire.send(message("done so", taskId=task["id"]))
    assert done["artifacts"][0]["parts"] == [{"text": "allowed done so"}]


@requirement("R-7.6.4-03")
async def test_a_later_need_is_asked_for_again(serve: Serve) -> None:
    agent = Agent("Careful", "Asks each time.", store="memory")

    @agent.skill(tags=["demo"])
    async def careful(task: TaskContext) -> str:
        first = await task.require_auth("For reading")
        return f"{first}, {await task.require_auth('For writing')}"

    wire = await serve(agent)
    task = await wire.send()
    assert task["status"]["message"]["parts"] == [{"text": "For reading"}]
    again = await wire.send(message("one", taskId=task["id"]))
    assert again["status"]["state"] == "TASK_STATE_AUTH_REQUIRED"
    assert again["status"]["message"]["parts"] == [{"text": "For writing"}]
    done = await wire.send(message("two", taskId=task["id"]))
    assert done["artifacts"][0]["parts"] == [{"text": "one, two"}]
