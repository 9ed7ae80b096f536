"""What a request may look like and still mean the same, and what is said about one that is wrong."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from dragoman import errors, operations, types
from dragoman.dialects.base import Call, HttpRequest, Refusal
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.operations import Operation
from dragoman.types import Role, TaskState

DIALECT = JsonRpc()


def outcome_of(operation: Operation, params: Any) -> Call | Refusal:
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": operation.name, "params": params})
    return DIALECT.decode_request(HttpRequest("POST", "/", body=body))


def read(operation: Operation, params: Any) -> Any:
    outcome = outcome_of(operation, params)
    assert isinstance(outcome, Call), outcome
    return outcome.request


def violations(operation: Operation, params: Any) -> dict[str, str]:
    outcome = outcome_of(operation, params)
    assert isinstance(outcome, Refusal), outcome
    assert isinstance(outcome.error, errors.InvalidParamsError)
    assert outcome.reply_to == 1
    return {violation.field: violation.description for violation in outcome.error.violations}


def message(**changes: Any) -> dict[str, Any]:
    plain = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]} | changes
    return {"message": {name: value for name, value in plain.items() if value is not UNSET}}


def read_part(part: dict[str, Any]) -> types.Part:
    (read_back,) = read(operations.SEND_MESSAGE, message(parts=[part])).message.parts
    assert isinstance(read_back, types.Part)
    return read_back


def test_members_may_be_in_snake_case() -> None:
    request = read(
        operations.SEND_MESSAGE,
        {
            "message": {
                "message_id": "m",
                "context_id": "c",
                "task_id": "t",
                "role": "ROLE_USER",
                "parts": [{"text": "hi", "media_type": "text/plain"}],
                "reference_task_ids": ["r"],
            },
            "configuration": {
                "accepted_output_modes": ["text/plain"],
                "return_immediately": True,
                "history_length": 2,
                "task_push_notification_config": {"url": "http://x", "task_id": "t"},
            },
        },
    )
    assert request.message == types.Message(
        message_id="m",
        role=Role.USER,
        parts=(types.Part(text="hi", media_type="text/plain"),),
        context_id="c",
        task_id="t",
        reference_task_ids=("r",),
    )
    assert request.configuration.return_immediately
    assert request.configuration.history_length == 2
    assert request.configuration.accepted_output_modes == ("text/plain",)


def test_the_camel_case_spelling_counts_before_the_other() -> None:
    assert read(operations.SEND_MESSAGE, message(taskId="right", task_id="wrong")).message.task_id == "right"


def test_unknown_members_are_ignored_everywhere() -> None:
    odd = message(kind="message", final=True, parts=[{"text": "hi", "kind": "text"}]) | {"x": {"y": [1]}}
    assert read(operations.SEND_MESSAGE, odd) == read(operations.SEND_MESSAGE, message())


def test_null_is_absent() -> None:
    nothing = dict.fromkeys(["contextId", "taskId", "metadata", "extensions", "referenceTaskIds"])
    params = message(**nothing) | {"configuration": None, "tenant": None}
    assert read(operations.SEND_MESSAGE, params) == read(operations.SEND_MESSAGE, message())


def test_empty_strings_are_absent_where_presence_does_not_exist() -> None:
    assert read(operations.SEND_MESSAGE, message(contextId="", taskId="")) == read(operations.SEND_MESSAGE, message())
    assert read(operations.LIST_TASKS, {"contextId": ""}).context_id is None


@pytest.mark.parametrize("value", [5, "5", 5.0, "5.0", "5.00"])
def test_integers_may_be_strings_or_whole_floats(value: Any) -> None:
    assert read(operations.GET_TASK, {"id": "t", "historyLength": value}).history_length == 5


@pytest.mark.parametrize(
    "spelling",
    [
        "TASK_STATE_INPUT_REQUIRED", "task_state_input_required", "INPUT_REQUIRED", "input-required", "input_required",
        "Input-Required", 6, "6", 6.0,
    ],
)  # fmt: skip
def test_states_are_known_in_every_spelling(spelling: Any) -> None:
    assert read(operations.LIST_TASKS, {"status": spelling}).status is TaskState.INPUT_REQUIRED


@pytest.mark.parametrize("spelling", ["TASK_STATE_CANCELED", "TASK_STATE_CANCELLED", "canceled", "cancelled", 5])
def test_canceled_has_one_l_or_two(spelling: Any) -> None:
    assert read(operations.LIST_TASKS, {"status": spelling}).status is TaskState.CANCELED


@pytest.mark.parametrize("number", range(1, 9))
def test_the_numbers_of_states_are_those_of_the_proto(number: int) -> None:
    assert read(operations.LIST_TASKS, {"status": number}).status is list(TaskState)[number]


@pytest.mark.parametrize("spelling", ["TASK_STATE_UNSPECIFIED", "unknown", 0])
def test_an_unspecified_state_filters_nothing(spelling: Any) -> None:
    assert read(operations.LIST_TASKS, {"status": spelling}).status is None


@pytest.mark.parametrize("spelling", ["ROLE_AGENT", "agent", "Agent", 2])
def test_roles_are_known_in_every_spelling(spelling: Any) -> None:
    assert read(operations.SEND_MESSAGE, message(role=spelling)).message.role is Role.AGENT


@pytest.mark.parametrize("raw", ["+/+/AA==", "-_-_AA==", "-_-_AA", "+/+/AA", "-/+_AA="])
def test_base64_of_either_alphabet_padded_or_not_is_normalised(raw: str) -> None:
    assert read_part({"raw": raw}).base64 == "+/+/AA=="


def test_null_data_is_data_when_it_stands_alone() -> None:
    assert read_part({"data": None}) == types.Part(data=None)
    assert read_part({"data": None, "text": "x"}) == types.Part(text="x")
    assert read_part({"data": {"x": None}}) == types.Part(data={"x": None})


def test_an_empty_text_is_a_text() -> None:
    assert read_part({"text": "", "filename": ""}) == types.Part(text="")


def test_big_documents_are_no_deep_ones() -> None:
    wide = [{"a": [1]} for _ in range(500)]
    assert read_part({"data": wide}) == types.Part(data=wide)


NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31T12:00:00Z", NOON),
        ("2026-01-31t12:00:00z", NOON),
        ("2026-01-31T12:00:00.5Z", NOON + timedelta(milliseconds=500)),
        ("2026-01-31T12:00:00.123456Z", NOON + timedelta(microseconds=123456)),
        ("2026-01-31T12:00:00.123456000Z", NOON + timedelta(microseconds=123456)),
        ("2026-01-31T14:00:00+02:00", NOON),
        ("2026-01-31T06:30:00.000-05:30", NOON),
        (1769860800000, NOON),
        ("1769860800000", NOON),
    ],
)
@pytest.mark.parametrize("name", ["statusTimestampAfter", "status_timestamp_after", "lastUpdatedAfter"])
def test_times_are_read_with_any_offset_and_precision(text: Any, moment: datetime, name: str) -> None:
    after = read(operations.LIST_TASKS, {name: text}).status_timestamp_after
    assert after == moment
    assert after.tzinfo is UTC


def test_times_are_written_in_utc_with_three_digits() -> None:
    elsewhere = datetime(2026, 1, 31, 14, 0, 0, 999_999, timezone(timedelta(hours=2)))
    task = types.Task(id="t", context_id="c", status=types.TaskStatus(state=TaskState.WORKING, timestamp=elsewhere))
    call = outcome_of(operations.GET_TASK, {"id": "t"})
    assert isinstance(call, Call)
    assert b'"timestamp":"2026-01-31T12:00:00.999Z"' in DIALECT.encode_result(call, task).body


STATES = "must be one of " + ", ".join(
    f"TASK_STATE_{state.name}" for state in TaskState if state.value != "unspecified"
)
CONTENT = "must have exactly one of text, raw, url, data"


WRONG: list[tuple[Operation, Any, dict[str, str]]] = [
    (operations.SEND_MESSAGE, {}, {"message": "is required"}),
    (operations.SEND_MESSAGE, {"message": "hi"}, {"message": "must be an object"}),
    (operations.SEND_MESSAGE, message(messageId=UNSET), {"message.messageId": "is required"}),
    (operations.SEND_MESSAGE, message(messageId=""), {"message.messageId": "must not be empty"}),
    (operations.SEND_MESSAGE, message(messageId=5), {"message.messageId": "must be a string"}),
    (operations.SEND_MESSAGE, message(role=UNSET), {"message.role": "is required"}),
    (operations.SEND_MESSAGE, message(role="ROLE_UNSPECIFIED"), {"message.role": "is required"}),
    (operations.SEND_MESSAGE, message(role="boss"), {"message.role": "must be one of ROLE_USER, ROLE_AGENT"}),
    (operations.SEND_MESSAGE, message(parts=UNSET), {"message.parts": "is required"}),
    (operations.SEND_MESSAGE, message(parts=[]), {"message.parts": "must not be empty"}),
    (operations.SEND_MESSAGE, message(parts={}), {"message.parts": "must be an array"}),
    (operations.SEND_MESSAGE, message(parts=["hi"]), {"message.parts[0]": "must be an object"}),
    (operations.SEND_MESSAGE, message(parts=[{}]), {"message.parts[0]": CONTENT}),
    (operations.SEND_MESSAGE, message(parts=[{"text": "a", "url": "b"}]), {"message.parts[0]": CONTENT}),
    (operations.SEND_MESSAGE, message(parts=[{"raw": "a"}]), {"message.parts[0].raw": "must be base64"}),
    (operations.SEND_MESSAGE, message(parts=[{"raw": "a b="}]), {"message.parts[0].raw": "must be base64"}),
    (operations.SEND_MESSAGE, message(metadata=[]), {"message.metadata": "must be an object"}),
    (operations.SEND_MESSAGE, message(extensions=[1]), {"message.extensions[0]": "must be a string"}),
    (
        operations.SEND_MESSAGE,
        message() | {"configuration": {"returnImmediately": "yes", "historyLength": -1}},
        {
            "configuration.returnImmediately": "must be true or false",
            "configuration.historyLength": "must not be negative",
        },
    ),
    (
        operations.SEND_MESSAGE,
        message() | {"configuration": {"taskPushNotificationConfig": {"authentication": {}}}},
        {
            "configuration.taskPushNotificationConfig.url": "is required",
            "configuration.taskPushNotificationConfig.authentication.scheme": "is required",
        },
    ),
    (operations.GET_TASK, {}, {"id": "is required"}),
    (operations.GET_TASK, {"id": ""}, {"id": "must not be empty"}),
    (operations.GET_TASK, {"id": "t", "historyLength": 1.5}, {"historyLength": "must be an integer"}),
    (operations.GET_TASK, {"id": "t", "historyLength": True}, {"historyLength": "must be an integer"}),
    (operations.GET_TASK, {"id": "t", "historyLength": 2**31}, {"historyLength": "must fit into 32 bits"}),
    (operations.LIST_TASKS, {"pageSize": 0}, {"pageSize": "must be between 1 and 100"}),
    (operations.LIST_TASKS, {"pageSize": 101}, {"pageSize": "must be between 1 and 100"}),
    (operations.LIST_TASKS, {"status": "busy"}, {"status": STATES}),
    (operations.LIST_TASKS, {"pageToken": 5}, {"pageToken": "must be a string"}),
    (
        operations.LIST_TASKS,
        {"statusTimestampAfter": "yesterday"},
        {"statusTimestampAfter": "must be a time as in 2026-01-31T12:00:00.000Z"},
    ),
    (
        operations.LIST_TASKS,
        {"statusTimestampAfter": "2026-01-31T12:00:00"},
        {"statusTimestampAfter": "must be a time as in 2026-01-31T12:00:00.000Z"},
    ),
    (operations.CREATE_PUSH_CONFIG, {"url": "http://x"}, {"taskId": "is required"}),
    (operations.GET_PUSH_CONFIG, {}, {"taskId": "is required", "id": "is required"}),
    (operations.LIST_PUSH_CONFIGS, {"taskId": "t", "pageSize": 0}, {"pageSize": "must be between 1 and 100"}),
]


@pytest.mark.parametrize(("operation", "params", "expected"), WRONG)
def test_everything_that_is_wrong_is_named(operation: Operation, params: Any, expected: dict[str, str]) -> None:
    assert violations(operation, params) == expected


def test_the_message_of_the_error_says_the_first_thing_that_is_wrong() -> None:
    outcome = outcome_of(operations.GET_PUSH_CONFIG, {})
    assert isinstance(outcome, Refusal)
    assert outcome.error.message == "Invalid parameters: taskId is required (and 1 more)"


def test_the_number_of_violations_is_bounded() -> None:
    assert len(violations(operations.SEND_MESSAGE, message(parts=[{}] * 1000))) == 20


def test_nesting_has_a_limit() -> None:
    def nested(levels: int) -> Any:
        value: Any = 1
        for _ in range(levels):
            value = [value]
        return value

    assert read_part({"data": nested(90)}).data == nested(90)
    for levels in (101, 300):
        outcome = outcome_of(operations.SEND_MESSAGE, message(parts=[{"data": nested(levels)}]))
        assert isinstance(outcome, Refusal)
        assert isinstance(outcome.error, errors.InvalidParamsError)
        assert "nested deeper than 100" in outcome.error.message
