"""The store in memory beyond the common contract: it never waits, and folds once."""

from collections.abc import Coroutine

from dragoman.ports.call import Scope
from dragoman.ports.push import PushMove, PushState
from dragoman.ports.tasks import Query, Selector, TurnStart
from dragoman.stores.memory import MemoryStore
from dragoman.testing.store_pushes import configuration
from dragoman.testing.story import Narrator, stored
from dragoman.types.content import Role


def ended_at_once(call: Coroutine[object, object, object]) -> bool:
    try:
        call.send(None)
    except StopIteration:
        return True
    call.close()
    return False


def test_no_method_ever_waits() -> None:
    store = MemoryStore()
    narrator = Narrator(store)
    story = narrator.story()
    calls: list[Coroutine[object, object, object]] = [
        store.open(),
        store.create(story.new),
        store.commit(story.change(story.chunk("a"))),
        store.get(story.id, story.scope),
        store.entries(story.id, story.scope, 0),
        store.page(Query(limit=5), Scope()),
        store.post(story.id, story.scope, narrator.message("b", role=Role.USER), TurnStart()),
        store.inbox(story.id),
        store.memos(story.id, 1),
        store.claimable(0, 1000),
        store.locate(story.id),
        store.put_push(configuration(story)),
        store.get_push(story.id, story.scope, "c"),
        store.page_pushes(story.id, story.scope, after=0, limit=9),
        store.due_pushes("one", 1000, after=0, limit=9),
        store.move_push(PushMove(n=1, epoch=1, cursor=1)),
        store.read_pushes(PushState.LIVE, after=0, limit=9),
        store.letters(1, 9),
        store.drop_push(story.id, story.scope, "c"),
        store.prune(logs_after=0, tasks_after=0, limit=9),
        store.erase(Selector(task_id=story.id)),
        store.close(),
    ]
    assert [ended_at_once(call) for call in calls] == [True] * len(calls)


async def test_a_task_is_folded_once_for_all_who_read_it() -> None:
    store = MemoryStore()
    story = await Narrator(store).begun()
    for number in range(10):
        await store.commit(story.change(story.chunk(str(number))))
    first = await stored(store, story)
    assert await store.get(story.id, story.scope) is first
    assert (await store.page(Query(limit=1, artifacts=True), Scope())).tasks[0] is first.task


async def test_a_closed_store_keeps_what_it_has() -> None:
    store = MemoryStore()
    story = await Narrator(store).ended()
    await store.close()
    await store.open()
    assert (await stored(store, story)).task == story.expected


async def test_a_store_emptied_of_a_scope_starts_again() -> None:
    store = MemoryStore()
    narrator = Narrator(store)
    first = await narrator.ended(context_id="c")
    await store.erase(Selector(principal=""))
    second = await narrator.ended(context_id="c")
    page = await store.page(Query(limit=5, context_id="c"), Scope())
    assert ([task.id for task in page.tasks], page.total) == ([second.id], 1)
    assert first.id != second.id
