"""What a store promises to those who deliver to webhooks: what is due, moves, dead letters, and what is kept for it."""

# ruff: noqa: PLR2004 -- numbers here are the tests' own

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec

from dragoman.errors import Fenced
from dragoman.ports.call import Scope
from dragoman.ports.push import DeadLetter, Push, PushMove, PushState
from dragoman.ports.store import Store
from dragoman.testing.clock import FakeClock
from dragoman.testing.expect import refused
from dragoman.testing.store_ages import FUTURE, PAST
from dragoman.testing.store_pushes import configuration, direct, pushed
from dragoman.testing.story import Narrator, Story, stored
from dragoman.types.content import Role
from dragoman.types.task import TaskState

__all__ = ["DeliveryContract"]

LONG = 1000.0
"""Seconds in which no test can be dead."""
PATIENCE = 60.0
"""Seconds that any of these tests may wait."""


async def _due(store: Store, worker: str = "one", *, after: int = 0, limit: int = 100) -> list[int]:
    return [push.n for push in await store.due_pushes(worker, LONG, after=after, limit=limit)]


def _to(push: Push, cursor: int, **changes: object) -> PushMove:
    return msgspec.structs.replace(PushMove(n=push.n, epoch=push.epoch, cursor=cursor), **changes)


async def _prune(store: Store, *, tasks: bool = False) -> int:
    """Prunes all that has ended long ago."""
    long = (datetime.now(UTC) - PAST).total_seconds() - 86_400 * 400
    return await store.prune(logs_after=long, tasks_after=long if tasks else None, limit=100)


def _long_ago(store: Store) -> Narrator:
    """Tells of what ended long ago."""
    return Narrator(store, FakeClock(PAST + timedelta(days=366)))


async def _ended(store: Store, narrator: Narrator) -> tuple[Story, Push]:
    """A task that has ended, and its configuration, which is behind."""
    story = await narrator.ended()
    return story, await store.put_push(configuration(story))


class DeliveryContract:
    async def test_what_is_behind_is_due(self, store: Store) -> None:
        story = await Narrator(store).begun()
        behind, put = [await store.put_push(configuration(story, str(cursor), cursor=cursor)) for cursor in (0, 1)]
        assert await _due(store) == [behind.n]
        await store.move_push(_to(behind, 1))
        assert await _due(store) == []
        await store.commit(story.change(story.chunk("a")))
        assert await _due(store) == [behind.n, put.n]
        await store.commit(story.change(story.chunk("b")))
        await store.move_push(_to(put, 2))
        await store.move_push(_to(behind, 3))
        assert await _due(store) == [put.n]

    async def test_each_event_makes_due_again_what_was_not(self, store: Store) -> None:
        narrator = Narrator(store)
        story, later = narrator.story(), await narrator.begun()
        await store.create(msgspec.structs.replace(story.new, push=configuration(story, cursor=None)))
        pushes = [await pushed(store, story), await store.put_push(configuration(later, cursor=None))]
        for one, push in zip((story, later), pushes, strict=True):
            for number in range(4):
                assert await _due(store) == []
                if number % 2:
                    await store.post(one.id, one.scope, narrator.message("more", role=Role.USER), one.new.start)
                await store.commit(one.change(one.chunk("a")))
                assert await _due(store) == [push.n]
                await store.move_push(_to(push, one.seq))

    async def test_what_was_behind_before_it_was_read_is_due_as_it_is(self, store: Store) -> None:
        story = await Narrator(store).begun()
        await store.put_push(configuration(story))
        await store.commit(story.change(story.chunk("a")))
        (due,) = await store.due_pushes("one", LONG, after=0, limit=9)
        assert due == await pushed(store, story)
        assert (due.seq, due.behind) == (2, True)

    async def test_a_claim_of_the_task_makes_nothing_due(self, store: Store) -> None:
        story = await Narrator(store).begun()
        await store.put_push(configuration(story, cursor=None))
        await store.commit(story.change(claim=True, worker="two"))
        assert await _due(store) == []

    async def test_what_is_to_be_delivered_whole_is_due(self, store: Store) -> None:
        story = await Narrator(store).begun()
        put = await store.put_push(configuration(story, cursor=None))
        await store.move_push(_to(put, 1, whole=True))
        assert await _due(store) == [put.n]
        await store.move_push(_to(put, 1))
        assert await _due(store) == []

    async def test_the_configurations_of_a_task_that_has_ended_are_due_until_they_have(self, store: Store) -> None:
        narrator = Narrator(store)
        story, late = await narrator.begun(), await narrator.ended()
        put = await store.put_push(configuration(story, cursor=None))
        await store.commit(story.change(story.status(TaskState.COMPLETED), snapshot=True))
        other = await store.put_push(configuration(late, cursor=None))
        await store.move_push(_to(put, 2))
        assert await _due(store) == [put.n, other.n]
        for push in (put, other):
            await store.move_push(_to(push, 3, state=PushState.ENDED))
        assert await _due(store) == []
        assert await store.read_pushes(PushState.ENDED, after=0, limit=9) != ()

    async def test_a_task_that_ends_at_its_beginning_makes_its_configuration_due(self, store: Store) -> None:
        narrator = Narrator(store)
        story = narrator.story()
        rejected = msgspec.structs.replace(story.new.task, status=story.status(TaskState.REJECTED).status)
        new = configuration(story, cursor=None)
        await store.create(msgspec.structs.replace(story.new, task=rejected, push=new))
        (due,) = await store.due_pushes("one", LONG, after=0, limit=9)
        assert (due.behind, due.terminal) == (False, True)

    async def test_what_a_new_task_brings_is_due_from_the_beginning(self, store: Store) -> None:
        narrator = Narrator(store)
        from_start, later = narrator.story(), narrator.story()
        for story, cursor in ((from_start, 0), (later, None)):
            new = configuration(story, cursor=cursor)
            await store.create(msgspec.structs.replace(story.new, push=new))
        assert await _due(store) == [(await pushed(store, from_start)).n]
        await store.commit(later.change(later.chunk("a")))
        assert await _due(store) == [(await pushed(store, one)).n for one in (from_start, later)]

    async def test_the_dead_are_not_due_until_they_live_again(self, store: Store) -> None:
        story = await Narrator(store).begun()
        put = await store.put_push(configuration(story))
        await store.move_push(_to(put, 0, state=PushState.DEAD, trouble="gone"))
        await store.commit(story.change(story.chunk("a")))
        assert await _due(store) == []
        (dead,) = await store.read_pushes(PushState.DEAD, after=0, limit=9)
        assert (dead.n, dead.trouble, dead.seq) == (put.n, "gone", 2)
        await store.move_push(_to(put, 0, whole=True))
        assert await _due(store) == [put.n]

    async def test_what_is_due_comes_by_number(self, store: Store) -> None:
        narrator = Narrator(store)
        stories = [await narrator.begun() for _ in range(3)]
        puts = [
            await store.put_push(configuration(story, name, worker=worker))
            for name, worker in (("a", "one"), ("b", "zero"), ("c", "two"))
            for story in stories
        ]
        numbers = [put.n for put in puts]
        assert await _due(store) == numbers
        assert await _due(store, limit=4) == numbers[:4]
        assert await _due(store, after=numbers[3], limit=4) == numbers[4:8]
        assert await _due(store, after=numbers[-1]) == []

    async def test_what_is_due_comes_by_number_whatever_is_not(self, store: Store) -> None:
        story = await Narrator(store).begun()
        cursors = (None,) * 5 + (0,) * 4
        puts = [await store.put_push(configuration(story, str(at), cursor=to)) for at, to in enumerate(cursors)]
        assert await _due(store) == [put.n for put in puts[5:]]
        await store.move_push(_to(puts[6], 1))
        await store.move_push(_to(puts[6], 0))
        assert await _due(store) == [put.n for put in puts[5:]]

    async def test_what_a_living_worker_owns_is_due_to_it_alone(self, store: Store) -> None:
        story = await Narrator(store).begun()
        for worker in ("one", "two"):
            await store.beat(worker)
        one, two, lost = [
            await store.put_push(configuration(story, worker, worker=worker)) for worker in ("one", "two", "lost")
        ]
        assert await _due(store, "one") == [one.n, lost.n]
        assert await _due(store, "two") == [two.n, lost.n]
        assert await _due(store, "three") == [lost.n]
        assert [push.n for push in await store.due_pushes("three", 0, after=0, limit=9)] == [one.n, two.n, lost.n]
        await store.retire("two")
        assert await _due(store, "one") == [one.n, two.n, lost.n]
        await store.beat("lost")
        assert await _due(store, "one") == [one.n, two.n]

    async def test_a_claim_gives_a_configuration_to_another_worker_and_fences_the_first(self, store: Store) -> None:
        story = await Narrator(store).begun()
        for worker in ("one", "two"):
            await store.beat(worker)
        put = await store.put_push(configuration(story))
        await store.move_push(_to(put, 0, claim=True, worker="two"))
        found = await pushed(store, story)
        assert (found.worker, found.epoch) == ("two", 2)
        assert (await _due(store, "one"), await _due(store, "two")) == ([], [put.n])
        with refused(Fenced):
            await store.move_push(_to(put, 1))
        with refused(Fenced):
            await store.move_push(_to(put, 1, claim=True, worker="one"))
        assert await pushed(store, story) == found
        await store.move_push(_to(found, 1, claim=True))
        again = await pushed(store, story)
        assert (again.worker, again.epoch, again.cursor) == ("two", 3, 1)

    async def test_who_has_claimed_moves_on_in_the_new_epoch(self, store: Store) -> None:
        story = await Narrator(store).begun()
        put = await store.put_push(configuration(story))
        await store.move_push(_to(put, 0, claim=True, worker="two"))
        await store.move_push(_to(put, 1, epoch=2))
        await store.move_push(_to(put, 1, epoch=2, claim=True, worker="one"))
        found = await pushed(store, story)
        assert (found.worker, found.epoch, found.cursor) == ("one", 3, 1)

    async def test_a_move_replaces_all_that_it_names_and_nothing_else(self, store: Store) -> None:
        story = await Narrator(store).begun()
        put = await store.put_push(configuration(story))
        full = _to(put, 1, whole=True, attempts=7, failing_since=PAST, not_before=FUTURE, trouble="503", worker="two")
        await store.move_push(full)
        failing = msgspec.structs.replace(
            put, cursor=1, whole=True, attempts=7, failing_since=PAST, not_before=FUTURE, trouble="503"
        )
        assert await pushed(store, story) == failing
        await store.move_push(_to(put, 1))
        assert await pushed(store, story) == msgspec.structs.replace(put, cursor=1)

    async def test_a_move_under_another_epoch_changes_nothing(self, store: Store) -> None:
        story = await Narrator(store).begun()
        put = await store.put_push(configuration(story))
        letter = DeadLetter(seq=1, at=PAST, trouble="404")
        for n, epoch in ((put.n, 0), (put.n, 2), (put.n + 1, 1), (0, 1)):
            with refused(Fenced):
                await store.move_push(PushMove(n=n, epoch=epoch, cursor=1, letter=letter))
        assert await pushed(store, story) == put
        assert await store.letters(put.n, 9) == ()

    async def test_of_two_who_claim_exactly_one_wins(self, store: Store) -> None:
        story = await Narrator(store).begun()
        for number in range(10):
            put = await store.put_push(configuration(story, str(number)))
            claims = [store.move_push(_to(put, 0, claim=True, worker=worker)) for worker in ("one", "two")]
            outcomes = await asyncio.gather(*claims, return_exceptions=True)
            assert sorted(isinstance(outcome, Fenced) for outcome in outcomes) == [False, True]
            found = await pushed(store, story, str(number))
            assert (found.worker, found.epoch) == (("one", "two")[outcomes.index(None)], 2)

    async def test_moves_take_effect_in_the_order_of_the_calls(self, store: Store) -> None:
        narrator = Narrator(store)
        stories = [await narrator.begun() for _ in range(20)]
        puts = [await store.put_push(configuration(story)) for story in stories]
        moves = [_to(put, cursor, attempts=cursor) for cursor in range(1, 6) for put in puts]
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*map(store.move_push, moves))
        found = [await pushed(store, story) for story in stories]
        assert [(push.cursor, push.attempts) for push in found] == [(5, 5)] * 20

    async def test_a_refused_move_does_not_keep_others_from_being_made(self, store: Store) -> None:
        story = await Narrator(store).begun()
        puts = [await store.put_push(configuration(story, str(number))) for number in range(10)]
        moves = [_to(put, 1, epoch=1 if put.n % 3 else 5) for put in puts]
        calls = [*map(store.move_push, moves), store.drop_push(story.id, story.scope, "0")]
        outcomes = await asyncio.gather(*calls, store.put_push(configuration(story, "1")), return_exceptions=True)
        assert [isinstance(outcome, Fenced) for outcome in outcomes[:10]] == [not put.n % 3 for put in puts]
        found = await store.page_pushes(story.id, story.scope, after=0, limit=99)
        assert [push.id for push in found] == [str(number) for number in range(1, 10)]
        assert [push.cursor for push in found] == [int(bool(put.n % 3)) for put in puts[1:]]

    async def test_dead_letters_come_the_last_first(self, store: Store) -> None:
        story = await Narrator(store).begun()
        put, other = [await store.put_push(configuration(story, name)) for name in "ab"]
        letters = [DeadLetter(seq=seq, at=PAST + timedelta(days=seq), trouble=f"4{seq:02}") for seq in (1, 2, 2)]
        for letter in letters:
            await store.move_push(_to(put, letter.seq, letter=letter))
            await store.move_push(_to(other, 0))
        assert await store.letters(put.n, 9) == tuple(letters[::-1])
        assert await store.letters(put.n, 2) == tuple(letters[:0:-1])
        assert await store.letters(other.n, 9) == ()
        await store.put_push(configuration(story, "a"))
        assert len(await store.letters(put.n, 9)) == 3

    async def test_the_owner_reads_configurations_of_any_scope_by_their_state(self, store: Store) -> None:
        narrator = Narrator(store)
        puts: list[Push] = []
        states = list(PushState) * 3
        for number, state in enumerate(states):
            story = await narrator.begun(scope=Scope("t", str(number)))
            put = await store.put_push(configuration(story))
            await store.move_push(_to(put, 1, state=state))
            puts.append(await pushed(store, story))
        for state in PushState:
            right = [put for put in puts if put.state is state]
            assert await store.read_pushes(state, after=0, limit=9) == tuple(right)
            assert await store.read_pushes(state, after=right[0].n, limit=1) == (right[1],)

    async def test_a_log_is_kept_until_it_is_delivered(self, store: Store) -> None:
        narrator = _long_ago(store)
        told = [(state, *await _ended(store, narrator)) for state in PushState]
        assert await _prune(store) == 3
        for state, story, put in told:
            assert await _prune(store) == 0
            assert len(await store.entries(story.id, story.scope, 0)) == 2
            await store.move_push(_to(put, 3 if state is PushState.LIVE else 0, state=state))
            assert await _prune(store) == 1
            assert await store.entries(story.id, story.scope, 0) == ()
        assert await _prune(store) == 0

    async def test_a_log_that_was_kept_for_a_dropped_configuration_goes(self, store: Store) -> None:
        story, _ = await _ended(store, _long_ago(store))
        assert await _prune(store) == 1
        await store.drop_push(story.id, story.scope, "c")
        assert await _prune(store) == 1
        assert await store.entries(story.id, story.scope, 0) == ()
        assert await _prune(store) == 0

    async def test_logs_of_others_go_while_one_is_kept(self, store: Store) -> None:
        narrator = _long_ago(store)
        kept, _ = await _ended(store, narrator)
        others = [await narrator.ended() for _ in range(2)]
        assert await _prune(store) == 3
        logs = [await store.entries(story.id, story.scope, 0) for story in (kept, *others)]
        assert [len(log) for log in logs] == [2, 0, 0]

    async def test_a_task_is_kept_until_it_is_delivered(self, store: Store) -> None:
        story, put = await _ended(store, _long_ago(store))
        await store.move_push(_to(put, 3, whole=True, letter=DeadLetter(seq=3, at=PAST, trouble="404")))
        await _prune(store, tasks=True)
        assert (await stored(store, story)).task == story.expected
        await store.move_push(_to(put, 3))
        assert await _prune(store, tasks=True) == 1
        assert await store.get(story.id, story.scope) is None
        assert await store.read_pushes(PushState.LIVE, after=0, limit=9) == ()
        assert await store.letters(put.n, 9) == ()
        assert await _prune(store, tasks=True) == 0

    async def test_an_erased_task_was_kept_for_nothing(self, store: Store) -> None:
        story, _ = await _ended(store, _long_ago(store))
        await _prune(store)
        await store.drop_push(story.id, story.scope, "c")
        assert await _prune(store, tasks=True) == 1
        assert await _prune(store, tasks=True) == 0

    async def test_direct_answers_that_were_given_up_are_pruned(self, store: Store) -> None:
        dead, live = [await store.put_push(direct(name)) for name in "ab"]
        await store.move_push(_to(dead, 0, state=PushState.DEAD))
        assert await store.prune(logs_after=LONG, tasks_after=0, limit=9) == 0
        assert await store.prune(logs_after=0, tasks_after=None, limit=9) == 1
        assert await store.read_pushes(PushState.DEAD, after=0, limit=9) == ()
        assert await store.read_pushes(PushState.LIVE, after=0, limit=9) == (live,)
