"""What a store promises of writing: whole, fenced, in order, once."""

# ruff: noqa: PLR2004 -- numbers here are the tests' own

import asyncio
from typing import cast

import msgspec

from dragoman.errors import Fenced, StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Commit, Memo, Selector, TaskStore, TurnStart
from dragoman.testing.expect import refused
from dragoman.testing.story import Narrator, Story, stored
from dragoman.types.content import Message, Part, Role
from dragoman.types.json import Json
from dragoman.types.task import Task, TaskState

__all__ = ["WriteContract", "stored"]

PATIENCE = 60.0
"""Seconds that any of these tests may wait."""


def _said(task: Task, message: Message) -> Task:
    return msgspec.structs.replace(task, history=(message,))


class WriteContract:
    async def test_a_new_task_is_kept_as_it_was_given(self, store: TaskStore) -> None:
        story = Narrator(store).story(scope=Scope("acme", "ann"), metadata={"a": [1, 2.5, None, {"b": "ü"}]})
        await store.create(story.new)
        found = await stored(store, story)
        assert found.task == story.new.task
        assert (found.seq, found.epoch, found.turn) == (1, 1, 1)
        assert (found.scope, found.skill, found.start) == (story.scope, "talk", story.new.start)
        assert await store.entries(story.id, story.scope, 0) == ()

    async def test_a_task_id_is_used_once(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.ended()
        with refused(ValueError):
            await store.create(story.new)
        assert (await stored(store, story)).task == story.expected

    async def test_what_has_no_stored_form_is_refused_and_leaves_nothing(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun()
        half, foreign = Part(text="half a pair: \ud800"), Part(data=cast("Json", object()))
        for error, part in ((ValueError, half), (TypeError, foreign)):
            message = Message(message_id="m", role=Role.USER, parts=(part,))
            fresh, rival = narrator.story(), Story(narrator, story.new)
            with refused(error):
                await store.create(msgspec.structs.replace(fresh.new, task=_said(fresh.new.task, message)))
            with refused(error):
                await store.commit(rival.change(rival.status(TaskState.WORKING, message)))
            with refused(error):
                await store.commit(rival.change(memos=(Memo(kind="ask", key="k", turn=1, message=message),)))
            with refused(error):
                await store.post(story.id, story.scope, message, TurnStart())
            assert await store.get(fresh.id, fresh.scope) is None
        assert (await stored(store, story)).task == story.new.task
        assert (await store.inbox(story.id), await store.memos(story.id, 1)) == ((), ())

    async def test_a_change_is_seen_as_soon_as_it_is_made(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        await store.commit(story.change(story.status(TaskState.WORKING)))
        assert (await stored(store, story)).task.state is TaskState.WORKING
        await store.commit(story.change(story.chunk("a"), story.status(TaskState.COMPLETED), snapshot=True))
        found = await stored(store, story)
        assert (found.task, found.seq, found.epoch) == (story.expected, 4, 1)
        assert await store.entries(story.id, story.scope, 1) == tuple(story.log)

    async def test_a_change_under_another_epoch_is_fenced(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        await store.commit(story.change(claim=True))
        right = story.change(story.chunk("late"), memos=(Memo(kind="step", key="k", turn=1, value=1),))
        for epoch in (0, 1, 3):
            with refused(Fenced):
                await store.commit(msgspec.structs.replace(right, epoch=epoch))
        assert (await stored(store, story)).seq == 1
        assert await store.entries(story.id, story.scope, 0) == ()
        assert await store.memos(story.id, 1) == ()
        await store.commit(right)
        assert (await stored(store, story)).task == story.expected

    async def test_a_change_after_another_number_is_fenced(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        first = story.change(story.chunk("a"))
        await store.commit(first)
        with refused(Fenced):
            await store.commit(first)
        story.change(story.chunk("never stored"))
        with refused(Fenced):
            await store.commit(story.change(story.chunk("too early")))
        assert (await stored(store, story)).seq == 2
        assert await store.entries(story.id, story.scope, 0) == first.entries

    async def test_a_claim_fences_the_writer_before(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        await store.commit(story.change(story.status(TaskState.WORKING), claim=True))
        found = await stored(store, story)
        assert (found.epoch, found.seq) == (2, 2)
        old = Commit(task_id=story.id, epoch=1, after=2)
        with refused(Fenced):
            await store.commit(old)

    async def test_a_task_that_does_not_exist_is_fenced(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        never = narrator.story()
        with refused(Fenced):
            await store.commit(never.change(never.chunk("a")))
        gone = await narrator.begun()
        await store.erase(Selector(task_id=gone.id))
        with refused(Fenced):
            await store.commit(gone.change(gone.chunk("a")))
        assert await store.get(gone.id, gone.scope) is None

    async def test_nothing_follows_a_terminal_state(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        for state in (TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED):
            story = await narrator.ended(state)
            before = await stored(store, story)
            memo = Memo(kind="step", key="k", turn=1)
            late = Commit(task_id=story.id, epoch=1, after=story.seq)
            for change in (late, msgspec.structs.replace(late, claim=True, memos=(memo,))):
                with refused(Fenced):
                    await store.commit(change)
            with refused(Fenced):
                await store.post(story.id, story.scope, narrator.message("more", role=Role.USER), TurnStart())
            assert await stored(store, story) == before
            assert await store.memos(story.id, 1) == ()
            assert await store.inbox(story.id) == ()

    async def test_of_two_writers_exactly_one_wins(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        for _ in range(20):
            story = await narrator.begun()
            rival = Story(narrator, story.new)
            changes = [teller.change(teller.status(state), snapshot=True) for teller, state in (
                (story, TaskState.COMPLETED), (rival, TaskState.CANCELED),
            )]  # fmt: skip
            outcomes = await asyncio.gather(*map(store.commit, changes), return_exceptions=True)
            lost = [outcome for outcome in outcomes if isinstance(outcome, Fenced)]
            assert len(lost) == 1
            winner = (story, rival)[outcomes.index(None)]
            assert (await stored(store, story)).task == winner.expected
            assert await store.entries(story.id, story.scope, 0) == tuple(winner.log)

    async def test_writes_to_a_task_take_effect_in_the_order_of_the_calls(self, store: TaskStore) -> None:
        story = Narrator(store).story()
        changes = [story.change(story.chunk(f"{number} ")) for number in range(30)]
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(store.create(story.new), *map(store.commit, changes))
        assert (await stored(store, story)).task == story.expected
        assert await store.entries(story.id, story.scope, 0) == tuple(story.log)

    async def test_fifty_tasks_at_once_do_not_disturb_each_other(self, store: TaskStore) -> None:
        narrator = Narrator(store)

        async def live() -> Story:
            story = await narrator.begun()
            for number in range(5):
                await store.commit(story.change(story.chunk(f"{number} of {story.id}. ")))
            await store.commit(story.change(story.status(TaskState.COMPLETED), snapshot=True))
            return story

        async with asyncio.timeout(PATIENCE):
            stories = await asyncio.gather(*(live() for _ in range(50)))
        for story in stories:
            assert (await stored(store, story)).task == story.expected
            assert await store.entries(story.id, story.scope, 0) == tuple(story.log)

    async def test_a_cancelled_caller_leaves_a_whole_change_or_none(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        for steps in range(4):
            story = await narrator.begun()
            change = story.change(
                story.chunk("a"),
                story.status(TaskState.INPUT_REQUIRED),
                snapshot=True,
                memos=(Memo(kind="ask", key="k", turn=1),),
            )
            caller = asyncio.ensure_future(store.commit(change))
            for _ in range(steps):
                await asyncio.sleep(0)
            caller.cancel()
            await asyncio.wait([caller], timeout=PATIENCE)
            # The next write comes after the cancelled one, whether that took effect or not.
            await store.post(story.id, story.scope, narrator.message("next", role=Role.USER), TurnStart())
            found = await stored(store, story)
            memos = await store.memos(story.id, 1)
            log = await store.entries(story.id, story.scope, 0)
            if found.seq == 1:
                assert (found.task, memos, log) == (story.new.task, (), ())
            else:
                assert (found.task, memos, log) == (story.expected, change.memos, change.entries)

    async def test_a_change_that_contradicts_itself_is_refused(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        wrong = story.change(story.chunk("a"), story.chunk("b"))
        for change in (
            msgspec.structs.replace(wrong, entries=wrong.entries[1:]),
            msgspec.structs.replace(wrong, entries=wrong.entries[::-1]),
            story.change(story.status(TaskState.COMPLETED)),
        ):
            with refused(ValueError):
                await store.commit(change)
        assert (await stored(store, story)).task == story.new.task

    async def test_a_cancelled_creation_is_decided_by_the_next_write_to_its_task(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        for waits in range(4):
            story = narrator.story()
            caller = asyncio.ensure_future(store.create(story.new))
            for _ in range(waits):
                await asyncio.sleep(0)
            caller.cancel()
            await asyncio.wait([caller])
            with refused(Fenced):
                await store.commit(Commit(task_id=story.id, epoch=0, after=0))
            decided = await store.locate(story.id)
            await narrator.begun()
            assert await store.locate(story.id) == decided

    async def test_what_was_read_does_not_change_any_more(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        early = await stored(store, story)
        await store.commit(story.change(story.chunk("a"), turn=2, start=TurnStart(index=1)))
        middle = await stored(store, story)
        text = middle.task
        await store.commit(story.change(story.chunk("b"), story.status(TaskState.FAILED), snapshot=True))
        assert (early.task, early.seq, early.turn) == (story.new.task, 1, 1)
        assert (text.text, middle.task, middle.seq, middle.turn) == ("a", text, 2, 2)
        assert (await stored(store, story)).task == story.expected

    async def test_a_closed_store_refuses_and_may_be_closed_again(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        message = Message(message_id="m", role=Role.USER, parts=())
        await store.close()
        await store.close()
        for call in (
            store.get(story.id, story.scope),
            store.commit(story.change(story.chunk("a"))),
            store.post(story.id, story.scope, message, TurnStart()),
            store.claimable(0, 1000),
        ):
            with refused(StoreUnavailable):
                await call

    async def test_closing_finishes_what_was_called(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        calls = [asyncio.ensure_future(store.create(narrator.story().new)) for _ in range(20)]
        await asyncio.sleep(0)
        await store.close()
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.gather(*calls) == [None] * 20

    async def test_opening_an_open_store_changes_nothing(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        await store.open()
        assert (await stored(store, story)).task == story.new.task

    async def test_a_store_says_where_it_is(self, store: TaskStore) -> None:
        assert store.description
