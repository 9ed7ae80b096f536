"""Bodies of notifications: what is written in a dialect is read again, and nonsense is refused by name."""

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given

from dragoman import types
from dragoman.dialects.every import every_dialect
from dragoman.dialects.push import posts_whole_tasks, push_version, read_push, write_push
from dragoman.errors import ContentTypeNotSupportedError, InvalidParamsError, ParseError
from tests.unit.dialects import samples
from tests.unit.dialects.draft.test_round_trips import left_of
from tests.unit.dialects.test_total import mutated_bytes, mutated_json

KEYS = [dialect.key for dialect in every_dialect()]
STATUS = types.TaskStatusUpdateEvent(
    task_id="t-1", context_id="c-1", status=types.TaskStatus(state=types.TaskState.COMPLETED, timestamp=samples.NOON)
)
ARTIFACT = types.TaskArtifactUpdateEvent(
    task_id="t-1",
    context_id="c-1",
    artifact=types.Artifact(artifact_id="a-1", parts=(types.Part(data={"data": {"x": 1}}),)),
    last_chunk=True,
)
EVENTS: dict[str, types.StreamEvent] = {
    "task": samples.TASK,
    "message": samples.MESSAGE,
    "status": STATUS,
    "artifact": ARTIFACT,
}
each_event = pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)


def _members(key: str, event: types.StreamEvent) -> Any:
    return msgspec.json.decode(write_push(key, event)[1])


@pytest.mark.parametrize("key", KEYS)
@each_event
def test_every_dialect_posts_what_is_read_again(key: str, event: types.StreamEvent) -> None:
    media_type, body = write_push(key, event)
    expected = left_of(event) if key.startswith("draft") else event
    assert left_of(read_push(body, media_type, key)) == left_of(expected)


@given(event=samples.events)
def test_any_event_in_1_0_is_read_again(event: types.StreamEvent) -> None:
    media_type, body = write_push("1.0/JSONRPC", event)
    try:
        assert read_push(body, media_type) == event
    except InvalidParamsError:
        assert not (event.id if isinstance(event, types.Task) else getattr(event, "task_id", "x"))


@pytest.mark.parametrize(
    ("key", "media_type", "version", "whole"),
    [
        ("1.0/JSONRPC", "application/a2a+json", "1.0", False),
        ("1.0/HTTP+JSON", "application/a2a+json", "1.0", False),
        ("1.0/GRPC", "application/a2a+json", "1.0", False),
        ("draft/HTTP+JSON", "application/json", "1.0", False),
        ("0.3/GRPC", "application/json", "0.3", True),
        ("0.3/JSONRPC", "application/json", "0.3", True),
    ],
)
def test_what_goes_with_a_body(key: str, media_type: str, version: str, *, whole: bool) -> None:
    assert write_push(key, STATUS)[0] == media_type
    assert push_version(key) == version
    assert posts_whole_tasks(key) is whole


@pytest.mark.parametrize("key", ["", "2.0/JSONRPC"])
def test_there_are_no_other_dialects(key: str) -> None:
    with pytest.raises(KeyError):
        write_push(key, STATUS)
    with pytest.raises(KeyError):
        push_version(key)
    assert not posts_whole_tasks(key)


@each_event
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON", "GRPC"])
def test_the_binding_of_the_registration_makes_no_difference(binding: str, event: types.StreamEvent) -> None:
    for line in ("1.0", "0.3", "draft"):
        assert _members(f"{line}/{binding}", event) == _members(f"{line}/JSONRPC", event)


def test_each_line_has_its_own_form() -> None:
    assert _members("1.0/JSONRPC", STATUS) == {
        "statusUpdate": {
            "taskId": "t-1",
            "contextId": "c-1",
            "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-31T12:00:00.250Z"},
        }
    }
    assert _members("draft/GRPC", STATUS) == {
        "statusUpdate": {
            "taskId": "t-1",
            "contextId": "c-1",
            "status": {"state": "completed", "timestamp": "2026-01-31T12:00:00.250Z"},
            "final": True,
        }
    }
    task = _members("0.3/GRPC", samples.TASK)
    assert (task["kind"], task["id"], task["history"][0]["kind"]) == ("task", "t-1", "message")


@pytest.mark.parametrize(
    ("kind", "event"),
    list(zip(("task", "message", "status-update", "artifact-update"), EVENTS.values(), strict=True)),
)
def test_bare_events_of_0_3_are_told_by_their_kind(kind: str, event: types.StreamEvent) -> None:
    assert _members("0.3/JSONRPC", event)["kind"] == kind
    assert type(read_push(write_push("0.3/JSONRPC", event)[1], "application/json")) is type(event)


@pytest.mark.parametrize("media_type", ["", "application/json", "Application/A2A+JSON; charset=utf-8"])
def test_a_media_type_of_json_or_none_will_do(media_type: str) -> None:
    assert read_push(write_push("1.0/GRPC", STATUS)[1], media_type) == STATUS


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "json", "x" * 10_000])
def test_another_media_type_is_refused(media_type: str) -> None:
    with pytest.raises(ContentTypeNotSupportedError):
        read_push(write_push("1.0/GRPC", STATUS)[1], media_type)


# The draft writes data inside data, which in 1.0 is an object with a member of that name.

NESTED = types.Artifact(artifact_id="a", parts=(types.Part(data={"x": 1}),))
WITH_DATA = types.Task(
    id="t", context_id="c", status=types.TaskStatus(state=types.TaskState.WORKING), artifacts=(NESTED,)
)
SAID = types.Message(message_id="m", role=types.Role.AGENT, parts=NESTED.parts)


@pytest.mark.parametrize("event", [WITH_DATA, SAID], ids=["task", "message"])
@pytest.mark.parametrize("registered", ["", "1.0/JSONRPC", "draft/JSONRPC"])
def test_a_body_that_is_spelled_as_the_draft_is_read_as_the_draft(event: types.StreamEvent, registered: str) -> None:
    assert read_push(write_push("draft/JSONRPC", event)[1], "application/json", registered) == event
    assert read_push(write_push("1.0/JSONRPC", event)[1], "application/json", registered) == event


def test_where_the_spelling_does_not_tell_the_registration_does() -> None:
    body = b'{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a","parts":[{"data":{"data":{"x":1}}}]}}}'
    for registered, data in (("", {"data": {"x": 1}}), ("1.0/GRPC", {"data": {"x": 1}}), ("draft/GRPC", {"x": 1})):
        event = read_push(body, "application/json", registered)
        assert isinstance(event, types.TaskArtifactUpdateEvent)
        assert event.artifact.parts[0].data == data


# Nonsense.


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"7",
        b"null",
        b'"task"',
        b"{}",
        b'{"task":null}',
        b'{"task":{}}',
        b'{"task":{"id":"","status":{"state":"TASK_STATE_WORKING"}}}',
        b'{"task":{"id":7,"status":{"state":"TASK_STATE_WORKING"}}}',
        b'{"statusUpdate":{"taskId":"","status":{"state":"TASK_STATE_WORKING"}}}',
        b'{"kind":5}',
        b'{"kind":"task"}',
        b'{"kind":"surprise","id":"x"}',
        b'{"hello":"world","data":{"data":1}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"task":' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}",
    ],
)
def test_what_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidParamsError, match="notification") as caught:
        read_push(body, "application/json")
    assert "answer" not in str(caught.value), "nobody has asked"
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    "body", [b"", b"hello", b"\xff\xfe", b'{"task":', b"a=1&b=2", b"[" * 100_000, b'{"data":' * 9_999]
)
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises((ParseError, InvalidParamsError), match="notification"):
        read_push(body, "")


@pytest.mark.parametrize("key", ["1.0/JSONRPC", "draft/JSONRPC", "0.3/JSONRPC"])
def test_every_mutation_is_an_event_or_an_error_of_the_protocol(key: str) -> None:
    random_ = random.Random(20260202)
    valid = [write_push(key, event)[1] for event in EVENTS.values()]
    read = refused = 0
    for _ in range(4_000):
        body = random_.choice((mutated_bytes, mutated_json))(random_, random_.choice(valid))
        try:
            event = read_push(body, "application/json", random_.choice(("", key)))
        except (ParseError, InvalidParamsError):
            refused += 1
        else:
            read += 1
            msgspec.json.encode(event)
    assert read > 400, "the mutations hardly ever leave a body valid"
    assert refused > 400, "the mutations hardly ever break a body"
