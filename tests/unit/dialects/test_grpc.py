"""What every gRPC dialect does: requests, results, events and errors cross the wire, and odd bytes are refused."""

import random
from typing import Any

import msgspec
import pybase64
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import _proto, errors, operations, types
from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target
from dragoman.dialects.grpc import MAX_DETAILS, MAX_TEXT, STATUSES, GrpcBinding, error_headers
from dragoman.dialects.status import TABLE, Status
from dragoman.dialects.v0_3 import grpc as v0_3
from dragoman.dialects.v1_0.grpc import Grpc
from dragoman.errors import A2AError, FieldViolation, ReplyMalformed
from dragoman.operations import OPERATIONS, Operation
from tests.unit.dialects import samples
from tests.unit.dialects.grpc_losses import kept, like

DIALECTS: tuple[GrpcBinding, ...] = (Grpc(), v0_3.Grpc(), v0_3.DraftGrpc())
FINAL = DIALECTS[0]
CELLS = [(dialect, operation) for dialect in DIALECTS for operation in OPERATIONS if operation in dialect.requests]
MUTATIONS = 7000
"""For each dialect."""

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.key)
each_row = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.error.__name__)
each_cell = pytest.mark.parametrize(
    ("dialect", "operation"), CELLS, ids=[f"{dialect.key}-{operation.name}" for dialect, operation in CELLS]
)


def call_of(dialect: GrpcBinding, operation: Operation, request: Any, target: Target = Target()) -> Call:  # noqa: B008 -- frozen
    sent = dialect.encode_request(operation, request, target)
    outcome = dialect.decode_request(sent)
    assert isinstance(outcome, Call), outcome
    return outcome


@each_cell
def test_every_operation_can_be_sent_and_received(dialect: GrpcBinding, operation: Operation) -> None:
    call = call_of(dialect, operation, samples.REQUESTS[operation])
    assert call.operation is operation
    assert call.request == kept(dialect, samples.REQUESTS[operation])


@each_dialect
def test_an_operation_that_a_version_lacks_cannot_be_sent(dialect: GrpcBinding) -> None:
    for operation in set(OPERATIONS) - set(dialect.requests):
        with pytest.raises(errors.MethodNotFoundError, match=operation.name):
            dialect.encode_request(operation, samples.REQUESTS[operation], Target())


@each_cell
def test_every_result_comes_back(dialect: GrpcBinding, operation: Operation) -> None:
    if operation.streams:
        return
    call = call_of(dialect, operation, samples.REQUESTS[operation])
    reply = dialect.encode_result(call, samples.RESULTS[operation])
    assert reply.status == 200
    assert reply.headers == {"grpc-status": "0"}
    assert dialect.decode_result(operation, reply) == kept(dialect, samples.RESULTS[operation])


@each_dialect
@given(data=st.data(), tenant=samples.tenants)
def test_any_request_comes_back(dialect: GrpcBinding, data: st.DataObject, tenant: str) -> None:
    operation = data.draw(st.sampled_from(list(dialect.requests)))
    request = data.draw(samples.requests[operation])
    call = call_of(dialect, operation, request, Target(tenant=tenant))
    assert like(call.request, kept(dialect, msgspec.structs.replace(request, tenant=tenant)))


@each_dialect
@given(event=samples.events)
def test_any_event_comes_back(dialect: GrpcBinding, event: types.StreamEvent) -> None:
    call = call_of(dialect, operations.SUBSCRIBE_TO_TASK, samples.REQUESTS[operations.SUBSCRIBE_TO_TASK])
    body = dialect.encode_event(call, event, 7)
    assert like(dialect.decode_event(call.operation, body), kept(dialect, event))


@each_dialect
@given(result=samples.tasks | samples.messages)
def test_any_answer_to_a_message_comes_back(dialect: GrpcBinding, result: types.Task | types.Message) -> None:
    call = call_of(dialect, operations.SEND_MESSAGE, samples.REQUESTS[operations.SEND_MESSAGE])
    answer = dialect.decode_result(call.operation, dialect.encode_result(call, result))
    assert like(answer, kept(dialect, result))


@each_dialect
def test_a_page_without_artifacts_leaves_them_out(dialect: GrpcBinding) -> None:
    if operations.LIST_TASKS not in dialect.requests:
        return
    page = types.ListTasksResponse(tasks=(samples.TASK,), next_page_token="", page_size=50, total_size=1)
    call = call_of(dialect, operations.LIST_TASKS, types.ListTasksRequest())
    (task,) = dialect.decode_result(operations.LIST_TASKS, dialect.encode_result(call, page)).tasks
    assert task == kept(dialect, msgspec.structs.replace(samples.TASK, artifacts=()))


@each_dialect
def test_parameters_travel_as_metadata(dialect: GrpcBinding) -> None:
    parameters = types.ServiceParameters(extensions=("urn:a", "urn:b"), trace="00-1-2-00")
    request = samples.REQUESTS[operations.GET_TASK]
    sent = dialect.encode_request(operations.GET_TASK, request, Target(parameters=parameters))
    assert sent.headers["a2a-version"] == dialect.version
    assert sent.method == "POST"
    call = dialect.decode_request(sent)
    assert isinstance(call, Call)
    assert call.parameters == msgspec.structs.replace(parameters, version=dialect.version)


@each_dialect
@pytest.mark.parametrize("path", ["", "/", "/a2a.v1.A2AService/Nothing", "/x.Y/SendMessage", "/SendMessage"])
def test_a_method_that_is_not_there_is_unimplemented(dialect: GrpcBinding, path: str) -> None:
    refusal = dialect.decode_request(HttpRequest("POST", path))
    assert isinstance(refusal, Refusal)
    assert isinstance(refusal.error, errors.MethodNotFoundError)
    assert dialect.encode_error(refusal.error, refusal.reply_to).headers["grpc-status"] == "12"


@each_dialect
def test_every_path_leads_to_its_operation(dialect: GrpcBinding) -> None:
    assert set(dialect.paths.values()) == set(dialect.requests) == set(dialect.results)
    for path, operation in dialect.paths.items():
        assert path in {f"/{service}/{path.rpartition('/')[2]}" for service in _proto.services()}
        assert path[1:].replace("/", ".") in _proto.symbols()
        sent = dialect.encode_request(operation, samples.REQUESTS[operation], Target())
        assert dialect.paths[sent.path] is operation


@each_dialect
@each_row
def test_every_error_crosses_the_wire(row: Status, dialect: GrpcBinding) -> None:
    violations = (FieldViolation("a.b[0]", "is odd"),)
    sent = row.error("what happened: 100 %41, é", details={"taskId": "t", "n": 1}, violations=violations)
    reply = dialect.encode_error(sent, None)
    assert reply.status == 200
    assert reply.body == b""
    with pytest.raises(row.error) as caught:
        dialect.decode_result(operations.GET_TASK, reply)
    assert type(caught.value) is row.error
    assert caught.value.message == "what happened: 100 %41, é"
    assert caught.value.details == {"taskId": "t", "n": "1"}
    assert caught.value.violations == violations


@each_dialect
def test_an_error_that_quotes_nonsense_can_be_sent(dialect: GrpcBinding) -> None:
    violation = FieldViolation("a\udcff", "b\udcff")
    error = errors.InvalidParamsError("at \udcff\n\x00", details={"a\udcff": "/\udcff"}, violations=[violation])
    reply = dialect.encode_error(error, None)
    assert all(value.isascii() and value.isprintable() for value in reply.headers.values())
    with pytest.raises(errors.InvalidParamsError, match=r"at \?\n\x00"):
        dialect.decode_result(operations.GET_TASK, reply)


@each_dialect
def test_an_error_fits_into_metadata_however_long_it_is(dialect: GrpcBinding) -> None:
    violations = [FieldViolation("field" * 100, "description" * 100)] * 20
    error = errors.InvalidParamsError("m" * 100_000, details={"k": "v" * 100_000}, violations=violations)
    reply = dialect.encode_error(error, None)
    assert sum(map(len, reply.headers.values())) < MAX_TEXT + 2 * MAX_DETAILS
    with pytest.raises(errors.InvalidParamsError):
        dialect.decode_result(operations.GET_TASK, reply)


@pytest.mark.parametrize(
    ("headers", "operation", "expected"),
    [
        (error_headers(5, "no such task"), operations.GET_TASK, errors.TaskNotFoundError),
        (error_headers(9, "it is done"), operations.CANCEL_TASK, errors.TaskNotCancelableError),
        (error_headers(9, "it is done"), operations.SEND_MESSAGE, errors.UnsupportedOperationError),
        (error_headers(3, ""), operations.SEND_MESSAGE, errors.InvalidParamsError),
        (error_headers(2, "boom"), operations.SEND_MESSAGE, errors.InternalError),
        (error_headers(14, ""), operations.SEND_MESSAGE, errors.UnavailableError),
        (error_headers(16, ""), operations.SEND_MESSAGE, errors.UnauthenticatedError),
        (error_headers(99, ""), operations.SEND_MESSAGE, errors.InternalError),
        (error_headers(12, "TaskNotCancelableError: done"), operations.CANCEL_TASK, errors.TaskNotCancelableError),
        (error_headers(12, "NobodyKnowsError: x"), operations.SEND_MESSAGE, errors.MethodNotFoundError),
        (error_headers(5, "x", b"\xff\xff"), operations.GET_TASK, errors.TaskNotFoundError),
        ({"grpc-status": "5", "grpc-status-details-bin": "%%"}, operations.GET_TASK, errors.TaskNotFoundError),
        ({"grpc-status": "5", "grpc-message": "%E2%82%zz%"}, operations.GET_TASK, errors.TaskNotFoundError),
    ],
)
@each_dialect
def test_an_error_says_what_it_is_by_reason_then_name_then_status(
    dialect: GrpcBinding, headers: dict[str, str], operation: Operation, expected: type[A2AError]
) -> None:
    with pytest.raises(expected) as caught:
        dialect.decode_result(operation, HttpReply(200, headers))
    assert type(caught.value) is expected


@each_dialect
@pytest.mark.parametrize("status", [None, "", "x", "-1", "٣"])
def test_a_reply_without_a_status_is_malformed(dialect: GrpcBinding, status: str | None) -> None:
    headers = {} if status is None else {"grpc-status": status}
    with pytest.raises(ReplyMalformed):
        dialect.decode_result(operations.GET_TASK, HttpReply(200, headers, b""))


def mutated(random_: random.Random, body: bytes) -> bytes:
    data = bytearray(body)
    for _ in range(random_.randint(1, 4)):
        at = random_.randrange(len(data) + 1)
        match random_.randrange(5):
            case 0 if at < len(data):
                data[at] = random_.randrange(256)
            case 1:
                del data[at:]
            case 2:
                data[at:at] = random_.choice((b"\xff" * 12, b"\x0a\x7f", b"\x00", b"\x0b\x0c", b"\x12\x02\xc3\x28"))
            case 3:
                del data[at : at + random_.randint(1, 9)]
            case _:
                data[at:at] = data[random_.randrange(len(data) + 1) :][:20]
    return bytes(data)


@each_dialect
def test_every_mutation_of_a_valid_request_has_an_answer(dialect: GrpcBinding) -> None:
    random_ = random.Random(20260131)
    valid = [dialect.encode_request(operation, samples.REQUESTS[operation], Target()) for operation in dialect.requests]
    calls = refusals = 0
    for _ in range(MUTATIONS):
        request = random_.choice(valid)
        outcome = dialect.decode_request(msgspec.structs.replace(request, body=mutated(random_, request.body)))
        if isinstance(outcome, Call):
            calls += 1
            msgspec.json.encode(outcome.request)
        else:
            refusals += 1
            reply = dialect.encode_error(outcome.error, outcome.reply_to)
            assert STATUSES[int(reply.headers["grpc-status"])] == "INVALID_ARGUMENT"
    assert calls > MUTATIONS // 20, "the mutations hardly ever leave a request valid"
    assert refusals > MUTATIONS // 5, "the mutations hardly ever break a request"


@each_dialect
def test_every_mutation_of_a_reply_is_read_or_refused(dialect: GrpcBinding) -> None:
    random_ = random.Random(20260201)
    valid: list[tuple[Operation, HttpReply]] = []
    for operation in dialect.requests:
        if not operation.streams:
            call = call_of(dialect, operation, samples.REQUESTS[operation])
            valid.append((operation, dialect.encode_result(call, samples.RESULTS[operation])))
    read = refused = 0
    for _ in range(MUTATIONS // 4):
        operation, reply = random_.choice(valid)
        try:
            dialect.decode_result(operation, msgspec.structs.replace(reply, body=mutated(random_, reply.body)))
            read += 1
        except ReplyMalformed:
            refused += 1
    assert read > 100
    assert refused > 100


@each_dialect
@given(body=st.binary(max_size=40))
def test_any_bytes_have_an_answer(dialect: GrpcBinding, body: bytes) -> None:
    for path in dialect.paths:
        outcome = dialect.decode_request(HttpRequest("POST", path, body=body))
        assert isinstance(outcome, Call | Refusal)


@each_dialect
@given(details=st.binary(max_size=60), text=st.text(st.characters(codec="ascii"), max_size=20))
def test_any_details_of_an_error_have_a_meaning(dialect: GrpcBinding, details: bytes, text: str) -> None:
    for encoded in (pybase64.b64encode(details).decode(), text):
        headers = {"grpc-status": "5", "grpc-message": text, "grpc-status-details-bin": encoded}
        with pytest.raises(A2AError):
            dialect.decode_result(operations.GET_TASK, HttpReply(200, headers))
