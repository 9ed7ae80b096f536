"""What is offered to users, and what is promised of ports, errors and operations."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import dragoman
from dragoman import errors
from dragoman.client import Client
from dragoman.dialects.status import TABLE
from dragoman.dialects.v1_0.jsonrpc import JsonRpc
from dragoman.dialects.v1_0.rest import Rest
from dragoman.engine.service import Service
from dragoman.operations import OPERATIONS, Operation
from dragoman.ports.tasks import TaskStore
from tests.arch.source import PACKAGE, names, parsed, python_files, top

PUBLIC = {
    "A2AError",
    "Agent",
    "AgentCard",
    "AgentExtension",
    "AgentInterface",
    "AgentProvider",
    "AgentSkill",
    "Answer",
    "Artifact",
    "AuditLog",
    "AuthRequired",
    "BlockingTaskContext",
    "CallLimits",
    "Client",
    "ConfigurationError",
    "ConnectionLimits",
    "DragomanError",
    "Fail",
    "FetchFailed",
    "FetchOptions",
    "FetchRefused",
    "InputRequired",
    "Message",
    "Part",
    "PushOptions",
    "Rate",
    "Reject",
    "Retry",
    "Role",
    "StreamEvent",
    "Task",
    "TaskArtifactUpdateEvent",
    "TaskContext",
    "TaskFailed",
    "TaskHandle",
    "TaskState",
    "TaskStatus",
    "TaskStatusUpdateEvent",
    "TaskUnfinished",
    "TransportError",
    "answer",
    "connect",
}


def test_the_public_names_are_these_and_no_others() -> None:
    assert set(dragoman.__all__) == PUBLIC
    assert len(dragoman.__all__) == len(PUBLIC) <= 60
    assert list(dragoman.__all__) == sorted(dragoman.__all__)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_a_public_name_says_what_it_is(name: str) -> None:
    value = getattr(dragoman, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value), name


def _modules() -> list[str]:
    paths = (path.relative_to(PACKAGE.parent).with_suffix("") for path in python_files("dragoman"))
    found = [".".join(path.parts).removesuffix(".__init__") for path in paths]
    return [name for name in found if not name.endswith("__main__")]


@pytest.mark.parametrize("module", _modules())
def test_every_name_in_an_all_is_there(module: str) -> None:
    loaded = importlib.import_module(module)
    offered = getattr(loaded, "__all__", [])
    assert [name for name in offered if not hasattr(loaded, name)] == []
    assert len(offered) == len(set(offered))


def _leaves(kind: type[errors.A2AError]) -> set[type[errors.A2AError]]:
    below = kind.__subclasses__()
    return {kind, *(leaf for child in below for leaf in _leaves(child))}


def test_every_protocol_error_has_one_row_in_the_table() -> None:
    listed = [status.error for status in TABLE]
    declared = {kind for kind in _leaves(errors.A2AError) - {errors.A2AError} if kind.__module__ == errors.__name__}
    assert set(listed) == declared
    assert len(listed) == len(set(listed))
    assert len({status.error.reason for status in TABLE}) == len(listed)


def _written(folder: Path) -> set[str]:
    return {
        node.func.attr
        for path in folder.glob("store_*.py")
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }


def test_every_method_of_the_store_port_is_in_the_contract_suite() -> None:
    promised = {name for name, value in vars(TaskStore).items() if inspect.isfunction(value) and name[0] != "_"}
    # Opening and closing are the business of the fixture that gives the store.
    assert promised - {"open", "close"} - _written(PACKAGE / "testing") == set()


METHODS = {
    "SendMessage": "send_message",
    "SendStreamingMessage": "send_streaming_message",
    "GetTask": "get_task",
    "ListTasks": "list_tasks",
    "CancelTask": "cancel_task",
    "SubscribeToTask": "subscribe_to_task",
    "CreateTaskPushNotificationConfig": "create_task_push_notification_config",
    "GetTaskPushNotificationConfig": "get_task_push_notification_config",
    "ListTaskPushNotificationConfigs": "list_task_push_notification_configs",
    "DeleteTaskPushNotificationConfig": "delete_task_push_notification_config",
    "GetExtendedAgentCard": "get_extended_agent_card",
}


def test_there_are_eleven_operations() -> None:
    assert [operation.name for operation in OPERATIONS] == list(METHODS)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_operation_has_a_method_of_the_client(operation: Operation) -> None:
    assert callable(getattr(Client, METHODS[operation.name]))


def test_the_service_answers_every_operation() -> None:
    tree = parsed(Path(inspect.getfile(Service)))
    strings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    assert {operation.name for operation in OPERATIONS} - strings == set()


@pytest.mark.parametrize("dialect", [JsonRpc(), Rest()], ids=lambda dialect: dialect.binding)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_every_dialect_of_1_0_speaks_every_operation(dialect: JsonRpc | Rest, operation: Operation) -> None:
    members = {"id": "x", "task_id": "x", "url": "https://hook.example", "message": None}
    wanted = {name: value for name, value in members.items() if name in operation.request.__struct_fields__}
    if "message" in wanted:
        part = dragoman.Part(text="hi")
        wanted["message"] = dragoman.Message(message_id="m", role=dragoman.Role.USER, parts=(part,))  # type: ignore[assignment]  # the values are of each member's type
    request = operation.request(**wanted)
    sent = dialect.encode_request(operation, request, importlib.import_module("dragoman.dialects.base").Target())
    call = dialect.decode_request(sent)
    assert getattr(call, "operation", call) is operation


def test_nobody_but_the_composition_knows_a_store_by_name() -> None:
    outside = [path for path in python_files("dragoman") if top(path) not in {"stores", "server", "testing"}]
    assert [path.name for path in outside if {"MemoryStore", "SqliteStore"} & set(names(path))] == []
