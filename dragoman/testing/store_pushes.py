"""What a store promises of configurations of push notifications: kept with their tasks, replaced, removed."""

# ruff: noqa: PLR2004 -- numbers here are the tests' own

from typing import cast

import msgspec

from dragoman.errors import Duplicate, Fenced, StoreUnavailable
from dragoman.ports.call import Scope
from dragoman.ports.push import DeadLetter, NewPush, Push, PushMove, PushState
from dragoman.ports.store import Store
from dragoman.ports.tasks import Key, NewTask, Selector
from dragoman.testing.expect import refused
from dragoman.testing.store_ages import FUTURE, PAST
from dragoman.testing.story import ANYONE, Narrator, Story
from dragoman.types.content import Message, Part, Role
from dragoman.types.task import TaskState, TaskStatus

__all__ = ["ANSWER", "ConfigurationContract", "configuration", "direct", "pushed"]

ANSWER = Message(message_id="a", role=Role.AGENT, parts=(Part(text="forty-two"),))
"""A direct answer."""


def configuration(story: Story, name: str = "c", *, cursor: int | None = 0, worker: str = "one") -> NewPush:
    """A configuration of this task."""
    return NewPush(
        task_id=story.id,
        id=name,
        scope=story.scope,
        dialect="1.0",
        origin="https://there.example:443",
        sealed=b"\x00\xff " + name.encode(errors="replace"),
        worker=worker,
        cursor=cursor,
    )


def direct(name: str = "c", *, scope: Scope = ANYONE, worker: str = "one") -> NewPush:
    """A configuration that delivers a direct answer."""
    return NewPush(
        task_id="", id=name, scope=scope, dialect="1.0", origin="o", sealed=b"s", worker=worker, answer=ANSWER
    )


async def pushed(store: Store, story: Story, name: str = "c") -> Push:
    """What the store has of a configuration that must be there."""
    found = await store.get_push(story.id, story.scope, name)
    assert found is not None
    return found


def _bringing(story: Story, new: NewPush) -> NewTask:
    return msgspec.structs.replace(story.new, push=new)


def _failing(push: Push, **changes: object) -> PushMove:
    """A move that leaves a mark in every member."""
    move = PushMove(
        n=push.n,
        epoch=push.epoch,
        cursor=1,
        whole=True,
        attempts=3,
        failing_since=PAST,
        not_before=FUTURE,
        trouble="503",
        letter=DeadLetter(seq=1, at=PAST, trouble="404"),
    )
    return msgspec.structs.replace(move, **changes)


class ConfigurationContract:
    async def test_a_configuration_is_kept_as_it_was_given(self, store: Store) -> None:
        narrator = Narrator(store)
        story = await narrator.begun(scope=Scope("acme", "ann"))
        new = msgspec.structs.replace(
            configuration(story), opened=TaskStatus(state=TaskState.SUBMITTED, timestamp=PAST)
        )
        put = await store.put_push(new)
        found = await pushed(store, story)
        assert found == put
        kept = {name: getattr(found, name) for name in NewPush.__struct_fields__}
        assert kept == {name: getattr(new, name) for name in NewPush.__struct_fields__}
        assert (found.epoch, found.state, found.whole, found.attempts, found.trouble) == (
            1,
            PushState.LIVE,
            False,
            0,
            "",
        )
        assert (found.failing_since, found.not_before, found.seq, found.terminal) == (None, None, 1, False)
        assert found.created > PAST

    async def test_a_configuration_without_a_cursor_begins_after_the_last_event(self, store: Store) -> None:
        story = await Narrator(store).begun()
        await store.commit(story.change(story.chunk("a"), story.chunk("b")))
        put = await store.put_push(configuration(story, cursor=None))
        assert (put.cursor, put.seq, put.behind) == (3, 3, False)
        await store.commit(story.change(story.chunk("c")))
        found = await pushed(store, story)
        assert (found.cursor, found.seq, found.behind) == (3, 4, True)

    async def test_a_configuration_knows_how_its_task_stands(self, store: Store) -> None:
        story = await Narrator(store).begun()
        await store.put_push(configuration(story))
        await store.commit(story.change(story.status(TaskState.COMPLETED), snapshot=True))
        found = await pushed(store, story)
        assert (found.seq, found.terminal) == (2, True)
        assert await store.page_pushes(story.id, story.scope, after=0, limit=9) == (found,)
        assert (await store.put_push(configuration(story, "other"))).terminal

    async def test_a_new_task_brings_its_configuration(self, store: Store) -> None:
        narrator = Narrator(store)
        story, other = narrator.story(scope=Scope("t", "p")), narrator.story()
        await store.create(_bringing(story, configuration(story, cursor=0)))
        await store.create(_bringing(other, configuration(other, cursor=None)))
        assert ((await pushed(store, story)).cursor, (await pushed(store, story)).seq) == (0, 1)
        assert ((await pushed(store, other)).cursor, (await pushed(store, other)).seq) == (1, 1)
        await store.commit(story.change(story.chunk("a")))
        assert (await pushed(store, story)).seq == 2

    async def test_a_task_that_is_refused_leaves_no_configuration(self, store: Store) -> None:
        narrator = Narrator(store)
        key = Key("m", "d", FUTURE)
        story = await narrator.begun(key=key)
        twice, known = story.new, narrator.story(key=key)
        with refused(ValueError):
            await store.create(msgspec.structs.replace(twice, push=configuration(story), key=None))
        with refused(Duplicate):
            await store.create(_bringing(known, configuration(known)))
        assert await store.page_pushes(story.id, story.scope, after=0, limit=9) == ()
        assert await store.read_pushes(PushState.LIVE, after=0, limit=9) == ()

    async def test_a_new_task_brings_no_configuration_but_its_own(self, store: Store) -> None:
        narrator = Narrator(store)
        story, other = narrator.story(), narrator.story(scope=Scope("", "p"))
        for new in (configuration(other), msgspec.structs.replace(configuration(story), scope=other.scope), direct()):
            with refused(ValueError):
                await store.create(_bringing(story, new))
        assert await store.get(story.id, story.scope) is None

    async def test_what_has_no_stored_form_is_refused_and_leaves_nothing_of_it(self, store: Store) -> None:
        narrator = Narrator(store)
        story, fresh = await narrator.begun(), narrator.story()
        bad = Message(message_id="m", role=Role.AGENT, parts=(Part(text="\ud800"),))
        for new in (
            configuration(story, "\ud800"),
            msgspec.structs.replace(configuration(story), opened=TaskStatus(state=TaskState.WORKING, message=bad)),
            msgspec.structs.replace(direct(), answer=bad),
            msgspec.structs.replace(direct(), answer=None),
            msgspec.structs.replace(configuration(story), answer=ANSWER),
        ):
            with refused(ValueError):
                await store.put_push(new)
        with refused(TypeError):
            await store.put_push(msgspec.structs.replace(configuration(story), sealed=cast("bytes", object())))
        with refused(ValueError):
            await store.create(_bringing(fresh, configuration(fresh, "\ud800")))
        put = await store.put_push(configuration(story))
        with refused(ValueError):
            await store.move_push(_failing(put, trouble="\ud800"))
        assert await store.read_pushes(PushState.LIVE, after=0, limit=9) == (put,)
        assert await store.get(fresh.id, fresh.scope) is None

    async def test_a_live_one_is_replaced_in_its_place_and_keeps_its_cursor(self, store: Store) -> None:
        story = await Narrator(store).begun()
        opened = TaskStatus(state=TaskState.SUBMITTED, timestamp=PAST)
        first = await store.put_push(msgspec.structs.replace(configuration(story), opened=opened))
        await store.put_push(configuration(story, "other"))
        await store.move_push(_failing(first, whole=False))
        new = msgspec.structs.replace(
            configuration(story, cursor=None, worker="two"), dialect="0.3", origin="new", sealed=b"new"
        )
        put = await store.put_push(new)
        assert put == msgspec.structs.replace(
            first, dialect="0.3", origin="new", sealed=b"new", worker="two", cursor=1, epoch=2
        )
        assert await pushed(store, story) == put
        assert [push.id for push in await store.page_pushes(story.id, story.scope, after=0, limit=9)] == ["c", "other"]

    async def test_replacing_fences_who_delivers(self, store: Store) -> None:
        story = await Narrator(store).begun()
        first = await store.put_push(configuration(story))
        await store.move_push(_failing(first))
        second = await store.put_push(configuration(story))
        await store.move_push(_failing(second))
        third = await store.put_push(configuration(story))
        for late in (first, second):
            with refused(Fenced):
                await store.move_push(_failing(late))
        assert await pushed(store, story) == third

    async def test_a_dead_one_lives_again_with_its_task_as_it_is(self, store: Store) -> None:
        story = await Narrator(store).begun()
        first = await store.put_push(configuration(story))
        await store.commit(story.change(story.chunk("a")))
        await store.move_push(_failing(first, state=PushState.DEAD, whole=False))
        put = await store.put_push(configuration(story))
        assert (put.state, put.whole, put.cursor, put.seq, put.behind) == (PushState.LIVE, True, 1, 2, True)
        assert (put.attempts, put.failing_since, put.not_before, put.trouble) == (0, None, None, "")
        again = await store.put_push(configuration(story))
        assert again.whole, "what is still to be delivered whole stays so"
        assert await pushed(store, story) == again

    async def test_one_that_has_ended_begins_at_the_last_event(self, store: Store) -> None:
        story = await Narrator(store).begun()
        first = await store.put_push(configuration(story))
        await store.commit(story.change(story.chunk("a"), story.status(TaskState.COMPLETED), snapshot=True))
        await store.move_push(PushMove(n=first.n, epoch=1, cursor=1, state=PushState.ENDED))
        put = await store.put_push(configuration(story, cursor=0))
        assert (put.state, put.whole, put.cursor, put.behind, put.n) == (PushState.LIVE, False, 3, False, first.n)
        assert await pushed(store, story) == put

    async def test_a_task_of_another_scope_takes_no_configuration_and_shows_none(self, store: Store) -> None:
        narrator = Narrator(store)
        story, never = await narrator.begun(scope=Scope("t", "p")), narrator.story()
        put = await store.put_push(configuration(story))
        for scope in (ANYONE, Scope("t", "q"), Scope("s", "p")):
            with refused(Fenced):
                await store.put_push(msgspec.structs.replace(configuration(story), scope=scope))
            assert await store.get_push(story.id, scope, "c") is None
            assert await store.page_pushes(story.id, scope, after=0, limit=9) == ()
            await store.drop_push(story.id, scope, "c")
        with refused(Fenced):
            await store.put_push(configuration(never))
        assert await store.get_push(never.id, never.scope, "c") is None
        assert await store.get_push(story.id, story.scope, "other") is None
        assert await pushed(store, story) == put

    async def test_configurations_are_paged_by_number(self, store: Store) -> None:
        narrator = Narrator(store)
        story, other = await narrator.begun(), await narrator.begun()
        puts: list[Push] = []
        for name in "dbca":
            puts.append(await store.put_push(configuration(story, name)))
            await store.put_push(configuration(other, name))
        await store.put_push(configuration(story, "b"))
        numbers = [put.n for put in puts]
        assert numbers == sorted(set(numbers))
        page = await store.page_pushes(story.id, story.scope, after=0, limit=3)
        assert [push.id for push in page] == ["d", "b", "c"]
        rest = await store.page_pushes(story.id, story.scope, after=page[-1].n, limit=3)
        assert [push.id for push in rest] == ["a"]

    async def test_a_dropped_one_is_gone_with_its_dead_letters(self, store: Store) -> None:
        story = await Narrator(store).begun()
        put, stays = await store.put_push(configuration(story)), await store.put_push(configuration(story, "d"))
        await store.move_push(_failing(put))
        await store.move_push(_failing(stays))
        await store.drop_push(story.id, story.scope, "c")
        await store.drop_push(story.id, story.scope, "c")
        await store.drop_push("never seen", story.scope, "c")
        assert await store.get_push(story.id, story.scope, "c") is None
        assert [push.id for push in await store.due_pushes("one", 1000, after=0, limit=9)] == ["d"]
        assert (await store.letters(put.n, 9), len(await store.letters(stays.n, 9))) == ((), 1)
        with refused(Fenced):
            await store.move_push(_failing(put))
        again = await store.put_push(configuration(story))
        assert (again.n > stays.n, again.epoch, again.cursor) == (True, 1, 0)

    async def test_what_belongs_to_a_task_is_erased_with_it(self, store: Store) -> None:
        narrator = Narrator(store)
        story, other = await narrator.begun(), await narrator.begun()
        puts = [await store.put_push(configuration(one, name)) for one in (story, other) for name in "ab"]
        for put in puts:
            await store.move_push(_failing(put))
        await store.erase(Selector(task_id=story.id))
        assert await store.page_pushes(story.id, story.scope, after=0, limit=9) == ()
        left = await store.due_pushes("one", 1000, after=0, limit=9)
        assert [push.n for push in left] == [put.n for put in puts[2:]]
        assert [len(await store.letters(put.n, 9)) for put in puts] == [0, 0, 1, 1]
        with refused(Fenced):
            await store.move_push(_failing(puts[0]))

    async def test_a_direct_answer_is_kept_until_it_is_delivered(self, store: Store) -> None:
        scope = Scope("t", "p")
        first, second = await store.put_push(direct(scope=scope)), await store.put_push(direct(scope=scope))
        assert (first.task_id, first.answer, first.behind, first.seq, first.terminal) == ("", ANSWER, True, 0, False)
        assert second.n > first.n
        assert await store.get_push("", scope, "c") == second
        for other in (ANYONE, Scope("t", "q"), Scope("s", "p")):
            assert await store.get_push("", other, "c") is None
        assert await store.due_pushes("one", 1000, after=0, limit=9) == (first, second)
        await store.move_push(_failing(second, cursor=0, whole=False))
        await store.move_push(PushMove(n=first.n, epoch=1, cursor=0, state=PushState.ENDED))
        (left,) = await store.due_pushes("one", 1000, after=0, limit=9)
        assert (left.n, left.attempts) == (second.n, 3)
        await store.move_push(_failing(left, state=PushState.ENDED))
        assert await store.get_push("", scope, "c") is None
        assert await store.letters(second.n, 9) == ()
        for n in (first.n, second.n):
            with refused(Fenced):
                await store.move_push(PushMove(n=n, epoch=1, cursor=0))

    async def test_of_direct_answers_with_one_id_the_last_that_is_left_is_found(self, store: Store) -> None:
        puts = [await store.put_push(direct()) for _ in range(3)]
        for put in puts[1:]:
            await store.move_push(PushMove(n=put.n, epoch=1, cursor=0, state=PushState.ENDED))
        assert await store.get_push("", ANYONE, "c") == puts[0]

    async def test_a_direct_answer_is_kept_with_the_configuration_that_delivers_it_or_not_at_all(
        self, store: Store
    ) -> None:
        await store.answered(ANYONE, Key("m", "d", FUTURE), ANSWER, direct())
        (push,) = await store.due_pushes("one", 1000, after=0, limit=9)
        assert (push.answer, push.state) == (ANSWER, PushState.LIVE)
        with refused(Duplicate):
            await store.answered(ANYONE, Key("m", "d", FUTURE), ANSWER, direct("again"))
        story = await Narrator(store).begun()
        for wrong in (configuration(story), msgspec.structs.replace(direct(), answer=story.new.task.history[0])):
            with refused(ValueError):
                await store.answered(ANYONE, Key("other", "d", FUTURE), ANSWER, wrong)
        assert await store.known(ANYONE, "other") is None
        assert await store.read_pushes(PushState.LIVE, after=0, limit=9) == (push,)

    async def test_direct_answers_go_when_all_of_their_principal_is_erased(self, store: Store) -> None:
        story = await Narrator(store).begun(scope=Scope("t", "p"))
        puts = [await store.put_push(direct(scope=Scope(tenant, name))) for tenant in "st" for name in "pq"]
        await store.erase(Selector(task_id=story.id, principal="p"))
        assert len(await store.read_pushes(PushState.LIVE, after=0, limit=9)) == 4
        await store.erase(Selector(principal="p"))
        assert await store.read_pushes(PushState.LIVE, after=0, limit=9) == (puts[1], puts[3])

    async def test_a_closed_store_refuses_configurations(self, store: Store) -> None:
        story = await Narrator(store).begun()
        put = await store.put_push(configuration(story))
        await store.close()
        for call in (
            store.put_push(configuration(story)),
            store.get_push(story.id, story.scope, "c"),
            store.page_pushes(story.id, story.scope, after=0, limit=9),
            store.drop_push(story.id, story.scope, "c"),
            store.due_pushes("one", 1000, after=0, limit=9),
            store.move_push(_failing(put)),
            store.read_pushes(PushState.LIVE, after=0, limit=9),
            store.letters(put.n, 9),
        ):
            with refused(StoreUnavailable):
                await call
