"""Configurations of push notifications: set, read, listed and removed, by those whose task it is."""

from pathlib import Path

import pytest

from dragoman import PushOptions
from tests.behaviour.agents import obedient
from tests.behaviour.cells import NO_PAGES_OF_CONFIGURATIONS, NO_TENANTS, only, without
from tests.behaviour.configs import HOOK, ORIGIN, PUSH, Configs, waiting
from tests.behaviour.manifest import requirement
from tests.behaviour.rpc import Bridge
from tests.behaviour.wire import Fault, Serve, Wire, message, refused, wire_to

SECRETS = ("of-ours-token", "of-ours-credentials")


@pytest.fixture
async def wire(serve: Serve, store: str) -> Wire:
    return await serve(obedient(store=store, push=PUSH))


@requirement("R-3.1.8-01")
async def test_a_configuration_is_read_back_as_it_was_set(wire: Wire) -> None:
    configs = await waiting(wire)
    secret = {"scheme": "Bearer", "credentials": "secret"}
    created = await configs.create(id="c", token="of-mine", authentication=secret)
    shown = {"id": "c", "taskId": configs.task_id, "url": HOOK, "token": "of-mine"}
    assert created == {**shown, "authentication": {"scheme": "Bearer"}}
    assert await configs.call("Get", id="c") == created
    assert (await configs.call("List"))["configs"] == [created]
    bare = await configs.create(id="bare")
    assert bare == {"id": "bare", "taskId": configs.task_id, "url": HOOK} == await configs.call("Get", id="bare")


@requirement("R-3.1.9-01")
async def test_a_task_has_several_and_all_are_listed_as_they_came(wire: Wire) -> None:
    configs = await waiting(wire)
    other = await waiting(wire)
    assert await configs.ids() == []
    for number in (3, 1, 2):
        await configs.create(id=f"c{number}", url=f"{ORIGIN}/{number}")
    await other.create(id="c1")
    assert await configs.ids() == ["c3", "c1", "c2"]
    assert [(await configs.call("Get", id=f"c{number}"))["url"][-2:] for number in (1, 2, 3)] == ["/1", "/2", "/3"]
    assert await other.ids() == ["c1"]


async def test_one_that_is_set_again_takes_the_place_of_the_first(wire: Wire) -> None:
    configs = await waiting(wire)
    await configs.create(id="a", token="first", authentication={"scheme": "Bearer", "credentials": "secret"})
    await configs.create(id="b")
    await configs.create(id="a", url=f"{ORIGIN}/second")
    assert await configs.ids() == ["a", "b"]
    assert await configs.call("Get", id="a") == {"id": "a", "taskId": configs.task_id, "url": f"{ORIGIN}/second"}


async def test_one_without_an_id_gets_one_by_which_its_callers_ask_for_it(wire: Wire) -> None:
    configs = await waiting(wire)
    first = await configs.create()
    assert await configs.call("Get", id=first["id"]) == first
    if wire.cell.line == "0.3":
        assert first["id"] == configs.task_id
        await configs.create(id="another")
        if wire.binding != "HTTP+JSON":  # where the path has a place for it
            assert await configs.call("Get") == first
    else:
        second = await configs.create()
        assert len({first["id"], second["id"], configs.task_id, ""}) == 4


@without(NO_PAGES_OF_CONFIGURATIONS)
async def test_pages_are_as_long_as_asked_for_and_together_hold_all(wire: Wire) -> None:
    configs = await waiting(wire)
    ids = [(await configs.create(id=f"c{number}"))["id"] for number in range(5)]
    seen: list[list[str]] = []
    token = ""
    while True:
        page = await configs.call("List", pageSize=2, **({"pageToken": token} if token else {}))
        seen.append([config["id"] for config in page["configs"]])
        token = page.get("nextPageToken", "")
        if not token:
            break
        if len(seen) == 1:
            # What goes from a page that was read, or is set again, moves nothing.
            await configs.call("Delete", id="c1")
            await configs.create(id="c0")
    assert seen == [ids[:2], ids[2:4], ids[4:]]
    for wrong in ({"pageToken": "nonsense"}, {"pageSize": 101}, {"pageSize": -1}):
        with refused("INVALID_PARAMS"):
            await configs.call("List", **wrong)


@only(*NO_PAGES_OF_CONFIGURATIONS.cells)
async def test_without_pages_all_are_in_the_list(wire: Wire) -> None:
    configs = await waiting(wire)
    for number in range(16):
        await configs.create(id=f"c{number}")
    assert len(await configs.ids(pageSize=2)) == 16


@requirement("R-3.1.10-01", "R-3.1.10-02")
async def test_what_was_removed_is_gone_and_can_be_removed_again(wire: Wire) -> None:
    configs = await waiting(wire)
    await configs.create(id="a")
    await configs.create(id="b")
    for _ in range(2):
        assert not await configs.call("Delete", id="a")
    assert not await configs.call("Delete", id="never-there")
    with refused("TASK_NOT_FOUND"):
        await configs.call("Get", id="a")
    assert await configs.ids() == ["b"]


@requirement("R-3.1.7-03")
async def test_a_task_that_is_not_there_has_no_configurations(wire: Wire) -> None:
    nowhere = Configs(wire, "unknown")
    attempts = [nowhere.create(id="c")] + [nowhere.call(verb, id="c") for verb in ("Get", "Delete")]
    for attempt in (*attempts, nowhere.call("List")):
        with refused("TASK_NOT_FOUND"):
            await attempt


@requirement("R-3.1.8-02")
async def test_one_that_is_not_there_is_not_found(wire: Wire) -> None:
    configs = await waiting(wire)
    other = await waiting(wire)
    await other.create(id="c")
    for missing in ("c", other.task_id):
        with refused("TASK_NOT_FOUND"):
            await configs.call("Get", id=missing)


@requirement("R-3.1.8-02", "R-3.1.7-03")
@without(NO_TENANTS)
async def test_somebody_elses_look_like_those_of_a_task_that_is_not_there(wire: Wire) -> None:
    ours = Configs(wire, (await wire.send("ask", tenant="ours"))["id"], tenant="ours")
    created = await ours.create(id="c")
    theirs = Configs(wire, ours.task_id, tenant="theirs")
    for verb in ("Create", "Get", "List", "Delete"):
        faults = [
            await _fault(configs, verb)
            for configs in (theirs, Configs(wire, ours.task_id), Configs(wire, "unknown", tenant="ours"))
        ]
        likened = {(fault.text, str(fault.details).replace(ours.task_id, "unknown")) for fault in faults}
        assert {fault.reason for fault in faults} == {"TASK_NOT_FOUND"}
        assert len(likened) == 1
    assert await ours.call("Get", id="c") == created
    assert created["tenant"] == "ours"


async def _fault(configs: Configs, verb: str) -> Fault:
    named = {} if verb == "List" else {"id": "c"}
    with refused("TASK_NOT_FOUND") as caught:
        await configs.call(verb, **named, **({"url": HOOK} if verb == "Create" else {}))
    return caught.value


@requirement("R-3.1.7-02")
async def test_a_task_that_has_ended_keeps_its_own_and_takes_new_ones(wire: Wire) -> None:
    configs = Configs(wire, (await wire.send("done"))["id"])
    await configs.create(id="late")
    assert await configs.ids() == ["late"]
    earlier = await waiting(wire)
    created = await earlier.create(id="early")
    await wire.send(message("red", taskId=earlier.task_id))
    assert await earlier.call("Get", id="early") == created


async def test_no_more_are_taken_than_a_task_may_have(serve: Serve) -> None:
    wire = await serve(obedient(push=PushOptions(allow=[ORIGIN], max_per_task=2)))
    configs = await waiting(wire)
    for config_id in ("a", "b", "a"):
        await configs.create(id=config_id)
    with refused("UNSUPPORTED_OPERATION"):
        await configs.create(id="c")
    inline = {"taskPushNotificationConfig": {"id": "c", "url": HOOK}}
    with refused("UNSUPPORTED_OPERATION"):
        await wire.send(message("red", taskId=configs.task_id), configuration=inline)
    assert (await wire.get(configs.task_id))["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    assert await configs.ids() == ["a", "b"]


# Secrets, and what lasts.


@requirement("R-13.2-12")
async def test_no_secret_comes_back_or_stands_in_the_store_or_in_logs(
    serve: Serve, store: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    wire = await serve(obedient(store=store, push=PUSH))
    token, credentials = SECRETS
    how = {"token": token, "authentication": {"scheme": "Bearer", "credentials": credentials}}
    task = await wire.send("ask", configuration={"taskPushNotificationConfig": {"id": "a", "url": HOOK, **how}})
    configs = Configs(wire, task["id"])
    replies = [await configs.create(id="b", **how), await configs.call("Get", id="a"), await configs.call("List")]
    assert credentials not in str(replies)
    await wire.send(message("red", taskId=task["id"]))
    found = b"".join(_files(tmp_path).values())
    assert not [secret for secret in (*SECRETS, "of=ours") if secret.encode() in found]
    assert not [secret for secret in SECRETS if secret in caplog.text]
    assert (store == "memory") == (found == b"")


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def test_they_outlive_the_server_with_the_key_beside_the_store(tmp_path: Path, binding: str) -> None:
    given = {"id": "c", "url": HOOK, "token": "of-mine"}
    agent = obedient(store=f"sqlite:///{tmp_path / 'tasks.db'}", push=PUSH)
    async with Bridge(agent.asgi()) as bridge:
        task = await (await wire_to(bridge, binding)).send("ask", configuration={"taskPushNotificationConfig": given})
    assert (tmp_path / "tasks.db.key").stat().st_mode & 0o777 == 0o600
    async with Bridge(agent.asgi()) as bridge:
        configs = Configs(await wire_to(bridge, binding), task["id"])
        assert await configs.call("Get", id="c") == {**given, "taskId": task["id"]}
    (tmp_path / "tasks.db.key").unlink()
    async with Bridge(agent.asgi()) as bridge:
        configs = Configs(await wire_to(bridge, binding), task["id"])
        assert await configs.call("Get", id="c") == {"id": "c", "taskId": task["id"], "url": ORIGIN}


async def test_a_store_without_configurations_has_no_key(tmp_path: Path, binding: str) -> None:
    agent = obedient(store=f"sqlite:///{tmp_path / 'tasks.db'}")
    async with Bridge(agent.asgi()) as bridge:
        await (await wire_to(bridge, binding)).send("done")
    assert not [name for name in _files(tmp_path) if name.endswith(".key")]
