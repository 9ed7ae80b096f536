"""What the fault run of webhooks serves: the agent of the other run, which pushes.

`PUSH_RECEIVERS` are the origins that may be called. `PUSH_PATIENT` has failed deliveries wait so long that they are
left to the store. `PUSH_KILL` names a point and a count, `move-after:7`: there the process dies, as by `kill -9`.
Points are those of the other run, and before and after the store takes, moves and drops a configuration, and before a
webhook is called and after it has answered.

`PUSH_TWIN` breaks the pusher: `rash` moves the cursor before the answer, `double` has several deliveries of one
configuration under way.
"""

import asyncio
import os
import time
from typing import Any

import msgspec

from dragoman import Agent, PushOptions
from dragoman.outbound.client import GuardedClient
from dragoman.ports.push import Push
from dragoman.push.courier import Courier
from dragoman.push.options import Retry
from dragoman.push.schedule import Result, as_it_is
from dragoman.stores.sqlite.store import SqliteStore
from tests.faults.agent import METHODS, arm, fails, reruns, resumes, route
from tests.faults.push.history import MADE

__all__ = ["POINTS", "TIMEOUT", "agent"]

TIMEOUT = 0.7
"""Seconds that a receiver has to answer."""
HASTY, PATIENT = Retry(first=0.02, most=0.5), Retry(first=2.0, most=15.0)

PUSHING: dict[str, tuple[type, str]] = {
    **METHODS,
    "put": (SqliteStore, "put_push"),
    "move": (SqliteStore, "move_push"),
    "drop": (SqliteStore, "drop_push"),
    "call": (GuardedClient, "post"),
}
POINTS = tuple(f"{name}-{side}" for name in PUSHING for side in ("before", "after"))


class _Stamping:
    """Has each attempt say when it was made, more exactly than `webhook-timestamp` does."""

    def sign(self, **_: object) -> dict[str, str]:
        return {MADE: f"{time.time():.6f}"}

    def key_set(self, now: float) -> bytes | None:  # noqa: ARG002 -- as every signer
        return None


agent = Agent(
    "Webhooks",
    "Does what it is told, and tells of it.",
    max_attempts=50,
    push=PushOptions(
        allow=os.environ.get("PUSH_RECEIVERS", "").split(),
        retry=PATIENT if os.environ.get("PUSH_PATIENT") else HASTY,
        timeout=TIMEOUT,
        signing=_Stamping(),
    ),
)
agent.skill(id="fail", on_crash="fail")(fails)
agent.skill(id="resume", on_crash="resume")(resumes)
agent.skill(id="rerun", on_crash="rerun")(reruns)
agent.router(route)


ATTEMPT = "_attempt"
INSISTENCE = 100
_insisting: set["asyncio.Task[None]"] = set()


def _break(twin: str) -> None:
    """Takes out of the pusher what a promise rests on."""
    attempt = getattr(Courier, ATTEMPT)

    async def rash(self: Any, push: Push, item: Any) -> Result:
        await self._store.move_push(msgspec.structs.replace(as_it_is(push), cursor=max(push.cursor, item.seq)))
        result: Result = await attempt(self, push, item)
        return result

    async def insist(self: Any, push: Push, item: Any) -> None:
        for _ in range(INSISTENCE):
            if (await attempt(self, push, item)).kind == "delivered":
                return
            await asyncio.sleep(0.05)

    async def double(self: Any, push: Push, item: Any) -> Result:
        _insisting.add(asyncio.ensure_future(insist(self, push, item)))
        return Result(kind="delivered")

    setattr(Courier, ATTEMPT, double if twin == "double" else rash)


if twin := os.environ.get("PUSH_TWIN"):
    _break(twin)
if order := os.environ.get("PUSH_KILL"):
    arm(order, PUSHING)
