"""What stands where a cell cannot say something, loss by loss, and what an operation says that is not there."""

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from dragoman import Agent, Part, TaskContext, _proto
from tests.behaviour.agents import echo, gated, obedient
from tests.behaviour.cells import (
    CELLS,
    DATA_IS_AN_OBJECT,
    LISTS_SAY_LITTLE,
    MEDIA_TYPES_OF_FILES_ONLY,
    NO_EMPTY_ARTIFACTS,
    NO_HISTORY_LENGTH_OF_ZERO,
    NO_LISTS,
    NO_REFERENCES,
    NO_TENANTS,
    NO_VERSIONS,
    OVER_GRPC,
    SUBSCRIPTIONS_ARE_TURNS,
    UNTOLD,
    Cell,
    Loss,
    only,
)
from tests.behaviour.faults import read_error
from tests.behaviour.forms import FORMS, Asked
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Start, Wire, message, refused, wire_to
from tests.unit.hosts.grpc.driver import framed


def in_(loss: Loss) -> pytest.MarkDecorator:
    """The test runs where this is lost."""
    return only(*loss.cells)


@only(Cell("0.3", "JSONRPC"))
async def test_a_line_without_lists_has_no_such_method(serve: Serve) -> None:
    wire = await serve(echo())
    with refused("METHOD_NOT_FOUND"):
        await wire.call("ListTasks")


@pytest.mark.parametrize("version", ["", "0.3"])
async def test_callers_of_0_3_over_grpc_may_list_as_the_draft_does(started: Start, version: str) -> None:
    wire = await wire_to(await started(echo().asgi()), Cell("draft", "GRPC"))
    task = await wire.send()
    request = wire.request("ListTasks", headers={"a2a-version": version})
    assert Cell("0.3", "GRPC") in NO_LISTS.cells
    assert [entry["id"] for entry in wire.read(request, await wire.send_raw(request))["tasks"]] == [task["id"]]


@only(Cell("0.3", "HTTP+JSON"))
async def test_the_list_of_0_3_says_the_tasks_and_where_more_are(serve: Serve) -> None:
    wire = await serve(echo())
    assert wire.cell in LISTS_SAY_LITTLE.cells
    task = await wire.send()
    reply = await wire.reply("ListTasks")
    assert set(json.loads(reply.body)) == {"tasks", "nextPageToken"}
    assert [entry["id"] for entry in json.loads(reply.body)["tasks"]] == [task["id"]]


@in_(NO_TENANTS)
async def test_a_task_of_a_tenant_is_not_there_for_lines_without_tenants(serve: Serve) -> None:
    wire = await serve(echo())
    newer = await wire_to(wire.bridge, "JSONRPC")
    task = await newer.send("hi", tenant="acme")
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"])


@in_(NO_HISTORY_LENGTH_OF_ZERO)
async def test_a_history_length_of_zero_is_none_in_0_3(serve: Serve) -> None:
    wire = await serve(echo())
    task = await wire.send("hello", configuration={"historyLength": 0})
    assert len(task["history"]) == 1
    assert len((await wire.get(task["id"], historyLength=0))["history"]) == 1


@in_(SUBSCRIPTIONS_ARE_TURNS)
async def test_a_subscription_of_0_3_gives_an_ended_task_and_ends(serve: Serve) -> None:
    wire = await serve(obedient())
    done, asked = await wire.send("done"), await wire.send("ask")
    for task in (done, asked):
        async with wire.subscribe(task["id"]) as stream:
            assert await stream.payloads() == [{"task": task}]


def typed() -> Agent:
    agent = Agent("Typed", "Says what kind of text it is.", store="memory")

    @agent.skill(tags=["demo"])
    async def tell(task: TaskContext) -> AsyncIterator[Part]:
        yield Part(text="# A title", media_type="text/markdown", filename="a.md")
        yield Part(data=[1, None])

    return agent


@in_(MEDIA_TYPES_OF_FILES_ONLY)
async def test_before_1_0_what_is_no_file_has_neither_media_type_nor_name(serve: Serve) -> None:
    wire = await serve(typed())
    task = await wire.send()
    assert task["artifacts"][0]["parts"] == [{"text": "# A title"}]


@in_(DATA_IS_AN_OBJECT)
async def test_before_1_0_other_data_stand_in_an_object(serve: Serve) -> None:
    wire = await serve(typed())
    part = (await wire.send())["artifacts"][1]["parts"][0]
    assert part["data"] == {"value": [1, None]}
    # 0.3 has a sign for that, so that it can be undone; the draft has none.
    shared = wire.cell.line == "0.3" or wire.binding == "GRPC"
    assert part.get("metadata") == ({"data_part_compat": True} if shared else None)


@in_(NO_REFERENCES)
async def test_references_are_kept_for_lines_that_can_say_them(serve: Serve) -> None:
    wire = await serve(echo())
    newer = await wire_to(wire.bridge, "JSONRPC")
    task = await newer.send(message("hi", referenceTaskIds=["r"]))
    assert "referenceTaskIds" not in (await wire.get(task["id"]))["history"][0]
    assert (await newer.get(task["id"]))["history"][0]["referenceTaskIds"] == ["r"]


@in_(NO_EMPTY_ARTIFACTS)
async def test_over_grpc_no_artifacts_are_nothing(serve: Serve) -> None:
    wire = await serve(obedient())
    await wire.send("fail")
    if wire.cell in NO_LISTS.cells:
        return
    (task,) = (await wire.call("ListTasks", {"includeArtifacts": True}))["tasks"]
    assert "artifacts" not in task


@only(Cell("0.3", "HTTP+JSON"))
async def test_a_strange_version_at_an_older_address_is_refused_in_the_drafts_form(serve: Serve) -> None:
    wire = await serve(echo())
    assert wire.cell in NO_VERSIONS.cells
    reply = await wire.reply("SendMessage", {"message": message()}, headers={"a2a-version": "99.0"})
    reason, _, _ = read_error(Cell("draft", "HTTP+JSON"), reply.status, json.loads(reply.body), streamed=False)
    assert reason == "VERSION_NOT_SUPPORTED"


@in_(UNTOLD)
async def test_what_could_be_either_of_1_0_and_the_draft_over_json_rpc_is_1_0(serve: Serve) -> None:
    wire = await serve(echo())
    task = await wire.send()
    reply = await wire.reply("GetTask", {"id": task["id"]})
    assert json.loads(reply.body)["result"]["status"]["state"] == "TASK_STATE_COMPLETED"


# What is meant by saying nothing.


def without_configuration(request: Asked, *, whole: bool) -> Asked:
    """The request without its configuration, or with one that says nothing about waiting."""
    if request.headers["content-type"].startswith("application/grpc"):
        package = request.path.removeprefix("/").removesuffix(".A2AService/SendMessage")
        sent = _proto.parse(f"{package}.SendMessageRequest", request.body[5:])
        if whole:
            sent.ClearField("configuration")
        else:
            sent.configuration.Clear()
            sent.configuration.accepted_output_modes.append("text/plain")
        return msgspec.structs.replace(request, body=framed(sent.SerializeToString()))
    body: dict[str, Any] = json.loads(request.body)
    params: dict[str, Any] = body.get("params", body)
    params.pop("configuration", None)
    if not whole:
        params["configuration"] = {"acceptedOutputModes": ["text/plain"]}
    return msgspec.structs.replace(request, body=json.dumps(body).encode())


def waits(cell: Cell, *, configured: bool) -> bool:
    """Who says nothing waits in 1.0, and not in the draft; in 0.3 too, unless a proto says false by saying nothing."""
    if cell.line == "0.3":
        return cell.binding == "JSONRPC" or not configured
    return cell.line == "1.0"


@requirement("R-3.2.2-02")
@pytest.mark.parametrize("configured", [True, False])
async def test_who_does_not_say_whether_to_wait_is_answered_as_the_line_has_it(serve: Serve, configured: bool) -> None:
    agent, gate = gated()
    wire = await serve(agent)
    if waits(wire.cell, configured=configured):
        gate.release()
        gate.release()
    sent = without_configuration(wire.request("SendMessage", {"message": message("one")}), whole=not configured)
    task = wire.read(sent, await wire.send_raw(sent))["task"]
    assert (task["status"]["state"] == "TASK_STATE_COMPLETED") is waits(wire.cell, configured=configured)
    gate.release()
    gate.release()
    assert (await wire.settled(task["id"]))["artifacts"][0]["parts"] == [{"text": "one "}]


# What is not there.


@pytest.mark.parametrize(
    ("version", "method", "code"),
    [
        ("1.0", "message/send", -32009),
        ("1.0", "tasks/list", -32601),
        ("1.0", "TaskSubscription", -32601),
        ("1.0", "GetAgentCard", -32601),
        ("0.3", "tasks/list", -32601),
        ("0.3", "ListTasks", -32009),
        ("", "SetTaskPushNotificationConfig", -32009),
        ("", "TaskSubscription", -32601),
    ],
)
async def test_a_method_that_the_line_does_not_have_is_not_found(
    over_jsonrpc: Wire, version: str, method: str, code: int
) -> None:
    request = over_jsonrpc.request("GetTask", {"id": "x"}, headers={"a2a-version": version})
    body = {**json.loads(request.body), "method": method}
    reply = await over_jsonrpc.send_raw(msgspec.structs.replace(request, body=json.dumps(body).encode()))
    assert reply.status == 200
    assert json.loads(reply.body)["error"]["code"] == code


@pytest.mark.parametrize(
    ("version", "verb", "path", "status"),
    [
        ("1.0", "GET", "/card", 404),
        ("1.0", "GET", "/v1/card", 400),
        ("1.0", "POST", "/tasks/list", 405),
        ("1.0", "GET", "/v1/tasks/x:resubscribe", 404),
        ("", "GET", "/v1/extendedAgentCard", 400),
        ("", "GET", "/tasks/x", 400),
        ("", "POST", "/v1/tasks/list", 405),
        ("", "GET", "/v1/nonsense", 404),
        ("0.3", "DELETE", "/v1/tasks", 405),
    ],
)
async def test_a_route_that_the_line_does_not_have_is_not_found(
    over_http: Wire, version: str, verb: str, path: str, status: int
) -> None:
    request = over_http.request("ListTasks", headers={"a2a-version": version})
    reply = await over_http.send_raw(msgspec.structs.replace(request, method=verb, path=path))
    assert reply.status == status


@only(*OVER_GRPC)
@pytest.mark.parametrize(
    ("there", "method"),
    [
        ((), "Nonsense"),
        (("1.0",), "ListTaskPushNotificationConfigs"),
        (("0.3", "draft"), "ListTaskPushNotificationConfig"),
        (("0.3",), "TaskSubscription"),
        (("draft", "1.0"), "SubscribeToTask"),
        (("0.3",), "GetAgentCard"),
        (("draft",), "SetTaskPushNotificationConfig"),
        (("0.3", "1.0"), "CreateTaskPushNotificationConfig"),
    ],
)
async def test_a_method_of_another_line_is_unimplemented_over_grpc(
    serve: Serve, there: tuple[str, ...], method: str
) -> None:
    wire = await serve(echo())
    request = wire.request("GetTask", {"id": "x"})
    service = request.path.rpartition("/")[0]
    reply = await wire.send_raw(msgspec.structs.replace(request, path=f"{service}/{method}", body=framed(b"")))
    # 0.3 and the draft are one service: what one of them has is there for both, or refused by its version.
    related = {"1.0"} if wire.cell.line == "1.0" else {"0.3", "draft"}
    missing = reply.headers["grpc-status"] == "12" and "Method not found" in reply.headers["grpc-message"]
    assert missing is related.isdisjoint(there)


def test_every_cell_has_a_form_of_its_own() -> None:
    assert set(FORMS) == set(CELLS)
    assert len({type(form) for form in FORMS.values()}) == 3
