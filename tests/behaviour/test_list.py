"""ListTasks: order, pages, filters, totals."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.behaviour.agents import echo, obedient
from tests.behaviour.cells import LISTS_SAY_LITTLE, NO_EMPTY_ARTIFACTS, NO_LISTS, TYPED, without
from tests.behaviour.manifest import requirement
from tests.behaviour.wire import Serve, Wire, message, refused

pytestmark = without(NO_LISTS, LISTS_SAY_LITTLE)


async def pages(wire: Wire, **filters: Any) -> list[dict[str, Any]]:
    """All pages, from the first to the last."""
    found = [await wire.call("ListTasks", filters)]
    while found[-1]["nextPageToken"]:
        found.append(await wire.call("ListTasks", {**filters, "pageToken": found[-1]["nextPageToken"]}))
    return found


def ids(*answers: dict[str, Any]) -> list[str]:
    return [task["id"] for answer in answers for task in answer["tasks"]]


@requirement("R-3.1.4-01")
async def test_artifacts_are_listed_only_when_asked_for(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store))
    done = await wire.send("done")
    for filters in ({}, {"includeArtifacts": False}):
        assert all("artifacts" not in task for task in (await wire.call("ListTasks", filters))["tasks"])
    (full,) = (await wire.call("ListTasks", {"includeArtifacts": True}))["tasks"]
    assert full["artifacts"] == done["artifacts"]


@requirement("R-3.1.4-02")
@without(NO_EMPTY_ARTIFACTS)
async def test_a_task_without_artifacts_says_so_when_asked_for(serve: Serve) -> None:
    wire = await serve(obedient())
    await wire.send("fail")
    (full,) = (await wire.call("ListTasks", {"includeArtifacts": True}))["tasks"]
    assert full["artifacts"] == []


@requirement("R-3.1.4-03", "R-3.1.4-04")
async def test_every_page_has_a_token_and_that_of_the_last_is_empty(serve: Serve, store: str) -> None:
    wire = await serve(echo(store=store))
    assert await wire.call("ListTasks") == {"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}
    sent = [(await wire.send(f"n{number}"))["id"] for number in range(5)]
    found = await pages(wire, pageSize=2)
    assert [len(page["tasks"]) for page in found] == [2, 2, 1]
    assert [bool(page["nextPageToken"]) for page in found] == [True, True, False]
    assert {(page["pageSize"], page["totalSize"]) for page in found} == {(2, 5)}
    assert ids(*found) == sent[::-1] or sorted(ids(*found)) == sorted(sent)


@requirement("R-3.1.4-06")
async def test_pages_neither_repeat_nor_skip_when_tasks_are_made_in_between(serve: Serve, store: str) -> None:
    wire = await serve(echo(store=store))
    before = {(await wire.send(f"n{number}"))["id"] for number in range(7)}
    first = await wire.call("ListTasks", {"pageSize": 3})
    newer = {(await wire.send("new"))["id"] for _ in range(3)}
    rest = await pages(wire, pageSize=3, pageToken=first["nextPageToken"])
    seen = ids(first, *rest)
    assert len(seen) == len(set(seen))
    assert set(seen) == before
    assert not set(seen) & newer


@requirement("R-3.1.4-07")
async def test_the_newest_status_comes_first(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store))
    old = await wire.send("ask")
    for number in range(4):
        await wire.send(f"n{number}")
    assert ids(await wire.call("ListTasks"))[0] != old["id"]
    await wire.send(message("red", taskId=old["id"]))
    listed = (await wire.call("ListTasks"))["tasks"]
    times = [task["status"]["timestamp"] for task in listed]
    assert times == sorted(times, reverse=True)
    assert old["id"] in [task["id"] for task in listed if task["status"]["timestamp"] == times[0]]


@requirement("R-3.1.4-09", "R-3.3.2-11")
async def test_a_page_holds_fifty_tasks_unless_told_and_no_more_than_a_hundred(serve: Serve) -> None:
    wire = await serve(echo())
    for number in range(51):
        await wire.send(f"n{number}")
    assert len((await wire.call("ListTasks"))["tasks"]) == 50
    assert len((await wire.call("ListTasks", {"pageSize": 100}))["tasks"]) == 51
    for size in (0, -1, 101, 2**31 - 1):
        with refused("INVALID_PARAMS") as caught:
            await wire.call("ListTasks", {"pageSize": size})
        assert caught.value.fields == ["pageSize"]
        description = caught.value.details[-1]["fieldViolations"][0]["description"]
        assert "1" in description
        assert "100" in description


@requirement("R-3.1.4-10", "R-5.6.1-03")
async def test_the_time_filter_includes_its_own_instant(serve: Serve, store: str) -> None:
    wire = await serve(echo(store=store))
    task = await wire.send()
    stamp = task["status"]["timestamp"]
    instant = datetime.fromisoformat(stamp)
    for written in (stamp, stamp.replace("Z", "000Z"), stamp.replace("Z", "000000Z"), stamp.replace("Z", "+00:00")):
        assert ids(await wire.call("ListTasks", {"statusTimestampAfter": written})) == [task["id"]]
    later = (instant + timedelta(milliseconds=1)).isoformat().replace("+00:00", "Z")
    listed = await wire.call("ListTasks", {"statusTimestampAfter": later})
    assert (listed["tasks"], listed["totalSize"]) == ([], 0)


@requirement("R-5.6.1-04")
async def test_an_instant_with_an_offset_is_the_same_instant(serve: Serve) -> None:
    wire = await serve(echo())
    task = await wire.send()
    elsewhere = datetime.fromisoformat(task["status"]["timestamp"]) + timedelta(hours=2)
    written = elsewhere.isoformat(timespec="milliseconds").replace("+00:00", "+02:00")
    assert ids(await wire.call("ListTasks", {"statusTimestampAfter": written})) == [task["id"]]


async def test_filters_by_state_and_context_go_together(serve: Serve, store: str) -> None:
    wire = await serve(obedient(store=store))
    asked, done = await wire.send("ask"), await wire.send("done")
    assert ids(await wire.call("ListTasks", {"status": "TASK_STATE_INPUT_REQUIRED"})) == [asked["id"]]
    assert ids(await wire.call("ListTasks", {"status": "TASK_STATE_COMPLETED"})) == [done["id"]]
    both = {"status": "TASK_STATE_COMPLETED", "contextId": asked["contextId"]}
    assert (await wire.call("ListTasks", both))["totalSize"] == 0
    assert ids(await wire.call("ListTasks", {"contextId": done["contextId"]})) == [done["id"]]


@requirement("R-3.3.2-11", "R-11.5-05")
@without(TYPED)
@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("status", "TASK_STATE_NONSENSE"),
        ("statusTimestampAfter", "yesterday"),
        ("includeArtifacts", "perhaps"),
        ("pageSize", "many"),
        ("pageSize", 2**40),
    ],
)
async def test_a_wrong_filter_is_named(serve: Serve, member: str, value: str | int) -> None:
    wire = await serve(echo())
    with refused("INVALID_PARAMS") as caught:
        await wire.call("ListTasks", {member: value})
    assert caught.value.fields == [member]
    if member == "status":
        assert "WORKING" in caught.value.details[-1]["fieldViolations"][0]["description"].upper()


@requirement("R-3.3.2-10")
async def test_a_token_that_is_none_is_named(serve: Serve) -> None:
    wire = await serve(echo())
    with refused("INVALID_PARAMS") as caught:
        await wire.call("ListTasks", {"pageToken": "not-a-token"})
    assert caught.value.fields == ["pageToken"]


async def test_a_token_of_other_filters_is_refused_or_harmless(serve: Serve) -> None:
    wire = await serve(echo())
    for number in range(3):
        await wire.send(f"n{number}")
    token = (await wire.call("ListTasks", {"pageSize": 1}))["nextPageToken"]
    listed = await wire.call("ListTasks", {"pageSize": 1, "pageToken": token, "status": "TASK_STATE_COMPLETED"})
    assert listed["totalSize"] == 3
