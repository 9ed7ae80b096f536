"""Extensions in a row, their hooks, and what of theirs is taken."""

import asyncio
import logging
from typing import Any, cast

import msgspec
import pytest

from dragoman import Agent, AgentExtension, ConfigurationError, Message, Part, Role, connect
from dragoman.core.capability import check_extensions
from dragoman.errors import ExtensionSupportRequiredError
from dragoman.extensions import Emitted, ExtendedCall, Extension, Request, Timestamps, hooks
from dragoman.extensions.hooks import AgentExtensions, check_uris, passed
from dragoman.operations import GET_TASK
from dragoman.ports.call import CallContext
from dragoman.types import (
    AgentCapabilities,
    AgentCard,
    Artifact,
    GetTaskRequest,
    StreamEvent,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from dragoman.types.requests import ServiceParameters

URI = "https://extensions.example/one/v1"
CALL = ExtendedCall(operation="GetTask")


class Nothing(Extension):
    uri = URI


class Asking(Extension):
    uri = URI

    def on_request(self, request: Request, call: ExtendedCall) -> Request:
        del call
        return request


def naming(*uris: str) -> CallContext:
    return CallContext(parameters=ServiceParameters(version="1.0", extensions=uris))


def test_an_extension_that_does_nothing_costs_no_hooks() -> None:
    assert AgentExtensions([Nothing()]).hooks(GET_TASK, naming(URI)) is None


def test_hooks_are_there_for_who_names_the_extension_alone() -> None:
    extensions = AgentExtensions([Asking()])
    assert extensions.hooks(GET_TASK, naming()) is None
    assert extensions.hooks(GET_TASK, naming("https://extensions.example/one/v2")) is None
    assert extensions.hooks(GET_TASK, naming(URI)) is not None


@pytest.mark.parametrize("made", [None, "text", Artifact(artifact_id="a", parts=())])
async def test_a_hook_that_gives_something_else_is_a_defect(made: Any) -> None:
    def hook(_value: Any, _call: ExtendedCall) -> Any:
        return made

    with pytest.raises(TypeError, match="GetTaskRequest"):
        await passed([hook], GetTaskRequest(id="t"), CALL)


class Hanging(Extension):
    uri = URI

    async def on_event(self, event: StreamEvent, call: ExtendedCall) -> StreamEvent:
        del call
        await asyncio.Event().wait()
        return event


async def test_an_agent_does_not_wait_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "LONGEST", 0.01)
    found = AgentExtensions([Hanging()]).hooks(GET_TASK, naming(URI))
    assert found is not None
    with pytest.raises(TimeoutError):
        await found.event(STATUS)


class Emitting(Extension):
    """Says what it is told to say."""

    uri = URI

    def __init__(self, **changes: Any) -> None:
        self.changes = changes

    def on_emit(self, said: Emitted) -> Emitted:
        return cast("Emitted", msgspec.structs.replace(cast("Any", said), **self.changes))


MESSAGE = Message(message_id="m", role=Role.AGENT, parts=(Part(text="x"),))
STATUS = TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING))
ARTIFACT = TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=Artifact(artifact_id="a", parts=()))


@pytest.mark.parametrize(
    ("said", "changes"),
    [
        (MESSAGE, {"message_id": "n"}),
        (MESSAGE, {"role": Role.USER}),
        (STATUS, {"status": TaskStatus(state=TaskState.COMPLETED)}),
        (STATUS, {"task_id": "u"}),
        (ARTIFACT, {"artifact": Artifact(artifact_id="b", parts=())}),
        (ARTIFACT, {"append": True}),
    ],
)
def test_what_is_said_keeps_its_place(said: Any, changes: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        assert AgentExtensions([Emitting(**changes)]).emitted((URI,), said) is said
    assert URI in caplog.text


def test_what_is_said_is_extended_where_the_extension_is_in_force() -> None:
    extensions = AgentExtensions([Emitting(metadata={"a": 1})])
    assert extensions.emitted((URI,), STATUS).metadata == {"a": 1}
    assert extensions.emitted((), STATUS) is STATUS


@pytest.mark.parametrize("uri", ["", "a b", "a,b", "a\n", "ä"])
def test_a_uri_that_cannot_be_named_is_refused(uri: str) -> None:
    with pytest.raises(ConfigurationError, match="needs a URI"):
        Agent("X", extensions=[AgentExtension(uri=uri)])
    with pytest.raises(ConfigurationError, match="needs a URI"):
        connect("http://127.0.0.1:9", extensions=[uri])


def test_an_extension_is_there_once() -> None:
    check_uris([URI, URI + "/2"])
    with pytest.raises(ConfigurationError, match="there twice"):
        Agent("X", extensions=[AgentExtension(uri=URI), Nothing()])
    Agent("X", extensions=[Timestamps(), Timestamps(Timestamps.DOCUMENTED)])


class Renaming(Extension):
    uri = URI

    def entry(self, card: AgentCard) -> AgentExtension:
        del card
        return AgentExtension(uri="https://elsewhere.example")


def test_an_extension_declares_itself_under_its_own_uri() -> None:
    with pytest.raises(ConfigurationError, match="declares itself as https://elsewhere"):
        _ = Agent("X", extensions=[Renaming()]).card


def test_capabilities_that_are_given_say_alone_what_is_declared() -> None:
    agent = Agent("X", extensions=[Nothing()], capabilities=AgentCapabilities(streaming=True))
    assert agent.card.capabilities.extensions == ()


def test_what_is_required_and_not_named_is_in_the_details() -> None:
    required = tuple(AgentExtension(uri=f"{URI}{n}", required=n != 1) for n in range(3))
    with pytest.raises(ExtensionSupportRequiredError) as caught:
        check_extensions((f"{URI}0",), AgentCapabilities(extensions=required))
    assert caught.value.details == {"extensions": f"{URI}2"}
