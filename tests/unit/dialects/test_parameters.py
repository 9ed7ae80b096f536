"""What travels beside a request: the last event that a caller has, in every dialect."""

import pytest

from dragoman.dialects.base import Call, Dialect, Target
from dragoman.dialects.every import every_dialect
from dragoman.dialects.parameters import headers_of, parameters_of
from dragoman.operations import SUBSCRIBE_TO_TASK
from dragoman.types.requests import ServiceParameters, SubscribeToTaskRequest

DIALECTS = every_dialect("accept")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.key)
def test_the_last_event_that_a_caller_has_travels_in_every_dialect(dialect: Dialect) -> None:
    target = Target(parameters=ServiceParameters(last_event_id=41))
    sent = dialect.encode_request(SUBSCRIBE_TO_TASK, SubscribeToTaskRequest(id="t"), target)
    name = "a2a-last-event-id" if dialect.binding == "GRPC" else "last-event-id"
    assert {key: value for key, value in sent.headers.items() if "event-id" in key} == {name: "41"}
    call = dialect.decode_request(sent)
    assert isinstance(call, Call)
    assert call.parameters == ServiceParameters(version=dialect.version, last_event_id=41)


def test_both_names_are_read_and_that_of_server_sent_events_counts_first() -> None:
    assert parameters_of({"a2a-last-event-id": "7"}, "1.0").last_event_id == 7
    assert parameters_of({"a2a-last-event-id": "7", "last-event-id": "8"}, "1.0").last_event_id == 8


def test_a_number_may_be_said_as_protobuf_has_it() -> None:
    assert parameters_of({"a2a-last-event-id": "7.0"}, "1.0").last_event_id == 7


@pytest.mark.parametrize(
    "text", [".0", "", "x", "-1", "1.5", "+1", " 1", "\u0664", "\u00b2", "9" * 19, "9" * 5000, "2-x"]
)
def test_what_is_no_number_of_an_event_says_nothing(text: str) -> None:
    assert parameters_of({"last-event-id": text}, "1.0") == ServiceParameters(version="1.0")


def test_a_request_that_has_no_event_names_none() -> None:
    assert headers_of(ServiceParameters(), "1.0") == {"a2a-version": "1.0"}
