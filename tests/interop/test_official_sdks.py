"""Official SDKs as peers, in processes of their own: each scenario by each client, over each binding."""

from typing import Any

import pytest

from tests.interop.conftest import Facts

COUNTED = "".join(f"{number} " for number in range(1, 21))


def told(seen: Facts, scenario: str) -> dict[str, Any]:
    facts = seen[scenario]
    if "broken" in facts:
        pytest.fail(facts["broken"])
    return facts


def test_a_blocking_send_brings_the_finished_task(seen: Facts) -> None:
    facts = told(seen, "blocking")
    assert (facts["state"], facts["text"]) == ("completed", "hello")


def test_a_stream_begins_with_the_task_and_brings_the_whole_text_as_it_grows(seen: Facts) -> None:
    facts = told(seen, "stream")
    assert (facts["first"], facts["tasks"], facts["state"]) == ("task", 1, "completed")
    assert facts["text"] == COUNTED
    # Twenty words, one each 50 ms: a stream that came in one piece would show no spread at all.
    assert facts["chunks"] >= 10
    assert facts["spread"] > 0.4


def test_a_task_can_be_got_with_as_much_history_as_asked_for(seen: Facts) -> None:
    facts = told(seen, "get")
    assert (facts["state"], facts["text"], facts["same"]) == ("completed", "keep this", True)
    assert facts["history"][0] == "keep this"
    assert facts["history_of_none"] == 0


def test_the_tasks_of_a_context_come_in_pages_newest_first(seen: Facts) -> None:
    facts = told(seen, "pages")
    assert (facts["sizes"], facts["total"], facts["newest_first"]) == ([2, 1], 3, True)


def test_a_running_task_can_be_cancelled(seen: Facts) -> None:
    facts = told(seen, "cancel")
    assert facts["before"] in {"submitted", "working"}
    assert (facts["state"], facts["later"]) == ("canceled", "canceled")


def test_a_subscriber_sees_the_task_and_then_all_that_is_missing(seen: Facts) -> None:
    facts = told(seen, "subscribe")
    assert (facts["first"], facts["text"], facts["state"]) == ("task", COUNTED, "completed")


def test_leaving_a_stream_does_not_touch_the_task(seen: Facts) -> None:
    facts = told(seen, "leave")
    assert (facts["text"], facts["state"]) == ("1 2 3 4 5 6 7 8 9 10 ", "completed")


def test_a_question_is_answered_by_a_follow_up_message(seen: Facts) -> None:
    facts = told(seen, "follow_up")
    assert (facts["asked"], facts["question"]) == ("input-required", "Up or down?")
    assert (facts["state"], facts["text"], facts["same"]) == ("completed", "5 4 3 2 1 ", True)


def test_a_follow_up_can_be_streamed(seen: Facts, pair: str) -> None:
    facts = told(seen, "stream_follow_up")
    assert facts["asked"] == "input-required"
    assert (facts["text"], facts["state"]) == ("1 2 3 4 5 ", "completed")
    if pair.endswith("our server"):
        assert facts["first"] == "task"


def test_errors_arrive_as_what_they_are(seen: Facts) -> None:
    facts = told(seen, "errors")
    assert {kind: facts[kind] for kind in facts if kind != "scenario"} == {
        "get unknown": "TaskNotFoundError",
        "cancel unknown": "TaskNotFoundError",
        "cancel completed": "TaskNotCancelableError",
        "send to completed": "UnsupportedOperationError",
        "send to unknown": "TaskNotFoundError",
        "subscribe to unknown": "TaskNotFoundError",
    }
