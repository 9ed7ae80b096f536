"""What a store promises of pages: one order, no task twice or left out, true totals."""

# ruff: noqa: PLR2004 -- numbers here are the tests' own

from datetime import datetime

from dragoman.ports.call import Scope
from dragoman.ports.tasks import Page, Query, Selector, TaskStore
from dragoman.testing.story import Narrator, Story
from dragoman.types.task import Task, TaskState

__all__ = ["PageContract"]

ANN = Scope("acme", "ann")


def _in_order(*stories: Story) -> list[str]:
    """The ids of these tasks as a page has them: newest status first, then highest id."""
    tasks = [story.expected for story in stories]
    return [task.id for task in sorted(tasks, key=lambda task: (_status_time(task), task.id), reverse=True)]


def _ids(page: Page) -> list[str]:
    return [task.id for task in page.tasks]


def _status_time(task: Task) -> datetime:
    assert task.status.timestamp is not None
    return task.status.timestamp


def _matches(task: Task, query: Query) -> bool:
    return (
        (query.context_id is None or task.context_id == query.context_id)
        and (query.state is None or task.state is query.state)
        and (query.since is None or _status_time(task) >= query.since)
    )


class PageContract:
    async def test_pages_are_ordered_by_status_time_then_id(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        stories = [await narrator.begun() for _ in range(4)]
        for seconds in (0.001, 3600, 0.002):
            narrator.clock.advance(seconds)
            stories += [await narrator.ended() for _ in range(3)]
        page = await store.page(Query(limit=100), Scope())
        assert _ids(page) == _in_order(*stories)
        assert (page.total, page.more) == (13, False)

    async def test_a_new_status_moves_a_task_to_the_front(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        stories: list[Story] = []
        for _ in range(5):
            narrator.clock.advance(1)
            stories.append(await narrator.begun())
        narrator.clock.advance(1)
        oldest = stories[0]
        await store.commit(oldest.change(oldest.status(TaskState.WORKING)))
        page = await store.page(Query(limit=3), Scope())
        assert page.tasks[0] == oldest.expected
        assert _ids(page) == _in_order(*stories)[:3]
        await store.commit(oldest.change(oldest.chunk("no status")))
        assert _ids(await store.page(Query(limit=100), Scope())) == _in_order(*stories)

    async def test_pages_stay_in_step_while_tasks_are_added(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        stories: list[Story] = []
        for number in range(25):
            # Several of one status time, across the borders of pages.
            narrator.clock.advance(0.001 if number % 4 == 0 else 0)
            stories.append(await narrator.begun())
        read: list[Task] = []
        more, added = True, 0
        while more:
            before = (_status_time(read[-1]), read[-1].id) if read else None
            page = await store.page(Query(limit=7, before=before), Scope())
            assert page.total == 25 + added
            assert len(page.tasks) <= 7
            read += page.tasks
            more = page.more
            narrator.clock.advance(0.001)
            await narrator.ended()
            added += 1
        assert [task.id for task in read] == _in_order(*stories)
        assert added == 4

    async def test_the_last_page_says_so(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        stories = [await narrator.begun() for _ in range(4)]
        first = await store.page(Query(limit=2), Scope())
        assert (len(first.tasks), first.more, first.total) == (2, True, 4)
        last = first.tasks[-1]
        second = await store.page(Query(limit=2, before=(_status_time(last), last.id)), Scope())
        assert (_ids(first) + _ids(second), second.more, second.total) == (_in_order(*stories), False, 4)
        end = second.tasks[-1]
        beyond = await store.page(Query(limit=2, before=(_status_time(end), end.id)), Scope())
        assert (beyond.tasks, beyond.more, beyond.total) == ((), False, 4)

    async def test_filters_choose_and_totals_count_what_matches(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        stories: list[Story] = []
        for number in range(12):
            narrator.clock.advance(1)
            state = (TaskState.COMPLETED, TaskState.FAILED, TaskState.INPUT_REQUIRED)[number % 3]
            stories.append(await narrator.ended(state, context_id=f"c{number % 2}"))
        since = _status_time(stories[5].expected)
        for context_id in (None, "c0", "c1", "nowhere"):
            for chosen in (None, TaskState.FAILED, TaskState.WORKING):
                for earliest in (None, since):
                    query = Query(limit=2, context_id=context_id, state=chosen, since=earliest)
                    matching = [story for story in stories if _matches(story.expected, query)]
                    page = await store.page(query, Scope())
                    assert _ids(page) == _in_order(*matching)[:2], query
                    assert (page.total, page.more) == (len(matching), len(matching) > 2), query

    async def test_filtered_pages_go_on_where_they_stopped(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        stories = [
            await narrator.ended(state, context_id="c")
            for _ in range(5)
            for state in (TaskState.COMPLETED, TaskState.FAILED)
        ]
        failed = [story for story in stories if story.expected.state is TaskState.FAILED]
        for context_id in (None, "c"):
            read: list[Task] = []
            more = True
            while more:
                before = (_status_time(read[-1]), read[-1].id) if read else None
                query = Query(limit=2, state=TaskState.FAILED, context_id=context_id, before=before)
                page = await store.page(query, Scope())
                assert page.total == 5
                read += page.tasks
                more = page.more
            assert [task.id for task in read] == _in_order(*failed)

    async def test_totals_follow_every_change_of_state(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun()
        for state in (TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.WORKING, TaskState.COMPLETED):
            await store.commit(story.change(story.status(state), snapshot=True))
            for other in TaskState:
                page = await store.page(Query(limit=5, state=other), Scope())
                assert page.total == len(page.tasks) == (other is state)
        await narrator.ended()
        await store.erase(Selector(task_id=story.id))
        page = await store.page(Query(limit=5, state=TaskState.COMPLETED), Scope())
        assert page.total == len(page.tasks) == 1
        assert (await store.page(Query(limit=5), Scope())).total == 1

    async def test_artifacts_are_left_out_unless_asked_for(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.ended()
        for query in (Query(limit=5), Query(limit=5, context_id=story.new.task.context_id)):
            (task,) = (await store.page(query, Scope())).tasks
            assert task.artifacts == ()
            assert (task.status, task.history) == (story.expected.status, story.expected.history)
        (task,) = (await store.page(Query(limit=5, artifacts=True), Scope())).tasks
        assert task == story.expected

    async def test_a_page_shows_what_no_snapshot_has_yet(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        story = await narrator.begun()
        asked = narrator.message("Which?")
        await store.commit(story.change(story.chunk("a"), story.status(TaskState.INPUT_REQUIRED, asked), snapshot=True))
        for text in "bc":
            await store.commit(story.change(story.chunk(text)))
            await store.commit(story.change(story.status(TaskState.WORKING), received=narrator.message(text)))
        (task,) = (await store.page(Query(limit=5, artifacts=True), Scope())).tasks
        assert task == story.expected
        (task,) = (await store.page(Query(limit=5), Scope())).tasks
        assert (task.status, task.history) == (story.expected.status, story.expected.history)
        assert task.artifacts == ()

    async def test_a_page_is_of_one_scope(self, store: TaskStore) -> None:
        narrator = Narrator(store)
        mine = await narrator.ended(scope=ANN, context_id="shared")
        for stranger in (Scope("acme", "bob"), Scope("other", "ann"), Scope()):
            await narrator.ended(scope=stranger, context_id="shared")
        for query in (Query(limit=9), Query(limit=9, context_id="shared"), Query(limit=9, state=TaskState.COMPLETED)):
            page = await store.page(query, ANN)
            assert (_ids(page), page.total) == ([mine.id], 1)
        nobody = await store.page(Query(limit=9), Scope("acme", "nobody"))
        assert (nobody.tasks, nobody.total, nobody.more) == ((), 0, False)
