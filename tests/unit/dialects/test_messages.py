"""What messages of A2A 1.0 mean: which fields must be there, and how errors are said in each version."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pybase64
import pytest

from dragoman import _proto, errors, operations, types
from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.grpc import GrpcBinding, error_headers
from dragoman.errors import ReplyMalformed
from tests.unit.dialects import samples
from tests.unit.dialects.grpc_messages import (
    DRAFT,
    NEW,
    OLD,
    answered,
    request,
    violations,
)


def test_an_empty_request_to_send_lacks_its_message() -> None:
    assert violations(NEW, "SendMessage") == {"message": "is required"}
    assert violations(OLD, "SendMessage") == {"request": "is required"}


def test_everything_that_is_wrong_with_a_message_is_named_by_its_path() -> None:
    parts = [{"text": "hi"}, {"filename": "f"}, {"data": {"number_value": float("nan")}}]
    message = {"role": 9, "parts": parts}
    push = {"authentication": {"credentials": "c"}}
    configuration = {"history_length": -1, "task_push_notification_config": push}
    assert violations(NEW, "SendMessage", message=message, configuration=configuration) == {
        "message.message_id": "is required",
        "message.role": "must not be 9",
        "message.parts[1]": "must have exactly one of text, raw, url, data",
        "message.parts[2].data": "must not hold a number that is not finite",
        "configuration.task_push_notification_config.url": "is required",
        "configuration.task_push_notification_config.authentication.scheme": "is required",
        "configuration.history_length": "must not be negative",
    }


def test_a_message_of_nobody_without_parts_lacks_both() -> None:
    found = violations(NEW, "SendMessage", message={"message_id": "m"})
    assert found == {"message.role": "is required", "message.parts": "is required"}


@pytest.mark.parametrize("size", [-1, 0, 101])
def test_a_page_has_one_to_a_hundred_entries(size: int) -> None:
    assert violations(NEW, "ListTasks", page_size=size) == {"page_size": "must be between 1 and 100"}
    assert violations(DRAFT, "ListTasks", page_size=size) == {"page_size": "must be between 1 and 100"}
    if size:
        found = violations(NEW, "ListTaskPushNotificationConfigs", task_id="t", page_size=size)
        assert found == {"page_size": "must be between 1 and 100"}


def test_a_page_size_without_presence_of_0_is_none() -> None:
    assert request(NEW, "ListTaskPushNotificationConfigs", task_id="t").page_size is None


def test_a_filter_by_an_unspecified_state_is_no_filter() -> None:
    assert request(NEW, "ListTasks").status is None
    assert request(NEW, "ListTasks", status=2).status is types.TaskState.WORKING
    assert violations(NEW, "ListTasks", status=77) == {"status": "must not be 77"}


def test_a_time_that_no_calendar_has_is_refused() -> None:
    for stamp in ({"seconds": 2**62}, {"seconds": -(2**62)}, {"nanos": -1}, {"nanos": 1_000_000_000}):
        found = violations(NEW, "ListTasks", status_timestamp_after=stamp)
        assert found == {"status_timestamp_after": "must be a time between the years 1 and 9999"}
    assert list(violations(DRAFT, "ListTasks", last_updated_after=2**62)) == ["last_updated_after"]


def test_a_filter_keeps_microseconds_and_a_status_milliseconds() -> None:
    stamp = {"seconds": -1, "nanos": 123_456_789}
    found = request(NEW, "ListTasks", status_timestamp_after=stamp).status_timestamp_after
    assert found == datetime(1969, 12, 31, 23, 59, 59, 123_456, UTC)
    task = answered(NEW, operations.GET_TASK, id="t", status={"state": 3, "timestamp": stamp})
    assert task.status.timestamp == datetime(1969, 12, 31, 23, 59, 59, 123_000, UTC)


def test_a_reply_may_leave_out_much_but_not_what_it_is_about() -> None:
    event = _proto.message("lf.a2a.v1.StreamResponse")(message={"role": 7})
    message = NEW.decode_event(operations.SUBSCRIBE_TO_TASK, event.SerializeToString())
    assert message == types.Message(message_id="", role=types.Role.AGENT, parts=())
    task = answered(NEW, operations.GET_TASK, id="t", status={"state": 99})
    assert task.status.state is types.TaskState.UNSPECIFIED
    lacking: tuple[dict[str, Any], ...] = ({}, {"id": "t"}, {"status": {}})
    for fields in lacking:
        with pytest.raises(ReplyMalformed, match="is required"):
            answered(NEW, operations.GET_TASK, **fields)
    with pytest.raises(ReplyMalformed, match="the whole must have one of task, message"):
        answered(NEW, operations.SEND_MESSAGE)
    with pytest.raises(ReplyMalformed, match="supported_interfaces is required"):
        answered(NEW, operations.GET_EXTENDED_AGENT_CARD, name="n")


def test_unknown_fields_are_ignored_and_unknown_schemes_left_out() -> None:
    body = NEW.encode_request(operations.GET_TASK, types.GetTaskRequest(id="t"), Target()).body
    outcome = NEW.decode_request(HttpRequest("POST", "/lf.a2a.v1.A2AService/GetTask", body=body + b"\xba\x3e\x01x"))
    assert isinstance(outcome, Call)
    interface = {"url": "u", "protocol_binding": "GRPC", "protocol_version": "1.0"}
    schemes: dict[str, Any] = {
        "odd": {},
        "flowless": {"oauth2_security_scheme": {"flows": {}}},
        "mtls": {"mtls_security_scheme": {}},
    }
    # Protobuf takes no dictionary for a message in a map.
    schemes = {name: _proto.message("lf.a2a.v1.SecurityScheme")(**fields) for name, fields in schemes.items()}
    card = answered(
        NEW, operations.GET_EXTENDED_AGENT_CARD, name="n", supported_interfaces=[interface], security_schemes=schemes
    )
    assert card.security_schemes == {"mtls": types.MutualTlsSecurityScheme()}


def test_whole_numbers_come_back_as_integers() -> None:
    part = types.Part(data={"n": [1, -2.0, 0.5, 2**53 - 1, 1e300, True]})
    message = types.Message(message_id="m", role=types.Role.USER, parts=(part,))
    sent = NEW.encode_request(operations.SEND_MESSAGE, types.SendMessageRequest(message=message), Target())
    call = NEW.decode_request(sent)
    assert isinstance(call, Call)
    numbers = call.request.message.parts[0].data["n"]
    assert numbers == [1, -2, 0.5, 2**53 - 1, 1e300, True]
    assert [type(number) for number in numbers] == [int, int, float, int, float, bool]


def test_data_nested_deeper_than_protobuf_goes_are_refused() -> None:
    value: Any = 1
    for _ in range(40):
        value = {"a": value}
    message = types.Message(message_id="m", role=types.Role.USER, parts=(types.Part(data=value),))
    sent = NEW.encode_request(operations.SEND_MESSAGE, types.SendMessageRequest(message=message), Target())
    outcome = NEW.decode_request(sent)
    assert isinstance(outcome, Refusal)
    assert isinstance(outcome.error, errors.ParseError)


@pytest.mark.parametrize(
    ("dialect", "error", "status"),
    [
        (NEW, errors.UnsupportedOperationError, "9"),
        (DRAFT, errors.UnsupportedOperationError, "12"),
        (OLD, errors.UnsupportedOperationError, "12"),
        (NEW, errors.TaskNotCancelableError, "9"),
        (DRAFT, errors.TaskNotCancelableError, "9"),
        (OLD, errors.TaskNotCancelableError, "12"),
        (NEW, errors.VersionNotSupportedError, "9"),
        (DRAFT, errors.VersionNotSupportedError, "12"),
        (OLD, errors.TaskNotFoundError, "5"),
        (OLD, errors.ContentTypeNotSupportedError, "12"),
        (DRAFT, errors.ContentTypeNotSupportedError, "3"),
        (NEW, errors.UnavailableError, "14"),
        (NEW, errors.RequestTooLargeError, "8"),
    ],
)
def test_statuses_are_those_of_the_version(dialect: GrpcBinding, error: type[errors.A2AError], status: str) -> None:
    assert dialect.encode_error(error(), None).headers["grpc-status"] == status


def test_errors_of_0_3_have_their_name_in_their_text() -> None:
    assert OLD.encode_error(errors.TaskNotFoundError("Gone: 5 %"), None).headers["grpc-message"] == (
        "TaskNotFoundError: Gone: 5 %25"
    )
    headers = error_headers(5, "TaskNotFoundError: Gone: 5 %")
    with pytest.raises(errors.TaskNotFoundError, match=r"^Gone: 5 %$"):
        OLD.decode_result(operations.GET_TASK, HttpReply(200, headers))


def test_errors_have_details() -> None:
    error = errors.InvalidParamsError("No", details={"a": [1]}, violations=[errors.FieldViolation("f", "d")])
    headers = NEW.encode_error(error, None).headers
    assert headers == DRAFT.encode_error(error, None).headers
    encoded = headers["grpc-status-details-bin"]
    assert "=" not in encoded
    status = _proto.parse("google.rpc.Status", pybase64.b64decode(encoded + "=" * (-len(encoded) % 4)))
    assert (status.code, status.message) == (3, "No")
    info, bad = (_proto.parse(one.type_url.removeprefix("type.googleapis.com/"), one.value) for one in status.details)
    assert (info.reason, info.domain, dict(info.metadata)) == ("INVALID_PARAMS", "a2a-protocol.org", {"a": "[1]"})
    assert [(one.field, one.description) for one in bad.field_violations] == [("f", "d")]


def test_extensions_are_named_in_the_metadata_of_the_version() -> None:
    named = Target(parameters=types.ServiceParameters(extensions=("urn:a",)))
    get = types.GetTaskRequest(id="t")
    assert "x-a2a-extensions" not in NEW.encode_request(operations.GET_TASK, get, named).headers
    old = OLD.encode_request(operations.GET_TASK, get, named)
    assert old.headers["x-a2a-extensions"] == old.headers["a2a-extensions"] == "urn:a"
    for headers in ({"x-a2a-extensions": "urn:a"}, {"a2a-extensions": "urn:a"}):
        call = OLD.decode_request(HttpRequest("POST", old.path, "", headers, old.body))
        assert isinstance(call, Call)
        assert call.parameters.extensions == ("urn:a",)


@pytest.mark.parametrize("dialect", [NEW, OLD, DRAFT], ids=lambda dialect: dialect.key)
def test_a_message_without_fields_is_there_all_the_same(dialect: GrpcBinding) -> None:
    nobody = msgspec.structs.replace(samples.CARD, provider=types.AgentProvider(organization="", url=""))
    call = Call(operations.GET_EXTENDED_AGENT_CARD, None, types.ServiceParameters())
    card = dialect.decode_result(call.operation, dialect.encode_result(call, nobody))
    assert card.provider == nobody.provider
