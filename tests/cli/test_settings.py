"""Options: their defaults, where their values come from, and the help that tells of both."""

import asyncio
import stat
from pathlib import Path

import click
import pytest

from dragoman.cli import dotenv
from dragoman.cli.main import run
from dragoman.cli.options import settings_of, wants_json
from dragoman.cli.settings import SETTINGS
from dragoman.cli.values import duration, json_object, pair, switch, version
from tests.cli.program import Program
from tests.cli.scripted import ScriptedAgent, Step, always, state


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """This process with an empty home and working directory, and no variable of the program."""
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "project" / "deep"
    work.mkdir(parents=True)
    monkeypatch.chdir(work)
    for setting in SETTINGS:
        monkeypatch.delenv(setting.env, raising=False)
    return work


def globally(empty: Path, text: str) -> None:
    place = Path.home() / dotenv.GLOBAL_FILE
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


@pytest.mark.row("A2ACLI_DEFAULT_001")
async def test_every_default_can_be_overridden(agent: ScriptedAgent, program: Program) -> None:
    """Transport, completion, output, detail; version and TLS have tests of their own beside this one."""
    artifact = {"artifactId": "a", "parts": [{"text": "hi"}], "metadata": {"deep": "value"}}
    agent.script = always((Step(0.3, artifact=artifact), state("COMPLETED")))
    default, other, verbose = await asyncio.gather(
        program.run("send", "hi"),
        program.run("send", "hi", "--transport", "rest", "--async", "-o", "json"),
        program.run("send", "hi", "--verbose"),
    )
    assert default.fields["State"][-1] == "TASK_STATE_COMPLETED"
    assert "Metadata" not in default.fields
    assert verbose.fields["Metadata"]
    assert other.json["task"]["status"]["state"] == "TASK_STATE_SUBMITTED"
    assert [request.path for request in agent.calls("SendStreamingMessage")] == ["/rpc", "/rpc"]
    assert [request.path for request in agent.calls("SendMessage")] == ["/rest/message:send"]


@pytest.mark.row("A2ACLI_DEFAULT_001")
@pytest.mark.row("A2ACLI_CLI_001")
def test_the_help_names_defaults_and_variables(empty: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["send", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for said in (
        "default: text",
        "default: 2s",
        "default: 600s",
        "By default the card's order",
        "by default concise",
        "verified by default",
        "1.0 at least",
        "what send does unless told --async",
    ):
        assert said in shown, said
    for setting in SETTINGS:
        assert f"--{setting.name}" in shown
        assert (setting.env in shown) == setting.variable


@pytest.mark.row("A2ACLI_CLI_001")
async def test_help_and_version_need_no_agent(agent: ScriptedAgent, program: Program) -> None:
    lines = ("help", "help send", "help task get", "send --help", "task -h", "task get -h", "-h", "--help")
    runs = await asyncio.gather(*(program.run_afresh(*line.split()) for line in (*lines, "-v", "--version")))
    for ran in runs:
        assert ran.code == 0, ran.err
        assert ran.out
        assert ran.err == ""
    assert runs[1].out == runs[3].out
    assert runs[-1].out == runs[-2].out
    assert runs[-1].out.startswith("dragoman ")
    assert agent.requests == []


@pytest.mark.parametrize("line", ["send --help", "task list --help", "card get -h", "serve -h", "help", "-v", "bogus"])
async def test_the_client_is_loaded_only_to_call_an_agent(program: Program, line: str) -> None:
    """What a start costs is what it imports: the client and the event loop take longer than the interpreter itself."""
    ran = await program.run_afresh(*line.split(), env={"PYTHONPROFILEIMPORTTIME": "1"})
    loaded = {row.rpartition("|")[2].strip() for row in ran.err.splitlines() if row.startswith("import time:")}
    assert "dragoman.cli.options" in loaded
    assert not loaded & {"asyncio", "aiohttp", "dragoman.client", "dragoman.engine", "dragoman.server"}
    assert ("msgspec" in loaded) == (line == "bogus")


@pytest.mark.row("A2ACLI_CONFIG_001")
async def test_nothing_is_persisted_that_was_not_asked_for(agent: ScriptedAgent, program: Program) -> None:
    configuration = program.home / dotenv.GLOBAL_FILE
    configuration.parent.mkdir(parents=True)
    configuration.write_text("A2ACLI_OUTPUT=json\nA2ACLI_BEARER=tok-123456\n")
    configuration.chmod(stat.S_IRUSR | stat.S_IWUSR)
    before = configuration.read_bytes(), configuration.stat().st_mode
    ran = await program.run("send", "hi")
    assert ran.json["task"]["id"] in agent.tasks
    assert (configuration.read_bytes(), configuration.stat().st_mode) == before
    assert [path for path in (*program.home.rglob("*"), *program.cwd.rglob("*")) if path.is_file()] == [configuration]
    configuration.unlink()
    assert "Task ID" in (await program.run("send", "hi")).fields


def test_a_value_comes_from_the_first_place_that_has_one(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(**given: str) -> tuple[str | None, str]:
        settings = settings_of({name: [value] for name, value in given.items()})
        return settings.agent_card, settings.sources["agent_card"]

    assert found() == (None, "built-in")
    globally(empty, "A2ACLI_AGENT_CARD=everywhere\n")
    assert found() == ("everywhere", str(Path.home() / dotenv.GLOBAL_FILE))
    local = empty.parent / ".env"
    local.write_text("A2ACLI_AGENT_CARD='here' # why\nOTHER=1\n")
    assert found() == ("here", str(local))
    chosen = empty / "chosen.env"
    chosen.write_text('export A2ACLI_AGENT_CARD="chosen"\n')
    assert found(config=str(chosen)) == ("chosen", str(chosen))
    chosen.write_text("A2ACLI_OUTPUT=json\n")
    assert found(config=str(chosen))[0] == "everywhere"
    monkeypatch.setenv("A2ACLI_AGENT_CARD", "variable")
    assert found() == ("variable", "environment")
    assert found(agent_card="flag") == ("flag", "flag")
    monkeypatch.setenv("A2ACLI_AGENT_CARD", "")
    assert found()[0] == "here"


@pytest.mark.parametrize(
    ("flags", "variables", "waits"),
    [
        ({}, {}, True),
        ({"async": ["true"]}, {}, False),
        ({"async": ["true"]}, {"A2ACLI_WAIT": "1"}, False),
        ({"wait": ["true"]}, {"A2ACLI_ASYNC": "1"}, True),
        ({}, {"A2ACLI_ASYNC": "1"}, False),
        ({}, {"A2ACLI_ASYNC": "1", "A2ACLI_WAIT": "1"}, True),
        ({"stream": ["true"]}, {"A2ACLI_ASYNC": "1"}, True),
    ],
)
def test_what_stands_closer_decides_about_waiting(
    empty: Path, monkeypatch: pytest.MonkeyPatch, flags: dict[str, list[str]], variables: dict[str, str], waits: bool
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert settings_of(dict(flags)).detached is not waits


@pytest.mark.parametrize(
    ("given", "variables", "place"),
    [
        ({"timeout": ["soon"]}, {}, "--timeout"),
        ({}, {"A2ACLI_POLL_INTERVAL": "0"}, "A2ACLI_POLL_INTERVAL (environment)"),
        ({}, {"A2ACLI_INSECURE": "perhaps"}, "A2ACLI_INSECURE"),
        ({"config": ["/nowhere/at/all"]}, {}, "/nowhere/at/all"),
        ({"async": ["true"], "wait": ["true"]}, {}, "--async and --wait"),
        ({"async": ["true"], "stream": ["true"]}, {}, "--async and --stream"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(
    empty: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, list[str]], variables: dict[str, str], place: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(click.UsageError) as caught:
        settings_of(given)
    assert place in caught.value.format_message()


def test_two_different_task_ids_are_one_too_many(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A2ACLI_TASK_ID", "from-variable")
    assert settings_of({}).task_named("positional") == "positional"
    assert settings_of({}).task_named(None) == "from-variable"
    assert settings_of({"task_id": ["same"]}).task_named("same") == "same"
    with pytest.raises(click.UsageError):
        settings_of({"task_id": ["one"]}).task_named("other")


def test_a_stream_is_never_switched_on_from_afar(empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A2ACLI_STREAM", "1")
    globally(empty, "A2ACLI_STREAM=1\n")
    assert settings_of({}).stream is False


@pytest.mark.parametrize(
    ("argv", "variable", "expected"),
    [
        (["send", "-o", "json"], "", True),
        (["-ojson", "bogus"], "", True),
        (["--output=json"], "", True),
        (["--output", "text"], "json", False),
        (["bogus"], "json", True),
        (["-o"], "json", False),
        ([], "", False),
    ],
)
def test_the_shape_of_errors_is_known_before_anything_is_parsed(
    empty: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str], variable: str, expected: bool
) -> None:
    monkeypatch.setenv("A2ACLI_OUTPUT", variable)
    assert wants_json(argv) is expected


def test_durations_are_written_in_several_ways() -> None:
    assert [duration(text) for text in ("500ms", "2s", "1m30s", "1.5", "1h")] == [0.5, 2.0, 90.0, 1.5, 3600.0]
    for wrong in ("", "s", "-1", "1m-3s", "2x", "0", "0ms", "1 s"):
        with pytest.raises(ValueError, match=r"duration"):
            duration(wrong)


def test_other_values_say_what_is_wrong_with_them() -> None:
    assert [switch(text) for text in ("1", "True", "no", "0")] == [True, True, False, False]
    assert version(" 1.0.7 ") == "1.0"
    assert pair("X-Tag: a:b") == ("X-Tag", "a:b")
    assert json_object('{"a": [1]}') == {"a": [1]}
    for read, wrong in ((switch, "x"), (version, "one"), (pair, "no colon"), (json_object, "[]"), (json_object, "{")):
        with pytest.raises(ValueError, match=r"."):
            read(wrong)
