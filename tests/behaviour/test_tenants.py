"""Tenants: what one of them has does not exist for the others."""

import json

from dragoman.dialects.base import HttpRequest
from tests.behaviour.agents import obedient
from tests.behaviour.cells import NO_TENANTS, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Fault, Serve, Wire, message, refused

pytestmark = without(NO_TENANTS)


@requirement("R-13.1-03", "R-13.1-04", "R-13.1-05")
async def test_lists_and_their_totals_hold_only_what_is_the_tenants(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store))
    ours = await wire.send(message("done", contextId="shared"), tenant="ours")
    theirs = await wire.send(message("done", contextId="shared"), tenant="theirs")
    for tenant, expected in (("ours", [ours["id"]]), ("theirs", [theirs["id"]]), ("", []), ("nobody", [])):
        for filters in ({}, {"contextId": "shared"}, {"status": "TASK_STATE_COMPLETED"}):
            listed = await wire.call("ListTasks", filters, tenant=tenant)
            assert [task["id"] for task in listed["tasks"]] == expected
            assert listed["totalSize"] == len(expected)


@requirement("R-13.1-06", "R-13.1-07", "R-13.1-08", "R-3.3.2-08", "R-3.3.2-12", "R-3.3.2-13")
async def test_somebody_elses_task_looks_like_one_that_is_not_there(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store))
    task = await wire.send("ask", tenant="ours")
    for operation in ("GetTask", "CancelTask", "SubscribeToTask"):
        seen = [await _fault(wire, operation, task_id, tenant) for task_id in (task["id"], "x") for tenant in ("", "b")]
        assert {(fault.reason, fault.text.replace(task["id"], "x")) for fault in seen} == {
            ("TASK_NOT_FOUND", seen[0].text.replace(task["id"], "x"))
        }
        assert len({str(fault.details).replace(task["id"], "x") for fault in seen}) == 1
    with refused("TASK_NOT_FOUND"):
        await wire.send(message("red", taskId=task["id"]), tenant="theirs")
    assert await wire.get(task["id"], tenant="ours") == task


async def _fault(wire: Wire, operation: str, task_id: str, tenant: str) -> Fault:
    with refused("TASK_NOT_FOUND") as caught:
        await wire.call(operation, {"id": task_id}, tenant=tenant)
    return caught.value


async def test_a_task_stays_with_its_tenant_through_its_whole_life(serve: Serve) -> None:
    wire = await serve(obedient())
    async with wire.send_stream("ask", tenant="t/1 ä") as stream:
        task_id = (await anext(stream)).payload["task"]["id"]
        await stream.payloads()
    done = await wire.send(message("red", taskId=task_id), tenant="t/1 ä")
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    other = await wire.send("ask", tenant="t/1 ä")
    canceled = await wire.call("CancelTask", {"id": other["id"]}, tenant="t/1 ä")
    assert canceled["status"]["state"] == "TASK_STATE_CANCELED"


async def test_over_http_the_tenant_may_stand_in_path_body_or_query_and_the_path_wins(over_http: Wire) -> None:
    wire = over_http
    by_path = await wire.send("a", tenant="acme")
    request = wire.request("SendMessage", {"message": message("b"), "tenant": "acme"})
    by_body = wire.read(request, await wire.send_raw(request))["task"]
    listed = await wire.call("ListTasks", {"tenant": "acme"})
    assert {task["id"] for task in listed["tasks"]} == {by_path["id"], by_body["id"]}
    mixed = HttpRequest(
        "POST",
        f"{wire.path}/acme/message:send",
        "",
        request.headers,
        json.dumps({"message": message("c"), "tenant": "other"}).encode(),
    )
    task = wire.read(request, await wire.send_raw(mixed))["task"]
    assert (await wire.get(task["id"], tenant="acme"))["id"] == task["id"]
    with refused("TASK_NOT_FOUND"):
        await wire.get(task["id"], tenant="other")
