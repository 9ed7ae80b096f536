"""What callers see of tasks, and tokens of pages."""

import string
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.core import views
from dragoman.errors import InvalidParamsError
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.task import Task, TaskState, TaskStatus

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
MESSAGES = tuple(Message(message_id=str(number), role=Role.USER, parts=()) for number in range(5))
TASK = Task(
    id="t",
    context_id="c",
    status=TaskStatus(state=TaskState.COMPLETED, timestamp=NOON),
    artifacts=(Artifact(artifact_id="a", parts=(Part(text="x"),)),),
    history=MESSAGES,
    metadata={"k": 1},
)
TIMES = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 -- hypothesis adds the zone itself


def violated(error: pytest.ExceptionInfo[InvalidParamsError]) -> list[str]:
    return [violation.field for violation in error.value.violations]


@pytest.mark.parametrize(("length", "first"), [(None, 0), (0, 5), (1, 4), (4, 1), (5, 0), (6, 0)])
def test_the_history_is_cut_to_its_latest_messages(length: int | None, first: int) -> None:
    seen = views.with_history(TASK, length)
    assert seen.history == MESSAGES[first:]
    assert (seen.artifacts, seen.status, seen.metadata) == (TASK.artifacts, TASK.status, TASK.metadata)


def test_a_task_that_is_short_enough_is_not_copied() -> None:
    assert views.with_history(TASK, 5) is TASK
    assert views.listed(TASK, artifacts=True) is TASK


def test_a_negative_history_length_is_a_violation() -> None:
    with pytest.raises(InvalidParamsError) as error:
        views.with_history(TASK, -1)
    assert violated(error) == ["historyLength"]


def test_a_list_shows_artifacts_only_when_asked() -> None:
    assert views.listed(TASK).artifacts == ()
    assert views.listed(TASK, artifacts=True).artifacts == TASK.artifacts
    assert views.listed(TASK, history_length=2).history == MESSAGES[3:]


@pytest.mark.parametrize(("asked", "given"), [(None, 50), (1, 1), (100, 100)])
def test_page_sizes(asked: int | None, given: int) -> None:
    assert views.page_size(asked) == given


@pytest.mark.parametrize("asked", [-1, 0, 101])
def test_a_page_size_out_of_bounds_is_a_violation(asked: int) -> None:
    with pytest.raises(InvalidParamsError) as error:
        views.page_size(asked)
    assert violated(error) == ["pageSize"]


def test_a_task_without_a_status_time_counts_as_oldest() -> None:
    timeless = Task(id="t", context_id="c", status=TaskStatus(state=TaskState.WORKING))
    assert views.position(timeless) == (views.EPOCH, "t")
    assert views.position(TASK) == (NOON, "t")


@given(TIMES, st.text(min_size=1, max_size=80))
def test_a_token_gives_back_its_position(time: datetime, task_id: str) -> None:
    token = views.page_token((time, task_id))
    assert set(token) <= set(string.ascii_letters + string.digits + "-_")
    assert views.read_page_token(token) == (time, task_id)


@given(TIMES)
def test_times_survive_as_microseconds(time: datetime) -> None:
    assert views.from_microseconds(views.to_microseconds(time)) == time


def test_the_empty_token_is_the_first_page() -> None:
    assert views.read_page_token("") is None


@given(st.text(min_size=1))
def test_no_text_but_a_token_is_taken_for_one(text: str) -> None:
    try:
        position = views.read_page_token(text)
    except InvalidParamsError:
        return
    assert position is not None
    assert views.page_token(position) == text


@pytest.mark.parametrize(
    "plain", [b"1.5", b"1.5.", b"2.5.t", b"1.x.t", b"1.99999999999999999999.t", b"1. 5.t", b"1.5_0.t", b"1.5.\xff", b""]
)
def test_a_forged_token_is_a_violation(plain: bytes) -> None:
    with pytest.raises(InvalidParamsError) as error:
        views.read_page_token(urlsafe_b64encode(plain).rstrip(b"=").decode() or "-")
    assert violated(error) == ["pageToken"]


def test_a_changed_or_padded_token_is_a_violation() -> None:
    token = views.page_token((NOON, "task"))
    for wrong in (token + "=", token.swapcase(), " " + token, token + "\n", token * 40):
        with pytest.raises(InvalidParamsError):
            views.read_page_token(wrong)


def test_tokens_of_neighbours_differ() -> None:
    assert views.page_token((NOON, "t")) != views.page_token((NOON + timedelta(microseconds=1), "t"))
