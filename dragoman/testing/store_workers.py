"""What a store promises of workers: who owns a task, who is alive, and what can be claimed."""

from dragoman.errors import Fenced
from dragoman.ports.call import Scope
from dragoman.ports.tasks import TaskStore
from dragoman.testing.expect import refused
from dragoman.testing.story import Narrator, Story, stored
from dragoman.types.task import TaskState

__all__ = ["WorkerContract"]

LONG = 1000.0
"""Seconds in which no test can be dead."""


async def _ids(store: TaskStore, dead_after: float = LONG, limit: int = 100) -> list[str]:
    return [found.task.id for found in await store.claimable(dead_after, limit)]


class WorkerContract:
    async def test_a_task_is_its_creators_or_queued(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        owned = await stored(store, await narrator.begun(worker="one"))
        queued = await stored(store, await narrator.begun())
        assert (owned.worker, owned.attempt) == ("one", 1)
        assert (queued.worker, queued.attempt) == ("", 0)

    async def test_a_claim_gives_a_task_to_another_worker_and_fences_the_first(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun(worker="one")
        rival = Story(narrator, story.new)
        await store.commit(story.change(claim=True, worker="two", attempt=2))
        found = await stored(store, story)
        assert (found.worker, found.attempt, found.epoch) == ("two", 2, 2)
        with refused(Fenced):
            await store.commit(rival.change(rival.chunk("late")))
        await store.commit(story.change(story.chunk("in time")))
        assert (await stored(store, story)).worker == "two"

    async def test_a_new_turn_counts_its_own_attempts(self, store: TaskStore) -> None:
        story = await Narrator(store).begun(worker="one")
        await store.commit(story.change(claim=True, worker="one", attempt=3))
        await store.commit(story.change(story.status(TaskState.WORKING), turn=2, start=story.new.start, attempt=1))
        found = await stored(store, story)
        assert (found.turn, found.attempt, found.worker) == (2, 1, "one")

    async def test_what_a_living_worker_owns_is_not_claimable(self, store: TaskStore) -> None:
        await store.beat("one")
        story = await Narrator(store).begun(worker="one")
        assert await _ids(store) == []
        assert await _ids(store, dead_after=0) == [story.id]

    async def test_what_an_unknown_or_retired_worker_owns_is_claimable(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        await store.beat("one")
        await store.retire("one")
        await store.retire("never seen")
        stories = [await narrator.begun(worker=worker) for worker in ("one", "two")]
        assert sorted(await _ids(store)) == sorted(story.id for story in stories)

    async def test_a_worker_that_beats_again_is_alive(self, store: TaskStore) -> None:
        await store.beat("one")
        await store.retire("one")
        await store.beat("one")
        await Narrator(store).begun(worker="one")
        assert await _ids(store) == []

    async def test_tasks_of_the_dead_come_before_the_queue_and_the_oldest_first(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        order: list[str] = []
        for worker in ("", "", "dead", "dead"):
            order.append((await narrator.begun(worker=worker)).id)
            narrator.clock.advance(1)
        assert await _ids(store) == [*order[2:], *order[:2]]
        assert await _ids(store, limit=3) == [*order[2:], order[0]]

    async def test_tasks_that_have_ended_or_wait_are_nobodys_to_claim(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        for state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED):
            await narrator.ended(state)
        assert await _ids(store) == []

    async def test_tasks_of_all_scopes_are_claimable(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        stories = [await narrator.begun(scope=Scope(tenant, "p")) for tenant in ("a", "b")]
        assert sorted(await _ids(store)) == sorted(story.id for story in stories)
