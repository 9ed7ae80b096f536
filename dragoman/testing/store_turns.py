"""What a store promises of turns: what began them, the messages that wait, and what a turn remembers."""

# ruff: noqa: PLR2004 -- numbers here are the tests' own

import asyncio

from dragoman.errors import Fenced, InboxPending
from dragoman.ports.tasks import Commit, Memo, Posted, TaskStore, TurnStart
from dragoman.testing.expect import refused
from dragoman.testing.story import Narrator, Story, stored
from dragoman.types.content import Message, Part, Role
from dragoman.types.task import TaskState

__all__ = ["TurnContract"]


async def _post(store: TaskStore, story: Story, text: str) -> Posted:
    """A message put into the inbox, as it should come out."""
    message = Message(message_id=f"m-{text}", role=Role.USER, parts=(Part(text=text),))
    start = TurnStart(index=3, metadata={"for": text}, extensions=("e",))
    return Posted(n=await store.post(story.id, story.scope, message, start), message=message, start=start)


class TurnContract:
    async def test_messages_wait_in_the_order_of_arrival(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        posted = [await _post(store, story, text) for text in "abc"]
        assert [one.n for one in posted] == [1, 2, 3]
        assert await store.inbox(story.id) == tuple(posted)
        assert (await stored(store, story)).seq == 1

    async def test_messages_posted_at_once_are_all_kept(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        posted = await asyncio.gather(*(_post(store, story, str(number)) for number in range(20)))
        assert [one.n for one in posted] == list(range(1, 21))
        assert await store.inbox(story.id) == tuple(posted)

    async def test_a_change_takes_the_messages_that_it_names(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        first, second, third = [await _post(store, story, text) for text in "abc"]
        await store.commit(story.change(story.status(TaskState.WORKING), received=second.message, consumed=(2,)))
        assert await store.inbox(story.id) == (first, third)
        assert (await stored(store, story)).task.history[-1] == second.message

    async def test_numbers_go_on_after_messages_were_taken(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        await _post(store, story, "a")
        await _post(store, story, "b")
        await store.commit(story.change(consumed=(1, 2)))
        assert await store.inbox(story.id) == ()
        assert (await _post(store, story, "c")).n == 3

    async def test_a_task_does_not_end_over_a_waiting_message(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun()
        await _post(store, story, "a")
        waiting = await store.inbox(story.id)
        rival = Story(narrator, story.new)
        ending = rival.change(
            rival.status(TaskState.COMPLETED),
            snapshot=True,
            unless_pending=True,
            memos=(Memo(kind="k", key="", turn=1),),
        )
        with refused(InboxPending):
            await store.commit(ending)
        assert (await stored(store, story)).task == story.new.task
        assert await store.entries(story.id, story.scope, 0) == ()
        assert await store.memos(story.id, 1) == ()
        assert await store.inbox(story.id) == waiting
        await store.commit(
            story.change(story.status(TaskState.COMPLETED), snapshot=True, consumed=(1,), unless_pending=True)
        )
        assert (await stored(store, story)).task == story.expected

    async def test_a_task_ends_over_an_empty_inbox_or_if_it_must(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        empty, full = await narrator.begun(), await narrator.begun()
        await _post(store, full, "a")
        await store.commit(empty.change(empty.status(TaskState.COMPLETED), snapshot=True, unless_pending=True))
        await store.commit(full.change(full.status(TaskState.CANCELED), snapshot=True))
        assert (await stored(store, empty)).task.state is TaskState.COMPLETED
        assert (await stored(store, full)).task.state is TaskState.CANCELED

    async def test_of_a_message_and_an_end_at_once_one_gives_way(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        for end_first in (True, False) * 5:
            story = await narrator.begun()
            ending = store.commit(story.change(story.status(TaskState.COMPLETED), snapshot=True, unless_pending=True))
            posting = _post(store, story, "a")
            pair = (ending, posting) if end_first else (posting, ending)
            outcomes = await asyncio.gather(*pair, return_exceptions=True)
            lost = [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)]
            assert lost == [Fenced if end_first else InboxPending]

    async def test_a_new_turn_keeps_what_began_it(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        start = TurnStart(index=4, metadata={"x": 1}, output_modes=("image/png",), extensions=("e",), trace="t")
        await store.commit(story.change(story.status(TaskState.WORKING), turn=2, start=start))
        found = await stored(store, story)
        assert (found.turn, found.start) == (2, start)
        await store.commit(story.change(story.chunk("a")))
        found = await stored(store, story)
        assert (found.turn, found.start) == (2, start)

    async def test_a_turn_remembers_in_the_order_of_first_writing(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        question = Memo(kind="ask", key="q", turn=1, value="Which?")
        step = Memo(kind="step", key="q", turn=1, value={"n": [1, None]})
        last = Memo(kind="step", key="z", turn=1)
        await store.commit(story.change(memos=(question, step)))
        await store.commit(story.change(story.chunk("a"), memos=(last,)))
        assert await store.memos(story.id, 1) == (question, step, last)
        answer = Message(message_id="m", role=Role.USER, parts=(Part(text="That"),))
        answered = Memo(kind="ask", key="q", turn=1, value="Which?", answered=True, answer=[1], message=answer)
        await store.commit(story.change(memos=(answered,)))
        assert await store.memos(story.id, 1) == (answered, step, last)

    async def test_turns_do_not_share_what_they_remember(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        first, second = (Memo(kind="step", key="k", turn=turn, value=turn) for turn in (1, 2))
        await store.commit(story.change(memos=(first,)))
        await store.commit(story.change(memos=(second,), turn=2, start=TurnStart(index=1)))
        assert await store.memos(story.id, 1) == (first,)
        assert await store.memos(story.id, 2) == (second,)
        assert await store.memos(story.id, 3) == ()

    async def test_remembering_alone_is_fenced_too(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        await store.commit(story.change(claim=True))
        with refused(Fenced):
            await store.commit(Commit(task_id=story.id, epoch=1, after=1, memos=(Memo(kind="step", key="k", turn=1),)))
        assert await store.memos(story.id, 1) == ()
