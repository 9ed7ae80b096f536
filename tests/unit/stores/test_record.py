"""The stored form: what this version writes, and what it still reads."""

import pytest

from dragoman.errors import StoreUnavailable
from dragoman.ports.tasks import Entry, Memo, TurnStart
from dragoman.stores import record
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.types.task import Task, TaskState, TaskStatus

MESSAGE = Message(message_id="m", role=Role.USER, parts=(Part(text="hi"), Part(data=None)))
ARTIFACT = Artifact(artifact_id="a", parts=(Part(base64="AAEC", media_type="x/y"),))
TASK = Task(
    id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING), artifacts=(ARTIFACT,), history=(MESSAGE,)
)

# As written by form 1. These lines never change; what they mean must stay readable for ever.
TASK_1 = b'[1,{"id":"t","context_id":"c","status":{"state":"working"},"history":[{"message_id":"m","role":"user","parts":[{"text":"hi"},{"data":null}]}]}]'  # noqa: E501 -- one record is one line
ARTIFACTS_1 = b'[1,[{"artifact_id":"a","parts":[{"base64":"AAEC","media_type":"x/y"}]}]]'
ENTRIES_1 = b'[1,[{"seq":2,"event":{"type":"status","task_id":"t","context_id":"c","status":{"state":"auth-required"}},"received":{"message_id":"m","role":"user","parts":[{"text":"hi"},{"data":null}]}},{"seq":3,"event":{"type":"artifact","task_id":"t","context_id":"c","artifact":{"artifact_id":"a","parts":[{"base64":"AAEC","media_type":"x/y"}]},"append":true}}]]'  # noqa: E501 -- one record is one line
START_1 = b'[1,{"index":3,"output_modes":["text/plain"],"trace":"t"}]'
MEMO_1 = b'[1,{"kind":"ask","key":"k","turn":2,"value":"which?","answered":true,"answer":[1]}]'
LETTER_1 = b'[1,{"message":{"message_id":"m","role":"user","parts":[{"text":"hi"},{"data":null}]},"start":{"index":1}}]'

ENTRIES = (
    Entry(
        seq=2,
        event=TaskStatusUpdateEvent(task_id="t", context_id="c", status=TaskStatus(state=TaskState.AUTH_REQUIRED)),
        received=MESSAGE,
    ),
    Entry(seq=3, event=TaskArtifactUpdateEvent(task_id="t", context_id="c", artifact=ARTIFACT, append=True)),
)
START = TurnStart(index=3, output_modes=("text/plain",), trace="t")
MEMO = Memo(kind="ask", key="k", turn=2, value="which?", answered=True, answer=[1])
LETTER = record.Letter(MESSAGE, TurnStart(index=1))


def test_form_1_is_written_like_this() -> None:
    assert record.encode_task(TASK) == (TASK_1, ARTIFACTS_1)
    assert record.encode(ENTRIES) == ENTRIES_1
    assert record.encode(START) == START_1
    assert record.encode(MEMO) == MEMO_1
    assert record.encode(LETTER) == LETTER_1


def test_form_1_is_read() -> None:
    assert record.decode_task(TASK_1, ARTIFACTS_1) == TASK
    assert record.decode_task(TASK_1).artifacts == ()
    assert record.decode_entries(ENTRIES_1) == ENTRIES
    assert record.decode_start(START_1) == START
    assert record.decode_memo(MEMO_1) == MEMO
    assert record.decode_letter(LETTER_1) == LETTER


def test_members_that_came_later_are_ignored() -> None:
    assert (
        record.decode_start(b'[1,{"index":3,"new":{"x":1},"trace":"t","output_modes":["text/plain"]},"more"]') == START
    )


@pytest.mark.parametrize("body", [b"", b"[1,", b"{}", b"[]", b'[1,{"index":"x"}]', b"\xff", b'["1",{}]', b"null"])
def test_what_is_no_record_is_reported_as_damage(body: bytes) -> None:
    with pytest.raises(StoreUnavailable, match="damaged"):
        record.decode_start(body)


def test_a_later_form_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="form 2"):
        record.decode_start(b'[2,{"index":3}]')
