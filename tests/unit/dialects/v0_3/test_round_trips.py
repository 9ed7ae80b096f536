"""What one half of a 0.3 dialect writes, the other half reads back, up to the losses that are named."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import operations, types
from dragoman.dialects.base import Call, Dialect, Refusal, Target
from dragoman.dialects.sse import EventReader
from dragoman.dialects.v0_3.jsonrpc import JsonRpc
from dragoman.dialects.v0_3.rest import Rest
from dragoman.errors import MethodNotFoundError
from dragoman.operations import OPERATIONS, Operation
from tests.unit.dialects import samples
from tests.unit.dialects.v0_3.losses import left_of, left_of_request

RPC, REST = JsonRpc(), Rest()
DIALECTS: tuple[Dialect, ...] = (RPC, REST)
HAS = tuple(
    (dialect, operation) for dialect in (RPC, REST) for operation in OPERATIONS if operation in dialect.requests
)
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.binding)
each_row = pytest.mark.parametrize(
    ("dialect", "operation"), HAS, ids=lambda value: value.name if isinstance(value, Operation) else value.binding
)


def call_of(dialect: Dialect, operation: Operation, request: Any, tenant: str = "") -> Call:
    sent = dialect.encode_request(operation, request, Target(tenant=tenant))
    outcome = dialect.decode_request(sent)
    assert isinstance(outcome, Call), (sent, outcome)
    return outcome


def test_json_rpc_has_every_operation_but_the_list_of_tasks() -> None:
    assert set(OPERATIONS) - set(RPC.methods.values()) == {operations.LIST_TASKS}
    assert set(REST.requests) == set(OPERATIONS)
    with pytest.raises(MethodNotFoundError):
        RPC.encode_request(operations.LIST_TASKS, types.ListTasksRequest(), Target())


@each_row
def test_every_operation_can_be_sent_and_received(dialect: Dialect, operation: Operation) -> None:
    call = call_of(dialect, operation, samples.REQUESTS[operation])
    assert call.operation is operation
    assert call.request == left_of_request(samples.REQUESTS[operation], dialect.binding)


@each_row
def test_every_result_comes_back(dialect: Dialect, operation: Operation) -> None:
    if operation.streams or operation is operations.GET_EXTENDED_AGENT_CARD:
        return
    call = call_of(dialect, operation, samples.REQUESTS[operation])
    reply = dialect.encode_result(call, samples.RESULTS[operation])
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert dialect.decode_result(operation, reply) == left_of(samples.RESULTS[operation], dialect.binding)


@given(data=st.data(), row=st.sampled_from(HAS), tenant=samples.tenants)
def test_any_request_comes_back(data: st.DataObject, row: tuple[Dialect, Operation], tenant: str) -> None:
    dialect, operation = row
    request = data.draw(samples.requests[operation])
    call = call_of(dialect, operation, request, tenant)
    assert call.request == msgspec.structs.replace(left_of_request(request, dialect.binding), tenant=tenant)


@each_dialect
@given(event=samples.events, seq=st.none() | st.integers(0, 2**40))
def test_any_event_comes_back(dialect: Dialect, event: types.StreamEvent, seq: int | None) -> None:
    operation = operations.SUBSCRIBE_TO_TASK
    call = call_of(dialect, operation, samples.REQUESTS[operation])
    (received,) = EventReader().feed(dialect.encode_event(call, event, seq))
    assert received.id == ("" if seq is None else str(seq))
    assert dialect.decode_event(operation, received.data) == left_of(event, dialect.binding)


@each_dialect
@given(result=samples.tasks | samples.messages)
def test_any_answer_to_a_message_comes_back(dialect: Dialect, result: types.Task | types.Message) -> None:
    call = call_of(dialect, operations.SEND_MESSAGE, samples.REQUESTS[operations.SEND_MESSAGE])
    reply = dialect.encode_result(call, result)
    assert dialect.decode_result(operations.SEND_MESSAGE, reply) == left_of(result, dialect.binding)


@given(tasks=st.lists(samples.tasks, max_size=2).map(tuple), token=samples.text)
def test_any_page_of_tasks_comes_back_over_http_json(tasks: tuple[types.Task, ...], token: str) -> None:
    page = types.ListTasksResponse(tasks=tasks, next_page_token=token, page_size=50, total_size=50)
    call = call_of(REST, operations.LIST_TASKS, types.ListTasksRequest())
    reply = REST.encode_result(call, page)
    assert REST.decode_result(operations.LIST_TASKS, reply) == left_of(page, REST.binding)


@each_dialect
def test_whatever_is_refused_is_refused_with_a_value(dialect: Dialect) -> None:
    outcome = dialect.decode_request(dialect.encode_request(operations.GET_TASK, types.GetTaskRequest(id=""), Target()))
    assert isinstance(outcome, Refusal)
    assert [violation.field for violation in outcome.error.violations] == ["id"]
