"""Service parameters and media types: versions, header names, Accept and Content-Type."""

import json
from typing import Any

import msgspec
import pytest

from dragoman.dialects.base import HttpRequest
from tests.behaviour.agents import echo
from tests.behaviour.cells import CELLS, FINAL_JSON, NO_VERSIONS, OVER_HTTP, Cell, only, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Wire, message, refused

OLD = tuple(cell for cell in CELLS if cell.line == "0.3")


@requirement("R-3.6-02", "R-3.6-01", "R-3.6.2-01", "R-14.2.1-01")
@pytest.mark.parametrize("version", ["{}", "{}.0", "{}.7", " {} "])
async def test_a_served_version_is_accepted_whatever_its_patch(serve: Serve, version: str) -> None:
    wire = await serve(echo())
    stated = version.format(wire.form.version)
    assert (await wire.send(headers={"a2a-version": stated}))["artifacts"]
    async with wire.send_stream(headers={"a2a-version": stated}) as stream:
        assert await stream.until("TASK_STATE_COMPLETED")


@requirement("R-3.6.2-02", "R-10.2-05", "R-14.2.1-01")
@without(NO_VERSIONS)
@pytest.mark.parametrize("version", ["99.0", "1.1", "1.7", "2.0", "2", "1", "abc", "1.x", "-1.0", "1.0, 99.0"])
async def test_a_version_that_is_not_served_is_refused(serve: Serve, version: str) -> None:
    wire = await serve(echo())
    with refused("VERSION_NOT_SUPPORTED") as caught:
        await wire.send(headers={"a2a-version": version})
    assert "1.0" in caught.value.told
    assert "0.3" in caught.value.told
    with refused("VERSION_NOT_SUPPORTED"):
        async with wire.send_stream(headers={"a2a-version": version}):
            pass
    assert await wire.stored() == []


@requirement("R-3.6.2-03")
@only(*FINAL_JSON)
@pytest.mark.parametrize("version", [None, "", "0.3"])
async def test_a_request_of_1_0_that_names_0_3_or_no_version_is_refused(serve: Serve, version: str | None) -> None:
    wire = await serve(echo())
    request = wire.request("SendMessage", {"message": message()})
    headers = {name: value for name, value in request.headers.items() if name != "a2a-version"}
    if version is not None:
        headers["a2a-version"] = version
    reply = await wire.send_raw(HttpRequest("POST", request.path, "", headers, request.body))
    error = json.loads(reply.body)["error"]
    assert error["code"] == (-32009 if wire.jsonrpc else 400)
    assert await wire.stored() == []


@requirement("R-3.6.2-01", "R-3.6.2-03")
@only(*OLD)
@pytest.mark.parametrize("version", [None, "", "0.3", "0.3.0"])
async def test_a_request_of_0_3_may_name_its_version_or_none(serve: Serve, version: str | None) -> None:
    wire = await serve(echo())
    headers = {} if version is None else {"a2a-version": version}
    assert (await wire.send("hi", headers=headers))["artifacts"][0]["parts"] == [{"text": "hi"}]


@requirement("R-10.2-04")
@only(Cell("1.0", "GRPC"))
@pytest.mark.parametrize("version", ["", "1.0"])
async def test_over_grpc_the_package_says_the_version_if_nothing_else_does(serve: Serve, version: str) -> None:
    wire = await serve(echo())
    assert (await wire.send("hi", headers={"a2a-version": version}))["artifacts"]


@requirement("R-3.6.1-02")
@only(*OVER_HTTP)
async def test_the_version_may_come_in_the_query(serve: Serve) -> None:
    wire = await serve(echo())
    task = await wire.send()
    for operation, params in (("SendMessage", {"message": message()}), ("GetTask", {"id": task["id"]})):
        request = wire.request(operation, params, query={"A2A-Version": wire.form.version})
        headers = {name: value for name, value in request.headers.items() if name != "a2a-version"}
        assert wire.read(request, await wire.send_raw(msgspec.structs.replace(request, headers=headers)))


@requirement("R-3.2.6-02", "R-9.2-01", "R-9.2-02", "R-11.2-01", "R-11.2-02")
@only(*OVER_HTTP)
@pytest.mark.parametrize("name", ["a2a-version", "A2A-Version", "A2A-VERSION"])
async def test_header_names_are_read_in_any_case(serve: Serve, name: str) -> None:
    wire = await serve(echo())
    request = wire.request("SendMessage", {"message": message()})
    headers = {key: value for key, value in request.headers.items() if key != "a2a-version"}
    cased = msgspec.structs.replace(request, headers={**headers, name: wire.form.version})
    assert wire.read(request, await wire.send_raw(cased))["task"]


@requirement("R-11.1-01")
@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        (None, "application/a2a+json"),
        ("*/*", "application/a2a+json"),
        ("application/json", "application/json"),
        ("application/json, text/event-stream", "application/json"),
        ("application/a2a+json", "application/a2a+json"),
        ("application/json, application/a2a+json", "application/a2a+json"),
    ],
)
async def test_http_answers_in_the_media_type_that_the_caller_accepts(
    over_http: Wire, accept: str | None, expected: str
) -> None:
    headers = {"accept": accept} if accept is not None else {}
    reply = await over_http.reply("ListTasks", headers=headers)
    assert reply.status == 200
    assert reply.headers["content-type"].split(";")[0] == expected


@requirement("R-9.1-01", "R-11.1-01")
@only(*OVER_HTTP)
@pytest.mark.parametrize(
    "media_type",
    ["application/json", "application/a2a+json", "Application/JSON; charset=utf-8", "application/json;x=1"],
)
async def test_both_json_media_types_are_taken(serve: Serve, media_type: str) -> None:
    wire = await serve(echo())
    assert (await wire.send(headers={"content-type": media_type}))["artifacts"]


@only(*OVER_HTTP)
@pytest.mark.parametrize(
    "media_type", ["text/plain", "application/xml", "multipart/form-data", "nonsense", "image/png"]
)
async def test_other_media_types_are_refused(serve: Serve, media_type: str) -> None:
    wire = await serve(echo())
    with refused("CONTENT_TYPE_NOT_SUPPORTED"):
        await wire.send(headers={"content-type": media_type})
    assert await wire.stored() == []


@requirement("R-11.5-01", "R-11.5-02", "R-11.5-04", "R-11.5-05")
async def test_queries_are_read_as_the_specification_writes_them(over_http: Wire) -> None:
    wire = over_http
    context = "a b&c=d/é+%"
    task = await wire.send(message("x", contextId=context))
    listed = await wire.call(
        "ListTasks",
        {"contextId": context, "includeArtifacts": True, "pageSize": 5, "status": "TASK_STATE_COMPLETED"},
    )
    assert [entry["id"] for entry in listed["tasks"]] == [task["id"]]
    request = wire.request("ListTasks")
    ignored = HttpRequest(
        "GET", request.path, "", {**request.headers, "content-type": "application/json"}, b"{not json"
    )
    assert (await wire.send_raw(ignored)).status == 200


@requirement("R-11.5-05")
@pytest.mark.parametrize("query", ["includeArtifacts=perhaps", "pageSize=x", "pageSize=1.5", "status=done"])
async def test_wrong_query_values_are_refused(over_http: Wire, query: str) -> None:
    request = over_http.request("ListTasks")
    reply = await over_http.send_raw(HttpRequest("GET", request.path, query, request.headers))
    body: Any = json.loads(reply.body)
    assert reply.status == body["error"]["code"] == 400


async def test_the_reference_client_name_of_the_time_filter_is_read(over_http: Wire) -> None:
    task = await over_http.send()
    query = {"lastUpdatedAfter": task["status"]["timestamp"]}
    assert (await over_http.call("ListTasks", {}, query=query))["totalSize"] == 1
    query = {"lastUpdatedAfter": "2999-01-01T00:00:00Z"}
    assert (await over_http.call("ListTasks", {}, query=query))["totalSize"] == 0
