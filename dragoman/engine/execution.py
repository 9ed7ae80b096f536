"""One run of the agent for one task: agent, then commit, then publish, turn after turn.

An execution is one asyncio task that stores and publishes what the agent emits in another. An event is committed
before anyone sees it. While one commit is under way, further emissions gather for the next.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from dragoman.core.lifecycle import fold
from dragoman.engine.output import Output
from dragoman.engine.persistence import until_available
from dragoman.engine.turn import RunningTurn
from dragoman.engine.world import World
from dragoman.errors import Fenced, InboxPending, StoreUnavailable
from dragoman.ports.agent import TurnOutcome
from dragoman.ports.bus import Hint
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Commit, Entry, Memo, Posted, Stored, TurnStart
from dragoman.types.content import Message, Part, Role
from dragoman.types.events import TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.json import JsonObject
from dragoman.types.task import Task, TaskState, TaskStatus

__all__ = ["Execution", "referenced"]

log = logging.getLogger("dragoman.engine")

CHECKPOINT_SIZE = 65_536
"""Characters of unfolded log after which a running task gets a fresh snapshot, or its own size if that is more."""
CANCELED = "canceled"
WORKER_LOST = "worker-lost"

T = TypeVar("T")


class Execution:
    """Runs a task until it settles, is cancelled, or is fenced off."""

    def __init__(
        self, world: World, stored: Stored, *, memos: Sequence[Memo] = (), references: tuple[Task, ...] = ()
    ) -> None:
        self._world = world
        self._stored = stored
        self._base = stored.task
        self._tail: list[tuple[TaskUpdate, Message | None]] = []
        self._tail_size = 0
        self._base_size = 0
        self._seq = stored.seq
        self._woken = asyncio.Event()
        self._worker: asyncio.Task[TurnOutcome] | None = None
        self._stop_reason: str | None = None
        self._abandoned = False
        self._memos = tuple(memos)
        self._references = references
        self._turn = self._new_turn(stored.turn, stored.start)

    @property
    def task_id(self) -> str:
        return self._stored.task.id

    async def run(self) -> None:
        """Runs turns until the task settles. Never raises for what the agent does."""
        try:
            await self._run_turns()
        except Fenced:
            log.info("task %s was taken over or removed; its run ends", self.task_id)
        except StoreUnavailable:
            log.warning("the end of task %s could not be stored; the next start will find it unfinished", self.task_id)
        finally:
            await self._end_worker()

    def cancel(self) -> None:
        """Asks the run to end as CANCELED."""
        self._stop(CANCELED)

    def stop(self) -> None:
        """Asks the run to end as FAILED, because the server stops."""
        self._stop(WORKER_LOST)

    async def _run_turns(self) -> None:
        try:
            while await self._run_turn():
                pass
        except (Fenced, StoreUnavailable):
            raise
        except Exception as error:  # noqa: BLE001 -- output that no store takes, or a defect: a task must not run for ever
            await self._commit([self._status(self._broken(error))], settles=True)

    # One turn.

    async def _run_turn(self) -> bool:
        """Runs one turn; whether another one follows."""
        turn = self._turn
        worker = asyncio.get_running_loop().create_task(self._world.agent.execute(turn))
        self._worker = worker
        worker.add_done_callback(self._wake)
        if self._stop_reason is not None:
            worker.cancel()
        while not worker.done():
            await self._woken.wait()
            self._woken.clear()
            if turn.waiting and not worker.done():
                await self._flush(turn)
            if self._stop_reason is not None and not worker.done():
                await self._grace(turn, worker)
                break
        turn.close()
        return await self._end_turn(turn, worker)

    async def _end_turn(self, turn: RunningTurn, worker: asyncio.Task[TurnOutcome]) -> bool:
        stopped = self._stop_reason is not None or not worker.done() or worker.cancelled()
        if not stopped and turn.parked is not None and not isinstance(worker.exception(), Exception):
            memo, status = turn.parked
            await self._commit([*_last(turn), self._event(status)], settles=True, memos=(memo,))
            return False
        outcome = self._outcome(worker)
        if turn.replaying and (stopped or worker.exception() is not None):
            # It broke off while it repeated itself: an earlier run has said all this, and perhaps more.
            turn.output.clear()
        events = _last(turn)
        ending = [*events, self._status(outcome)]
        if outcome.state is not TaskState.COMPLETED:
            await self._commit(ending, settles=True)
            return False
        try:
            await self._commit(ending, settles=True, unless_pending=True)
        except InboxPending:
            await self._next_turn(events)
            return True
        return False

    async def _next_turn(self, events: list[TaskUpdate]) -> None:
        """The inbox is not empty: its oldest message begins the next turn."""
        posted = (await self._insist(partial(self._world.store.inbox, self.task_id)))[0]
        start = msgspec.structs.replace(posted.start, index=len(self._task().history))
        posted = msgspec.structs.replace(posted, start=start)
        number = self._turn.number + 1
        working = self._event(TaskStatus(state=TaskState.WORKING, timestamp=self._world.clock.now()))
        await self._commit([*events, working], posted=posted, turn=number)
        self._memos = ()
        self._references = await self._insist(partial(referenced, self._world, posted.message, self._stored.scope))
        self._turn = self._new_turn(number, start)

    def _new_turn(self, number: int, start: TurnStart) -> RunningTurn:
        task = self._task()
        memos = [memo for memo in self._memos if memo.turn == number]
        return RunningTurn(
            task=task,
            number=number,
            stored=self._stored,
            start=start,
            memos=memos,
            references=self._references,
            output=Output(task.id, task.context_id, f"{number}.0"),
            wake=self._wake,
            clock=self._world.clock,
            new_id=self._world.ids.new,
        )

    async def _flush(self, turn: RunningTurn) -> None:
        """Stores what waits; then lets those go on who waited for that."""
        memos, waiting = turn.take_memos()
        events = [] if turn.replaying else turn.output.take()
        try:
            await self._commit(events, memos=tuple(memos))
        except BaseException:
            for future in waiting:
                future.cancel()
            raise
        for future in waiting:
            if not future.done():
                future.set_result(None)

    # How it ends.

    def _outcome(self, worker: asyncio.Task[TurnOutcome]) -> TurnOutcome:
        if self._stop_reason == CANCELED:
            return TurnOutcome(state=TaskState.CANCELED)
        if self._stop_reason is not None:
            return _failed("The server stopped before the task was done.", self._stop_reason)
        if worker.cancelled():
            return _failed("The agent stopped working on the task.", "handler-cancelled")
        error = worker.exception()
        return worker.result() if error is None else self._broken(error)

    def _broken(self, error: BaseException) -> TurnOutcome:
        correlation = self._world.ids.new()
        log.error("task %s failed, correlation id %s", self.task_id, correlation, exc_info=error)
        return _failed(f"The agent failed. Correlation id: {correlation}", "handler-error", correlation)

    def _status(self, outcome: TurnOutcome) -> TaskStatusUpdateEvent:
        message = None if outcome.message is None else self._turn.addressed(outcome.message)
        status = TaskStatus(state=outcome.state, message=message, timestamp=self._world.clock.now())
        return self._event(status, outcome.metadata)

    def _event(self, status: TaskStatus, metadata: JsonObject | None = None) -> TaskStatusUpdateEvent:
        return TaskStatusUpdateEvent(
            task_id=self.task_id, context_id=self._base.context_id, status=status, metadata=metadata
        )

    def _stop(self, reason: str) -> None:
        if self._stop_reason is None:
            self._stop_reason = reason
            if self._worker is not None:
                self._worker.cancel()
            self._woken.set()

    async def _grace(self, turn: RunningTurn, worker: asyncio.Task[TurnOutcome]) -> None:
        """Lets a cancelled handler clean up, and stores what it still says, for as long as it may take."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._world.limits.cancel_grace
        while not worker.done():
            try:
                async with asyncio.timeout_at(deadline):
                    await self._woken.wait()
            except TimeoutError:
                log.warning("the handler of task %s did not end within its grace time", self.task_id)
                self._abandoned = True
                return
            self._woken.clear()
            if turn.waiting and not worker.done():
                await self._flush(turn)

    async def _end_worker(self) -> None:
        """Leaves no handler behind that could still be stopped."""
        self._turn.close()
        worker = self._worker
        if worker is None or worker.done():
            return
        worker.add_done_callback(_seen)
        worker.cancel()
        if not self._abandoned:
            await asyncio.wait([worker], timeout=self._world.limits.cancel_grace)

    def _wake(self, _: object = None) -> None:
        self._woken.set()

    # The log.

    async def _commit(
        self,
        events: Sequence[TaskUpdate],
        *,
        settles: bool = False,
        unless_pending: bool = False,
        memos: tuple[Memo, ...] = (),
        posted: Posted | None = None,
        turn: int | None = None,
    ) -> None:
        """Stores, then publishes. Waits while the store is unavailable, unless the server stops."""
        received = None if posted is None else posted.message
        entries = self._entries(events, received)
        updates = [(entry.event, entry.received) for entry in entries]
        commit = Commit(
            task_id=self.task_id,
            epoch=self._stored.epoch,
            after=self._seq,
            entries=entries,
            snapshot=self._snapshot(updates, needed=settles or posted is not None),
            turn=turn,
            start=None if posted is None else posted.start,
            memos=memos,
            consumed=() if posted is None else (posted.n,),
            unless_pending=unless_pending,
        )
        await self._insist(partial(self._world.store.commit, commit))
        self._seq += len(entries)
        self._remember_tail(updates, commit.snapshot)
        if entries:
            self._world.bus.publish(Hint(self.task_id, entries))

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        return await until_available(call, self.task_id, given_up=lambda: self._stop_reason == WORKER_LOST)

    def _entries(self, events: Sequence[TaskUpdate], received: Message | None) -> tuple[Entry, ...]:
        """The events with their numbers; the received message goes with the last of them."""
        last = len(events) - 1
        return tuple(
            Entry(seq=self._seq + 1 + i, event=event, received=received if i == last else None)
            for i, event in enumerate(events)
        )

    def _snapshot(self, updates: Sequence[tuple[TaskUpdate, Message | None]], *, needed: bool) -> Task | None:
        """The task after these updates, if one is needed, or if folding the log has become dear."""
        if needed or self._tail_size > max(CHECKPOINT_SIZE, self._base_size):
            return fold(self._base, [*self._tail, *updates])
        return None

    def _remember_tail(self, updates: Sequence[tuple[TaskUpdate, Message | None]], snapshot: Task | None) -> None:
        if snapshot is not None:
            self._base = snapshot
            self._base_size += self._tail_size
            self._tail.clear()
            self._tail_size = 0
        else:
            self._tail.extend(updates)
            self._tail_size += sum(_size(event) for event, _ in updates)

    def _task(self) -> Task:
        return fold(self._base, self._tail) if self._tail else self._base


async def referenced(world: World, message: Message, scope: Scope) -> tuple[Task, ...]:
    """The tasks that the message refers to, as far as they exist for this scope."""
    if not message.reference_task_ids:
        return ()
    found = [await world.store.get(task_id, scope) for task_id in message.reference_task_ids]
    return tuple(stored.task for stored in found if stored is not None)


def _seen(worker: asyncio.Task[TurnOutcome]) -> None:
    """How an abandoned handler ended interests nobody; asyncio would report it as never retrieved."""
    if not worker.cancelled():
        worker.exception()


def _last(turn: RunningTurn) -> list[TaskUpdate]:
    """What the run has left to say, with its text artifact ended."""
    turn.output.end_text()
    return turn.output.take()


def _size(event: TaskUpdate) -> int:
    if isinstance(event, TaskStatusUpdateEvent):
        return 256
    return 256 + sum(len(part.text or part.base64 or "") for part in event.artifact.parts)


def _failed(text: str, reason: str, correlation: str | None = None) -> TurnOutcome:
    metadata = {"reason": reason} if correlation is None else {"reason": reason, "correlationId": correlation}
    return TurnOutcome(
        state=TaskState.FAILED,
        message=Message(message_id="", role=Role.AGENT, parts=(Part(text=text),)),
        metadata=metadata,
    )
