"""What one half of a draft dialect writes, the other half reads back, up to the losses that `left_of` names."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from dragoman import operations, types
from dragoman.dialects.base import Call, Dialect, HttpReply, Target
from dragoman.operations import OPERATIONS, Operation
from tests.unit.dialects import samples
from tests.unit.dialects.draft.speaking import REST, RPC

each_dialect = pytest.mark.parametrize("dialect", [RPC, REST], ids=["rpc", "rest"])
RESULTS: dict[Operation, st.SearchStrategy[Any]] = {
    operations.SEND_MESSAGE: samples.tasks | samples.messages,
    operations.GET_TASK: samples.tasks,
    operations.LIST_TASKS: st.builds(
        types.ListTasksResponse,
        tasks=st.lists(samples.tasks, max_size=2).map(tuple),
        next_page_token=samples.text,
        page_size=st.integers(0, 100),
        total_size=st.integers(0, 2**31 - 1),
        with_artifacts=st.just(value=True),
    ),
}


def left_of_part(part: types.Part) -> types.Part:
    """Only files have a media type and a name; data is an object."""
    if part.text is None and part.data is UNSET:
        return part
    data = part.data if part.data is UNSET or isinstance(part.data, dict) else {"value": part.data}
    return replace(part, data=data, filename=None, media_type=None)


def left_of(value: Any) -> Any:
    """The value without what the draft cannot say."""
    match value:
        case types.Message() | types.Artifact():
            return replace(value, parts=tuple(map(left_of_part, value.parts)))
        case types.TaskStatus():
            return replace(value, message=left_of(value.message))
        case types.Task():
            return replace(
                value,
                status=left_of(value.status),
                artifacts=tuple(map(left_of, value.artifacts)),
                history=tuple(map(left_of, value.history)),
            )
        case types.TaskStatusUpdateEvent() | types.TaskArtifactUpdateEvent():
            name = "status" if isinstance(value, types.TaskStatusUpdateEvent) else "artifact"
            return replace(value, **{name: left_of(getattr(value, name))})
        case types.ListTasksResponse():
            tasks = tuple(map(left_of, value.tasks))
            return replace(value, tasks=tasks, with_artifacts=bool(tasks) and value.with_artifacts)
        case _:
            return value


def left_of_request(request: Any) -> Any:
    """The request without what the draft cannot say; inside a message a push configuration has no task."""
    match request:
        case types.SendMessageRequest(configuration=given):
            config = given.task_push_notification_config
            asked = replace(
                given, task_push_notification_config=None if config is None else replace(config, task_id="")
            )
            return replace(request, message=left_of(request.message), configuration=asked)
        case types.ListTasksRequest():
            return replace(request, history_length=request.history_length or 0)
        case _:
            return request


@each_dialect
@given(data=st.data(), operation=st.sampled_from(OPERATIONS), tenant=samples.tenants)
def test_any_request_comes_back(dialect: Dialect, data: st.DataObject, operation: Operation, tenant: str) -> None:
    request = data.draw(samples.requests[operation])
    outcome = dialect.decode_request(dialect.encode_request(operation, request, Target(tenant=tenant)))
    assert isinstance(outcome, Call), outcome
    assert outcome.operation is operation
    assert outcome.request == replace(left_of_request(request), tenant=tenant)


@each_dialect
@given(data=st.data(), operation=st.sampled_from(list(RESULTS)))
def test_any_result_comes_back(dialect: Dialect, data: st.DataObject, operation: Operation) -> None:
    result = data.draw(RESULTS[operation])
    reply = dialect.encode_result(Call(operation, None, types.ServiceParameters(), 1), result)
    assert dialect.decode_result(operation, reply) == left_of(result)


@each_dialect
@pytest.mark.parametrize("operation", [one for one in OPERATIONS if not one.streams], ids=lambda one: one.name)
def test_every_result_comes_back(dialect: Dialect, operation: Operation) -> None:
    reply = dialect.encode_result(Call(operation, None, types.ServiceParameters(), 1), samples.RESULTS[operation])
    read = dialect.decode_result(operation, HttpReply(reply.status, reply.headers, reply.body))
    if operation is operations.GET_EXTENDED_AGENT_CARD:
        read = replace(read, supported_interfaces=samples.CARD.supported_interfaces)
    assert read == left_of(samples.RESULTS[operation])


@each_dialect
@given(event=samples.events)
def test_any_event_comes_back(dialect: Dialect, event: types.StreamEvent) -> None:
    operation = operations.SUBSCRIBE_TO_TASK
    framed = dialect.encode_event(Call(operation, None, types.ServiceParameters(), 1), event, 7)
    assert framed.startswith(b"id: 7\ndata: ")
    assert dialect.decode_event(operation, framed.partition(b"data: ")[2]) == left_of(event)


def test_the_losses_are_those_of_the_samples() -> None:
    """The samples have each loss, so that none goes unnoticed."""
    assert left_of(samples.MESSAGE) != samples.MESSAGE
    assert msgspec.json.encode(left_of(samples.MESSAGE).parts[-1].data) == b'{"value":null}'
