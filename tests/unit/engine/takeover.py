"""A worker that takes a task from another, which does not know it yet."""

from dragoman.engine.runs import Runs
from dragoman.engine.unattended import Change, apply
from tests.unit.engine.stage import Stage

__all__ = ["taken_over"]


async def taken_over(stage: Stage, task_id: str) -> None:
    """Begins another attempt at the turn of this task, elsewhere; the run so far is fenced off."""
    await stage.store.inner.beat("another")
    stored = await stage.stored(task_id)
    change = Change(stored, (), worker="another", attempt=stored.attempt + 1)
    await apply(stage.world, change)
    memos = await stage.store.memos(task_id, stored.turn)
    Runs(stage.world).start(change.result, memos=memos, again=True)
