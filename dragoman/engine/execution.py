"""One run of the agent for one task: agent, then commit, then publish, turn after turn.

The handler and the end of its turn share one asyncio task. What the handler says while it waits for something else is
stored by a second one, the flusher; while one commit is under way, further emissions gather for the next. A run goes
to its end only after the flusher.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec

from dragoman.correlation import correlate_task
from dragoman.engine.attempts import left_behind, stopped_memo
from dragoman.engine.cancellation import taken_back
from dragoman.engine.endings import Ending, Stop, broken, outcome_of
from dragoman.engine.tasklog import TaskLog
from dragoman.engine.turn import RunningTurn, referenced
from dragoman.engine.watch import Watch
from dragoman.engine.world import World
from dragoman.errors import Fenced, InboxPending, StoreUnavailable
from dragoman.lineage import Lineage, open_lineage
from dragoman.ports.agent import TurnOutcome
from dragoman.ports.tasks import Memo, Posted, Stored, TurnStart
from dragoman.types.events import TaskUpdate
from dragoman.types.task import Task, TaskState, TaskStatus

__all__ = ["Execution"]

log = logging.getLogger("dragoman.engine")


class Execution:
    """Runs a task until it settles, is stopped, or is fenced off; then calls `ended`, once."""

    __slots__ = (
        "_abandoned",
        "_callers",
        "_ended",
        "_flush_due",
        "_flush_error",
        "_flusher",
        "_handling",
        "_leaving",
        "_lineage",
        "_log",
        "_loop",
        "_memos",
        "_over",
        "_references",
        "_runner",
        "_stop_reason",
        "_turn",
        "_waiters",
        "_watch",
        "_world",
        "stored",
        "task_id",
    )

    def __init__(
        self,
        world: World,
        stored: Stored,
        *,
        memos: Sequence[Memo],
        references: tuple[Task, ...],
        again: bool,
        ended: Callable[["Execution"], None],
    ) -> None:
        self.task_id = stored.task.id
        self._world = world
        self.stored = stored
        self._log = TaskLog(world, stored)
        self._memos = memos
        self._references = references
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._runner: asyncio.Task[None] | None = None
        self._handling = False
        self._lineage: Lineage | None = None
        self._watch: Watch | None = None
        self._flusher: asyncio.Task[None] | None = None
        self._flush_due = False
        self._flush_error: Exception | None = None
        self._stop_reason: Stop | None = None
        self._abandoned = False
        self._over = False
        self._waiters: list[asyncio.Future[None]] = []
        self._callers: list[asyncio.Future[None]] = []
        self._turn = self._new_turn(stored.turn, stored.start, again=again)

    # What the engine does with it.

    def start(self) -> asyncio.Task[None]:
        """Sets off the run; the caller keeps the asyncio task."""
        self._runner = self._loop.create_task(self._run())
        return self._runner

    async def end(self, *, calling: bool = False) -> Task:
        """Waits for the end of the run, or, `calling`, until `release`; the task as the run has left it by then."""
        if not self._over:
            waiter: asyncio.Future[None] = self._loop.create_future()
            (self._callers if calling else self._waiters).append(waiter)
            await waiter
        return self._log.task

    def release(self) -> None:
        """Lets those go who wait on behalf of a caller."""
        _let_go(self._callers)

    def stop(self, reason: Stop) -> None:
        """Asks the run to end for this reason, unless it was asked before; who asks sees to it that it does."""
        if self._stop_reason is None and not self._over:
            self._stop_reason = reason
            self._log.hasty = not reason.final
            if reason.final and self._lineage is not None:
                self._lineage.cancel()
            if self._flush_error is None:
                self._cancel_handler()

    @property
    def skill(self) -> str:
        return self.stored.skill

    @property
    def settled(self) -> bool:
        """Whether the task is in a state that needs no run, as far as this one knows."""
        return self._log.task.state.settled

    async def abandon(self) -> None:
        """Ends the task without its handler, which was asked to stop and did not; what it still says is lost."""
        if not self._handling:
            return
        log.warning("the handler of task %s did not end within its grace time", self.task_id)
        self._handling = False
        self._abandoned = True
        try:
            await self._guarded(self._end_turn(self._turn, asyncio.CancelledError()))
        finally:
            self._finish()

    def look(self) -> None:
        """A message has come that the run may take."""
        self._turn.look()

    # One turn.

    async def _run(self) -> None:
        self._lineage = open_lineage()
        correlate_task(self.task_id, self.stored.start.trace)
        try:
            while await self._guarded(self._run_turn()):
                pass
        finally:
            if not self._abandoned:
                self._finish()

    async def _guarded(self, work: Coroutine[Any, Any, bool]) -> bool:
        """Does a part of the run, whether another follows; a task must never be left running without its run."""
        try:
            try:
                return await work
            except (Fenced, StoreUnavailable):
                raise
            except Exception as error:  # noqa: BLE001 -- output that no store takes, or a defect
                return await self._settle([], broken(error, self.task_id, self._world))
        except Fenced:
            log.info("task %s was taken over or removed; its run ends", self.task_id)
        except StoreUnavailable:
            log.warning("the end of task %s could not be stored; what becomes of it is looked at again", self.task_id)
        return False

    async def _run_turn(self) -> bool:
        turn = self._turn
        if turn.again:
            turn.begin_again(await self._log.insist(partial(left_behind, self._world, self.stored, turn.afresh)))
        ending = await self._handled(turn)
        if self._abandoned:
            return False
        return await self._end_turn(turn, turn.output.volume.overflow or ending)

    async def _handled(self, turn: RunningTurn) -> Ending:
        """Lets the agent work. Being asked to stop is one way for it to end; being cancelled from outside is not."""
        if self._stop_reason is not None:
            return asyncio.CancelledError()
        policy = self._world.agent.policy(self.stored.skill)
        self._handling = True
        if policy.deadline is not None or policy.idle_timeout is not None:
            self._watch = Watch(policy, self._world.limits.cancel_grace, stop=self.stop, abandon=self.abandon)
        ending: Ending
        try:
            ending = await self._world.agent.execute(turn)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 -- whatever it is, it ends the turn, and is told
            ending = error
        finally:
            self._handling = False
            if self._watch is not None:
                self._watch.close()
                self._watch = None
        if self._stopping or isinstance(ending, asyncio.CancelledError):
            await taken_back(ending, expected=self._stopping)
        return ending

    @property
    def _stopping(self) -> bool:
        """Whether this execution itself has cancelled its handler."""
        return self._abandoned or self._stop_reason is not None or self._flush_error is not None

    async def _end_turn(self, turn: RunningTurn, ending: Ending) -> bool:
        turn.close()
        if self._flusher is not None:
            await asyncio.wait([self._flusher])
        if self._flush_error is not None:
            raise self._flush_error
        stopped = self._stop_reason is not None
        if stopped and self._stop_reason is Stop.HANDED_BACK:
            await self._log.hand_back(stopped_memo(turn.number, turn.attempt))
            return False
        if turn.parked is not None and not stopped and not isinstance(ending, (Exception, asyncio.CancelledError)):
            memo, status = turn.parked
            events = [*turn.last_words(whole=True), self._log.status_event(status)]
            await self._log.append(events, settles=True, memos=(memo,))
            return False
        if turn.replaying and (stopped or isinstance(ending, BaseException)):
            # It broke off while it repeated itself: an earlier run has said all this, and perhaps more.
            turn.output.clear()
        outcome = outcome_of(ending, self._stop_reason, self.task_id, self._world)
        whole = not stopped and not isinstance(ending, BaseException)
        return await self._settle(turn.last_words(whole=whole), outcome)

    async def _settle(self, events: list[TaskUpdate], outcome: TurnOutcome) -> bool:
        """Stores the end of the turn. What waits in the inbox was acknowledged: a task that completes goes on with it,
        any other end takes it into the history.
        """
        posted: Sequence[Posted] = ()
        while True:
            between = [self._working()] * (len(posted) - 1) if len(posted) > 1 else []
            final = [*events, *between, self._status(outcome)]
            try:
                await self._log.append(final, settles=True, unless_pending=True, posted=posted)
            except InboxPending:
                posted = await self._log.insist(partial(self._world.store.inbox, self.task_id))
            else:
                return False
            # What another has taken meanwhile is not there any more: then the next attempt to store this is fenced off.
            if posted and outcome.state is TaskState.COMPLETED:
                await self._next_turn(events, posted[0])
                return True

    def _working(self) -> TaskUpdate:
        return self._log.status_event(TaskStatus(state=TaskState.WORKING, timestamp=self._world.clock.now()))

    async def _next_turn(self, events: list[TaskUpdate], posted: Posted) -> None:
        """The message begins the next turn."""
        start = msgspec.structs.replace(posted.start, index=len(self._log.task.history))
        number = self._turn.number + 1
        await self._log.append([*events, self._working()], posted=(posted,), turn=number, start=start, attempt=1)
        self._memos = ()
        self._references = await self._log.insist(partial(referenced, self._world, posted.message, self.stored.scope))
        self._turn = self._new_turn(number, start)

    def _new_turn(self, number: int, start: TurnStart, *, again: bool = False) -> RunningTurn:
        self._log.extensions = start.extensions
        return RunningTurn(
            self._world,
            self.stored,
            self._log.task,
            begun=(number, start),
            memos=[memo for memo in self._memos if memo.turn == number] if self._memos else (),
            references=self._references,
            again=again,
            wake=self._wake,
        )

    # The flusher.

    def _wake(self) -> None:
        """Something waits to be stored. If the handler ends before it pauses, the end of the turn will store it."""
        if self._watch is not None:
            self._watch.heard()
        if self._flusher is None and not self._flush_due:
            self._flush_due = True
            self._loop.call_soon(self._flush_soon)

    def _flush_soon(self) -> None:
        self._flush_due = False
        if self._flusher is None and self._flush_error is None and self._handling and self._turn.waiting:
            self._flusher = self._loop.create_task(self._flush(self._turn))

    async def _flush(self, turn: RunningTurn) -> None:
        try:
            while turn.waiting and not turn.closed:
                await self._flush_once(turn)
        except Exception as error:  # noqa: BLE001 -- the end of the turn raises it again
            self._flush_error = error
            if self._stop_reason is None:
                # Asked once it may clean up; asked again it would be kept from that.
                self._cancel_handler()
                self._loop.call_later(self._world.limits.cancel_grace, self._leave)
        finally:
            self._flusher = None

    async def _flush_once(self, turn: RunningTurn) -> None:
        """Stores what waits; then lets those go on who waited for that."""
        pending = turn.take()
        events = [] if turn.replaying else turn.output.take()
        events += [self._working()] * len(pending.posted)
        try:
            await self._log.append(events, memos=pending.memos, posted=pending.posted)
        except BaseException:
            for future in pending.futures:
                future.cancel()
            raise
        turn.stored(pending)

    # How it ends.

    def _leave(self) -> None:
        self._leaving = self._loop.create_task(self.abandon())

    def _cancel_handler(self) -> None:
        if self._handling and self._runner is not None:
            self._runner.cancel()

    def _status(self, outcome: TurnOutcome) -> TaskUpdate:
        message = None if outcome.message is None else self._turn.addressed(outcome.message)
        status = TaskStatus(state=outcome.state, message=message, timestamp=self._world.clock.now())
        return self._log.status_event(status, outcome.metadata)

    def _finish(self) -> None:
        self._over = True
        # The asyncio task holds this execution; without the way back neither has to wait for the garbage collector.
        self._runner = None
        self._turn.close()
        _let_go(self._waiters)
        _let_go(self._callers)
        self._ended(self)


def _let_go(waiters: list[asyncio.Future[None]]) -> None:
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
    waiters.clear()
