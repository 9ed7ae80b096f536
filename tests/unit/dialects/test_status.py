"""The error table: complete, and the same in both directions."""

import pytest

from dragoman import errors
from dragoman.dialects.base import Dialect, Target
from dragoman.dialects.status import TABLE, Status, error_type, status_of
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.dialects.v1_0.rest import Rest
from dragoman.errors import A2AError, FieldViolation
from dragoman.operations import GET_TASK
from dragoman.types import GetTaskRequest

each_row = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.error.__name__)
DIALECTS: tuple[Dialect, ...] = (JsonRpc(), Rest())


def leaves(cls: type[A2AError]) -> set[type[A2AError]]:
    below = cls.__subclasses__()
    return {cls} - {A2AError} | {leaf for sub in below for leaf in leaves(sub)}


def test_every_error_has_a_row() -> None:
    ours = {cls for cls in leaves(A2AError) if cls.__module__ == "dragoman.errors"}
    assert {row.error for row in TABLE} == ours


@pytest.mark.parametrize(
    ("error", "code", "http", "grpc"),
    [
        (errors.TaskNotFoundError, -32001, 404, "NOT_FOUND"),
        (errors.TaskNotCancelableError, -32002, 400, "FAILED_PRECONDITION"),
        (errors.PushNotificationNotSupportedError, -32003, 400, "FAILED_PRECONDITION"),
        (errors.UnsupportedOperationError, -32004, 400, "FAILED_PRECONDITION"),
        (errors.ContentTypeNotSupportedError, -32005, 400, "INVALID_ARGUMENT"),
        (errors.InvalidAgentResponseError, -32006, 500, "INTERNAL"),
        (errors.ExtendedAgentCardNotConfiguredError, -32007, 400, "FAILED_PRECONDITION"),
        (errors.ExtensionSupportRequiredError, -32008, 400, "FAILED_PRECONDITION"),
        (errors.VersionNotSupportedError, -32009, 400, "FAILED_PRECONDITION"),
        (errors.ParseError, -32700, 400, "INVALID_ARGUMENT"),
        (errors.RequestTooLargeError, -32600, 413, "RESOURCE_EXHAUSTED"),
        (errors.UnavailableError, -32603, 503, "UNAVAILABLE"),
    ],
)
def test_the_codes_are_those_of_the_specification(error: type[A2AError], code: int, http: int, grpc: str) -> None:
    assert status_of(error()) == Status(error, code, http, grpc)


@each_row
def test_the_reason_alone_says_which_error_it_is(row: Status) -> None:
    assert error_type(row.error.reason, -32603, 500) is row.error


@each_row
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.binding)
def test_every_error_crosses_the_wire(row: Status, dialect: Dialect) -> None:
    call = dialect.decode_request(dialect.encode_request(GET_TASK, GetTaskRequest(id="t"), Target()))
    violations = (FieldViolation("a.b[0]", "is odd"),)
    sent = row.error("what happened", details={"taskId": "t", "n": 1}, violations=violations)
    with pytest.raises(row.error) as caught:
        dialect.decode_result(GET_TASK, dialect.encode_error(sent, call.reply_to))
    assert type(caught.value) is row.error
    assert caught.value.message == "what happened"
    assert caught.value.details == {"taskId": "t", "n": "1"}, "metadata are strings on the wire"
    assert caught.value.violations == violations


@pytest.mark.parametrize(
    ("reason", "code", "http", "expected"),
    [
        ("TASK_NOT_FOUND", -32602, 500, errors.TaskNotFoundError),
        ("TaskNotFoundError", None, None, errors.TaskNotFoundError),
        ("https://a2a-protocol.org/errors/task-not-cancelable", None, 409, errors.TaskNotCancelableError),
        ("UNAUTHORIZED", -31403, 403, errors.PermissionDeniedError),
        ("SERVER_ERROR", None, 500, errors.InternalError),
        ("SOMETHING_ELSE", -32004, 400, errors.UnsupportedOperationError),
        (None, -32009, 400, errors.VersionNotSupportedError),
        (None, -31401, 200, errors.UnauthenticatedError),
        (None, None, 404, errors.TaskNotFoundError),
        (None, None, 415, errors.ContentTypeNotSupportedError),
        (None, None, 418, errors.InvalidRequestError),
        (None, None, 599, errors.InternalError),
        (None, -1, None, errors.InternalError),
    ],
)
def test_reason_comes_before_code_before_status(
    reason: str | None, code: int | None, http: int | None, expected: type[A2AError]
) -> None:
    assert error_type(reason, code, http) is expected


def test_an_error_of_ones_own_has_the_status_of_what_it_is() -> None:
    class MissingOrder(errors.TaskNotFoundError):
        pass

    assert status_of(MissingOrder()).http == 404
    assert status_of(A2AError("?")).error is errors.InternalError


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.binding)
def test_an_error_that_quotes_nonsense_can_be_sent(dialect: Dialect) -> None:
    reply = dialect.encode_error(errors.MethodNotFoundError("at /\udcff", details={"path": "/\udcff"}), None)
    with pytest.raises(errors.MethodNotFoundError, match=r"at /\?") as caught:
        dialect.decode_result(GET_TASK, reply)
    assert caught.value.details == {"path": "/?"}
