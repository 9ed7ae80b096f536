"""What package `a2a.v1` says in its own way, and where 0.3 and the draft mean different things by it."""

from typing import Any

import msgspec
import pytest

from dragoman import _proto, operations, types
from dragoman.dialects.base import Call
from dragoman.dialects.grpc import GrpcBinding
from dragoman.errors import ReplyMalformed
from tests.unit.dialects import samples
from tests.unit.dialects.grpc_messages import DRAFT, OLD, OLDER_HELLO, answered, request, violations, written

each_older = pytest.mark.parametrize("dialect", [OLD, DRAFT], ids=lambda dialect: dialect.key)


@pytest.mark.parametrize(
    ("dialect", "configuration", "at_once"),
    [
        (OLD, None, False),
        (OLD, {}, True),
        (OLD, {"blocking": True}, False),
        (DRAFT, None, True),
        (DRAFT, {}, True),
        (DRAFT, {"blocking": True}, False),
    ],
)
def test_blocking_means_what_its_version_says(dialect: GrpcBinding, configuration: Any, at_once: bool) -> None:
    fields = {} if configuration is None else {"configuration": configuration}
    assert request(dialect, "SendMessage", request=OLDER_HELLO, **fields).configuration.return_immediately is at_once


@each_older
@pytest.mark.parametrize("at_once", [True, False])
def test_whether_to_wait_is_always_said(dialect: GrpcBinding, at_once: bool) -> None:
    configuration = types.SendMessageConfiguration(return_immediately=at_once)
    value = types.SendMessageRequest(message=samples.MESSAGE, configuration=configuration)
    message = written(dialect, operations.SEND_MESSAGE, value)
    assert message.HasField("configuration")
    assert message.configuration.blocking is not at_once


def test_a_history_length_of_0_is_no_limit_in_0_3_and_no_history_in_the_draft() -> None:
    for method, fields in (
        ("GetTask", {"name": "tasks/t", "history_length": 0}),
        ("SendMessage", {"request": OLDER_HELLO, "configuration": {"history_length": 0}}),
    ):
        old, draft = request(OLD, method, **fields), request(DRAFT, method, **fields)
        assert getattr(old, "configuration", old).history_length is None
        assert getattr(draft, "configuration", draft).history_length == 0
    assert request(OLD, "GetTask", name="tasks/t", history_length=3).history_length == 3
    assert list(violations(OLD, "GetTask", name="tasks/t", history_length=-3)) == ["history_length"]


@each_older
@pytest.mark.parametrize("state", types.TaskState, ids=lambda state: state.name)
def test_a_status_is_final_if_it_ends_the_turn(dialect: GrpcBinding, state: types.TaskState) -> None:
    event = types.TaskStatusUpdateEvent(task_id="t", context_id="c", status=types.TaskStatus(state=state))
    body = dialect.encode_event(Call(operations.SUBSCRIBE_TO_TASK, None, types.ServiceParameters()), event, None)
    update = _proto.parse("a2a.v1.StreamResponse", body).status_update
    assert update.final is (state.terminal or state is types.TaskState.INPUT_REQUIRED)
    update.final = not update.final
    again = _proto.message("a2a.v1.StreamResponse")(status_update=update)
    assert dialect.decode_event(operations.SUBSCRIBE_TO_TASK, again.SerializeToString()) == event


@each_older
@pytest.mark.parametrize("name", ["", "t", "tasks/", "task/t", "/tasks/t", "tasks"])
def test_a_task_has_a_resource_name(dialect: GrpcBinding, name: str) -> None:
    assert violations(dialect, "GetTask", name=name) == {"name": "must be tasks/{id}"}
    assert violations(dialect, "ListTaskPushNotificationConfig", parent=name) == {"parent": "must be tasks/{id}"}


@each_older
def test_a_push_configuration_has_a_resource_name(dialect: GrpcBinding) -> None:
    name = "tasks/t/pushNotificationConfigs/c/d"
    assert request(dialect, "GetTaskPushNotificationConfig", name=name).id == "c/d"
    assert request(dialect, "DeleteTaskPushNotificationConfig", name=name).task_id == "t"
    for short in ("tasks/t", "tasks/t/pushNotificationConfigs/"):
        first = request(dialect, "GetTaskPushNotificationConfig", name=short)
        assert (first.task_id, first.id) == ("t", "")
        assert list(violations(dialect, "DeleteTaskPushNotificationConfig", name=short)) == ["name"]


@pytest.mark.parametrize(
    ("dialect", "method"), [(OLD, "CreateTaskPushNotificationConfig"), (DRAFT, "SetTaskPushNotificationConfig")]
)
def test_a_new_push_configuration_is_read_in_all_its_forms(dialect: GrpcBinding, method: str) -> None:
    inner = {"url": "u", "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "c"}}
    expected = types.TaskPushNotificationConfig(
        url="u", id="c", task_id="t", authentication=types.AuthenticationInfo(scheme="Bearer", credentials="c")
    )
    name = "tasks/t/pushNotificationConfigs/c"
    plain, named = {"push_notification_config": inner}, {"name": name, "push_notification_config": inner}
    inside = {"push_notification_config": {**inner, "id": "c"}}
    assert request(dialect, method, parent="tasks/t", config_id="c", config=plain) == expected
    assert request(dialect, method, parent="tasks/t", config=inside) == expected
    assert request(dialect, method, config=named) == expected
    assert list(violations(dialect, method, config=plain)) == ["parent"]
    assert list(violations(dialect, method, parent="x", config=named)) == ["parent"]
    bare: dict[str, Any] = {"push_notification_config": {"authentication": {}}}
    assert violations(dialect, method, parent="tasks/t", config=bare) == {
        "config.push_notification_config.authentication.schemes": "is required",
        "config.push_notification_config.url": "is required",
    }


@each_older
@pytest.mark.parametrize(
    ("given", "expected"), [(b"AAEC", "AAEC"), (b"\x00\x01\x02", "AAEC"), (b"", ""), (b"AAE", "QUFF"), (b"=", "PQ==")]
)
def test_a_file_is_its_base64_text_or_its_bytes(dialect: GrpcBinding, given: bytes, expected: str) -> None:
    part = {"file": {"file_with_bytes": given, "mime_type": "m", "name": "n"}}
    (read,) = request(dialect, "SendMessage", request={**OLDER_HELLO, "content": [part]}).message.parts
    assert read == types.Part(base64=expected, media_type="m", filename="n")
    value = types.SendMessageRequest(message=types.Message(message_id="m", role=types.Role.USER, parts=(read,)))
    (file,) = written(dialect, operations.SEND_MESSAGE, value).request.content
    assert file.file.file_with_bytes == expected.encode()


@each_older
@pytest.mark.parametrize("part", [{}, {"file": {}}, {"file": {"name": "n"}}, {"metadata": {"a": 1}}])
def test_a_part_has_one_content(dialect: GrpcBinding, part: dict[str, Any]) -> None:
    given = _proto.message("a2a.v1.Part")(**part)
    if "file" in part:
        given.file.SetInParent()
    (field,) = violations(dialect, "SendMessage", request={**OLDER_HELLO, "content": [given]})
    assert field == "request.content[0]" + (".file" if "file" in part else "")


@each_older
@pytest.mark.parametrize("data", [None, 3, "x", [1, {"a": None}], {"value": 1}, {}])
def test_data_that_are_no_object_are_wrapped_and_marked(dialect: GrpcBinding, data: Any) -> None:
    for metadata in (None, {"a": 1}):
        part = types.Part(data=data, metadata=metadata)
        value = types.SendMessageRequest(message=types.Message(message_id="m", role=types.Role.USER, parts=(part,)))
        message = written(dialect, operations.SEND_MESSAGE, value).request
        assert ("data_part_compat" in message.content[0].metadata.fields) is not isinstance(data, dict)
        assert request(dialect, "SendMessage", request=message).message.parts == (part,)


def test_subscribing_in_0_3_is_for_the_turn() -> None:
    assert request(OLD, "TaskSubscription", name="tasks/t") == types.SubscribeToTaskRequest(id="t", turn=True)
    assert request(DRAFT, "SubscribeToTask", name="tasks/t") == types.SubscribeToTaskRequest(id="t")


def test_a_card_of_0_3_names_one_address_and_lists_all() -> None:
    spoken = (("grpc://a", "GRPC", "0.3"), ("http://b", "JSONRPC", "0.3"), ("http://c", "JSONRPC", "1.0"))
    interfaces = tuple(
        types.AgentInterface(url=url, protocol_binding=binding, protocol_version=version)
        for url, binding, version in spoken
    )
    card = msgspec.structs.replace(samples.CARD, supported_interfaces=interfaces)
    call = Call(operations.GET_EXTENDED_AGENT_CARD, None, types.ServiceParameters())
    message = _proto.parse("a2a.v1.AgentCard", OLD.encode_result(call, card).body)
    assert (message.protocol_version, message.url, message.preferred_transport) == ("0.3.0", "grpc://a", "GRPC")
    assert [(one.url, one.transport) for one in message.additional_interfaces] == [spoken[0][:2], spoken[1][:2]]
    assert not message.supported_interfaces
    draft = _proto.parse("a2a.v1.AgentCard", DRAFT.encode_result(call, card).body)
    assert (draft.protocol_version, draft.HasField("url")) == ("1.0", False)
    assert [one.url for one in draft.supported_interfaces] == ["http://c"]
    read = answered(OLD, call.operation, name="n", url="grpc://a", protocol_version="0.3.7")
    expected = types.AgentInterface(url="grpc://a", protocol_binding="JSONRPC", protocol_version="0.3")
    assert read.supported_interfaces == (expected,)
    with pytest.raises(ReplyMalformed, match="url is required"):
        answered(OLD, call.operation, name="n")
