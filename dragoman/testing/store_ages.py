"""What a store promises of requests that come twice, and of what is kept for how long."""

# ruff: noqa: PLR2004 -- numbers here are the tests' own

import asyncio
from datetime import UTC, datetime, timedelta

from dragoman.errors import Duplicate
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Key, Selector, TaskStore
from dragoman.testing.clock import FakeClock
from dragoman.testing.expect import refused
from dragoman.testing.story import ANYONE, Narrator, Story, stored
from dragoman.types.content import Message, Part, Role
from dragoman.types.task import TaskState

__all__ = ["AgeContract"]

PAST = datetime(2000, 1, 1, tzinfo=UTC)
FUTURE = datetime(2200, 1, 1, tzinfo=UTC)


def _key(name: str = "m", digest: str = "d", expires: datetime = FUTURE) -> Key:
    return Key(name, digest, expires)


async def _known(store: TaskStore, name: str = "m", scope: Scope = ANYONE) -> tuple[str, str, Message | None] | None:
    found = await store.known(scope, name)
    return None if found is None else (found.task_id, found.digest, found.answer)


async def _log(store: TaskStore, story: Story) -> int:
    return len(await store.entries(story.id, story.scope, 0))


def _long_ago(store: TaskStore) -> Narrator:
    """Tells of what has ended long ago by the clock of any store."""
    return Narrator(store, FakeClock(PAST + timedelta(days=366)))


async def _prune(store: TaskStore, *, logs: datetime | None, tasks: datetime | None = None, limit: int = 100) -> int:
    """Prunes what ended until these times, give or take a second between the clock of the store and this one."""
    return await store.prune(logs_after=_ago(logs), tasks_after=_ago(tasks), limit=limit)


def _ago(time: datetime | None) -> float | None:
    return None if time is None else (datetime.now(UTC) - time).total_seconds() - 1


class AgeContract:
    async def test_a_key_is_known_with_its_task(self, store: TaskStore) -> None:
        story = await Narrator(store).begun(key=_key())
        assert await _known(store) == (story.id, "d", None)
        assert await _known(store, "other") is None
        assert await _known(store, scope=Scope("t", "")) is None

    async def test_a_known_key_creates_no_second_task(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        first = await narrator.begun(key=_key())
        second = narrator.story(key=_key(digest="other"))
        with refused(Duplicate):
            await store.create(second.new)
        assert await store.get(second.id, second.scope) is None
        assert await _known(store) == (first.id, "d", None)

    async def test_of_requests_that_come_at_once_with_one_key_one_creates_its_task(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        stories = [narrator.story(key=_key()) for _ in range(20)]
        outcomes = await asyncio.gather(*(store.create(story.new) for story in stories), return_exceptions=True)
        created = [story for story, outcome in zip(stories, outcomes, strict=True) if outcome is None]
        refusals = [outcome for outcome in outcomes if outcome is not None]
        assert len(created) == 1
        assert all(isinstance(refusal, Duplicate) and refusal.task_id == created[0].id for refusal in refusals)
        assert len(await store.claimable(0, 1000)) == 1

    async def test_the_same_key_in_another_scope_is_another(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        stories = [await narrator.begun(scope=Scope("", principal), key=_key()) for principal in "ab"]
        for story in stories:
            assert await _known(store, scope=story.scope) == (story.id, "d", None)

    async def test_a_key_that_has_expired_is_free(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        await narrator.begun(key=_key(expires=PAST))
        assert await _known(store) is None
        story = await narrator.begun(key=_key(digest="new"))
        assert await _known(store) == (story.id, "new", None)

    async def test_a_known_key_lets_no_change_and_no_message_in(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun(key=_key())
        message = narrator.message("again", role=Role.USER)
        with refused(Duplicate):
            await store.post(story.id, story.scope, message, story.new.start, _key())
        rival = Story(narrator, story.new)
        with refused(Duplicate):
            await store.commit(rival.change(rival.chunk("again"), key=_key()))
        assert await store.inbox(story.id) == ()
        assert (await stored(store, story)).seq == 1

    async def test_changes_and_messages_make_their_keys_known(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun()
        await store.post(story.id, story.scope, narrator.message("a", role=Role.USER), story.new.start, _key("post"))
        await store.commit(story.change(story.chunk("a"), key=_key("commit")))
        assert await _known(store, "post") == (story.id, "d", None)
        assert await _known(store, "commit") == (story.id, "d", None)

    async def test_a_refused_change_leaves_its_key_free(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.ended()
        rival = Story(narrator, story.new)
        outcome = await asyncio.gather(
            store.commit(rival.change(rival.chunk("late"), key=_key())), return_exceptions=True
        )
        assert isinstance(outcome[0], Exception)
        assert await _known(store) is None

    async def test_a_direct_answer_is_kept_once(self, store: TaskStore) -> None:
        answer = Message(message_id="a", role=Role.AGENT, parts=(Part(text="42"),))
        await store.answered(ANYONE, _key(), answer)
        assert await _known(store) == ("", "d", answer)
        with refused(Duplicate):
            await store.answered(ANYONE, _key(), answer)

    async def test_an_erased_task_takes_its_keys_with_it(self, store: TaskStore) -> None:
        story = await Narrator(store).begun(key=_key())
        await store.erase(Selector(task_id=story.id))
        assert await _known(store) is None

    async def test_pruning_takes_the_log_of_what_has_ended_and_leaves_the_task(self, store: TaskStore) -> None:
        narrator = _long_ago(store)
        ended = await narrator.ended()
        narrator.clock.advance(10)
        running = await narrator.begun()
        await store.commit(running.change(running.chunk("a")))
        at = narrator.clock.now()
        assert await _prune(store, logs=at) == 1
        assert await _log(store, ended) == 0
        assert await _log(store, running) == 1
        found = await stored(store, ended)
        assert (found.task, found.seq) == (ended.expected, ended.seq)
        assert await _prune(store, logs=at) == 0

    async def test_what_ended_later_keeps_its_log_until_then(self, store: TaskStore) -> None:
        narrator = _long_ago(store)
        early = await narrator.ended()
        between = narrator.clock.advance(10)
        narrator.clock.advance(10)
        late = await narrator.ended()
        await _prune(store, logs=between)
        assert (await _log(store, early), await _log(store, late)) == (0, 2)
        await _prune(store, logs=narrator.clock.advance(1))
        assert await _log(store, late) == 0

    async def test_pruning_in_small_portions_comes_to_an_end(self, store: TaskStore) -> None:
        narrator = _long_ago(store)
        stories = [await narrator.ended(scope=Scope("", principal)) for principal in "abcde"]
        at = narrator.clock.advance(1)
        rounds = 0
        while await _prune(store, logs=at, tasks=at, limit=2):
            rounds += 1
            assert rounds < 20
        assert [await store.get(story.id, story.scope) for story in stories] == [None] * 5

    async def test_pruning_logs_in_small_portions_comes_to_an_end(self, store: TaskStore) -> None:
        narrator = _long_ago(store)
        stories: list[Story] = []
        for principal in "abcba":
            stories.append(await narrator.ended(scope=Scope("", principal)))
            narrator.clock.advance(1)
        at = narrator.clock.now()
        rounds = 0
        while await _prune(store, logs=at, limit=2):
            rounds += 1
            assert rounds < 20
        assert [await _log(store, story) for story in stories] == [0] * 5
        assert rounds == 3

    async def test_logs_that_ended_in_one_moment_are_pruned_all(self, store: TaskStore) -> None:
        narrator = _long_ago(store)
        stories = [await narrator.ended() for _ in range(5)]
        for _ in range(3):
            await _prune(store, logs=narrator.clock.now(), limit=2)
        assert [await _log(store, story) for story in stories] == [0] * 5

    async def test_pruning_keys_in_small_portions_comes_to_an_end(self, store: TaskStore) -> None:
        narrator = _long_ago(store)
        for number in range(5):
            await narrator.begun(key=_key(str(number), expires=PAST))
        rounds = 0
        while await store.prune(logs_after=None, tasks_after=None, limit=2):
            rounds += 1
            assert rounds < 20
        assert rounds in {1, 3}

    async def test_logs_of_tasks_that_ended_after_a_clock_ran_ahead_are_pruned_too(self, store: TaskStore) -> None:
        narrator = _long_ago(store)
        early = await narrator.ended()
        await _prune(store, logs=FUTURE)
        between = narrator.clock.advance(10)
        narrator.clock.advance(10)
        late = await narrator.ended()
        await _prune(store, logs=between)
        assert (await _log(store, early), await _log(store, late)) == (0, 2)
        await _prune(store, logs=narrator.clock.advance(1))
        assert await _log(store, late) == 0

    async def test_old_tasks_go_and_others_stay(self, store: TaskStore) -> None:
        narrator = _long_ago(store)
        old, parked = await narrator.ended(key=_key()), await narrator.ended(TaskState.INPUT_REQUIRED)
        at = narrator.clock.advance(10)
        narrator.clock.advance(10)
        young = await narrator.ended()
        assert await _prune(store, logs=at - timedelta(days=1), tasks=at) == 1
        assert await store.get(old.id, old.scope) is None
        assert await _known(store) is None
        assert (await stored(store, parked)).task == parked.expected
        assert (await stored(store, young)).task == young.expected

    async def test_pruning_forgets_keys_that_have_expired_and_no_others(self, store: TaskStore) -> None:
        narrator = _long_ago(store)
        await narrator.begun(key=_key("old", expires=PAST))
        story = await narrator.begun(key=_key("new"))
        await store.prune(logs_after=None, tasks_after=None, limit=100)
        assert await _known(store, "new") == (story.id, "d", None)
