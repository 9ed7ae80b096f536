"""One worker among those that share a store: its signs of life, and the tasks that it takes up.

Taking up is a claim under the epoch: of several workers that try, one has the task, and nothing that the former owner
still writes is taken. What happens to a task whose owner is lost is its skill's policy.
"""

import asyncio
import logging
from contextlib import suppress

from dragoman.engine.attempts import crashes
from dragoman.engine.endings import attempts_exhausted, worker_lost
from dragoman.engine.runs import Runs
from dragoman.engine.tidying import Tidying
from dragoman.engine.turn import referenced
from dragoman.engine.unattended import Change, apply, fail
from dragoman.engine.world import World
from dragoman.errors import Fenced, StoreUnavailable
from dragoman.ports.tasks import Stored
from dragoman.types.task import TaskState, TaskStatus

__all__ = ["Worker"]

log = logging.getLogger("dragoman.engine")

AT_A_TIME = 64
"""How many tasks one look takes from the store."""


class Worker:
    """Beats while it is open, and looks for tasks that nobody works on: at first, with each beat, and when called.

    When no beat has been confirmed for `fence_after` seconds, all runs end here and the worker goes on under a new id,
    so that what it has owned can be taken up again, by itself too. Until that id is known as alive nothing runs.
    """

    def __init__(self, world: World, runs: Runs) -> None:
        self._world = world
        self._runs = runs
        self._tidying = Tidying(world)
        self._former: list[str] = []
        """Ids that this worker had and that the store does not know as ended yet."""
        self._beaten = 0.0
        self._fence: asyncio.TimerHandle | None = None
        self._looking = asyncio.Lock()
        self._called = asyncio.Event()
        self._living: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Begins with a fresh id, and takes up what can be taken up.

        Raises:
            StoreUnavailable: nothing runs then; what had been taken up is handed back.
        """
        self._looking, self._called = asyncio.Lock(), asyncio.Event()
        self._runs.begin()
        self._runs.call = self._called.set
        try:
            await self._beat()
            while await self._look():
                pass  # there may be more than one look finds
        except BaseException:
            self._disarm()
            await self._runs.drain(0.0)
            raise
        self._living = asyncio.get_running_loop().create_task(self._live())

    async def pause(self) -> None:
        """Takes nothing up any more, once the runs are stopping; the beats go on."""
        async with self._looking:
            return

    async def close(self) -> None:
        """Ends the beats; the runs have ended before."""
        living, self._living = self._living, None
        if living is not None:
            living.cancel()
            await asyncio.wait([living])
        self._disarm()
        with suppress(StoreUnavailable):
            for worker in (*self._former, self._runs.worker):
                await self._world.store.retire(worker)
        self._former.clear()

    async def _live(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = self._beaten + self._world.limits.beat
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await self._called.wait()
            self._called.clear()
            try:
                if loop.time() >= due:
                    await self._beat()
                if loop.time() >= due or self._runs.doubtful or self._runs.slots.free:
                    while await self._look() >= AT_A_TIME:
                        pass
                await self._tidying.work()
            except StoreUnavailable as error:
                log.warning("the store does not answer this worker: %s", error)
            except Exception:
                log.exception("a look for tasks broke off")

    # Signs of life.

    async def _beat(self) -> None:
        self._beaten = asyncio.get_running_loop().time()
        worker = self._runs.worker
        await self._world.store.beat(worker)
        if worker == self._runs.worker:
            self._runs.slots.shut = False
            self._arm()
        while self._former:
            await self._world.store.retire(self._former[0])
            del self._former[0]

    def _arm(self) -> None:
        self._disarm()
        if self._world.limits.fence_after is not None:
            loop = asyncio.get_running_loop()
            self._fence = loop.call_at(self._beaten + self._world.limits.fence_after, self._fenced)

    def _disarm(self) -> None:
        if self._fence is not None:
            self._fence.cancel()
            self._fence = None

    def _fenced(self) -> None:
        log.warning("no beat was confirmed for %s s: the runs end here", self._world.limits.fence_after)
        self._former.append(self._runs.disown())

    # Tasks.

    async def _look(self) -> int:
        """Takes up what can be taken up now; how many tasks that were."""
        taken = 0
        async with self._looking:
            for stored in await self._found():
                if self._runs.stopping:
                    break
                try:
                    if await self._take(stored):
                        taken += 1
                        self._runs.doubtful.discard(stored.task.id)
                except Fenced:
                    continue  # another was faster
                except StoreUnavailable:
                    raise
                except Exception:
                    # Others must not wait for a task that is beyond help.
                    log.exception("task %s could not be taken up", stored.task.id)
        return taken

    async def _found(self) -> list[Stored]:
        """Tasks that nobody works on, the longest waiting first, with no difference between callers."""
        found = [stored for task_id in tuple(self._runs.doubtful) if (stored := await self._orphan(task_id))]
        claimable = await self._world.store.claimable(self._world.limits.dead_after, AT_A_TIME)
        self._runs.slots.queue = len(claimable) == AT_A_TIME or any(not stored.worker for stored in claimable)
        # What runs here is not lost, even if the clock of the store has leapt since the last beat.
        return [*found, *[stored for stored in claimable if not self._runs.runs(stored.task.id)]]

    async def _orphan(self, task_id: str) -> Stored | None:
        """The task if it is this worker's, and does not run all the same; else it is not doubtful any more."""
        stored = await self._world.store.locate(task_id)
        mine = stored is not None and stored.worker == self._runs.worker and not stored.task.state.settled
        if mine and not self._runs.runs(task_id):
            return stored
        self._runs.doubtful.discard(task_id)
        return None

    async def _take(self, stored: Stored) -> bool:
        """Runs the task or ends it; whether there was a slot, if one is needed."""
        if stored.task.state is TaskState.SUBMITTED:
            return await self._run(stored, TaskStatus(state=TaskState.WORKING, timestamp=self._world.clock.now()))
        policy = self._world.agent.policy(stored.skill)
        if policy.on_crash == "fail":
            await fail(self._world, stored, worker_lost())
        elif stored.worker and (times := await crashes(self._world, stored)) >= policy.max_attempts:
            await fail(self._world, stored, attempts_exhausted(times))
        else:
            return await self._run(stored)
        return True

    async def _run(self, stored: Stored, *statuses: TaskStatus) -> bool:
        """Claims the task with these statuses and runs it, if a slot is free."""
        world, runs = self._world, self._runs
        if not runs.slots.advance(stored.task.id, stored.scope.counted):
            return False
        try:
            memos = await world.store.memos(stored.task.id, stored.turn)
            references = await referenced(world, stored.task.history[stored.start.index], stored.scope)
            change = Change(stored, statuses, worker=runs.worker, attempt=stored.attempt + 1)
            await apply(world, change)
        except BaseException as error:
            runs.leave(stored, doubtful=isinstance(error, StoreUnavailable))
            raise
        runs.start(change.result, memos=memos, references=references, again=not statuses)
        return True
