"""`send`: what it sends, how long it waits, what it shows."""

import asyncio
import base64
import json
import shlex
import signal
import time

import pytest

from tests.cli.program import Program, Ran
from tests.cli.scripted import Json, Refused, ScriptedAgent, Step, always, done, state

MESSAGE: Json = {"messageId": "m-1", "role": "ROLE_AGENT", "parts": [{"text": "plainly"}]}


@pytest.mark.row("A2ACLI_SEND_001")
async def test_send_starts_an_interaction(bound: ScriptedAgent, program: Program) -> None:
    ran = await program.run("send", "hello")
    assert ran.code == 0, ran.err
    (sent,) = bound.sends
    message = sent.params["message"]
    assert message["role"] == "ROLE_USER"
    assert message["messageId"]
    assert message["parts"] == [{"text": "hello"}]
    assert "taskId" not in message
    assert "contextId" not in message
    assert ran.fields["State"] == ["TASK_STATE_COMPLETED"]
    assert ran.fields["Text"] == ["hello"]


@pytest.mark.row("A2ACLI_SEND_002")
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "polling"])
async def test_send_waits_unless_told_not_to(agent: ScriptedAgent, program: Program, streaming: bool) -> None:
    agent.streaming = streaming
    agent.script = always(done(delay=0.8))
    waited, detached = await asyncio.gather(
        program.run("send", "hello", "--poll-interval", "200ms"), program.run("send", "hello", "--async", "-o", "json")
    )
    assert waited.code == 0
    assert waited.seconds >= 0.8
    assert waited.fields["State"] == ["TASK_STATE_COMPLETED"]
    assert detached.code == 0
    assert detached.seconds < waited.seconds - 0.3
    assert detached.json["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"


@pytest.mark.row("A2ACLI_SEND_003")
async def test_stream_shows_events_as_they_come(agent: ScriptedAgent, program: Program) -> None:
    agent.script = always((state("WORKING", delay=0.2), *done(delay=0.2)))
    ran = await program.run("send", "hello", "--stream", "-o", "json")
    assert ran.code == 0
    assert [next(iter(event)) for event in ran.lines] == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
    assert ran.arrivals[2] - ran.arrivals[0] > 0.3
    assert agent.calls("GetTask") == []


@pytest.mark.row("A2ACLI_SEND_003")
async def test_stream_falls_back_where_the_agent_has_none(agent: ScriptedAgent, program: Program) -> None:
    agent.streaming = False
    json_run, text_run = await asyncio.gather(
        program.run("send", "hi", "--stream", "-o", "json", "--poll-interval", "100ms"),
        program.run("send", "hi", "--stream", "--poll-interval", "100ms"),
    )
    assert json_run.code == text_run.code == 0
    assert json_run.lines[-1]["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert text_run.fields["State"][-1] == "TASK_STATE_COMPLETED"
    assert agent.calls("SendStreamingMessage") == []


@pytest.mark.row("A2ACLI_SEND_003")
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "polling"])
async def test_a_direct_message_ends_every_mode(agent: ScriptedAgent, program: Program, streaming: bool) -> None:
    agent.streaming = streaming
    agent.script = always({**MESSAGE, "contextId": "c-9"})
    streamed, document, text = await asyncio.gather(
        program.run("send", "hi", "--stream", "-o", "json"),
        program.run("send", "hi", "-o", "json"),
        program.run("send", "hi"),
    )
    assert (streamed.code, document.code, text.code) == (0, 0, 0)
    assert streamed.lines == [{"message": {**MESSAGE, "contextId": "c-9"}}]
    assert document.json == {"message": {**MESSAGE, "contextId": "c-9"}}
    assert text.fields["Context ID"] == ["c-9"]
    assert text.fields["Text"] == ["plainly"]


@pytest.mark.row("A2ACLI_SEND_004")
async def test_no_part_is_lost(agent: ScriptedAgent, program: Program) -> None:
    parts: list[Json] = [
        {"text": "first\n\nsecond"},
        {"data": {"sum": 3}, "mediaType": "application/json"},
        {"raw": base64.b64encode(b"12345").decode(), "filename": "n.bin", "mediaType": "application/x-n"},
        {"url": "https://example.com/p.png", "filename": "p.png", "mediaType": "image/png"},
    ]
    agent.script = always((Step(artifact={"artifactId": "a", "name": "all", "parts": parts}), state("COMPLETED")))
    text, document = await asyncio.gather(program.run("send", "go"), program.run("send", "go", "-o", "json"))
    shown = text.fields
    assert shown["Artifact"] == ["a"]
    assert shown["Artifact Name"] == ["all"]
    assert shown["Text"] == ["first\n\nsecond"]
    assert json.loads(shown["Data"][0]) == {"sum": 3}
    assert shown["File"] == ["n.bin", "p.png"]
    assert shown["Size"] == ["5 bytes"]
    assert shown["Media Type"] == ["application/x-n", "image/png"]
    assert shown["URL"] == ["https://example.com/p.png"]
    assert document.json["task"]["artifacts"][0]["parts"] == parts
    assert list(program.cwd.iterdir()) == []


@pytest.mark.row("A2ACLI_SEND_005")
async def test_a_media_type_belongs_to_the_part_before_it(agent: ScriptedAgent, program: Program) -> None:
    (program.cwd / "x.bin").write_bytes(b"\x00\x01")
    (program.cwd / "a.json").write_text("[1]")
    typed, inferred, leading, doubled = await asyncio.gather(
        program.run("send", "--file", "x.bin", "--media-type", "application/pdf", "--text", "y"),
        program.run("send", "--file", "a.json", "--data", "a.json"),
        program.run("send", "--media-type", "text/plain", "--text", "y"),
        program.run("send", "--text", "y", "--media-type", "text/plain", "--media-type", "text/html"),
    )
    assert (typed.code, inferred.code, leading.code, doubled.code) == (0, 0, 2, 2)
    sent = {len(send.params["message"]["parts"][-1]): send.params["message"]["parts"] for send in agent.sends}
    assert {"text": "y"} in sent[1]
    first = sent[1][0]
    assert first == {"raw": "AAE=", "filename": "x.bin", "mediaType": "application/pdf"}
    assert sent[2] == [
        {"raw": "WzFd", "filename": "a.json", "mediaType": "application/json"},
        {"data": [1], "mediaType": "application/json"},
    ]


@pytest.mark.row("A2ACLI_SEND_006")
async def test_parts_keep_their_order_across_kinds(agent: ScriptedAgent, program: Program) -> None:
    (program.cwd / "f").write_bytes(b"f")
    ran = await program.run(
        "send", "--text=a", "--file", "f", "in the middle", "--data", "-", "--text", "--file=b", stdin=b'{"n": null}'
    )
    assert ran.code == 0, ran.err
    parts = agent.sends[0].params["message"]["parts"]
    assert [part.get("text", part.get("data", part.get("raw"))) for part in parts] == [
        "a",
        "Zg==",
        "in the middle",
        {"n": None},
        "--file=b",
    ]


@pytest.mark.row("A2ACLI_SEND_006")
async def test_a_url_is_passed_on_and_not_fetched(agent: ScriptedAgent, program: Program) -> None:
    address = f"{agent.base}/elsewhere/card.json"
    ran = await program.run("send", "--file", address)
    assert ran.code == 0
    (part,) = agent.sends[0].params["message"]["parts"]
    assert part == {"url": address, "filename": "card.json", "mediaType": "application/json"}
    assert [request.path for request in agent.calls("card")] == ["/.well-known/agent-card.json"]


@pytest.mark.row("A2ACLI_INTERACT_001")
async def test_a_context_id_alone_starts_a_task_there(bound: ScriptedAgent, program: Program) -> None:
    ran = await program.run("send", "more", "--context-id", "c-7")
    assert ran.code == 0
    message = bound.sends[0].params["message"]
    assert message["contextId"] == "c-7"
    assert "taskId" not in message
    assert set(ran.fields["Context ID"]) == {"c-7"}


@pytest.mark.row("A2ACLI_INTERACT_002")
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "polling"])
async def test_a_rejected_id_is_final(bound: ScriptedAgent, program: Program, streaming: bool) -> None:
    bound.streaming = streaming
    bound.add("COMPLETED", "t-over")

    def refuse(message: Json, task: Json) -> Json:
        if message.get("contextId", task["contextId"]) != task["contextId"]:
            raise Refused("INVALID_PARAMS", "another context")
        raise Refused("UNSUPPORTED_OPERATION", "the task is over")

    bound.script = refuse
    cases = {
        ("--task-id", "t-unknown"): "TaskNotFoundError",
        ("--task-id", "t-over"): "UnsupportedOperationError",
        ("--task-id", "t-over", "--context-id", "c-other"): "InvalidParamsError",
    }
    for options, code in cases.items():
        bound.requests.clear()
        ran = await program.run("send", "more", "-o", "json", *options)
        assert ran.code == 1
        assert ran.error["code"] == code
        assert "--debug" in ran.error["hint"]
        (sent,) = bound.sends
        assert sent.params["message"]["taskId"] == options[1]
        assert bound.calls() == [sent]


@pytest.mark.row("A2ACLI_INTERACT_003")
async def test_no_server_id_is_made_up(agent: ScriptedAgent, program: Program) -> None:
    agent.add("WORKING", "t-given")
    agent.script = always((state("INPUT_REQUIRED", "which?"),))
    runs = await asyncio.gather(
        program.run("send", "one"),
        program.run("send", "two", "--async"),
        program.run("send", "three", "--stream", "-o", "json"),
        program.run("send", "four", "--task-id", "t-given"),
        program.run("task", "get", "t-given"),
        program.run("task", "list"),
    )
    for request in agent.calls():
        message = request.params.get("message", {})
        for name in ("taskId", "contextId"):
            assert message.get(name) in (None, "t-given")
            assert request.params.get(name) is None
    for ran in runs:
        assert ran.code == 0
        said = (ran.out + ran.err).lower()
        assert "session" not in said
        assert "conversation" not in said


@pytest.mark.row("A2ACLI_INTERACT_004")
async def test_the_printed_command_goes_on(agent: ScriptedAgent, program: Program) -> None:
    agent.script = lambda message, _: (
        (state("INPUT_REQUIRED", "which colour?"),) if "taskId" not in message else done("thanks")
    )
    asked = await program.run("send", "paint it")
    assert asked.code == 0
    shown = asked.fields
    (task_id,) = agent.tasks
    assert shown["Task ID"][-1] == task_id
    assert shown["Context ID"][-1] == agent.tasks[task_id]["contextId"]
    assert shown["State"] == ["TASK_STATE_INPUT_REQUIRED"]
    assert shown["Text"] == ["which colour?"]
    (command,) = shown["Resume"]
    name, *words = shlex.split(command)
    assert name == "dragoman"
    resumed = await program.run(*words, env={"A2ACLI_AGENT_CARD": ""})
    assert resumed.code == 0
    assert resumed.fields["State"] == ["TASK_STATE_COMPLETED"]
    assert agent.sends[-1].params["message"]["taskId"] == task_id


@pytest.mark.row("A2ACLI_INTERACT_005")
async def test_nothing_is_remembered(agent: ScriptedAgent, program: Program) -> None:
    await program.run("send", "one")
    await program.run("send", "two")
    assert [send.params["message"].keys() & {"taskId", "contextId"} for send in agent.sends] == [set(), set()]
    assert not [path for path in program.home.rglob("*") if path.is_file()]
    assert (await program.run("send", "three", "--continue")).code == 2


@pytest.mark.row("A2ACLI_INTERACT_005")
async def test_a_killed_wait_can_be_taken_up(agent: ScriptedAgent, program: Program) -> None:
    agent.script = always(done("late", delay=0.4))
    async with program.started("send", "slow") as running:
        label, _, task_id = (await running.line()).partition(": ")
        running.send(signal.SIGKILL)
        await running.ended()
    assert label == "Task ID"
    ran = await program.run("task", "get", task_id, "--wait", "--poll-interval", "200ms")
    assert ran.fields["Text"] == ["late"]


@pytest.mark.row("A2ACLI_TASK_POLL_002")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("json_output", [False, True], ids=["text", "json"])
async def test_a_signal_ends_the_wait_but_not_the_task(
    agent: ScriptedAgent, program: Program, number: signal.Signals, json_output: bool
) -> None:
    agent.script = always((state("WORKING", delay=60),))
    options = ["-o", "json"] if json_output else []
    async with program.started("send", "slow", *options) as running:
        first = await (running.complaint() if json_output else running.line())
        assert first.startswith("Task ID: ")
        sent_at = time.monotonic()
        running.send(number)
        ran = await running.ended()
    assert time.monotonic() - sent_at < 1.0
    assert ran.code == 128 + number
    task_id = first.removeprefix("Task ID: ")
    assert f"--wait {task_id}" in (ran.error["hint"] if json_output else ran.err)
    if json_output:
        assert ran.error["code"] == "DRAGOMAN_ERR_INTERRUPTED"
    assert agent.calls("CancelTask") == []


@pytest.mark.row("A2ACLI_TASK_POLL_004")
@pytest.mark.parametrize("stream", [False, True], ids=["waiting", "streaming"])
async def test_a_cut_stream_is_followed_by_polls(bound: ScriptedAgent, program: Program, stream: bool) -> None:
    bound.cut_after = 1
    bound.script = always(done(delay=0.3))
    options = ["--stream"] if stream else []
    ran = await program.run("send", "hello", "-o", "json", "--poll-interval", "200ms", *options)
    assert ran.code == 0, ran.err
    last = ran.lines[-1] if stream else ran.json
    assert last["task"]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert len(bound.sends) == 1
    assert bound.calls("GetTask")


RELIABLE = "https://dragoman.dev/extensions/reliable/v1"


async def test_a_message_whose_stream_is_cut_at_once_is_sent_again_to_who_knows_it_again(
    bound: ScriptedAgent, program: Program
) -> None:
    bound.card_extra = {"capabilities": {"streaming": True, "extensions": [{"uri": RELIABLE}]}}
    bound.cut_after = 0
    ran = await program.run("send", "hello", "--poll-interval", "50ms", "--svc-param", "A2A-Extensions: urn:mine")
    assert ran.code == 0, ran.err
    assert ran.fields["State"] == ["TASK_STATE_COMPLETED"]
    first, second = bound.sends
    assert first.params["message"] == second.params["message"]
    assert first.headers["a2a-extensions"] == f"urn:mine, {RELIABLE}"


async def test_a_message_whose_stream_is_cut_at_once_is_not_sent_to_who_does_not(
    agent: ScriptedAgent, program: Program
) -> None:
    agent.cut_after = 0
    ran = await program.run("send", "hello", "--poll-interval", "50ms")
    assert ran.code == 1
    assert len(agent.sends) == 1


@pytest.mark.row("A2ACLI_OUT_006")
async def test_a_detached_send_gives_ids_that_work(agent: ScriptedAgent, program: Program) -> None:
    agent.script = always((state("WORKING", delay=60),))
    text, document = await asyncio.gather(
        program.run("send", "a", "--async"),
        program.run("send", "b", env={"A2ACLI_ASYNC": "yes", "A2ACLI_OUTPUT": "json"}),
    )
    found = [(text.fields["Task ID"][0], text.fields["Context ID"][0])]
    found.append((document.json["task"]["id"], document.json["task"]["contextId"]))
    runs: list[Ran] = await asyncio.gather(*(program.run("task", "get", task_id) for task_id, _ in found))
    for ran, (task_id, context_id) in zip(runs, found, strict=True):
        assert ran.fields["Task ID"] == [task_id]
        assert ran.fields["Context ID"] == [context_id]
