"""What a store promises of reading one task: whole values, a log without gaps, nothing for strangers."""

# ruff: noqa: PLR2004 -- numbers here are the tests' own

import asyncio

from dragoman.errors import Fenced
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Entry, Selector, TaskStore, TurnStart
from dragoman.testing.expect import refused
from dragoman.testing.store_writes import PATIENCE
from dragoman.testing.story import ANYONE, Narrator, Story, stored
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import TaskArtifactUpdateEvent
from dragoman.types.task import TaskState

__all__ = ["ReadContract"]

STRANGERS = (Scope("acme", "bob"), Scope("other", "ann"), Scope("acme", ""), Scope("", "ann"), Scope())

RICH = Artifact(
    artifact_id="rich",
    name="Everything",
    description="Ümläute, \u0000, \u2028, 😀",
    parts=(
        Part(text="", media_type="text/markdown", filename="a.md"),
        Part.from_bytes(bytes(range(256)), media_type="application/octet-stream"),
        Part(url="https://example.org/?q=ü"),
        Part(data=None),
        Part(data={"deep": [[[{"x": 1.5e300, "y": -(2**53), "z": True}]]], "": ""}, metadata={"of": "part"}),
    ),
    metadata={"k": [None, "v"]},
    extensions=("https://example.org/ext",),
)


class ReadContract:
    async def test_every_kind_of_content_comes_back_as_it_was(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun()
        event = TaskArtifactUpdateEvent(
            task_id=story.id, context_id=story.new.task.context_id, artifact=RICH, last_chunk=True, metadata={"m": 1}
        )
        entry = Entry(seq=2, event=event, received=narrator.message("with it", role=Role.USER))
        change = story.change(story.chunk(""))
        story.log.clear()
        await store.commit(type(change)(task_id=story.id, epoch=1, after=1, entries=(entry,)))
        found = await stored(store, story)
        assert found.task.artifacts == (RICH,)
        assert found.task.history == (*story.new.task.history, entry.received)
        assert await store.entries(story.id, story.scope, 1) == (entry,)

    async def test_events_without_snapshots_add_up(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        for number in range(500):
            await store.commit(story.change(story.chunk(f"{number} ")))
        found = await stored(store, story)
        assert (found.task, found.seq) == (story.expected, 501)
        await store.commit(story.change(story.chunk("end"), story.status(TaskState.COMPLETED), snapshot=True))
        assert (await stored(store, story)).task == story.expected

    async def test_a_reader_in_between_sees_each_step(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        for number in range(20):
            snapshot = number % 7 == 6
            await store.commit(story.change(story.chunk(f"{number} "), story.chunk("and "), snapshot=snapshot))
            found = await stored(store, story)
            assert (found.task, found.seq) == (story.expected, story.seq)

    async def test_history_grows_by_what_was_asked_and_answered(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun()
        question = narrator.message("Which?")
        await store.commit(story.change(story.status(TaskState.INPUT_REQUIRED, question), snapshot=True))
        answer = narrator.message("That.", role=Role.USER)
        await store.commit(story.change(story.status(TaskState.WORKING), received=answer))
        found = await stored(store, story)
        assert found.task.history == (*story.new.task.history, question, answer)
        assert found.task == story.expected

    async def test_the_log_is_read_without_gap_from_any_number(self, store: TaskStore) -> None:
        story = await self._logged(store)
        for after in range(story.seq + 2):
            expected = tuple(entry for entry in story.log if entry.seq > after)
            assert await store.entries(story.id, story.scope, after) == expected
            for limit in (1, 3, 1000):
                assert await store.entries(story.id, story.scope, after, limit) == expected[:limit]

    async def test_a_log_longer_than_the_limit_is_read_in_pieces(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun()
        await store.commit(story.change(*(story.chunk(str(number)) for number in range(600))))
        read: list[Entry] = []
        while more := await store.entries(story.id, story.scope, read[-1].seq if read else 1):
            assert len(more) <= 256
            read += more
        assert read == story.log

    async def test_a_task_does_not_exist_outside_its_scope(self, store: TaskStore) -> None:
        story = await self._logged(store, Scope("acme", "ann"))
        message = Message(message_id="m", role=Role.USER, parts=())
        for stranger in STRANGERS:
            assert await store.get(story.id, stranger) is None
            assert await store.entries(story.id, stranger, 0) == ()
            with refused(Fenced):
                await store.post(story.id, stranger, message, TurnStart())
        assert await store.inbox(story.id) == ()
        assert (await stored(store, story)).task == story.expected

    async def test_what_was_never_stored_is_not_found(self, store: TaskStore) -> None:
        assert await store.get("nothing", Scope()) is None
        assert await store.locate("nothing") is None
        assert await store.entries("nothing", Scope(), 0) == ()
        assert await store.inbox("nothing") == ()
        assert await store.memos("nothing", 1) == ()
        assert await store.claimable(0, 1000) == ()

    async def test_the_agents_own_code_finds_any_task(self, store: TaskStore) -> None:
        story = await self._logged(store, Scope("acme", "ann"))
        found = await store.locate(story.id)
        assert found is not None
        assert found == await stored(store, story)
        assert found.scope == Scope("acme", "ann")

    async def test_unfinished_tasks_are_those_that_neither_ended_nor_wait(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        submitted = await narrator.begun(scope=Scope("acme", "ann"))
        working = await narrator.begun(scope=Scope("", "bob"))
        await store.commit(working.change(working.status(TaskState.WORKING)))
        await store.commit(working.change(working.chunk("half")))
        for state in TaskState:
            if state.settled:
                await narrator.ended(state)
        found = {one.task.id: one for one in await store.claimable(0, 1000)}
        assert found.keys() == {submitted.id, working.id}
        assert (found[working.id].task, found[working.id].scope) == (working.expected, working.scope)

    async def test_reads_and_writes_at_once_never_show_half_a_change(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()

        async def write() -> None:
            for number in range(50):
                await store.commit(story.change(story.chunk(str(number % 10)), story.chunk("x")))

        async def read() -> None:
            seq = 1
            while seq < 101:
                found = await stored(store, story)
                assert found.seq >= seq
                assert found.seq % 2 == 1
                assert len(found.task.text) == found.seq - 1
                log = await store.entries(story.id, story.scope, found.seq)
                assert [entry.seq for entry in log] == list(range(found.seq + 1, found.seq + 1 + len(log)))
                seq = found.seq
                await asyncio.sleep(0)

        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(write(), read(), read())

    async def test_erased_tasks_are_gone_with_all_that_was_theirs(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        gone, kept = await self._logged(store, narrator=narrator), await narrator.ended()
        await store.post(gone.id, gone.scope, narrator.message("hi", role=Role.USER), TurnStart())
        assert await store.erase(Selector(task_id=gone.id)) == (gone.id,)
        assert await store.get(gone.id, gone.scope) is None
        assert await store.locate(gone.id) is None
        assert await store.entries(gone.id, gone.scope, 0) == ()
        assert await store.inbox(gone.id) == ()
        assert await store.memos(gone.id, 1) == ()
        assert await store.claimable(0, 1000) == ()
        assert await store.erase(Selector(task_id=gone.id)) == ()
        assert (await stored(store, kept)).task == kept.expected

    async def test_erasing_takes_what_matches_every_member_given(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        ann, bob = Scope("acme", "ann"), Scope("acme", "bob")
        first, second = await narrator.ended(scope=ann, context_id="c"), await narrator.ended(scope=ann)
        third, fourth = await narrator.ended(scope=bob, context_id="c"), await narrator.ended(scope=bob)
        fifth = await narrator.ended(scope=Scope("other", "ann"))
        assert await store.erase(Selector(task_id=first.id, principal="bob")) == ()
        assert await store.erase(Selector(context_id="c", principal="ann")) == (first.id,)
        assert await store.erase(Selector(context_id="c")) == (third.id,)
        assert set(await store.erase(Selector(principal="ann"))) == {second.id, fifth.id}
        assert (await stored(store, fourth)).task == fourth.expected

    async def test_erasing_without_a_choice_is_refused(self, store: TaskStore) -> None:
        story = await Narrator(store).begun()
        with refused(ValueError):
            await store.erase(Selector())
        assert (await stored(store, story)).task == story.new.task

    async def _logged(self, store: TaskStore, scope: Scope = ANYONE, *, narrator: Narrator | None = None) -> Story:
        """A task with a log of runs of different lengths and with a snapshot in the middle."""
        story = await (narrator or Narrator(store)).begun(scope=scope)
        for length in (1, 2, 3, 4):
            chunks = [story.chunk(f"{length}.{number} ") for number in range(length)]
            await store.commit(story.change(*chunks, snapshot=length == 2))
        await store.commit(story.change(story.status(TaskState.WORKING)))
        return story
