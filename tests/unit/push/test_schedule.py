"""What follows from an attempt."""

from datetime import timedelta

import msgspec
import pytest

from dragoman.ports.call import Scope
from dragoman.ports.push import Push, PushState
from dragoman.ports.webhook import Answer
from dragoman.push.options import Retry
from dragoman.push.schedule import Result, after, delay, postponed, result_of, revived, unanswered
from dragoman.types.content import Message, Role
from tests.unit.push.stage import START

RETRY = Retry(first=1.0, most=600.0, budget=3_600.0)
PUSH = Push(
    n=7,
    task_id="t",
    id="c",
    scope=Scope(),
    dialect="new",
    origin="https://one.example",
    sealed=b"",
    worker="w",
    created=START,
    cursor=4,
    epoch=3,
    seq=9,
)
ANSWER = msgspec.structs.replace(PUSH, task_id="", answer=Message(message_id="m", role=Role.AGENT, parts=()))


@pytest.mark.parametrize(
    ("status", "kind", "alive"),
    [
        (200, "delivered", True),
        (204, "delivered", True),
        (301, "failed", True),
        (400, "refused", True),
        (404, "refused", True),
        (408, "failed", True),
        (410, "gone", True),
        (425, "failed", True),
        (429, "failed", False),
        (500, "failed", False),
        (503, "failed", False),
    ],
)
def test_what_an_answer_means(status: int, kind: str, alive: bool) -> None:
    result = result_of(Answer(status))
    assert (result.kind, result.status, result.alive) == (kind, status, alive)


def test_waits_double_up_to_the_longest_and_are_anything_below_that() -> None:
    assert [delay(RETRY, n, 1.0) for n in (0, 1, 2, 9, 10, 10_000)] == [1, 2, 4, 512, 600, 600]
    assert delay(RETRY, 3, 0.0) == 0.0
    assert delay(RETRY, 3, 0.5) == 4.0


def move_after(result: Result, push: Push = PUSH, seq: int = 5, **how: bool) -> Push:
    return push.moved(after(push, seq, result, last=how.get("last", False), retry=RETRY, now=START, chance=1.0))


def test_a_delivery_moves_the_cursor_and_forgets_what_has_failed() -> None:
    failing = msgspec.structs.replace(PUSH, attempts=3, failing_since=START, not_before=START, trouble="HTTP 500")
    delivered = move_after(result_of(Answer(200)), failing)
    assert delivered == msgspec.structs.replace(PUSH, cursor=5)


def test_a_failure_leaves_the_cursor_and_says_when_it_is_tried_again() -> None:
    once = move_after(result_of(Answer(500)))
    assert (once.cursor, once.attempts, once.trouble, once.state) == (4, 1, "HTTP 500", PushState.LIVE)
    assert (once.failing_since, once.not_before) == (START, START + timedelta(seconds=1))
    again = move_after(unanswered("reset"), once)
    assert (again.attempts, again.failing_since, again.trouble) == (2, START, "reset")
    assert again.not_before == START + timedelta(seconds=2)


@pytest.mark.parametrize(("wish", "seconds"), [(0.2, 1), (30, 30), (10_000, 600)])
def test_a_receiver_may_ask_for_more_time_up_to_the_longest_wait(wish: float, seconds: float) -> None:
    assert move_after(result_of(Answer(503, wish))).not_before == START + timedelta(seconds=seconds)


def test_what_fails_for_too_long_is_given_up() -> None:
    failing = msgspec.structs.replace(PUSH, attempts=9, failing_since=START - timedelta(seconds=3_599))
    assert move_after(unanswered("reset"), failing).state is PushState.LIVE
    failing = msgspec.structs.replace(failing, failing_since=START - timedelta(seconds=3_600))
    dead = move_after(unanswered("reset"), failing)
    assert (dead.state, dead.cursor, dead.trouble) == (PushState.DEAD, 4, "reset")


def test_who_is_gone_is_given_up_at_once() -> None:
    assert move_after(result_of(Answer(410))).state is PushState.DEAD


def test_what_is_refused_is_a_dead_letter_and_the_next_comes_after_it() -> None:
    move = after(PUSH, 5, result_of(Answer(404)), last=True, retry=RETRY, now=START, chance=1.0)
    assert move.letter is not None
    assert (move.letter.seq, move.letter.at, move.letter.trouble) == (5, START, "HTTP 404")
    assert (move.cursor, move.state, move.attempts) == (5, PushState.ENDED, 0)


def test_a_direct_answer_that_is_refused_stays_to_be_looked_at() -> None:
    assert move_after(result_of(Answer(404)), ANSWER, 0).state is PushState.DEAD
    assert move_after(result_of(Answer(200)), ANSWER, 0, last=True).state is PushState.ENDED


def test_after_the_last_event_there_is_nothing_to_come() -> None:
    assert move_after(result_of(Answer(200)), last=True).state is PushState.ENDED


def test_to_be_put_off_is_no_attempt_but_uses_up_the_time_to_be_in_trouble() -> None:
    until = START + timedelta(seconds=99)
    put_off = PUSH.moved(postponed(PUSH, until, START))
    assert (put_off.attempts, put_off.failing_since, put_off.not_before) == (0, START, until)
    assert put_off.trouble


def test_what_is_revived_begins_with_the_task_as_it_is_under_a_new_epoch() -> None:
    dead = move_after(result_of(Answer(410)))
    alive = dead.moved(revived(dead, "w-2"))
    assert (alive.state, alive.whole, alive.epoch, alive.worker, alive.trouble) == (PushState.LIVE, True, 4, "w-2", "")
    assert not ANSWER.moved(revived(ANSWER, "w-2")).whole
