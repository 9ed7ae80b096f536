"""A webhook that was registered in any cell is called, in the line of its registration, until it is removed."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dragoman import PushOptions
from dragoman.push.options import Retry
from tests.behaviour.agents import gated
from tests.behaviour.checks import check_payload
from tests.behaviour.configs import Configs
from tests.behaviour.manifest import requirement
from tests.behaviour.spellings import DRAFT, FINAL, KINDS, Final, Older
from tests.behaviour.webhooks import Receiver, receiving
from tests.behaviour.wire import Serve, Wire, message

SPELLINGS: dict[str, Final | Older] = {"1.0": FINAL, "draft": DRAFT, "0.3": KINDS}
MEDIA_TYPES = {"1.0": "application/a2a+json", "draft": "application/json", "0.3": "application/json"}


@pytest.fixture
async def hook() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


def events(wire: Wire, hook: Receiver) -> list[dict[str, Any]]:
    """What was posted, as 1.0 has it."""
    read = [SPELLINGS[wire.cell.line].event(post.body) for post in hook.posts]
    for event in read:
        check_payload(event)
    return read


def ended(wire: Wire, hook: Receiver) -> bool:
    """Whether the last that was posted tells of the end."""
    last: dict[str, Any] = next(iter(events(wire, hook)[-1].values())) if hook.posts else {}
    return bool(last.get("status", {}).get("state") == "TASK_STATE_COMPLETED")


@requirement("R-3.1.7-01", "R-3.1.7-02", "R-3.1.10-01", "R-4.3.3-01", "R-4.3.3-06", "R-4.3.3-08", "R-13.2-01", "R-T-05")
async def test_a_webhook_is_called_until_it_is_removed(serve: Serve, hook: Receiver) -> None:
    agent, gate = gated(push=PushOptions(allow=[hook.origin], retry=Retry(first=0.01, most=0.02)))
    wire = await serve(agent)
    task = await wire.send("one two three", configuration={"returnImmediately": True})
    configs = Configs(wire, task["id"])
    secret = {"scheme": "Bearer", "credentials": "secret"}
    for config_id in ("kept", "removed"):
        url = f"{hook.url}?{config_id}"
        await configs.create(id=config_id, url=url, token="of-mine", authentication=secret)
    gate.release()
    await hook.until(lambda receiver: len(receiver.posts) == 2)
    await configs.call("Delete", id="removed")
    for _ in range(3):
        gate.release()
    await hook.until(lambda receiver: ended(wire, receiver))
    ids = [post.headers["webhook-id"].rpartition(":")[2] for post in hook.posts]
    assert sorted(ids[:2]) == ["kept", "removed"]
    assert set(ids[2:]) == {"kept"}
    assert {post.headers["content-type"] for post in hook.posts} == {MEDIA_TYPES[wire.cell.line]}
    assert {post.headers["x-a2a-notification-token"] for post in hook.posts} == {"of-mine"}
    assert {post.headers["authorization"] for post in hook.posts} == {"Bearer secret"}
    assert wire.cell.line == "0.3" or {len(post.body) for post in hook.posts} == {1}
    assert await configs.ids() == ["kept"]


@requirement("R-3.1.7-01")
async def test_one_that_comes_with_a_message_hears_all_from_the_beginning(serve: Serve, hook: Receiver) -> None:
    agent, gate = gated(push=PushOptions(allow=[hook.origin], retry=Retry(first=0.01, most=0.02)))
    wire = await serve(agent)
    inline = {"taskPushNotificationConfig": {"url": hook.url}, "returnImmediately": True}
    task = await wire.send(message("one two"), configuration=inline)
    for _ in range(3):
        gate.release()
    await hook.until(lambda receiver: ended(wire, receiver))
    first, last = events(wire, hook)[0], events(wire, hook)[-1]
    assert first["task"]["id"] == task["id"]
    whole = last["task"] if wire.cell.line == "0.3" else await wire.get(task["id"])
    assert "".join(part["text"] for part in whole["artifacts"][0]["parts"]) == "one two "
    if wire.cell.line != "0.3":
        assert first["task"]["status"]["state"] == "TASK_STATE_WORKING"
        assert [next(iter(event)) for event in events(wire, hook)[1:]][-1] == "statusUpdate"
