"""What one half of a dialect writes, the other half reads back as the same value."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import operations, types
from dragoman.dialects.base import Call, Dialect, HttpReply, Refusal, Target
from dragoman.dialects.card import decode_card, encode_card
from dragoman.dialects.sse import EventReader
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.dialects.v1_0.rest import Rest
from dragoman.operations import OPERATIONS, Operation
from tests.unit.dialects import samples

DIALECTS: tuple[Dialect, ...] = (JsonRpc(), Rest())
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.binding)
each_operation = pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
UNARY = tuple(operation for operation in OPERATIONS if not operation.streams)


def call_of(dialect: Dialect, operation: Operation, request: Any, tenant: str = "") -> Call:
    sent = dialect.encode_request(operation, request, Target(tenant=tenant))
    outcome = dialect.decode_request(sent)
    assert isinstance(outcome, Call), (sent, outcome)
    return outcome


@each_dialect
@each_operation
def test_every_operation_can_be_sent_and_received(dialect: Dialect, operation: Operation) -> None:
    call = call_of(dialect, operation, samples.REQUESTS[operation])
    assert call.operation is operation
    assert call.request == samples.REQUESTS[operation]


@each_dialect
@pytest.mark.parametrize("operation", UNARY, ids=lambda operation: operation.name)
def test_every_result_comes_back(dialect: Dialect, operation: Operation) -> None:
    call = call_of(dialect, operation, samples.REQUESTS[operation])
    reply = dialect.encode_result(call, samples.RESULTS[operation])
    assert reply.status == 200
    assert dialect.decode_result(operation, reply) == samples.RESULTS[operation]


@each_dialect
@given(data=st.data(), operation=st.sampled_from(OPERATIONS), tenant=samples.tenants)
def test_any_request_comes_back(dialect: Dialect, data: st.DataObject, operation: Operation, tenant: str) -> None:
    request = data.draw(samples.requests[operation])
    call = call_of(dialect, operation, request, tenant)
    assert call.request == msgspec.structs.replace(request, tenant=tenant)


@each_dialect
@given(event=samples.events, seq=st.none() | st.integers(0, 2**40))
def test_any_event_comes_back(dialect: Dialect, event: types.StreamEvent, seq: int | None) -> None:
    operation = operations.SUBSCRIBE_TO_TASK
    call = call_of(dialect, operation, samples.REQUESTS[operation])
    (received,) = EventReader().feed(dialect.encode_event(call, event, seq))
    assert received.id == ("" if seq is None else str(seq))
    assert dialect.decode_event(operation, received.data) == event


@each_dialect
@given(result=samples.tasks | samples.messages)
def test_any_answer_to_a_message_comes_back(dialect: Dialect, result: types.Task | types.Message) -> None:
    call = call_of(dialect, operations.SEND_MESSAGE, samples.REQUESTS[operations.SEND_MESSAGE])
    assert dialect.decode_result(operations.SEND_MESSAGE, dialect.encode_result(call, result)) == result


@each_dialect
@given(tasks=st.lists(samples.tasks, min_size=1, max_size=2).map(tuple), token=samples.text)
def test_any_page_of_tasks_comes_back(dialect: Dialect, tasks: tuple[types.Task, ...], token: str) -> None:
    page = types.ListTasksResponse(
        tasks=tasks, next_page_token=token, page_size=50, total_size=2**31 - 1, with_artifacts=True
    )
    call = call_of(dialect, operations.LIST_TASKS, types.ListTasksRequest(include_artifacts=True))
    assert dialect.decode_result(operations.LIST_TASKS, dialect.encode_result(call, page)) == page


def test_a_page_without_artifacts_leaves_them_out() -> None:
    page = types.ListTasksResponse(tasks=(samples.TASK,), next_page_token="", page_size=50, total_size=1)
    for dialect in DIALECTS:
        call = call_of(dialect, operations.LIST_TASKS, types.ListTasksRequest())
        reply = dialect.encode_result(call, page)
        assert b'"artifacts"' not in reply.body
        assert b'"nextPageToken":""' in reply.body
        (task,) = dialect.decode_result(operations.LIST_TASKS, reply).tasks
        assert task == msgspec.structs.replace(samples.TASK, artifacts=())


def test_a_page_with_artifacts_shows_that_a_task_has_none() -> None:
    bare = msgspec.structs.replace(samples.TASK, artifacts=())
    page = types.ListTasksResponse(tasks=(bare,), next_page_token="", page_size=50, total_size=1, with_artifacts=True)
    for dialect in DIALECTS:
        call = call_of(dialect, operations.LIST_TASKS, types.ListTasksRequest())
        reply: HttpReply = dialect.encode_result(call, page)
        assert b'"artifacts":[]' in reply.body
        assert dialect.decode_result(operations.LIST_TASKS, reply) == page


@pytest.mark.parametrize(
    "flow",
    [
        types.AuthorizationCodeOAuthFlow(authorization_url="a", token_url="t", scopes={"s": "d"}, pkce_required=True),
        types.ClientCredentialsOAuthFlow(token_url="t", scopes={}),
        types.DeviceCodeOAuthFlow(device_authorization_url="d", token_url="t", scopes={}, refresh_url="r"),
        types.ImplicitOAuthFlow(authorization_url="a", scopes={"s": ""}),
        types.PasswordOAuthFlow(token_url="t", scopes={"s": ""}),
    ],
    ids=lambda flow: type(flow).__name__,
)
def test_a_whole_card_comes_back(flow: types.OAuthFlow) -> None:
    requirement = {"oauth": ("read",), "key": ()}
    card = msgspec.structs.replace(
        samples.CARD,
        provider=types.AgentProvider(organization="o", url="u"),
        documentation_url="",
        icon_url="i",
        capabilities=types.AgentCapabilities(
            streaming=False,
            extended_agent_card=True,
            extensions=(types.AgentExtension(uri="urn:x", description="d", required=True, params={"a": [1]}),),
        ),
        security_schemes={
            "oauth": types.OAuth2SecurityScheme(flow=flow, oauth2_metadata_url="m", description="d"),
            "key": types.APIKeySecurityScheme(location="header", name="x-key"),
            "http": types.HTTPAuthSecurityScheme(scheme="Bearer", bearer_format="JWT"),
            "oidc": types.OpenIdConnectSecurityScheme(open_id_connect_url="u"),
            "mtls": types.MutualTlsSecurityScheme(),
        },
        security_requirements=(requirement,),
        skills=(
            types.AgentSkill(
                id="s",
                name="n",
                description="d",
                tags=("t",),
                examples=("e",),
                input_modes=("text/plain",),
                output_modes=("image/png",),
                security_requirements=(requirement,),
            ),
        ),
        signatures=(types.AgentCardSignature(protected="p", signature="s", header={"kid": "1"}),),
    )
    assert decode_card(encode_card(card)) == card


@each_dialect
def test_whatever_is_refused_is_refused_with_a_value(dialect: Dialect) -> None:
    outcome = dialect.decode_request(dialect.encode_request(operations.GET_TASK, types.GetTaskRequest(id=""), Target()))
    assert isinstance(outcome, Refusal)
    assert [violation.field for violation in outcome.error.violations] == ["id"]
