"""Clients of the official SDKs set webhooks on our server, over every binding that they have, and those are called."""

from collections.abc import AsyncIterator

import pytest

from tests.behaviour.webhooks import Receiver, receiving
from tests.interop.columns import COLUMNS, Column
from tests.interop.peer import PeerError, PeerProgram
from tests.interop.stage import Stage
from tests.interop.words import Say, Webhook

CLIENTS = [column for column in COLUMNS if column.role == "client"]
LESS = {
    Column("client", "0.3", "py-1.3.0", "HTTP+JSON"): "lists nothing",
    **{column: "neither lists nor deletes" for column in CLIENTS if column.peer == "py-0.3.26"},
}
"""What clients cannot ask for, of all servers."""


@pytest.fixture
async def hook() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


@pytest.mark.parametrize("column", CLIENTS, ids=str)
async def test_a_webhook_is_set_read_listed_called_and_removed(stage: Stage, column: Column, hook: Receiver) -> None:
    async with stage.client(column) as theirs:
        seen = await theirs.send(Say("count 2 0"))
        given = Webhook(seen.id, "c", hook.url, "of-mine", "Bearer", "secret")
        shown = Webhook(seen.id, "c", hook.url, "of-mine", "Bearer")
        assert await theirs.push("create", given) == [shown]
        assert await theirs.push("get", Webhook(seen.id, "c")) == [shown]
        if column not in LESS:
            await lists_and_deletes(theirs, shown)
        assert hook.posts == []
        await theirs.send(Say("up", task=seen))
        await hook.until(lambda receiver: "completed" in str(receiver.bodies[-1:]).lower())
        assert {post.headers["authorization"] for post in hook.posts} == {"Bearer secret"}
        assert {post.headers["x-a2a-notification-token"] for post in hook.posts} == {"of-mine"}
        assert (hook.bodies[-1].get("kind") == "task") == (column.version == "0.3")


async def lists_and_deletes(theirs: PeerProgram, shown: Webhook) -> None:
    """Leaves the one configuration that was there."""
    (other,) = await theirs.push("create", Webhook(shown.task, "d", shown.url))
    assert other == Webhook(shown.task, "d", shown.url)
    assert await theirs.push("list", Webhook(shown.task)) == [shown, other]
    for _ in range(2):
        assert await theirs.push("delete", other) == []
    assert await theirs.push("list", Webhook(shown.task)) == [shown]
    with pytest.raises(PeerError) as caught:
        await theirs.push("get", other)
    assert caught.value.name == "TaskNotFoundError"
