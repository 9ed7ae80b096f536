"""The executions of this process: started, found, and brought to an end together."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from dragoman.engine.execution import Execution
from dragoman.engine.world import World
from dragoman.errors import Fenced, StoreUnavailable
from dragoman.ports.tasks import Commit, Memo, Stored
from dragoman.types.task import Task

__all__ = ["Runs"]

log = logging.getLogger("dragoman.engine")


class Runs:
    """Holds every execution from its start to its end, so that nothing runs detached."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rescues: set[asyncio.Task[None]] = set()
        self._live: dict[str, tuple[Execution, asyncio.Task[None]]] = {}

    def start(self, stored: Stored, *, memos: Sequence[Memo] = (), references: tuple[Task, ...] = ()) -> None:
        """Runs the task from where it stands. At most one run of a task at a time is the caller's duty."""
        execution = Execution(self._world, stored, memos=memos, references=references)
        task = asyncio.get_running_loop().create_task(execution.run())
        self._live[stored.task.id] = (execution, task)
        task.add_done_callback(partial(self._ended, stored.task.id))

    def rescue(self, stored: Stored, *, memos: Sequence[Memo], references: tuple[Task, ...]) -> None:
        """Starts the run of a task whose caller has gone while it was being stored, if it has been stored."""
        task = asyncio.get_running_loop().create_task(self._adopt(stored, memos, references))
        self._rescues.add(task)
        task.add_done_callback(self._rescues.discard)

    async def _adopt(self, stored: Stored, memos: Sequence[Memo], references: tuple[Task, ...]) -> None:
        claim = Commit(task_id=stored.task.id, epoch=stored.epoch, after=stored.seq, claim=True)
        try:
            await self._world.store.commit(claim)
        except (Fenced, StoreUnavailable):
            return
        claimed = msgspec.structs.replace(stored, epoch=stored.epoch + 1)
        self.start(claimed, memos=memos, references=references)

    async def cancel(self, task_id: str) -> bool:
        """Stops the run of this task, and waits until it has ended; whether there was one."""
        live = self._live.get(task_id)
        if live is None:
            return False
        execution, task = live
        execution.cancel()
        await asyncio.wait([task])
        return True

    async def drain(self, grace: float) -> None:
        """Waits for all runs, then stops those that are left, and waits for these too."""
        if self._rescues:
            await asyncio.wait(self._rescues)
        tasks = [task for _, task in self._live.values()]
        if not tasks:
            return
        _, left = await asyncio.wait(tasks, timeout=grace)
        for execution, task in list(self._live.values()):
            if task in left:
                execution.stop()
        if left:
            await asyncio.wait(left)

    def _ended(self, task_id: str, task: asyncio.Task[None]) -> None:
        live = self._live.get(task_id)
        if live is not None and live[1] is task:
            del self._live[task_id]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("the run of task %s broke off", task_id, exc_info=error)
