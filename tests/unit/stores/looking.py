"""How the tests of the SQLite store look into one."""

from dragoman.stores.sqlite import SqliteStore
from dragoman.testing.story import Story

__all__ = ["PATIENCE", "task_of"]

PATIENCE = 30.0
"""Seconds that a test may wait."""


async def task_of(store: SqliteStore, story: Story) -> object:
    """The task as the store has it, or None."""
    stored = await store.get(story.id, story.scope)
    return None if stored is None else stored.task
