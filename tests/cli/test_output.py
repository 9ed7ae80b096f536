"""What stands on which stream, in which shape, and with which exit code the program ends."""

import asyncio
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from dragoman.cli.failures import EXITS
from tests.cli.program import Program, parsed_text
from tests.cli.scripted import BINDINGS, Json, Refused, ScriptedAgent, Step, always, done, state

HOSTILE = "\x1b[31mred\nState: TASK_STATE_FAILED\n\nTask ID: other\r\x85\u2028\x07end"
SHAPES = {"text": (), "json": ("-o", "json"), "jsonl": ("-o", "json", "--stream")}


def checked(task: Json) -> None:
    """The members of a Task as A2A has them, and no others."""
    assert set(task) <= {"id", "contextId", "status", "artifacts", "history", "metadata"}
    assert task["id"]
    assert set(task["status"]) <= {"state", "message", "timestamp"}
    assert task["status"]["state"].startswith("TASK_STATE_")


@pytest.mark.row("A2ACLI_OUT_001")
@pytest.mark.parametrize("shape", SHAPES)
async def test_ids_and_state_come_in_every_mode_and_diagnostics_apart(
    agent: ScriptedAgent, program: Program, shape: str
) -> None:
    for number in range(3):
        agent.add("WORKING", f"t-{number}")
    commands: Iterable[tuple[str, ...]] = (("send", "hi"), ("task", "get", "t-0"), ("task", "cancel", "t-1"))
    runs = await asyncio.gather(*(program.run(*command, *SHAPES[shape], "--debug") for command in commands))
    for ran in runs:
        assert ran.code == 0
        assert "debug: " in ran.err
        assert "debug" not in ran.out
        if shape == "text":
            assert {"Task ID", "Context ID", "State"} <= set(ran.fields)
            assert len(ran.fields["Resume"]) == 1
        else:
            documents = ran.lines if shape == "jsonl" else [ran.json]
            assert all(isinstance(document, dict) for document in documents)
            assert "contextId" in json.dumps(documents[-1])
            assert "TASK_STATE_" in json.dumps(documents[-1])


@pytest.mark.row("A2ACLI_OUT_002")
async def test_json_is_one_document_whatever_the_surroundings(agent: ScriptedAgent, program: Program) -> None:
    steps = [Step(artifact={"artifactId": f"a{n}", "parts": [{"text": str(n)}]}) for n in range(50)]
    agent.script = always((*steps, state("COMPLETED")))
    (program.cwd / ".env").write_text("A2ACLI_STREAM=1\nSTREAM=1\n")
    plain, switched = await asyncio.gather(
        program.run("send", "many", "-o", "json"),
        program.run("send", "many", "-o", "json", env={"A2ACLI_STREAM": "1"}),
    )
    for ran in (plain, switched):
        assert ran.code == 0
        assert set(ran.json) == {"task"}
        checked(ran.json["task"])
        assert len(ran.json["task"]["artifacts"]) == 50


@pytest.mark.row("A2ACLI_OUT_003")
async def test_a_failure_in_mid_stream_is_the_last_line(bound: ScriptedAgent, program: Program) -> None:
    bound.cut_after = 1
    bound.refuse["GetTask"] = Refused("TASK_NOT_FOUND", "gone")
    bound.script = always(done(delay=0.2))
    ran = await program.run("send", "hi", "-o", "json", "--stream", "--poll-interval", "50ms")
    assert ran.code == 1
    assert "task" in ran.lines[0]
    assert ran.lines[-1]["error"]["code"] == "TaskNotFoundError"


@pytest.mark.row("A2ACLI_OUT_003")
async def test_each_line_is_there_when_its_event_is(agent: ScriptedAgent, program: Program) -> None:
    agent.script = always((state("WORKING", delay=0.3), state("COMPLETED", delay=0.3)))
    ran = await program.run("send", "hi", "-o", "json", "--stream")
    assert len(ran.lines) == len(ran.out.splitlines()) == 3
    gaps = [later - earlier for earlier, later in zip(ran.arrivals, ran.arrivals[1:], strict=False)]
    assert min(gaps) > 0.15
    assert ran.lines[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.row("A2ACLI_OUT_004")
async def test_the_same_error_is_the_same_on_every_binding(agent: ScriptedAgent, program: Program) -> None:
    runs = await asyncio.gather(*(program.run("task", "get", "no", "-o", "json", "--transport", b) for b in BINDINGS))
    for ran, own in zip(runs, (-32001, 404), strict=True):
        assert ran.code == 1
        assert ran.error["code"] == "TaskNotFoundError"
        assert ran.error["a2aCode"] == own
        assert ran.error["message"] == "no task no"
        assert "task list" in ran.error["hint"]


@pytest.mark.row("A2ACLI_OUT_004")
@pytest.mark.row("A2ACLI_EXIT_001")
async def test_each_local_condition_has_its_code_and_exit(agent: ScriptedAgent, program: Program) -> None:
    (program.cwd / "broken.json").write_text('{"name": 7}')
    agent.add("WORKING", "t-1")
    needy: Json = agent.card() | {
        "securitySchemes": {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"b": {"list": []}}}],
    }
    (program.cwd / "needy.json").write_text(json.dumps(needy))
    nowhere: Json = agent.card() | {
        "supportedInterfaces": [{"url": "x", "protocolBinding": "ODD", "protocolVersion": "1.0"}]
    }
    (program.cwd / "nowhere.json").write_text(json.dumps(nowhere))
    conditions: dict[tuple[str, ...], str] = {
        ("send",): "A2ACLI_ERR_USAGE",
        ("card", "get", "-a", f"{agent.base}/nothing/card.json"): "A2ACLI_ERR_CARD_NOT_FOUND",
        ("card", "get", "-a", "missing.json"): "A2ACLI_ERR_CARD_NOT_FOUND",
        ("card", "get", "-a", "broken.json"): "A2ACLI_ERR_CARD_INVALID",
        ("card", "get", "-a", "http://127.0.0.1:1"): "A2ACLI_ERR_UNREACHABLE",
        ("send", "hi", "-a", "needy.json"): "A2ACLI_ERR_CREDENTIALS_MISSING",
        ("task", "get", "t-1", "--wait", "--timeout", "500ms"): "A2ACLI_ERR_TIMEOUT",
        ("send", "hi", "-a", "nowhere.json"): "A2ACLI_ERR_INTERNAL",
    }
    runs = await asyncio.gather(*(program.run(*words, "-o", "json") for words in conditions))
    for ran, (words, code) in zip(runs, conditions.items(), strict=True):
        assert ran.error["code"] == code, words
        assert ran.code == EXITS[code], words
        assert ran.error["a2aCode"] is None
        assert ran.error["hint"] is not None or code == "A2ACLI_ERR_INTERNAL"
    assert agent.sends == []


@pytest.mark.row("A2ACLI_OUT_004")
async def test_rejected_credentials_are_their_own_condition(agent: ScriptedAgent, program: Program) -> None:
    agent.card_extra = {"securitySchemes": {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}}
    agent.refuse["SendStreamingMessage"] = Refused("", "who are you", status=401)
    without, given = await asyncio.gather(
        program.run("send", "hi", "-o", "json"), program.run("send", "hi", "-o", "json", "--bearer", "tok-123456")
    )
    assert (without.code, without.error["code"]) == (4, "A2ACLI_ERR_CREDENTIALS_MISSING")
    assert (given.code, given.error["code"]) == (4, "A2ACLI_ERR_AUTH_FAILED")


@pytest.mark.row("A2ACLI_OUT_004")
def test_no_local_code_is_invented() -> None:
    source = Path(__file__).parents[2] / "dragoman" / "cli"
    named = {code for path in source.glob("*.py") for code in re.findall(r"A2ACLI_ERR_\w*", path.read_text("utf-8"))}
    assert named == set(EXITS) | ({"A2ACLI_ERR_"} & named)
    assert set(EXITS) == {
        f"A2ACLI_ERR_{name}"
        for name in (
            "USAGE",
            "CARD_NOT_FOUND",
            "CARD_INVALID",
            "UNREACHABLE",
            "CREDENTIALS_MISSING",
            "AUTH_FAILED",
            "TIMEOUT",
            "INTERNAL",
        )
    }


@pytest.mark.row("A2ACLI_OUT_005")
@pytest.mark.parametrize("options", [(), ("--stream",), ("--verbose",)], ids=["plain", "stream", "verbose"])
async def test_an_agent_cannot_forge_text_output(
    agent: ScriptedAgent, program: Program, options: tuple[str, ...]
) -> None:
    artifact = {"artifactId": HOSTILE, "name": HOSTILE, "parts": [{"text": HOSTILE}, {"data": {HOSTILE: HOSTILE}}]}
    agent.script = always((Step(artifact=artifact), state("COMPLETED", HOSTILE)))
    ran = await program.run("send", "hi", *options)
    assert ran.code == 0
    labels = [label for label, _ in parsed_text(ran.out)]
    assert labels.count("Task ID") <= 3
    assert "TASK_STATE_FAILED" not in ran.fields["State"]
    assert set(ran.fields["Task ID"]) == set(agent.tasks)
    assert "\u2028" not in ran.out
    assert "\\x1b[31mred" in ran.out


@pytest.mark.row("A2ACLI_OUT_005")
async def test_a_terminal_changes_nothing(agent: ScriptedAgent, program: Program) -> None:
    piped = await program.run_afresh("card", "get")
    reader, writer = os.openpty()
    try:
        running = asyncio.create_task(program.run_afresh("card", "get", out=writer))
        shown = await asyncio.to_thread(_drained, reader, len(piped.out.splitlines()))
        assert (await running).code == 0
    finally:
        os.close(writer)
        os.close(reader)
    assert shown.replace("\r\n", "\n") == piped.out


def _drained(terminal: int, lines: int) -> str:
    text = b""
    while text.count(b"\n") < lines:
        text += os.read(terminal, 4096)
    return text.decode()


@pytest.mark.row("A2ACLI_EXIT_001")
async def test_usage_errors_exit_with_two(program: Program) -> None:
    lines = (
        "",
        "bogus",
        "send --nope x",
        "send hi -o yaml",
        "send hi --metadata []",
        "task get",
        "send hi --async --wait",
    )
    runs = await asyncio.gather(*(program.run(*line.split()) for line in lines))
    for ran, line in zip(runs, lines, strict=True):
        assert ran.code == 2, line
        assert ran.out == ""
        assert parsed_text(ran.err)[0] == ("Error", "A2ACLI_ERR_USAGE")
        assert "--help" in ran.err


@pytest.mark.row("A2ACLI_EXIT_002")
@pytest.mark.parametrize("name", ["FAILED", "REJECTED", "CANCELED", "INPUT_REQUIRED", "AUTH_REQUIRED"])
async def test_how_the_task_ends_is_not_the_exit_code(agent: ScriptedAgent, program: Program, name: str) -> None:
    agent.script = always((state(name, "so be it"),))
    ran = await program.run("send", "hi")
    assert ran.code == 0
    assert ran.fields["State"][-1] == f"TASK_STATE_{name}"
    (warning,) = [line for line in ran.err.splitlines() if line.startswith("Warning: ")]
    assert f"TASK_STATE_{name}" in warning
    if name == "AUTH_REQUIRED":
        assert ["send" in way for way in ran.fields["Resume"]] == [True, False]


async def test_a_reader_who_leaves_is_no_error(agent: ScriptedAgent, program: Program) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    async with program.started("card", "get", out=writer) as running:
        os.close(writer)
        code = await running.code()
        assert await running.complaint() == ""
    assert code == 141
