"""Errors: each fault has one meaning, told in the form of each binding."""

import json
import logging
from typing import Any

import msgspec
import pytest

from dragoman import Agent, TaskContext
from dragoman.errors import StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Stored
from dragoman.stores.memory import MemoryStore
from tests.behaviour.agents import echo, obedient
from tests.behaviour.cells import CELLS, NO_VERSIONS, TYPED, Cell, only, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Fault, Serve, Wire, message, refused


async def fault_of(wire: Wire, operation: str, params: dict[str, Any], **how: Any) -> Fault:
    with pytest.raises(Fault) as caught:
        await wire.call(operation, params, **how)
    return caught.value


@requirement(
    "R-3.3.2-01",
    "R-3.3.2-16",
    "R-3.3.2-17",
    "R-3.3.2-18",
    "R-3.3.2-19",
    "R-5.1-03",
    "R-5.4-01",
    "R-9.5-02",
    "R-9.5-03",
    "R-10.6-01",
    "R-11.6-02",
    "R-11.6-04",
)
async def test_each_fault_has_its_code_in_each_binding(serve: Serve) -> None:
    wire = await serve(obedient(push=False))
    done = await wire.send("done")
    faults = {
        "TASK_NOT_FOUND": await fault_of(wire, "GetTask", {"id": "unknown"}),
        "TASK_NOT_CANCELABLE": await fault_of(wire, "CancelTask", {"id": done["id"]}),
        "PUSH_NOTIFICATION_NOT_SUPPORTED": await fault_of(wire, "ListTaskPushNotificationConfigs", {"taskId": "t"}),
        "UNSUPPORTED_OPERATION": await fault_of(wire, "SendMessage", {"message": message("x", taskId=done["id"])}),
        "INVALID_PARAMS": await fault_of(wire, "SendMessage", {"message": message(parts=[])}),
    }
    if wire.cell not in NO_VERSIONS.cells:
        strange = {"a2a-version": "99.0"}
        faults["VERSION_NOT_SUPPORTED"] = await fault_of(wire, "GetTask", {"id": "t"}, headers=strange)
    # The form of each was held against the table when it was read.
    assert {reason: fault.reason for reason, fault in faults.items()} == {reason: reason for reason in faults}
    assert all(fault.details for fault in faults.values())


@requirement("R-3.3.2-02")
async def test_the_text_of_an_error_says_what_to_look_at(serve: Serve) -> None:
    wire = await serve(obedient())
    done = await wire.send("done")
    assert "no-such-task" in (await fault_of(wire, "GetTask", {"id": "no-such-task"})).told
    canceled = await fault_of(wire, "CancelTask", {"id": done["id"]})
    assert "COMPLETED" in canceled.told.upper()


WRONG: list[tuple[Any, str]] = [
    ({"message": message(parts=[])}, "message.parts"),
    ({"message": message(parts=[{}])}, "message.parts[0]"),
    ({"message": message(parts=[{"text": "a"}, {"metadata": {}}])}, "message.parts[1]"),
    ({"message": message(role="ROLE_NOBODY")}, "message.role"),
    ({"message": message(role="ROLE_UNSPECIFIED")}, "message.role"),
    ({"message": {"role": "ROLE_USER", "parts": [{"text": "a"}]}}, "message.messageId"),
    ({"message": message(messageId="")}, "message.messageId"),
    ({"message": {"messageId": "1", "parts": [{"text": "a"}]}}, "message.role"),
    ({"message": {"messageId": "1", "role": "ROLE_USER"}}, "message.parts"),
]
MISTYPED: list[tuple[Any, str]] = [
    ({"message": None}, "message"),
    ({"message": "text"}, "message"),
    ({"message": message(parts="text")}, "message.parts"),
    ({"message": message(parts=[{"text": "a", "url": "https://x.example"}])}, "message.parts[0]"),
    ({"message": message(parts=[{"text": 7}])}, "message.parts[0].text"),
    ({"message": message(parts=[{"raw": "not base64!"}])}, "message.parts[0].raw"),
    ({"message": message(metadata=[1])}, "message.metadata"),
    ({"message": message(extensions="one")}, "message.extensions"),
    ({"message": message(), "configuration": {"historyLength": "x"}}, "configuration.historyLength"),
    ({"message": message(), "configuration": {"returnImmediately": "x"}}, "configuration.returnImmediately"),
    ({"message": message(), "configuration": 1}, "configuration"),
    ({"message": message(), "metadata": "x"}, "metadata"),
]


@requirement("R-3.3.2-09", "R-3.3.2-10", "R-5.7-01", "R-5.7-02", "R-5.7-03", "R-11.6-03", "R-13.4-05", "R-14.1-02")
@pytest.mark.parametrize(("wrong", "field"), WRONG)
async def test_wrong_input_is_named_and_never_reaches_the_agent(serve: Serve, wrong: Any, field: str) -> None:
    await check_that_it_is_named(serve, wrong, field)


@requirement("R-3.3.2-10", "R-5.7-02", "R-11.6-03", "R-14.1-02")
@without(TYPED)
@pytest.mark.parametrize(("wrong", "field"), MISTYPED)
async def test_input_of_a_wrong_type_is_named_and_never_reaches_the_agent(serve: Serve, wrong: Any, field: str) -> None:
    await check_that_it_is_named(serve, wrong, field)


async def check_that_it_is_named(serve: Serve, wrong: Any, field: str) -> None:
    called = False
    agent = Agent("Watchful", "Notices calls.", store="memory")

    @agent.skill(tags=["demo"])
    async def watch(task: TaskContext) -> str:
        nonlocal called
        called = True
        return task.text

    wire = await serve(agent)
    fault = await fault_of(wire, "SendMessage", wrong)
    assert fault.reason == "INVALID_PARAMS"
    assert fault.fields == [field]
    assert not called
    assert await wire.stored() == []


@requirement("R-3.3.2-14")
async def test_what_may_pass_has_another_code_than_what_will_not(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    wire = await serve(echo())
    faults: list[Fault] = []
    for cause in (StoreUnavailable("the disk is full"), RuntimeError("a defect")):

        async def broken(self: MemoryStore, task_id: str, scope: Scope, cause: Exception = cause) -> Stored | None:
            raise cause

        monkeypatch.setattr(MemoryStore, "get", broken)
        faults.append(await fault_of(wire, "GetTask", {"id": "x"}))
    assert [fault.reason for fault in faults] == ["UNAVAILABLE", "INTERNAL_ERROR"]
    assert "disk" not in faults[0].told
    assert "defect" not in faults[1].told
    if wire.binding == "HTTP+JSON":
        assert [fault.reply.status for fault in faults] == [503, 500]


@requirement("R-3.3.2-15", "R-13.4-12")
async def test_a_failing_agent_is_logged_and_the_callers_words_are_not(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    wire = await serve(obedient())
    with caplog.at_level(logging.DEBUG, logger="dragoman"):
        task = await wire.send("boom with my password hunter2")
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    assert "secret of the house" not in json.dumps(task)
    assert "RuntimeError" not in json.dumps(task)
    assert "secret of the house" in caplog.text
    assert "hunter2" not in caplog.text


async def test_rejecting_and_failing_are_states_not_errors(serve: Serve) -> None:
    wire = await serve(obedient())
    for word, state, told in (
        ("reject", "TASK_STATE_REJECTED", "Not that one"),
        ("fail", "TASK_STATE_FAILED", "It went wrong"),
    ):
        task = await wire.send(word)
        assert task["status"]["state"] == state
        assert task["status"]["message"]["parts"] == [{"text": told}]


UNREADABLE: list[tuple[bytes, int, Any]] = [
    (b"{", -32700, None),
    (b"", -32700, None),
    (b"\xff\xfe", -32700, None),
    (b"[]", -32600, None),
    (b'"text"', -32600, None),
    (b"{}", -32600, None),
    (b'[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}]', -32600, None),
    (b'{"jsonrpc":"2.0","id":"a"}', -32600, "a"),
    (b'{"jsonrpc":"2.0","id":"a","method":7}', -32600, "a"),
    (b'{"jsonrpc":"2.0","id":{},"method":"GetTask"}', -32600, None),
    (b'{"jsonrpc":"2.0","id":"b","method":"Nonsense"}', -32601, "b"),
    (b'{"jsonrpc":"2.0","id":"b","method":"getTask","params":{}}', -32601, "b"),
]
FAULTY: list[tuple[bytes, int, Any]] = [
    (b'{"jsonrpc":"1.0","id":1,"method":"%s","params":{"id":"x"}}', -32600, 1),
    (b'{"id":1,"method":"%s","params":{"id":"x"}}', -32600, 1),
    (b'{"jsonrpc":"2.0","id":3,"method":"%s","params":[]}', -32602, 3),
    (b'{"jsonrpc":"2.0","id":3,"method":"%s","params":"x"}', -32602, 3),
    (b'{"jsonrpc":"2.0","id":3,"method":"%s"}', -32602, 3),
    (b'{"jsonrpc":"2.0","id":3,"method":"%s","params":{"id":7}}', -32602, 3),
    (b'{"jsonrpc":"2.0","id":null,"method":"%s","params":{"id":"x"}}', -32001, None),
]


@requirement("R-9.3-01", "R-9.5-01", "R-9.1-01")
@only(Cell("1.0", "JSONRPC"), Cell("0.3", "JSONRPC"))
@pytest.mark.parametrize(("body", "code", "request_id"), [*UNREADABLE, *FAULTY])
async def test_json_rpc_faults_have_json_rpc_codes(serve: Serve, body: bytes, code: int, request_id: Any) -> None:
    wire = await serve(echo())
    request = wire.request("GetTask", {"id": "x"})
    method: str = json.loads(request.body)["method"]
    body = body.replace(b"%s", method.encode()).replace(b'"GetTask"', f'"{method}"'.encode())
    reply = await wire.send_raw(msgspec.structs.replace(request, body=body))
    answer = json.loads(reply.body)
    assert reply.status == 200
    assert reply.headers["content-type"].split(";")[0] == "application/json"
    assert answer["error"]["code"] == code
    data = answer["error"].get("data")
    assert isinstance(data, list) if wire.cell.line == "1.0" else data is None or isinstance(data, dict)
    assert answer["id"] == request_id
    assert answer["jsonrpc"] == "2.0"


@requirement("R-9.3-01")
@only(*[cell for cell in CELLS if cell.binding == "JSONRPC"])
@pytest.mark.parametrize("request_id", ["text", "", 0, 7, -3, 2**53, "7", None])
async def test_a_json_rpc_answer_repeats_the_id_with_its_type(serve: Serve, request_id: Any) -> None:
    wire = await serve(echo())
    for operation in ("SendMessage", "SendStreamingMessage"):
        request = wire.request(operation, {"message": message()})
        body = {**json.loads(request.body), "id": request_id}
        reply = await wire.send_raw(msgspec.structs.replace(request, body=json.dumps(body).encode()))
        last = reply.body.strip().rpartition(b"data:")[2]
        answer = json.loads(last)
        assert answer["id"] == request_id
        assert type(answer["id"]) is type(request_id)
        assert "result" in answer


@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [
        ("GET", "/nonsense", 404),
        ("POST", "/tasks/1:explode", 405),
        ("GET", "/message:send", 405),
        ("POST", "/tasks/1", 405),
        ("PUT", "/message:send", 405),
        ("DELETE", "/tasks", 405),
    ],
)
async def test_unknown_routes_and_verbs_are_refused(over_http: Wire, verb: str, path: str, status: int) -> None:
    request = over_http.request("ListTasks")
    reply = await over_http.send_raw(type(request)(verb, over_http.path + path, "", request.headers, b""))
    assert reply.status in {status, 404}
    assert json.loads(reply.body)["error"]["code"] == reply.status
    if reply.status == 405:
        assert reply.headers["allow"]


async def test_a_refused_task_id_is_not_executed_as_something_else(serve: Serve) -> None:
    wire = await serve(echo())
    with refused("TASK_NOT_FOUND"):
        await wire.get("x:cancel")
