"""What becomes of a configuration after an attempt, and when the next one is due. Pure: time and chance are given."""

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from dragoman.ports.push import DeadLetter, Push, PushMove, PushState
from dragoman.ports.webhook import Answer
from dragoman.push.options import Retry

__all__ = [
    "Result",
    "after",
    "as_it_is",
    "delay",
    "given_up",
    "postponed",
    "result_of",
    "revived",
    "unanswered",
]

GONE = 410
RETRIED = frozenset({408, 425, 429})
"""Answers that refuse a delivery for now only."""
BUSY = 429
SUCCESSFUL, REDIRECTED, REFUSED, BROKEN = 2, 3, 4, 5
"""First digits of answers."""

MOST_DOUBLINGS = 64


class Result(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How an attempt ended. `alive` says whether the origin as such is in order, if that shows."""

    kind: Literal["delivered", "refused", "failed", "gone"]
    status: int | None = None
    trouble: str = ""
    retry_after: float | None = None
    alive: bool | None = True


def result_of(answer: Answer) -> Result:
    """What an answer means."""
    status = answer.status
    family = status // 100
    trouble = f"HTTP {status}"
    if family == SUCCESSFUL:
        return Result(kind="delivered", status=status)
    if status == GONE:
        return Result(kind="gone", status=status, trouble=f"{trouble}: the receiver is gone")
    if family == REFUSED and status not in RETRIED:
        return Result(kind="refused", status=status, trouble=trouble)
    if family == REDIRECTED:
        trouble = f"{trouble}: redirects are not followed"
    alive = family < BROKEN and status != BUSY
    return Result(kind="failed", status=status, trouble=trouble, retry_after=answer.retry_after, alive=alive)


def unanswered(trouble: str, *, alive: bool | None = False) -> Result:
    """Nothing came back; that speaks against the origin unless `alive` says otherwise."""
    return Result(kind="failed", trouble=trouble, alive=alive)


def delay(retry: Retry, attempts: int, chance: float) -> float:
    """Seconds until the next attempt after so many that have failed before this one, with full jitter."""
    return chance * min(retry.most, retry.first * 2.0 ** min(attempts, MOST_DOUBLINGS))


def after(push: Push, seq: int, result: Result, *, last: bool, retry: Retry, now: datetime, chance: float) -> PushMove:
    """The change that follows from an attempt to deliver number `seq`; `last` if nothing can ever come after it."""
    if result.kind == "delivered":
        return _past(push, seq, last=last)
    if result.kind == "gone" or (result.kind == "refused" and push.answer is not None):
        return given_up(push, result.trouble)
    if result.kind == "refused":
        letter = DeadLetter(seq=seq, at=now, trouble=result.trouble)
        return msgspec.structs.replace(_past(push, seq, last=last), letter=letter, trouble=result.trouble)
    since = push.failing_since or now
    if now - since >= timedelta(seconds=retry.budget):
        return given_up(push, result.trouble)
    wait = delay(retry, push.attempts, chance)
    if result.retry_after is not None:
        wait = max(wait, min(result.retry_after, retry.most))
    return msgspec.structs.replace(
        as_it_is(push),
        attempts=push.attempts + 1,
        failing_since=since,
        not_before=now + timedelta(seconds=wait),
        trouble=result.trouble,
    )


def _past(push: Push, seq: int, *, last: bool) -> PushMove:
    state = PushState.ENDED if last else PushState.LIVE
    return PushMove(n=push.n, epoch=push.epoch, cursor=max(push.cursor, seq), state=state)


def postponed(push: Push, until: datetime, now: datetime) -> PushMove:
    """The change of a configuration whose origin is left alone until then: its own budget runs as if it had failed."""
    return msgspec.structs.replace(
        as_it_is(push),
        failing_since=push.failing_since or now,
        not_before=until,
        trouble=push.trouble or "the origin does not answer, and is left alone for a while",
    )


def given_up(push: Push, trouble: str) -> PushMove:
    """The change that makes a configuration dead."""
    return msgspec.structs.replace(as_it_is(push), state=PushState.DEAD, not_before=None, trouble=trouble)


def revived(push: Push, worker: str) -> PushMove:
    """The change that makes a dead configuration live again, this worker's; next it gets its task as it is."""
    return PushMove(
        n=push.n, epoch=push.epoch, cursor=push.cursor, whole=push.answer is None, claim=True, worker=worker
    )


def as_it_is(push: Push) -> PushMove:
    """The change that changes nothing; with some members replaced, the change of just these."""
    return PushMove(
        n=push.n,
        epoch=push.epoch,
        cursor=push.cursor,
        state=push.state,
        whole=push.whole,
        attempts=push.attempts,
        failing_since=push.failing_since,
        not_before=push.not_before,
        trouble=push.trouble,
    )
