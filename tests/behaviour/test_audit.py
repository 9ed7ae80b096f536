"""What the audit log says of calls: one decision each, in every cell, with nothing of who it was or what was said."""

import json
import logging
from typing import Any

import pytest

from dragoman import Agent, AuditLog, TaskContext
from dragoman.auth import ApiKey
from dragoman.dialects.base import HttpRequest
from tests.behaviour.agents import echo, obedient
from tests.behaviour.callers import KEYS, SECRETS, keyed
from tests.behaviour.cells import NO_LISTS, Cell
from tests.behaviour.configs import PUSH
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Start, message, refused

ALICE, BOB = keyed("alice"), keyed("bob")
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
TRACE = {"traceparent": f"00-{TRACE_ID}-b7ad6b7169203331-01"}

Told = list[dict[str, Any]]


def audited(told: Told, *, personal: bool = False, **options: Any) -> Agent:
    return obedient(auth=ApiKey(KEYS), audit=AuditLog(told.append, personal=personal), **options)


@requirement("R-13.4-11")
async def test_who_is_let_in_is_told_with_what_was_called(serve: Serve, cell: Cell) -> None:
    told: Told = []
    wire = await serve(audited(told))
    task = await wire.send("done", headers=ALICE | TRACE)
    (decision,) = told
    assert decision == {
        "at": decision["at"],
        "outcome": "allowed",
        "operation": "SendMessage",
        "dialect": cell.key,
        "scheme": "apiKey",
        "principal": decision["principal"],
        "taskId": task["id"],
        "requestId": TRACE_ID,
    } | ({"address": decision["address"]} if "address" in decision else {})
    assert [secret for secret in (*SECRETS, "alice", "done") if secret in json.dumps(told)] == []


@requirement("R-13.4-11", "R-13.4-10")
async def test_who_is_refused_is_told_with_the_reason_and_nothing_else_of_the_call(serve: Serve, cell: Cell) -> None:
    told: Told = []
    wire = await serve(audited(told))
    with refused("UNAUTHENTICATED"):
        await wire.send("done", headers={"x-api-key": "made-up"} | TRACE)
    (decision,) = told
    shown = {name: decision.get(name) for name in ("outcome", "reason", "operation", "dialect", "requestId")}
    assert shown == {
        "outcome": "refused",
        "reason": "UNAUTHENTICATED",
        "operation": None,
        "dialect": cell.key,
        "requestId": TRACE_ID,
    }
    assert "made-up" not in json.dumps(told)


@requirement("R-13.4-11")
async def test_a_guess_at_somebody_elses_task_is_told_of_whoever_made_it(serve: Serve) -> None:
    told: Told = []
    wire = await serve(audited(told, personal=True))
    task = await wire.send("ask", headers=ALICE)
    told.clear()
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], headers=BOB)
    (decision,) = told
    shown = {name: decision[name] for name in ("outcome", "reason", "operation", "principal", "taskId")}
    assert shown == {
        "outcome": "refused",
        "reason": "TASK_NOT_FOUND",
        "operation": "GetTask",
        "principal": "bob",
        "taskId": task["id"],
    }


async def test_a_webhook_that_may_not_be_called_is_told_as_refused(serve: Serve) -> None:
    told: Told = []
    wire = await serve(audited(told, push=True))
    task = await wire.send("ask", headers=ALICE)
    told.clear()
    params = {"taskId": task["id"], "id": "c", "url": "https://169.254.169.254/latest"}
    with refused("INVALID_PARAMS"):
        await wire.call("CreateTaskPushNotificationConfig", params, headers=ALICE)
    (decision,) = told
    assert (decision["outcome"], decision["reason"], decision["taskId"]) == ("refused", "ADDRESS_REFUSED", task["id"])


async def test_a_call_that_fails_for_another_reason_was_let_in(serve: Serve, cell: Cell) -> None:
    told: Told = []
    wire = await serve(audited(told))
    with refused("INVALID_PARAMS"):
        await wire.call("SendMessage", {"message": message() | {"messageId": ""}}, headers=ALICE)
    assert [decision["outcome"] for decision in told] == ["allowed"]
    if cell not in NO_LISTS.cells:
        await wire.call("ListTasks", {}, headers=ALICE)
        assert (told[1]["outcome"], told[1]["operation"]) == ("allowed", "ListTasks")


async def test_a_stream_is_told_once_with_its_task(serve: Serve) -> None:
    told: Told = []
    wire = await serve(audited(told))
    async with wire.stream("SendStreamingMessage", {"message": message("done")}, headers=ALICE) as events:
        async for _ in events:
            pass
    (decision,) = told
    assert (decision["operation"], decision["outcome"], bool(decision["taskId"])) == (
        "SendStreamingMessage",
        "allowed",
        True,
    )


class _Plain:
    """A binding from outside."""

    uri = "https://bindings.example/plain"
    version = "1.0"

    def url(self, base: str) -> str:
        return f"{base}/plain"

    def takes(self, scope: Any, path: str) -> bool:
        return bool(path == "/plain" and scope["type"] == "http")

    async def __call__(self, scope: Any, receive: Any, send: Any, service: Any) -> None:  # noqa: ARG002 -- the port's
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body"})


@requirement("R-13.4-11")
async def test_who_comes_by_a_binding_from_outside_is_told_too(started: Start) -> None:
    told: Told = []
    bridge = await started(audited(told, bindings=[_Plain()]).asgi())
    for headers, status in (({"x-api-key": "made-up"}, 401), (ALICE, 204)):
        assert (await bridge.send(HttpRequest("GET", "/plain", headers=headers | TRACE))).status == status
    refusal, entry = told
    assert (refusal["outcome"], refusal["reason"], refusal["dialect"]) == ("refused", "UNAUTHENTICATED", _Plain.uri)
    assert (entry["outcome"], entry["scheme"], entry["dialect"]) == ("allowed", "apiKey", _Plain.uri)
    assert refusal["requestId"] == entry["requestId"] == TRACE_ID


async def test_what_the_owner_does_is_told_too(serve: Serve) -> None:
    told: Told = []
    agent = audited(told, push=PUSH)
    wire = await serve(agent)
    task = await wire.send("done", headers=ALICE)
    told.clear()
    assert await agent.delete(task["id"]) == 1
    (decision,) = told
    assert (decision["operation"], decision["taskId"]) == ("owner:delete", task["id"])


@requirement("R-13.4-11")
async def test_without_an_audit_log_refusals_are_in_the_log(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dragoman.audit")
    wire = await serve(echo(auth=ApiKey(KEYS)))
    await wire.send("hello", headers=ALICE)
    assert caplog.messages == []
    with refused("UNAUTHENTICATED"):
        await wire.send("hello")
    (line,) = caplog.messages
    assert json.loads(line)["reason"] == "UNAUTHENTICATED"


async def test_what_a_handler_logs_says_the_trace_of_its_caller(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    from dragoman.logs import Correlated

    agent = Agent("Talker", store="memory")
    log = logging.getLogger("somewhere.else")

    @agent.skill
    async def talk(task: TaskContext) -> str:
        log.warning("working")
        return task.id

    caplog.handler.addFilter(Correlated())
    wire = await serve(agent)
    task = await wire.send("hello", headers=TRACE)
    (record,) = [one for one in caplog.records if one.name == "somewhere.else"]
    assert vars(record) | {"request_id": TRACE_ID, "task_id": task["id"]} == vars(record)
