"""Stamps: how they are read and written."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from dragoman.extensions import ExtendedCall, Timestamps
from dragoman.types import Artifact, GetTaskRequest, Message, Part, Role, SendMessageRequest, TaskArtifactUpdateEvent

FIELD = "github.com/a2aproject/a2a-samples/extensions/timestamp/v1/timestamp"
CALL = ExtendedCall(operation="SendMessage")


def said(**metadata: Any) -> Message:
    return Message(message_id="m", role=Role.USER, parts=(Part(text="x"),), metadata=metadata or None)


@pytest.mark.parametrize(
    ("stamp", "read"),
    [
        ("2031-05-04T12:00:00Z", datetime(2031, 5, 4, 12, tzinfo=UTC)),
        ("2031-05-04 12:00:00.5+00:00", datetime(2031, 5, 4, 12, microsecond=500_000, tzinfo=UTC)),
        ("2031-05-04T12:00:00.123456789z", datetime(2031, 5, 4, 12, microsecond=123_456, tzinfo=UTC)),
        ("2031-05-04T12:00:00-00:00", datetime(2031, 5, 4, 12, tzinfo=UTC)),
        ("2031-05-04T12:00:00+01:00", None),
        ("2031-05-04T12:00:00", None),
        ("2031-05-04T12:00Z", None),
        ("2031-02-30T12:00:00Z", None),
        ("20310504T120000Z", None),
        ("\uff12031-05-04T12:00:00Z", None),
        (1, None),
        (None, None),
    ],
)
def test_a_stamp_is_a_time_of_rfc_3339_in_utc(stamp: Any, read: datetime | None) -> None:
    assert Timestamps().of(said(**{FIELD: stamp})) == read


def test_what_has_no_stamp_says_no_time() -> None:
    assert Timestamps().of(said()) is None
    assert Timestamps().of(Artifact(artifact_id="a", parts=())) is None


def test_a_stamp_is_written_in_utc_wherever_the_clock_is() -> None:
    here = timezone(timedelta(hours=2))
    stamps = Timestamps(now=lambda: datetime(2031, 5, 4, 14, 0, 0, 7_000, tzinfo=here))
    sent = stamps.on_send(SendMessageRequest(message=said(other=1)), CALL)
    assert isinstance(sent, SendMessageRequest)
    assert sent.message.metadata == {"other": 1, FIELD: "2031-05-04T12:00:00.007+00:00"}
    assert sent.message.extensions == (stamps.uri,)
    assert stamps.of(sent.message) == datetime(2031, 5, 4, 12, microsecond=7_000, tzinfo=UTC)
    assert stamps.on_send(sent, CALL) == sent
    other = GetTaskRequest(id="t")
    assert stamps.on_send(other, CALL) is other


def test_without_a_clock_of_its_own_it_is_now() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    stamped = Timestamps().on_emit(said())
    assert isinstance(stamped, Message)
    stamp = Timestamps().of(stamped)
    assert stamp is not None
    assert before <= stamp <= datetime.now(UTC)


def test_the_name_in_the_metadata_follows_the_uri() -> None:
    documented = Timestamps(Timestamps.DOCUMENTED)
    assert documented.field == "github.com/a2aproject/a2a-samples/samples/extensions/timestamp/v1/timestamp"
    assert Timestamps().field == FIELD


def test_a_chunk_stands_under_the_stamp_of_its_artifact() -> None:
    artifact = Artifact(artifact_id="a", parts=(Part(text="x"),))
    chunk = TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=artifact, append=True)
    assert Timestamps().on_emit(chunk) is chunk
