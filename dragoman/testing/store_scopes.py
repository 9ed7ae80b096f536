"""What a store promises of scopes: whatever names what is another's gets what is told of things that are not there."""

import inspect
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from dragoman.errors import Duplicate, Fenced
from dragoman.ports.call import Scope
from dragoman.ports.push import PushStore
from dragoman.ports.store import Store
from dragoman.ports.tasks import Key, Query, TaskStore, TurnStart
from dragoman.testing.store_pushes import ANSWER, configuration, direct
from dragoman.testing.story import Narrator, Story
from dragoman.types.content import Message, Role
from dragoman.types.task import TaskState

__all__ = ["OWNER", "SCOPED", "ScopeContract", "Things", "made", "scoped_methods"]

OWNER = Scope("acme", "ann")
STRANGERS = (Scope("acme", "bob"), Scope("other", "ann"), Scope("acme", ""), Scope("", "ann"), Scope())
MESSAGE = Message(message_id="m", role=Role.USER, parts=())
FAR = datetime(9000, 1, 1, tzinfo=UTC)


class Things(msgspec.Struct, frozen=True):
    """What somebody may name: ids of a task that has ended and of one that is worked on, of their context, of messages
    that were taken, of configurations.
    """

    ended: str = "no-task"
    open: str = "no-task"
    context: str = "no-context"
    message: str = "no-message"
    answered: str = "no-message"
    config: str = "no-config"
    direct: str = "no-config"


Call = Callable[[Store, Scope, Things], Awaitable[Any]]


async def _known(store: Store, scope: Scope, things: Things) -> Any:
    found = [await store.known(scope, name) for name in (things.message, things.answered)]
    return [None if one is None else (one.task_id, one.answer) for one in found]


async def _post(store: Store, scope: Scope, things: Things) -> Any:
    try:
        return await store.post(things.open, scope, MESSAGE, TurnStart())
    except Fenced:
        return "fenced"


async def _pages(store: Store, scope: Scope, things: Things) -> Any:
    before = (FAR, "~")
    queries = [
        Query(limit=9),
        Query(limit=9, before=before),
        Query(limit=9, since=FAR - timedelta(days=365 * 9000)),
        Query(limit=9, state=TaskState.COMPLETED, artifacts=True),
        Query(limit=9, context_id=things.context),
        Query(limit=9, context_id=things.context, state=TaskState.SUBMITTED, before=before),
        Query(limit=9, context_id=things.context, since=FAR - timedelta(days=365 * 9000)),
    ]
    pages = [await store.page(query, scope) for query in queries]
    return [([task.id for task in page.tasks], page.total, page.more) for page in pages]


async def _answered(store: Store, scope: Scope, things: Things) -> Any:
    # A key is free, whatever others have used; the second time it is not.
    try:
        return await store.answered(scope, Key(things.answered, "d", FAR), ANSWER)
    except Duplicate:
        return "known"


async def _get_push(store: Store, scope: Scope, things: Things) -> Any:
    found = [
        await store.get_push(things.open, scope, things.config),
        await store.get_push(things.ended, scope, things.config),
        await store.get_push("", scope, things.direct),
    ]
    return [None if one is None else one.id for one in found]


async def _page_pushes(store: Store, scope: Scope, things: Things) -> Any:
    found = [*await store.page_pushes(things.open, scope, after=0, limit=9)]
    return [one.id for one in (*found, *await store.page_pushes(things.ended, scope, after=0, limit=9))]


async def _drop_push(store: Store, scope: Scope, things: Things) -> Any:
    await store.drop_push(things.ended, scope, things.config)


async def _get(store: Store, scope: Scope, things: Things) -> Any:
    found = [await store.get(task_id, scope) for task_id in (things.open, things.ended)]
    return [None if one is None else one.task.id for one in found]


async def _entries(store: Store, scope: Scope, things: Things) -> Any:
    return [await store.entries(task_id, scope, 0) for task_id in (things.open, things.ended)]


SCOPED: dict[str, Call] = {
    "get": _get,
    "entries": _entries,
    "page": _pages,
    "known": _known,
    "answered": _answered,
    "get_push": _get_push,
    "page_pushes": _page_pushes,
    "post": _post,
    "drop_push": _drop_push,
}
"""A call, or several, of each method that takes a scope; what changes something comes last."""


def scoped_methods() -> set[str]:
    """The methods of a store that take a scope."""
    return {
        name
        for port in (TaskStore, PushStore)
        for name, method in inspect.getmembers(port, inspect.isfunction)
        if "scope" in inspect.signature(method).parameters
    }


async def made(store: Store) -> Things:
    """Somebody's things."""
    narrator = Narrator(store)
    ended = await narrator.ended(scope=OWNER, context_id="shared", key=Key("of-ended", "d", FAR))
    begun = await narrator.begun(scope=OWNER, context_id="shared", worker="w", key=Key("of-open", "d", FAR))
    await store.commit(begun.change(begun.chunk("said")))
    for story in (ended, begun):
        await store.put_push(configuration(story))
    await store.answered(OWNER, Key("answered", "d", FAR), ANSWER, direct("of-answer", scope=OWNER))
    return Things(
        ended=ended.id,
        open=begun.id,
        context="shared",
        message="of-open",
        answered="answered",
        config="c",
        direct="of-answer",
    )


class ScopeContract:
    async def test_no_method_shows_what_is_of_another_scope(self, store: Store) -> None:
        assert set(SCOPED) == scoped_methods()
        missing = {
            (stranger, name): await call(store, stranger, Things())
            for stranger in STRANGERS
            for name, call in SCOPED.items()
        }
        things = await made(store)
        for (stranger, name), nothing in missing.items():
            found = await SCOPED[name](store, stranger, things)
            assert found == nothing, f"{name} shows {stranger} something of {OWNER}"
        await self.unharmed(store, things)
        for name, call in SCOPED.items():
            if name != "drop_push":
                assert await call(store, OWNER, things) != await call(store, OWNER, Things()), name

    async def test_a_configuration_is_put_into_no_task_of_another_scope(self, store: Store) -> None:
        narrator = Narrator(store)
        for story in (await narrator.ended(scope=OWNER), await narrator.begun(scope=OWNER)):
            for stranger in STRANGERS:
                await self._refused(store, story, stranger)
            assert await store.page_pushes(story.id, OWNER, after=0, limit=9) == ()

    async def _refused(self, store: Store, story: Story, stranger: Scope) -> None:
        try:
            await store.put_push(msgspec.structs.replace(configuration(story), scope=stranger))
        except Fenced:
            return
        raise AssertionError(f"{stranger} has put a configuration into a task of {OWNER}")

    async def unharmed(self, store: Store, things: Things) -> None:
        """What strangers did has changed nothing."""
        assert await store.inbox(things.open) == ()
        for task_id in (things.open, things.ended):
            assert [push.id for push in await store.page_pushes(task_id, OWNER, after=0, limit=9)] == ["c"]
