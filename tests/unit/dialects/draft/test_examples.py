"""The 1.0 draft: the examples of its own text, and what it spells otherwise than 1.0."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dragoman import operations, types
from dragoman.dialects.base import HttpReply, HttpRequest, Refusal, Target
from tests.behaviour.manifest import requirement
from tests.unit.dialects import samples
from tests.unit.dialects.draft.speaking import REST, WEATHER, decoded, event_of, post, sent, written

# Section 6: the workflows.


def test_a_basic_task() -> None:
    """Section 6.1."""
    request = sent(WEATHER)
    assert request.message == types.Message(
        message_id="msg-uuid", role=types.Role.USER, parts=(types.Part(text="What is the weather today?"),)
    )
    report = types.Artifact(
        artifact_id="artifact-uuid",
        name="Weather Report",
        parts=(types.Part(text="Today will be sunny with a high of 75\u00b0F"),),
    )
    status = types.TaskStatus(state=types.TaskState.COMPLETED)
    task = types.Task(id="task-uuid", context_id="context-uuid", status=status, artifacts=(report,))
    answer = {
        "task": {
            "id": "task-uuid",
            "contextId": "context-uuid",
            "status": {"state": "completed"},
            "artifacts": [
                {
                    "artifactId": "artifact-uuid",
                    "name": "Weather Report",
                    "parts": [{"text": "Today will be sunny with a high of 75\u00b0F"}],
                }
            ],
        }
    }
    assert written(operations.SEND_MESSAGE, task) == answer
    reply = HttpReply(200, {"content-type": "application/a2a+json"}, msgspec.json.encode(answer))
    assert REST.decode_result(operations.SEND_MESSAGE, reply) == task


def test_a_stream_as_the_example_has_it_is_read() -> None:
    """Section 6.2; it leaves out members that are required elsewhere."""
    examples = (
        b'{"task": {"id": "task-uuid", "status": {"state": "working"}}}',
        b'{"artifactUpdate": {"taskId": "task-uuid", "artifact": {"parts": [{"text": "# Report"}]}}}',
        b'{"statusUpdate": {"taskId": "task-uuid", "status": {"state": "completed"}, "final": true}}',
    )
    task, artifact, status = [REST.decode_event(operations.SEND_STREAMING_MESSAGE, data) for data in examples]
    assert isinstance(task, types.Task)
    assert task.state is types.TaskState.WORKING
    assert isinstance(artifact, types.TaskArtifactUpdateEvent)
    assert artifact.artifact.text == "# Report"
    assert isinstance(status, types.TaskStatusUpdateEvent)
    assert status.status.state is types.TaskState.COMPLETED


def test_a_list_by_body() -> None:
    """Section 6.5."""
    body = {"contextId": "c295ea44-7543-4f78-b524-7a38915ad6e4", "pageSize": 10, "historyLength": 3}
    expected = types.ListTasksRequest(context_id=body["contextId"], page_size=10, history_length=3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] -- a string among numbers
    assert decoded(post("/v1/tasks/list", body)) == decoded(post("/v1/tasks", body)) == expected
    working = decoded(post("/v1/tasks/list", {"status": "working", "pageSize": 20}))
    assert working == types.ListTasksRequest(status=types.TaskState.WORKING, page_size=20, history_length=0)


@requirement("R-11.6-01")
def test_what_is_wrong_with_members_is_a_problem_without_a_type() -> None:
    """Section 6.5, its validation error."""
    outcome = REST.decode_request(post("/v1/tasks/list", {"pageSize": 150, "historyLength": -5, "status": "running"}))
    assert isinstance(outcome, Refusal)
    reply = REST.encode_error(outcome.error, outcome.reply_to)
    assert (reply.status, reply.headers["content-type"]) == (400, "application/problem+json")
    problem = msgspec.json.decode(reply.body)
    assert "type" not in problem
    assert problem["status"] == 400
    assert [entry["field"] for entry in problem["errors"]] == ["status", "pageSize", "historyLength"]
    assert problem["errors"][1]["message"] == "must be between 1 and 100"


def test_a_push_configuration_inside_a_message() -> None:
    """Section 6.6."""
    inline = {"url": "https://client.example.com/hook", "token": "tok", "authentication": {"schemes": ["Bearer"]}}
    config = sent(WEATHER, configuration={"pushNotificationConfig": inline}).configuration.task_push_notification_config
    assert config == types.TaskPushNotificationConfig(
        url="https://client.example.com/hook", token="tok", authentication=types.AuthenticationInfo(scheme="Bearer")
    )
    final = types.TaskStatusUpdateEvent(
        task_id="t", context_id="c", status=types.TaskStatus(state=types.TaskState.COMPLETED, timestamp=samples.NOON)
    )
    assert event_of(final) == {
        "statusUpdate": {
            "taskId": "t",
            "contextId": "c",
            "status": {"state": "completed", "timestamp": "2026-01-31T12:00:00.250Z"},
            "final": True,
        }
    }


def test_files_have_an_object_of_their_own() -> None:
    """Section 6.7."""
    given = {"name": "input.png", "mediaType": "image/png", "fileWithBytes": "AAECAw=="}
    part = types.Part(base64="AAECAw==", media_type="image/png", filename="input.png")
    assert sent({**WEATHER, "parts": [{"text": "x"}, {"file": given}]}).message.parts[1] == part
    link = {"name": "output.png", "mediaType": "image/png", "fileWithUri": "https://e.com/output.png?token=xyz"}
    linked = types.Part(url=link["fileWithUri"], media_type="image/png", filename="output.png", metadata={"n": 1})
    message = types.Message(message_id="m", role=types.Role.AGENT, parts=(part, linked))
    assert written(operations.SEND_MESSAGE, message) == {
        "message": {
            "messageId": "m",
            "role": "agent",
            "parts": [{"file": given}, {"file": link, "metadata": {"n": 1}}],
        }
    }


def test_data_stands_in_an_object_and_is_one() -> None:
    """Section 6.8; other values than objects have no place in the draft."""
    tickets = {"data": {"tickets": [1, 2]}}
    assert sent({**WEATHER, "parts": [{"data": tickets}]}).message.parts[0].data == {"tickets": [1, 2]}
    assert sent({**WEATHER, "parts": [{"data": {"loose": 1}}]}).message.parts[0].data == {"loose": 1}
    parts = (types.Part(data={"data": 1}), types.Part(data=[1]))
    shown = written(operations.SEND_MESSAGE, types.Message(message_id="m", role=types.Role.USER, parts=parts))
    assert shown["message"]["parts"] == [{"data": {"data": {"data": 1}}}, {"data": {"data": {"value": [1]}}}]


def test_parts_of_the_appendix_are_read() -> None:
    """Appendix A.2.1."""
    older = {"kind": "FilePart", "mimeType": "image/png", "name": "a.png", "fileWithBytes": "AAECAw=="}
    tagged = {"kind": "DataPart", "data": {"data": 1}}
    part, data = sent({**WEATHER, "parts": [older, tagged]}).message.parts
    assert part == types.Part(base64="AAECAw==", media_type="image/png", filename="a.png")
    assert data.data == {"data": 1}


def test_the_card_states_its_version_once() -> None:
    """Section 4.4.1."""
    card = msgspec.structs.replace(
        samples.CARD,
        capabilities=types.AgentCapabilities(streaming=True, extended_agent_card=True),
        security_schemes={"key": types.APIKeySecurityScheme(location="header", name="X-Key")},
        security_requirements=({"key": ()},),
        skills=(types.AgentSkill(id="s", name="S", description="", security_requirements=({"key": ("a",)},)),),
    )
    shown = written(operations.GET_EXTENDED_AGENT_CARD, card)
    assert shown["protocolVersion"] == "1.0"
    assert shown["supportedInterfaces"] == [{"url": "https://e.com/a2a", "protocolBinding": "JSONRPC", "tenant": "t"}]
    assert shown["capabilities"] == {"streaming": True}
    assert shown["supportsAuthenticatedExtendedCard"] is True
    assert shown["security"] == [{"schemes": {"key": {}}}]
    assert shown["skills"][0]["security"] == [{"schemes": {"key": {"list": ["a"]}}}]
    reply = HttpReply(200, {}, msgspec.json.encode(shown))
    interface = msgspec.structs.replace(card.supported_interfaces[0], protocol_version="1.0-draft")
    read = REST.decode_result(operations.GET_EXTENDED_AGENT_CARD, reply)
    assert read == msgspec.structs.replace(card, supported_interfaces=(interface,))


# What is meant.


@pytest.mark.parametrize(
    ("configuration", "immediately"),
    [(None, True), ({}, True), ({"blocking": False}, True), ({"blocking": True}, False), ({"blocking": None}, True),
     ({"returnImmediately": False}, False), ({"acceptedOutputModes": ["text/plain"]}, True)],
)  # fmt: skip
def test_nothing_waits_unless_it_says_so(configuration: Any, immediately: bool) -> None:
    """Section 3.2.2."""
    assert sent(WEATHER, configuration=configuration).configuration.return_immediately is immediately


@pytest.mark.parametrize("state", types.TaskState)
def test_states_are_lower_kebab_case_and_final_follows_from_them(state: types.TaskState) -> None:
    """Sections 5.5 and 4.2.1."""
    status = types.TaskStatus(state=state)
    event = types.TaskStatusUpdateEvent(task_id="t", context_id="c", status=status)
    shown = event_of(event)["statusUpdate"]
    assert shown["status"]["state"] == {"canceled": "cancelled"}.get(state.value, state.value)
    assert shown["final"] is (state.terminal or state is types.TaskState.INPUT_REQUIRED)
    back = REST.decode_event(operations.SUBSCRIBE_TO_TASK, msgspec.json.encode({"statusUpdate": shown}))
    assert back == event


@pytest.mark.parametrize("milliseconds", [0, 1, 1769860800250, 8615203200001, -1])
def test_milliseconds_are_exact(milliseconds: int) -> None:
    request = decoded(HttpRequest("GET", "/v1/tasks", f"lastUpdatedAfter={milliseconds}"))
    elapsed = request.status_timestamp_after - datetime(1970, 1, 1, tzinfo=UTC)
    assert elapsed == timedelta(milliseconds=milliseconds)


def test_a_list_without_a_length_has_no_history_and_its_filter_is_in_milliseconds() -> None:
    request = HttpRequest("GET", "/v1/tasks", "lastUpdatedAfter=1769860800250&status=cancelled")
    assert decoded(request) == types.ListTasksRequest(
        status=types.TaskState.CANCELED, history_length=0, status_timestamp_after=samples.NOON
    )
    asked = REST.encode_request(
        operations.LIST_TASKS, types.ListTasksRequest(status_timestamp_after=samples.NOON), Target()
    )
    assert asked.query == "lastUpdatedAfter=1769860800250"
