"""The executions of this process: let in, started, found, and brought to an end together."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from dragoman.engine.endings import Stop
from dragoman.engine.execution import Execution
from dragoman.engine.persistence import until_available
from dragoman.engine.slots import Slots
from dragoman.engine.world import World
from dragoman.errors import Fenced, StoreUnavailable
from dragoman.ports.call import Scope
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
        self.worker = world.ids.new()
        """Who owns the tasks that run here."""
        self.slots = Slots(world.limits.max_running, world.calls)
        self.doubtful: set[str] = set()
        """Tasks that may be owned by this worker and not run; it has to look."""
        self.call: Callable[[], None] = _nobody
        """Called when the worker should look for tasks to run."""

    def begin(self) -> None:
        """Runs may begin, as those of a new worker."""
        self._stopping = self._stopped = False
        self.worker = self._world.ids.new()
        self.doubtful.clear()
        self.slots.shut = False

    @property
    def stopping(self) -> bool:
        """Whether the server stops: nothing is taken up any more."""
        return self._stopping

    def runs(self, task_id: str) -> bool:
        """Whether this task runs here."""
        return task_id in self._live

    def posted(self, task_id: str) -> None:
        """A message to this task waits in its inbox; its run may want it."""
        if task_id in self._live:
            self._live[task_id].look()

    # New runs.

    def admit(self, task_id: str, scope: Scope, *, bounded: bool = True) -> str:
        """The worker of a task that is about to be stored: this one, which runs it at once and takes a slot for it;
        nobody, if all slots are taken.

        Raises:
            LimitExceededError: its caller has too many, or all have, if they are `bounded`.
        """
        if bounded:
            self.slots.check(scope.counted)
        return self.worker if self.slots.enter(task_id, scope.counted) else ""

    async def admitted(
        self, stored: Stored, writing: Awaitable[None], *, memos: Sequence[Memo] = (), references: tuple[Task, ...] = ()
    ) -> None:
        """Waits until this task is stored, as `admit` has said. If it is and the caller has gone, its run starts."""
        try:
            await writing
        except asyncio.CancelledError:
            if stored.worker:
                self._rescue(stored, memos, references)
            raise
        except BaseException as error:
            if stored.worker:
                self.leave(stored, doubtful=isinstance(error, StoreUnavailable))
            else:
                self.slots.withdraw(stored.task.id)
            raise

    def queued(self) -> None:
        """A task has been stored that waits for a slot."""
        self.slots.queue = True
        self.call()

    def start(
        self,
        stored: Stored,
        *,
        memos: Sequence[Memo] = (),
        references: tuple[Task, ...] = (),
        again: bool = False,
    ) -> Execution:
        """Runs the task from where it stands, in a slot that was taken for it; `again` if its turn was begun before and
        broke off. At most one run of a task at a time is the caller's duty.
        """
        execution = Execution(self._world, stored, memos=memos, references=references, again=again, ended=self._ended)
        self._live[execution.task_id] = execution
        self._keep(execution.start())
        if self._stopped:
            self._stop(execution)
        return execution

    def _rescue(self, stored: Stored, memos: Sequence[Memo], references: tuple[Task, ...]) -> None:
        task = asyncio.get_running_loop().create_task(self._adopt(stored, memos, references))
        self._rescues.add(task)
        task.add_done_callback(self._rescues.discard)

    async def _adopt(self, stored: Stored, memos: Sequence[Memo], references: tuple[Task, ...]) -> None:
        claim = Commit(task_id=stored.task.id, epoch=stored.epoch, after=stored.seq, claim=True, worker=self.worker)
        store = self._world.store

        async def take() -> None:
            # Writes to a task are done in their order: once this one is refused, what the caller began is decided.
            with contextlib.suppress(Fenced):
                await store.commit(msgspec.structs.replace(claim, epoch=0))
            found = await store.locate(stored.task.id)
            if found is None or found.task != stored.task:
                # Another change was stored in its place, under the same epoch and number.
                raise Fenced(f"Task {stored.task.id} has gone another way")
            await store.commit(claim)

        try:
            await until_available(take, stored.task.id, given_up=lambda: self._stopping)
        except (Fenced, StoreUnavailable):
            self.leave(stored, doubtful=True)
            return
        claimed = msgspec.structs.replace(stored, epoch=stored.epoch + 1)
        self.start(claimed, memos=memos, references=references)

    # The ends of runs.

    async def cancel(self, task_id: str) -> bool:
        """Stops the run of this task, and waits until it has ended; whether there was one."""
        execution = self._live.get(task_id)
        if execution is None:
            return False
        execution.stop(Stop.CANCELED)
        # Who asks may leave, or be cancelled; what was begun is done.
        await asyncio.shield(self._end([execution]))
        return True

    def release(self) -> None:
        """Lets those go who wait for a run on behalf of a caller; the runs go on."""
        for execution in self._live.values():
            execution.release()

    def disown(self) -> str:
        """Stops all runs, because they may be another worker's by now; what comes from now on is a new worker's, and is
        queued until its slots are no longer shut. Gives the id of the one that was.
        """
        self.slots.shut = True
        former, self.worker = self.worker, self._world.ids.new()
        left = list(self._live.values())
        for execution in left:
            self._stop(execution)
        self._end(left)
        return former

    def begin_drain(self) -> None:
        """No task is taken up any more. What another worker can resume is handed back at once."""
        self._stopping = True
        resumable = [run for run in self._live.values() if self._world.agent.policy(run.skill).on_crash == "resume"]
        for execution in resumable:
            execution.stop(Stop.HANDED_BACK)
        if resumable:
            self._end(resumable)

    async def drain(self, grace: float) -> None:
        """Waits for all runs, then stops those that are left or have begun since, and waits for these too.

        Runs that begin afterwards are stopped at once, until `begin`.
        """
        self._stopping = True
        if self._rescues:
            await asyncio.wait(self._rescues)
        await self._ended_within(grace, list(self._live.values()))
        while self._live:
            left = list(self._live.values())
            for execution in left:
                self._stop(execution)
            await self._brought_to_end(left)
        self._stopped = True

    def _stop(self, execution: Execution) -> None:
        """Has a run end as its skill's policy says: FAILED, or for another worker to run it again."""
        if self._world.agent.policy(execution.skill).on_crash == "fail":
            execution.stop(Stop.WORKER_LOST)
        else:
            execution.stop(Stop.HANDED_BACK)

    def _end(self, executions: Sequence[Execution]) -> asyncio.Task[None]:
        return self._keep(asyncio.get_running_loop().create_task(self._brought_to_end(executions)))

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
        self.leave(execution.stored, doubtful=not execution.settled)

    def leave(self, stored: Stored, *, doubtful: bool) -> None:
        """Gives the slot of a task back, and says whether it is not known what has become of it."""
        self.slots.leave(stored.scope.counted)
        if doubtful:
            self.doubtful.add(stored.task.id)
        if self.doubtful or self.slots.queue:
            self.call()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a run broke off", exc_info=error)


def _nobody() -> None:
    """Looks for tasks where there is no worker."""
