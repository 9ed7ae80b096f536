"""What `ask`, `start`, `stream` and a task in hand give for all that an agent can answer."""

from typing import Any

import pytest

from dragoman import AuthRequired, Client, InputRequired, Message, Task, TaskFailed, TaskHandle, connect
from dragoman.errors import (
    ExtendedAgentCardNotConfiguredError,
    PushNotificationNotSupportedError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from dragoman.types import (
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    Part,
    Role,
    SubscribeToTaskRequest,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from tests.unit.client.scripted import Answer, Script, chunk, error, events, message, result, status, task

ENDS: list[tuple[str, dict[str, Any], str | type[Exception], str]] = [
    ("artifacts", {"task": task("COMPLETED", "done")}, "done", ""),
    ("artifacts first", {"task": task("COMPLETED", "done", said="bye")}, "done", ""),
    ("status message", {"task": task("COMPLETED", said="all well")}, "all well", ""),
    ("nothing", {"task": task("COMPLETED")}, "", ""),
    ("direct", {"message": message("hi")}, "hi", ""),
    ("failed", {"task": task("FAILED", said="out of ink")}, TaskFailed, "out of ink"),
    ("failed silently", {"task": task("FAILED", "half")}, TaskFailed, "The task ended as failed"),
    ("rejected", {"task": task("REJECTED", said="no")}, TaskFailed, "no"),
    ("canceled", {"task": task("CANCELED")}, TaskFailed, "The task ended as canceled"),
    ("input", {"task": task("INPUT_REQUIRED", said="up?")}, InputRequired, "up?"),
    ("auth", {"task": task("AUTH_REQUIRED", said="sign in")}, AuthRequired, "sign in"),
]


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize(("answer", "outcome", "said"), [end[1:] for end in ENDS], ids=[end[0] for end in ENDS])
async def test_ask_gives_the_text_or_raises(
    agent: Script, streaming: bool, answer: dict[str, Any], outcome: str | type[Exception], said: str
) -> None:
    agent.offer(capabilities={"streaming": streaming})
    agent.answers["SendStreamingMessage"] = [events(answer)]
    agent.answers["SendMessage"] = [result(answer)]
    async with connect(agent.url) as client:
        if isinstance(outcome, str):
            assert await client.ask("go") == outcome
        else:
            with pytest.raises(outcome) as raised:
                await client.ask("go")
            assert type(raised.value) is outcome
            assert str(raised.value) == said
    assert agent.names() == ["SendStreamingMessage" if streaming else "SendMessage"]


async def test_ask_puts_the_chunks_together(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [
        events(
            {"task": task("SUBMITTED")},
            status("WORKING"),
            chunk("one ", append=False),
            chunk("two"),
            status("COMPLETED"),
        )
    ]
    async with connect(agent.url) as client:
        assert await client.ask("go") == "one two"


async def test_a_follow_up_answered_with_updates_only_still_gives_the_whole_text(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events(status("WORKING"), chunk("new"), status("COMPLETED"))]
    agent.answers["GetTask"] = [result(task("COMPLETED", "old and new"))]
    async with connect(agent.url) as client:
        assert await client.ask("go on", task_id="t-1") == "old and new"
        assert await client.ask("begin") == "new"
    assert agent.names() == ["SendStreamingMessage", "GetTask", "SendStreamingMessage"]


async def test_ask_does_not_wait_for_a_stream_that_stays_open_on_a_question(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [
        events({"task": task("WORKING")}, status("AUTH_REQUIRED", "sign in"), then="open")
    ]
    async with connect(agent.url) as client:
        with pytest.raises(AuthRequired) as raised:
            await client.ask("go")
    assert raised.value.question == "sign in"
    assert raised.value.handle.id == "t-1"
    await agent.closed.wait()


async def test_a_question_is_answered_in_its_task_and_context(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events({"task": task("INPUT_REQUIRED", said="up?")})]
    agent.answers["SendMessage"] = [result({"task": task("WORKING")})]
    agent.answers["SubscribeToTask"] = [
        events({"task": task("WORKING")}, chunk("up", append=False), status("COMPLETED"))
    ]
    agent.answers["GetTask"] = [result(task("COMPLETED", "up"))]
    async with connect(agent.url) as client:
        with pytest.raises(InputRequired) as raised:
            await client.ask("count")
        going = await raised.value.handle.reply("yes")
        assert (await going.result()).text == "up"
    params = agent.asked("SendMessage")[0].params
    assert (params["message"]["taskId"], params["message"]["contextId"]) == ("t-1", "c-1")
    assert params["configuration"]["returnImmediately"] is True
    first, second = agent.asked("SendStreamingMessage")[0].params["message"], params["message"]
    assert first["messageId"] != second["messageId"]
    assert "taskId" not in first


ASKED = task("INPUT_REQUIRED", said="up?")


async def answered(client: Client) -> TaskHandle:
    """A reply to the question of the task, on its way."""
    with pytest.raises(InputRequired) as raised:
        await client.ask("count")
    return await raised.value.handle.reply("yes")


@pytest.mark.parametrize("streaming", [True, False], ids=["stream", "polls"])
async def test_a_question_that_was_answered_is_not_asked_again(agent: Script, streaming: bool) -> None:
    agent.offer(capabilities={"streaming": streaming})
    agent.answers["SendStreamingMessage"] = [events({"task": ASKED})]
    agent.answers["SendMessage"] = [result({"task": ASKED})]
    agent.answers["SubscribeToTask"] = [
        events({"task": ASKED}),
        events({"task": ASKED}, status("WORKING"), chunk("up", append=False), status("COMPLETED")),
    ]
    agent.answers["GetTask"] = [result(ASKED), result(ASKED), result(task("COMPLETED", "up"))]
    async with connect(agent.url, poll_interval=0.001) as client:
        going = await answered(client)
        assert going.state is TaskState.INPUT_REQUIRED
        assert (await going.result()).text == "up"


async def test_another_question_is_asked_at_once(agent: Script) -> None:
    agent.offer(capabilities={})
    other = task("INPUT_REQUIRED", said="down?")
    agent.answers["SendMessage"] = [result({"task": ASKED}), result({"task": ASKED})]
    agent.answers["GetTask"] = [result(ASKED), result(other)]
    async with connect(agent.url, poll_interval=0.001) as client:
        going = await answered(client)
        with pytest.raises(InputRequired, match=r"down\?"):
            await going.result()


async def test_a_question_that_stays_is_asked_again_in_the_end(agent: Script) -> None:
    agent.offer(capabilities={})
    agent.answers["SendMessage"] = [result({"task": ASKED})]
    agent.answers["GetTask"] = [result(ASKED)]
    async with connect(agent.url, poll_interval=0.001, idle_timeout=0.05) as client:
        going = await answered(client)
        with pytest.raises(InputRequired, match=r"up\?"):
            await going.result()
    assert len(agent.asked("GetTask")) > 1


async def test_questions_that_cannot_be_told_apart_are_all_asked(agent: Script) -> None:
    agent.offer(capabilities={})
    bare = task("INPUT_REQUIRED")
    del bare["status"]["timestamp"]
    agent.answers["SendMessage"] = [result({"task": bare})]
    async with connect(agent.url) as client:
        with pytest.raises(InputRequired):
            await (await answered(client)).result()
    assert agent.asked("GetTask") == []


async def test_start_gives_a_handle_or_the_direct_answer(agent: Script) -> None:
    agent.answers["SendMessage"] = [result({"task": task("SUBMITTED")}), result({"message": message("hi")})]
    async with connect(agent.url) as client:
        started = await client.start("go", history_length=0)
        assert isinstance(started, TaskHandle)
        assert (started.id, started.context_id, started.state) == ("t-1", "c-1", TaskState.SUBMITTED)
        direct = await client.start("go")
        assert isinstance(direct, Message)
        assert direct.text == "hi"
    assert agent.asked("SendMessage")[0].params["configuration"] == {"historyLength": 0, "returnImmediately": True}


async def test_a_handle_is_renewed_by_what_the_agent_says(agent: Script) -> None:
    agent.answers["GetTask"] = [result(task("WORKING")), result(task("WORKING", "half"))]
    agent.answers["CancelTask"] = [result(task("CANCELED"))]
    async with connect(agent.url) as client:
        handle = await client.task("t-1")
        assert (await handle.refresh()).text == "half"
        await handle.cancel(metadata={"why": "late"})
        assert handle.state is TaskState.CANCELED
        with pytest.raises(TaskFailed):
            await handle.result()
    assert agent.asked("CancelTask")[0].params["metadata"] == {"why": "late"}
    assert agent.names() == ["GetTask", "GetTask", "CancelTask"]


async def test_the_events_of_a_handle_begin_with_the_task(agent: Script) -> None:
    agent.answers["GetTask"] = [result(task("WORKING"))]
    agent.answers["SubscribeToTask"] = [events({"task": task("WORKING")}, status("COMPLETED"))]
    async with connect(agent.url) as client:
        handle = await client.task("t-1")
        seen = [type(event) async for event in handle.events()]
    assert seen == [Task, TaskStatusUpdateEvent]
    assert handle.state is TaskState.COMPLETED


async def test_stream_yields_typed_events(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [
        events({"task": task("WORKING")}, chunk("x", append=False), status("COMPLETED"))
    ]
    async with connect(agent.url) as client:
        seen = [type(event) async for event in client.stream("go")]
    assert seen == [Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent]


@pytest.mark.parametrize("answer", [{"message": message("hi")}, {"task": task("COMPLETED")}], ids=["message", "task"])
async def test_stream_gives_the_answer_of_an_agent_that_does_not_stream(agent: Script, answer: dict[str, Any]) -> None:
    agent.offer(capabilities={})
    agent.answers["SendMessage"] = [result(answer)]
    async with connect(agent.url) as client:
        seen = [event async for event in client.stream("go")]
    assert len(seen) == 1
    assert agent.names() == ["SendMessage"]


async def test_what_the_card_does_not_declare_is_refused_without_a_request(agent: Script) -> None:
    agent.offer(capabilities={})
    async with connect(agent.url) as client:
        with pytest.raises(UnsupportedOperationError):
            await anext(client.subscribe_to_task(SubscribeToTaskRequest(id="t-1")))
        with pytest.raises(PushNotificationNotSupportedError):
            await client.list_task_push_notification_configs(ListTaskPushNotificationConfigsRequest(task_id="t-1"))
        with pytest.raises(UnsupportedOperationError):
            await client.get_extended_agent_card()
    assert agent.names() == []


async def test_the_extended_card_takes_the_place_of_the_card(agent: Script) -> None:
    agent.offer(capabilities={"extendedAgentCard": True})
    agent.answers["GetExtendedAgentCard"] = [result(agent.card | {"name": "For you"})]
    async with connect(agent.url) as client:
        assert (await client.card()).name == "Scripted"
        await client.get_extended_agent_card()
        assert (await client.card()).name == "For you"


ERRORS: list[tuple[Answer, type[Exception]]] = [
    (error(-32001, "TASK_NOT_FOUND"), TaskNotFoundError),
    (error(-32007, "EXTENDED_AGENT_CARD_NOT_CONFIGURED"), ExtendedAgentCardNotConfiguredError),
    (error(-32004, "UNSUPPORTED_OPERATION"), UnsupportedOperationError),
]


@pytest.mark.parametrize(("answer", "raised"), ERRORS, ids=[row[1].__name__ for row in ERRORS])
async def test_the_agents_errors_have_their_classes(agent: Script, answer: Answer, raised: type[Exception]) -> None:
    agent.answers["GetTask"] = agent.answers["SendStreamingMessage"] = [answer]
    async with connect(agent.url) as client:
        with pytest.raises(raised):
            await client.get_task(GetTaskRequest(id="x"))
        with pytest.raises(raised):
            await client.ask("go")


async def test_options_reach_their_members(agent: Script) -> None:
    agent.answers["SendStreamingMessage"] = [events({"message": message("hi")})]
    whole = Message(message_id="mine", role=Role.USER, parts=(Part(text="go"),))
    async with connect(agent.url) as client:
        await client.ask(
            whole,
            context_id="c-9",
            reference_task_ids=["t-0"],
            metadata={"of": "message"},
            request_metadata={"of": "request"},
            output_modes=["text/plain"],
        )
    params = agent.asked("SendStreamingMessage")[0].params
    assert params["message"] == {
        "messageId": "mine",
        "contextId": "c-9",
        "role": "ROLE_USER",
        "parts": [{"text": "go"}],
        "metadata": {"of": "message"},
        "referenceTaskIds": ["t-0"],
    }
    assert params["configuration"] == {"acceptedOutputModes": ["text/plain"]}
    assert params["metadata"] == {"of": "request"}
