"""What is removed or replaced while it is delivered, and the end of the pusher."""

import asyncio

import msgspec

from dragoman.ports.bus import Hint
from dragoman.ports.push import Push
from dragoman.ports.tasks import Entry, Selector
from dragoman.stores.memory import MemoryStore
from dragoman.types.task import TaskState
from tests.unit.push.stage import ANYONE, LoopClock, Receivers, Stage, chunk, played, staged, state

HOOK = "https://one.example/a"
OTHER = "https://other.example/b"
DONE = state(TaskState.COMPLETED)
TASK = "1 task working"


async def under_way(stage: Stage) -> None:
    """Two deliveries are due, and the first is on the wire."""
    stage.receivers.takes[HOOK] = 1
    await stage.begin("t", HOOK)
    await stage.happen("t", chunk("one"))
    await asyncio.sleep(0.5)
    assert stage.receivers.under_way == [HOOK]


@played
async def test_after_a_delete_nothing_is_sent_and_what_is_under_way_breaks_off() -> None:
    async with staged() as stage:
        await under_way(stage)
        await stage.store.drop_push("t", ANYONE, "a")
        stage.pusher.dropped("t", "a")
        await asyncio.sleep(0)
        assert stage.receivers.under_way == []
        await stage.happen("t", DONE)
        await asyncio.sleep(20)
        assert stage.receivers.got(HOOK) == [TASK]


@played
async def test_after_an_erasure_nothing_is_sent() -> None:
    async with staged() as stage:
        await under_way(stage)
        stage.pusher.erased(await stage.store.erase(Selector(task_id="t")))
        await asyncio.sleep(0)
        assert stage.receivers.under_way == []
        await asyncio.sleep(20)
        assert stage.receivers.got(HOOK) == [TASK]
        assert stage.pusher.state.known == 0


@played
async def test_a_replacement_takes_effect_at_once_with_one_delivery_at_a_time() -> None:
    async with staged() as stage:
        await under_way(stage)
        stage.receivers.lingers = 0.5
        await stage.store.put_push(msgspec.structs.replace(stage.new("t", OTHER), id="a"))
        stage.pusher.stored("t", ANYONE, "a")
        await stage.happen("t", DONE)
        await asyncio.sleep(5)
        assert stage.receivers.got(HOOK) == [TASK]
        assert stage.receivers.got(OTHER) == [TASK, "2 one", "3 completed"]
        assert stage.receivers.most == 1


class Late(MemoryStore):
    """Takes its time to hand over what is due, as of before."""

    def __init__(self) -> None:
        super().__init__(LoopClock())
        self.read = asyncio.Event()

    async def due_pushes(self, worker: str, dead_after: float, *, after: int, limit: int) -> tuple[Push, ...]:
        page = await super().due_pushes(worker, dead_after, after=after, limit=limit)
        if page:
            self.read.set()
        await asyncio.sleep(0.3)
        return page


@played
async def test_what_a_late_read_brings_does_not_come_back() -> None:
    store = Late()
    async with staged(store=store) as stage:
        await stage.begin("t", HOOK)
        await asyncio.sleep(4.5)
        # Behind are one that is in memory, and one that is not.
        await stage.happen("t", chunk("one"), hint=False)
        await store.put_push(stage.new("t", OTHER, cursor=0))
        await store.read.wait()
        for config_id in ("a", "b"):
            await store.drop_push("t", ANYONE, config_id)
            stage.pusher.dropped("t", config_id)
        await asyncio.sleep(20)
        assert [stage.receivers.got(url) for url in (HOOK, OTHER)] == [[TASK], []]


@played
async def test_what_ends_during_a_read_is_not_begun_again() -> None:
    store = Late()
    async with staged(store=store) as stage:
        await stage.begin("t", HOOK)
        await asyncio.sleep(4.9)
        stage.receivers.takes[HOOK] = 0.2
        await stage.happen("t", DONE)
        await store.read.wait()
        assert stage.receivers.under_way == [HOOK]
        await asyncio.sleep(20)
        assert stage.receivers.got(HOOK) == [TASK, "2 completed"]


@played
async def test_a_task_that_is_gone_without_a_word_is_let_go_of() -> None:
    async with staged() as stage:
        await stage.begin("t", HOOK, dialect="bare")
        await asyncio.sleep(1)
        await stage.store.erase(Selector(task_id="t"))
        stage.bus.publish(Hint("t", (Entry(seq=2, event=chunk("one")),)))
        await asyncio.sleep(1)
        assert stage.pusher.state.known == 0


# The end.


@played
async def test_the_end_waits_for_what_is_due_as_long_as_it_may() -> None:
    receivers = Receivers()
    async with staged(receivers=receivers) as stage:
        receivers.takes[HOOK] = 1
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"), DONE)
        await stage.pusher.close(10)
        assert receivers.got(HOOK) == [TASK, "2 one", "3 completed"]
        assert asyncio.get_running_loop().time() < 3.5
    assert receivers.closed == 1


@played
async def test_the_end_breaks_off_what_takes_too_long() -> None:
    receivers = Receivers()
    async with staged(receivers=receivers) as stage:
        receivers.takes[HOOK] = 100
        await stage.begin("t", HOOK)
        await asyncio.sleep(0)
        await stage.pusher.close(2)
        assert asyncio.get_running_loop().time() < 4
        assert receivers.under_way == []


@played
async def test_it_opens_again() -> None:
    receivers = Receivers()
    async with staged(receivers=receivers) as stage:
        await stage.begin("t", HOOK)
        await stage.pusher.close(1)
        await stage.happen("t", DONE)
        stage.pusher.stored("t", ANYONE, "a")
        stage.pusher.dropped("t", "x")
        await stage.pusher.open(lambda: "w-1")
        await asyncio.sleep(1)
        assert receivers.got(HOOK) == [TASK, "2 completed"]
