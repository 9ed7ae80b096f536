"""Origins that are out of order, workers that are gone, a store that does not answer."""

import asyncio

import pytest

from dragoman.errors import StoreUnavailable
from dragoman.ports.bus import Hint
from dragoman.ports.call import Scope
from dragoman.ports.push import Push, PushMove, PushState
from dragoman.ports.tasks import Entry, Stored
from dragoman.ports.webhook import Undelivered
from dragoman.push.options import PushOptions, Retry
from dragoman.stores.memory import MemoryStore
from dragoman.types.task import TaskState
from tests.unit.push.stage import LoopClock, Receivers, chunk, played, staged, state

HOOK = "https://one.example/a"
OTHER = "https://other.example/b"
DONE = state(TaskState.COMPLETED)
TASK = "1 task working"


@played
async def test_an_origin_out_of_order_is_left_alone_and_others_do_not_notice() -> None:
    async with staged(PushOptions(breaker=3, per_host=1)) as stage:
        stage.receivers.always[HOOK] = Undelivered("no connection")
        for number in range(20):
            await stage.begin(f"t-{number}", HOOK)
        await stage.begin("t", OTHER)
        await asyncio.sleep(1)
        assert stage.receivers.got(OTHER) == [TASK]
        assert len(stage.receivers.got(HOOK)) == 3
        (origin,) = stage.pusher.state.origins
        assert (origin.origin, origin.failures) == ("https://one.example", 3)
        assert origin.closed_for > 0
        await asyncio.sleep(10)
        assert len(stage.receivers.got(HOOK)) == 4
        stage.receivers.always.clear()
        await asyncio.sleep(60)
        assert len(stage.receivers.got(HOOK)) == 4 + 20


@played
async def test_an_origin_that_stays_out_of_order_does_not_fill_the_memory() -> None:
    async with staged(PushOptions(breaker=3, retry=Retry(budget=3_600))) as stage:
        stage.receivers.always[HOOK] = 500
        for number in range(50):
            await stage.begin(f"t-{number}", HOOK)
        await asyncio.sleep(200)
        assert stage.pusher.state.known < 10
        # All of them are in trouble, tried or not, and given up in the end.
        assert all(push.failing_since for push in await stage.live())
        await asyncio.sleep(6_000)
        assert await stage.live() == ()


@played
async def test_an_origin_has_so_many_deliveries_at_once_and_no_more() -> None:
    async with staged(PushOptions(per_host=3)) as stage:
        stage.receivers.takes[HOOK] = 0.1
        for number in range(20):
            await stage.begin(f"t-{number}", HOOK)
        await asyncio.sleep(5)
        assert (stage.receivers.most, len(stage.receivers.posts)) == (3, 20)


# Workers, and the store.


@played
async def test_who_comes_after_goes_on_where_the_other_was() -> None:
    store, receivers = MemoryStore(LoopClock()), Receivers()
    async with staged(store=store, receivers=receivers) as stage:
        receivers.takes[HOOK] = 1
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"), DONE)
        await asyncio.sleep(1.5)
    await store.retire("w-1")
    async with staged(store=store, receivers=receivers, worker="w-2") as stage:
        await asyncio.sleep(5)
        assert receivers.got(HOOK) == [TASK, "2 one", "2 one", "3 completed"]
        push = await stage.push("t", "a")
        assert (push.worker, push.epoch, push.state) == ("w-2", 2, PushState.ENDED)


@played
async def test_what_belongs_to_a_worker_is_taken_over_only_when_it_is_gone() -> None:
    store, receivers = MemoryStore(LoopClock()), Receivers()
    async with staged(store=store, receivers=receivers, worker="w-2") as stage:
        await store.beat("w-1")
        await stage.begin("t")
        # The other's, which does not deliver.
        await store.put_push(stage.new("t", HOOK, cursor=0))
        await asyncio.sleep(15)
        assert receivers.posts == []
        await asyncio.sleep(15)
        assert receivers.got(HOOK) == [TASK]


@played
async def test_a_late_worker_learns_that_it_is_not_its_turn_any_more() -> None:
    async with staged() as stage:
        stage.receivers.takes[HOOK] = 1
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"))
        await asyncio.sleep(0.5)
        push = await stage.push("t", "a")
        await stage.store.move_push(PushMove(n=push.n, epoch=push.epoch, cursor=0, claim=True, worker="w-2"))
        await stage.store.beat("w-2")
        await asyncio.sleep(5)
        assert stage.receivers.got(HOOK) == [TASK]
        assert (await stage.push("t", "a")).cursor == 0


class Unreliable(MemoryStore):
    """Does not answer for as often as it is told."""

    def __init__(self) -> None:
        super().__init__(LoopClock())
        self.failing: dict[str, int] = {}

    def _try(self, name: str) -> None:
        if self.failing.get(name, 0):
            self.failing[name] -= 1
            raise StoreUnavailable("out of order")

    async def move_push(self, move: PushMove) -> None:
        self._try("move")
        await super().move_push(move)

    async def get_push(self, task_id: str, scope: Scope, config_id: str) -> Push | None:
        self._try("get")
        return await super().get_push(task_id, scope, config_id)

    async def due_pushes(self, worker: str, dead_after: float, *, after: int, limit: int) -> tuple[Push, ...]:
        self._try("due")
        return await super().due_pushes(worker, dead_after, after=after, limit=limit)


@pytest.mark.parametrize("name", ["move", "get", "due"])
@played
async def test_a_store_that_does_not_answer_costs_time_and_nothing_else(name: str) -> None:
    store = Unreliable()
    async with staged(store=store) as stage:
        store.failing[name] = 3
        await stage.begin("t", HOOK)
        await stage.happen("t", chunk("one"), DONE)
        await asyncio.sleep(30)
        assert stage.receivers.got(HOOK) == [TASK, "2 one", "3 completed"]
        assert (await stage.push("t", "a")).state is PushState.ENDED


@played
async def test_without_its_store_a_pusher_does_not_open() -> None:
    store = Unreliable()
    store.failing["due"] = 1
    with pytest.raises(StoreUnavailable):
        async with staged(store=store):
            pytest.fail("it has opened")


# More than memory is for.


@played
async def test_what_has_no_place_in_memory_is_found_in_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.push.pusher.MOST_OF_ORIGIN", 5)
    monkeypatch.setattr("dragoman.push.pusher.MANY", 3)
    async with staged(PushOptions(per_host=2)) as stage:
        stage.receivers.takes[HOOK] = 0.1
        for number in range(100):
            await stage.begin(f"t-{number}", HOOK)
            await stage.happen(f"t-{number}", DONE)
        most = 0
        for _ in range(200):
            await asyncio.sleep(0.1)
            most = max(most, stage.pusher.state.known)
        assert most <= 5 + 2 + 5
        assert sorted(stage.receivers.got(HOOK)) == [TASK] * 100 + ["2 completed"] * 100
        assert await stage.live() == ()


@played
async def test_a_slow_origin_with_much_to_do_does_not_take_the_place_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dragoman.push.pusher.MOST_OF_ORIGIN", 5)
    async with staged(PushOptions(per_host=2)) as stage:
        stage.receivers.takes[HOOK] = 10
        for number in range(50):
            await stage.begin(f"t-{number}", HOOK)
            await asyncio.sleep(0.01)
        await stage.begin("t", OTHER)
        await stage.happen("t", DONE)
        await asyncio.sleep(1)
        assert stage.receivers.got(OTHER) == [TASK, "2 completed"]
        assert stage.pusher.state.known <= 2 * 5 + 2


class Unreadable(MemoryStore):
    """Tasks cannot be found by their ids alone."""

    def __init__(self, trouble: Exception) -> None:
        super().__init__(LoopClock())
        self.trouble = trouble
        self.asked = 0

    async def locate(self, task_id: str) -> Stored | None:  # noqa: ARG002 -- whichever it is
        self.asked += 1
        raise self.trouble


@played
@pytest.mark.parametrize("trouble", [StoreUnavailable("damaged"), ValueError("surprising")])
async def test_a_task_that_cannot_be_looked_at_does_not_keep_others_from_being_found(trouble: Exception) -> None:
    store = Unreadable(trouble)
    async with staged(store=store) as stage:
        await stage.begin("t", HOOK)
        await asyncio.sleep(1)
        for _ in range(3):
            await stage.happen("t", chunk("one"))
        stage.pusher.dropped("t", "a")
        stage.bus.publish(Hint("t", (Entry(seq=4, event=state(TaskState.WORKING)),)))
        await asyncio.sleep(60)
        assert stage.receivers.got(HOOK) == [TASK, "2 one", "3 one", "4 one"]
        assert store.asked == 1


@played
async def test_what_was_delivered_is_stored_before_its_origin_is_left_alone() -> None:
    store = Unreliable()
    async with staged(PushOptions(breaker=1, retry=Retry(first=10.0)), store=store) as stage:
        await stage.begin("t", HOOK)
        await stage.begin("other", OTHER.replace("other", "one"))
        await asyncio.sleep(1)
        store.failing["move"] = 1
        stage.receivers.takes[HOOK] = 0.1
        await stage.happen("t", chunk("one"))
        await asyncio.sleep(0.15)
        # It was taken, and that could not be stored; now the origin breaks.
        stage.receivers.always[f"{HOOK[:-1]}b"] = 500
        await stage.happen("other", chunk("one"))
        await asyncio.sleep(30)
        assert stage.receivers.got(HOOK) == [TASK, "2 one"]
        assert (await stage.push("t", "a")).cursor == 2


@played
async def test_configurations_for_which_nothing_happens_give_way_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.push.lines.MOST_LINES", 10)
    async with staged() as stage:
        for number in range(10):
            await stage.begin(f"t-{number}", HOOK)
        await asyncio.sleep(1)
        for number in range(5):
            await stage.begin(f"u-{number}", OTHER)
        await asyncio.sleep(10)
        assert stage.receivers.got(OTHER) == [TASK] * 5
        for number in range(10):
            await stage.happen(f"t-{number}", chunk("one"))
        await asyncio.sleep(20)
        assert stage.receivers.got(HOOK) == [TASK] * 10 + ["2 one"] * 10
        assert stage.pusher.state.known <= 10
