"""Whose turn it is, and who is left alone."""

from collections.abc import Callable

import msgspec
import pytest

from dragoman.ports.call import Scope
from dragoman.push import origins
from dragoman.push.line import Line, Space
from dragoman.push.options import Retry
from dragoman.push.origins import FAR, PAUSE, Origins
from tests.unit.push.test_schedule import PUSH

PER_HOST, BREAKER = 2, 3


class Queue:
    """Origins, and a clock in the hand."""

    def __init__(self, first: float = 1.0) -> None:
        self.now = 100.0
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.woken = 0
        self.origins = Origins(
            PER_HOST,
            BREAKER,
            Retry(first=first, most=600.0),
            time=lambda: self.now,
            at=lambda due, then: self.timers.append((due, then)),
            wake=self.wake,
        )

    def wake(self) -> None:
        self.woken += 1

    def add(self, *names: str) -> list[Line]:
        """A new line for each origin."""
        lines = [line(name) for name in names]
        for one in lines:
            self.origins.add(one)
        return lines

    def turns(self) -> list[str]:
        """All turns that can be had now; what begins does not end."""
        taken: list[str] = []
        while (one := self.origins.next()) is not None:
            taken.append(one.origin)
        return taken

    def fail(self, name: str, times: int = 1) -> None:
        for _ in range(times):
            self.add(name)
            assert self.turns() == [name]
            self.origins.done(name, alive=False)

    def later(self, seconds: float) -> None:
        self.now += seconds
        due = [then for time, then in self.timers if time <= self.now]
        self.timers = [timer for timer in self.timers if timer[0] > self.now]
        for then in due:
            then()


def line(name: str) -> Line:
    push = msgspec.structs.replace(PUSH, origin=name) if name else None
    return Line("t", "c", Scope(), Space(0), push)


def test_origins_take_turns_and_none_has_more_at_once_than_it_may() -> None:
    queue = Queue()
    queue.add("a", "a", "a", "b", "c", "c")
    assert queue.turns() == ["a", "b", "c", "a", "c"]
    queue.origins.done("a", alive=True)
    assert queue.turns() == ["a"]


def test_lines_of_an_origin_come_in_order() -> None:
    queue = Queue()
    first, second = queue.add("a", "a")
    assert [queue.origins.next(), queue.origins.next()] == [first, second]


def test_a_line_waits_once_and_can_be_taken_out() -> None:
    queue = Queue()
    one, other = queue.add("a", "a")
    queue.origins.add(one)
    assert queue.origins.waiting == 2
    queue.origins.remove(one)
    queue.origins.remove(one)
    assert (queue.origins.waiting, queue.origins.next()) == (1, other)


def test_an_origin_that_fails_is_left_alone_and_no_other() -> None:
    queue = Queue()
    queue.fail("a", BREAKER)
    queue.add("a", "b")
    assert queue.turns() == ["b"]
    queue.later(PAUSE - 0.1)
    assert (queue.turns(), queue.woken) == ([], 0)
    queue.later(0.1)
    assert (queue.turns(), queue.woken) == (["a"], 1)


def test_one_attempt_shows_whether_it_is_over() -> None:
    queue = Queue()
    queue.fail("a", BREAKER)
    queue.add("a", "a", "a")
    queue.later(PAUSE)
    assert queue.turns() == ["a"]
    queue.origins.done("a", alive=True)
    assert queue.turns() == ["a", "a"]


def test_the_pause_doubles_with_each_attempt_that_fails_up_to_the_longest_wait() -> None:
    queue = Queue(first=0.1)
    queue.fail("a", BREAKER)
    for pause in (0.8, 1.6, 3.2, 6.4):
        queue.add("a")
        queue.later(pause - 0.01)
        assert queue.turns() == []
        queue.later(0.01)
        assert queue.turns() == ["a"]
        queue.origins.done("a", alive=False)
    (state,) = queue.origins.states()
    assert (state.origin, state.failures) == ("a", BREAKER + 4)
    assert state.closed_for == pytest.approx(12.8)


def test_failures_in_between_do_not_count() -> None:
    queue = Queue()
    queue.fail("a", BREAKER - 1)
    queue.add("a")
    assert queue.turns() == ["a"]
    queue.origins.done("a", alive=True)
    queue.fail("a", BREAKER - 1)
    queue.add("a")
    assert queue.turns() == ["a"]


def test_an_attempt_that_shows_nothing_changes_nothing() -> None:
    queue = Queue()
    queue.fail("a", BREAKER)
    queue.later(PAUSE)
    queue.add("a", "a")
    assert queue.turns() == ["a"]
    queue.origins.done("a", alive=None)
    assert queue.turns() == ["a"]


def test_who_would_wait_for_long_gets_a_turn_to_be_put_off() -> None:
    queue = Queue(first=10.0)
    queue.fail("a", BREAKER)
    assert queue.origins.of("a").closed_for(queue.now) > FAR
    queue.add("a", "a", "a")
    assert queue.turns() == ["a", "a"]


def test_what_was_not_read_yet_has_no_breaker() -> None:
    queue = Queue()
    queue.fail("", 2 * BREAKER)
    queue.add("")
    assert queue.turns() == [""]


def test_an_origin_in_order_is_forgotten_when_it_has_nothing_to_do() -> None:
    queue = Queue()
    queue.add("a")
    queue.turns()
    queue.origins.done("a", alive=True)
    (waiting,) = queue.add("b")
    queue.origins.remove(waiting)
    assert list(queue.origins.states()) == []


def test_origins_that_have_failed_are_not_remembered_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(origins, "MOST", 20)
    queue = Queue()
    queue.add("busy")
    assert queue.turns() == ["busy"]
    for number in range(100):
        queue.fail(f"{number}")
        known = {state.origin for state in queue.origins.states()}
        assert len(known) <= 20
        assert {"busy", f"{number}"} <= known
