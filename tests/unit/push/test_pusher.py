"""Deliveries end to end, over a store in memory and in virtual time."""

import asyncio

from dragoman.ports.push import PushState
from dragoman.types.task import TaskState
from tests.unit.push.stage import chunk, played, staged, state

HOOK = "https://one.example/a"


@played
async def test_every_event_is_delivered_in_order_once_the_creation_first() -> None:
    async with staged() as stage:
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"))
        await stage.happen("t", chunk("two"), state(TaskState.COMPLETED))
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == ["1 task working", "2 one", "3 two", "4 completed"]
        push = await stage.push("t", "a")
        assert (push.state, push.cursor) == (PushState.ENDED, 4)
        assert stage.pusher.state.known == 0
