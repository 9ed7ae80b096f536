"""Configurations of push notifications as a caller sets and reads them by hand."""

from typing import Any

from dragoman import PushOptions
from tests.behaviour.wire import Wire

__all__ = ["HOOK", "ORIGIN", "PUSH", "Configs", "waiting"]

ORIGIN = "http://127.0.0.1:9"
"""Nobody listens there, but it may be called."""
HOOK = f"{ORIGIN}/hook?of=ours"
PUSH = PushOptions(allow=[ORIGIN])
NAMES = {
    verb: f"{verb}TaskPushNotificationConfig{'s' if verb == 'List' else ''}"
    for verb in ("Create", "Get", "List", "Delete")
}


class Configs:
    """The configurations of one task over one wire."""

    def __init__(self, wire: Wire, task_id: str, **how: Any) -> None:
        self.wire, self.task_id, self.how = wire, task_id, how

    async def call(self, verb: str, **members: Any) -> Any:
        return await self.wire.call(NAMES[verb], {"taskId": self.task_id, **members}, **self.how)

    async def create(self, **members: Any) -> dict[str, Any]:
        created: dict[str, Any] = await self.call("Create", **{"url": HOOK, **members})
        return created

    async def ids(self, **page: Any) -> list[str]:
        return [config["id"] for config in (await self.call("List", **page)).get("configs", [])]


async def waiting(wire: Wire) -> Configs:
    """The configurations of a task that waits for its caller."""
    return Configs(wire, (await wire.send("ask"))["id"])
