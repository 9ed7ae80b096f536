"""The executions of this process: started, found, and brought to an end together."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from dragoman.engine.execution import Execution
from dragoman.engine.persistence import until_available
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
        self._live: dict[str, Execution] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._rescues: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._stopped = False

    def resume(self) -> None:
        """Runs may begin again after a drain."""
        self._stopping = self._stopped = False

    def start(self, stored: Stored, *, memos: Sequence[Memo] = (), references: tuple[Task, ...] = ()) -> Execution:
        """Runs the task from where it stands. At most one run of a task at a time is the caller's duty."""
        execution = Execution(self._world, stored, memos=memos, references=references, ended=self._ended)
        self._live[execution.task_id] = execution
        self._keep(execution.start())
        if self._stopped:
            execution.stop()
        return execution

    def rescue(self, stored: Stored, *, memos: Sequence[Memo], references: tuple[Task, ...]) -> None:
        """Starts the run of a task whose caller has gone while it was being stored, if it has been stored."""
        task = asyncio.get_running_loop().create_task(self._adopt(stored, memos, references))
        self._rescues.add(task)
        task.add_done_callback(self._rescues.discard)

    async def _adopt(self, stored: Stored, memos: Sequence[Memo], references: tuple[Task, ...]) -> None:
        claim = Commit(task_id=stored.task.id, epoch=stored.epoch, after=stored.seq, claim=True)
        commit = partial(self._world.store.commit, claim)
        try:
            await until_available(commit, stored.task.id, given_up=lambda: self._stopping)
        except (Fenced, StoreUnavailable):
            return
        claimed = msgspec.structs.replace(stored, epoch=stored.epoch + 1)
        self.start(claimed, memos=memos, references=references)

    async def cancel(self, task_id: str) -> bool:
        """Stops the run of this task, and waits until it has ended; whether there was one."""
        execution = self._live.get(task_id)
        if execution is None:
            return False
        execution.cancel()
        # Who asks may leave, or be cancelled; what was begun is done.
        await asyncio.shield(self._keep(asyncio.get_running_loop().create_task(self._brought_to_end([execution]))))
        return True

    def release(self) -> None:
        """Lets those go who wait for a run on behalf of a caller; the runs go on."""
        for execution in self._live.values():
            execution.release()

    async def drain(self, grace: float) -> None:
        """Waits for all runs, then stops those that are left or have begun since, and waits for these too.

        Runs that begin afterwards are stopped at once, until `resume`.
        """
        self._stopping = True
        if self._rescues:
            await asyncio.wait(self._rescues)
        await self._ended_within(grace, list(self._live.values()))
        while self._live:
            left = list(self._live.values())
            for execution in left:
                execution.stop()
            await self._brought_to_end(left)
        self._stopped = True

    async def _brought_to_end(self, executions: Sequence[Execution]) -> None:
        """Waits for the ends of runs that were asked to stop; those that take too long end without their handlers."""
        await self._ended_within(self._world.limits.cancel_grace, executions)
        for execution in executions:
            await execution.abandon()
            await execution.end()

    async def _ended_within(self, seconds: float, executions: Sequence[Execution]) -> None:
        """Waits for the ends of these runs, for so long at most."""
        if executions:
            ends = [asyncio.ensure_future(execution.end()) for execution in executions]
            try:
                await asyncio.wait(ends, timeout=seconds)
            finally:
                for end in ends:
                    end.cancel()

    def _keep(self, task: asyncio.Task[None]) -> asyncio.Task[None]:
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _ended(self, execution: Execution) -> None:
        if self._live.get(execution.task_id) is execution:
            del self._live[execution.task_id]

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a run broke off", exc_info=error)
