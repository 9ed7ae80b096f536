"""What happens to a pusher at bad moments, and by clocks that are wrong."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from dragoman.ports.bus import Hint
from dragoman.ports.push import PushMove, PushState
from dragoman.ports.tasks import Entry
from dragoman.push.options import PushOptions, Retry
from dragoman.stores.memory import MemoryStore
from dragoman.types.task import TaskState
from tests.unit.push.stage import ANYONE, START, WORKER, LoopClock, chunk, played, staged, state

HOOK = "https://hook.example/a"
TASK = "1 task working"


class Telling(MemoryStore):
    """Has something done right after a move, before anybody hears that it was made."""

    def __init__(self) -> None:
        super().__init__(LoopClock())
        self.then: Callable[[], None] | None = None

    async def move_push(self, move: PushMove) -> None:
        await super().move_push(move)
        if self.then is not None:
            asyncio.get_running_loop().call_soon(self.then)
            self.then = None


@played
async def test_what_is_heard_at_the_end_of_an_attempt_that_has_failed_does_not_begin_another() -> None:
    store = Telling()
    async with staged(store=store) as stage:
        stage.receivers.say(HOOK, 200, 500)
        await stage.begin("t", HOOK)
        await asyncio.sleep(5)
        more = (chunk("one"), chunk("two"))
        await stage.happen("t", *more, hint=False)
        store.then = lambda: stage.bus.publish(Hint("t", (Entry(seq=3, event=more[1]),)))
        stage.receivers.takes[HOOK] = 1.5
        stage.bus.publish(Hint("t", (Entry(seq=2, event=more[0]),)))
        await asyncio.sleep(20)
        assert stage.receivers.got(HOOK) == [TASK, "2 one", "2 one", "3 two"]
        assert stage.receivers.most == 1
        failed, again = stage.receivers.posts[1:3]
        assert again.at - failed.at == 1.5 + 1


@played
@pytest.mark.parametrize(("ahead", "at"), [(60.0, 60.0), (3600.0, 0.0)], ids=["in time", "later than anything waits"])
async def test_a_clock_that_was_wrong_puts_nothing_off_for_longer_than_anything_waits(ahead: float, at: float) -> None:
    store = MemoryStore(LoopClock())
    async with staged(PushOptions(retry=Retry(first=1.0, most=60.0)), store=store) as first:
        first.receivers.always[HOOK] = 500
        await first.begin("t", HOOK)
        await asyncio.sleep(0.1)
    push = await store.get_push("t", ANYONE, "a")
    assert push is not None
    began = asyncio.get_running_loop().time()
    not_before = START + timedelta(seconds=began + ahead)
    await store.move_push(PushMove(n=push.n, epoch=push.epoch, cursor=0, attempts=1, not_before=not_before))
    async with staged(PushOptions(retry=Retry(first=1.0, most=60.0)), store=store) as stage:
        await asyncio.sleep(90)
        assert [post.at - began for post in stage.receivers.posts] == [pytest.approx(at, abs=5.5)]


@played
@pytest.mark.parametrize(("alive", "posts"), [(True, []), (False, [TASK, "2 working"])], ids=["alive", "dead"])
async def test_a_task_that_goes_on_is_delivered_for_its_owner_by_another_only_once_that_is_dead(
    alive: bool,
    posts: list[str],
) -> None:
    store = MemoryStore(LoopClock())
    async with staged(store=store, worker="w-2") as stage:
        await stage.begin("own", "https://other.example/a")
        await stage.begin("t")
        await store.put_push(stage.new("t", HOOK, cursor=0))
        if alive:
            await store.beat(WORKER)
        await asyncio.sleep(1)
        await stage.happen("t", state(TaskState.WORKING))
        await asyncio.sleep(1)
        assert stage.receivers.got(HOOK) == posts


@played
async def test_what_another_has_delivered_to_its_end_is_not_told_again_as_a_whole_once_its_log_is_gone() -> None:
    store = MemoryStore(LoopClock())
    async with staged(store=store) as stage:
        stage.receivers.say(HOOK, 200, 500)
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"))
        await asyncio.sleep(0.1)
        await stage.happen("t", state(TaskState.COMPLETED), hint=False)
        push = await stage.push("t", "a")
        await store.move_push(PushMove(n=push.n, epoch=1, cursor=2, claim=True, worker="w-2"))
        await store.move_push(PushMove(n=push.n, epoch=2, cursor=3, state=PushState.ENDED))
        assert await store.prune(logs_after=0.0, tasks_after=None, limit=10) > 0
        await asyncio.sleep(10)
        assert stage.receivers.got(HOOK) == [TASK, "2 one"]
