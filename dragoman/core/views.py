"""What a caller gets to see of a task, and where a page of tasks goes on."""

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import UTC, datetime, timedelta

import msgspec

from dragoman.errors import FieldViolation, InvalidParamsError
from dragoman.types.requests import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from dragoman.types.task import Task

__all__ = [
    "EPOCH",
    "Position",
    "check_history_length",
    "from_microseconds",
    "listed",
    "page_size",
    "page_token",
    "position",
    "read_page_token",
    "to_microseconds",
    "with_history",
]

Position = tuple[datetime, str]
"""Where a task stands in a list: its status time and its id. Lists run from the highest position to the lowest."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_MICROSECOND = timedelta(microseconds=1)
_TOKEN_FORM = b"1"
_LONGEST_TOKEN = 512


def position(task: Task) -> Position:
    """The position of a task; one whose status has no time counts as oldest."""
    return task.status.timestamp or EPOCH, task.id


def to_microseconds(time: datetime) -> int:
    """Whole microseconds since 1970, exact. `time` is aware."""
    return (time - EPOCH) // _MICROSECOND


def from_microseconds(count: int) -> datetime:
    """The time in UTC, exact.

    Raises:
        OverflowError: the count is beyond the years 1 to 9999.
    """
    return EPOCH + timedelta(microseconds=count)


def with_history(task: Task, length: int | None) -> Task:
    """The task with its last `length` messages; None sets no limit, 0 leaves no history (section 3.2.4).

    Raises:
        InvalidParamsError: the length is negative.
    """
    check_history_length(length)
    if length is None or len(task.history) <= length:
        return task
    return msgspec.structs.replace(task, history=task.history[len(task.history) - length :])


def check_history_length(length: int | None) -> None:
    """Raises `InvalidParamsError` if the length is negative."""
    if length is not None and length < 0:
        raise _violation("historyLength", "must not be negative")


def listed(task: Task, *, history_length: int | None = None, artifacts: bool = False) -> Task:
    """The task as ListTasks shows it: artifacts only where they were asked for (section 3.1.4).

    Raises:
        InvalidParamsError: the history length is negative.
    """
    if task.artifacts and not artifacts:
        task = msgspec.structs.replace(task, artifacts=())
    return with_history(task, history_length)


def page_size(asked: int | None) -> int:
    """How many tasks a page may hold: 1 to 100, by default 50 (section 3.1.4).

    Raises:
        InvalidParamsError: the number asked for is outside of that.
    """
    if asked is None:
        return DEFAULT_PAGE_SIZE
    if not 1 <= asked <= MAX_PAGE_SIZE:
        raise _violation("pageSize", f"must be between 1 and {MAX_PAGE_SIZE}")
    return asked


def page_token(last: Position) -> str:
    """A token for the page after the task at this position: opaque to callers, fit for a URL, valid for ever."""
    time, task_id = last
    plain = b"%s.%d.%s" % (_TOKEN_FORM, to_microseconds(time), task_id.encode())
    return urlsafe_b64encode(plain).rstrip(b"=").decode()


def read_page_token(token: str) -> Position | None:
    """The position that a token stands for; None for the empty token, which means the first page.

    Raises:
        InvalidParamsError: no page has this token.
    """
    if not token:
        return None
    try:
        last = _unpacked(token)
    except (ValueError, OverflowError) as error:
        raise _violation("pageToken", "is not a token of this list") from error
    if page_token(last) != token:
        raise _violation("pageToken", "is not a token of this list")
    return last


def _unpacked(token: str) -> Position:
    if len(token) > _LONGEST_TOKEN or not token.isascii():
        raise ValueError("too long, or not of the alphabet")
    try:
        plain = urlsafe_b64decode(token + "=" * (-len(token) % 4))
    except binascii.Error as error:
        raise ValueError("not base64url") from error
    form, count, task_id = plain.split(b".", 2)
    if form != _TOKEN_FORM or not task_id:
        raise ValueError("not of this form")
    return from_microseconds(int(count)), task_id.decode()


def _violation(field: str, description: str) -> InvalidParamsError:
    return InvalidParamsError(
        f"{field} {description}",
        violations=(FieldViolation(field, description),),
    )
