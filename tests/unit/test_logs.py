"""Logs that say which call and which task they are about."""

import io
import json
import logging
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import copy_context
from typing import Any

import pytest

from dragoman.correlation import correlate, correlate_task, correlation
from dragoman.logs import LogForm, configure

TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACE = f"00-{TRACE_ID}-b7ad6b7169203331-01"

log = logging.getLogger("dragoman.example")


@contextmanager
def logged(form: LogForm, level: str = "info") -> Generator[io.StringIO]:
    stream = io.StringIO()
    root = logging.getLogger()
    before = root.level
    handler = configure(level, form, stream)
    try:
        yield stream
    finally:
        root.removeHandler(handler)
        root.setLevel(before)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def in_a_context_of_its_own(*steps: Any) -> str:
    def run() -> str:
        for step in steps:
            step()
        found = correlation()
        return "" if found is None else found.id

    return copy_context().run(run)


@pytest.mark.parametrize(
    ("trace", "named", "known"),
    [
        (TRACE, "mine", TRACE_ID),
        ("", "mine-1.2:3_4", "mine-1.2:3_4"),
        ("nonsense", "mine", "mine"),
        ("00-" + "0" * 32 + "-b7ad6b7169203331-01", "mine", "mine"),
    ],
)
def test_a_call_is_known_by_its_trace_or_by_what_its_caller_names_it(trace: str, named: str, known: str) -> None:
    assert in_a_context_of_its_own(lambda: correlate(trace, named)) == known


@pytest.mark.parametrize("named", ["", "a b", "a\nERROR all is lost", "x" * 129, "é"])
def test_what_cannot_stand_in_a_log_is_replaced_by_an_id_of_our_own(named: str) -> None:
    first, second = [in_a_context_of_its_own(lambda: correlate("", named)) for _ in range(2)]
    assert len(first) == 32
    assert first != second
    int(first, 16)


def test_a_run_is_known_by_the_trace_that_began_it_and_not_by_the_call_that_set_it_off() -> None:
    def by_another() -> None:
        correlate("", "another")

    assert in_a_context_of_its_own(by_another, lambda: correlate_task("t", TRACE)) == TRACE_ID
    assert in_a_context_of_its_own(by_another, lambda: correlate_task("t", "")) == "t"


def test_lines_of_json_say_what_they_are_about() -> None:
    def failing() -> None:
        correlate_task("t", TRACE)
        try:
            int("no\nthing")
        except ValueError:
            log.exception("lost %d\nlines", 2)

    with logged("json") as stream:
        log.debug("not this")
        log.info("outside")
        in_a_context_of_its_own(failing)
    outside, inside = lines(stream)
    assert outside == {"at": outside["at"], "level": "info", "logger": "dragoman.example", "message": "outside"}
    assert (inside["requestId"], inside["taskId"], inside["message"]) == (TRACE_ID, "t", "lost 2\nlines")
    assert "ValueError" in inside["error"]


def test_lines_of_text_say_the_request() -> None:
    def inside() -> None:
        correlate("", "mine")
        log.warning("here")

    with logged("text", "warning") as stream:
        log.info("not this")
        in_a_context_of_its_own(inside)
    assert stream.getvalue().endswith("WARNING dragoman.example [mine] here\n")
