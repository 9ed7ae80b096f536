"""What is done to tasks that nobody runs: new statuses under a new epoch, each change one commit under the fence."""

from collections.abc import Sequence
from functools import partial

import msgspec

from dragoman.core.lifecycle import fold
from dragoman.engine.tasklog import numbered
from dragoman.engine.world import World
from dragoman.errors import InboxPending
from dragoman.ports.agent import TurnOutcome
from dragoman.ports.bus import Hint
from dragoman.ports.tasks import Commit, Key, Memo, Stored
from dragoman.types.content import Message
from dragoman.types.events import TaskStatusUpdateEvent
from dragoman.types.json import JsonObject
from dragoman.types.task import TaskState, TaskStatus

__all__ = ["Change", "apply", "end", "fail"]


class Change:
    """New statuses for a task without a run, under a new epoch: the commit, and the task as it will be.

    The metadata belongs to the last status; the received messages go with the last ones, as `numbered` has it.
    `worker` and `attempt` are those of the task from here on; None leaves them. `key` is that of a received message.
    """

    def __init__(
        self,
        stored: Stored,
        statuses: Sequence[TaskStatus],
        *,
        metadata: JsonObject | None = None,
        received: Sequence[Message] = (),
        consumed: tuple[int, ...] = (),
        memos: tuple[Memo, ...] = (),
        worker: str | None = None,
        attempt: int | None = None,
        key: Key | None = None,
    ) -> None:
        task = stored.task
        event = partial(TaskStatusUpdateEvent, task_id=task.id, context_id=task.context_id)
        events = [event(status=status) for status in statuses]
        if metadata is not None:
            events[-1] = event(status=statuses[-1], metadata=metadata)
        entries = numbered(stored.seq, events, received)
        changed = fold(task, [(entry.event, entry.received) for entry in entries]) if entries else task
        self.commit = Commit(
            task_id=task.id,
            epoch=stored.epoch,
            after=stored.seq,
            entries=entries,
            snapshot=changed if entries else None,
            claim=True,
            memos=memos,
            consumed=consumed,
            unless_pending=changed.state.terminal,
            worker=worker,
            attempt=attempt,
            key=key,
        )
        self.result = msgspec.structs.replace(
            stored,
            task=changed,
            seq=stored.seq + len(entries),
            epoch=stored.epoch + 1,
            worker=stored.worker if worker is None else worker,
            attempt=stored.attempt if attempt is None else attempt,
        )


async def apply(world: World, change: Change) -> None:
    """Stores the change, then publishes it.

    Raises:
        Fenced, InboxPending, StoreUnavailable: as `TaskStore.commit`.
    """
    await world.store.commit(change.commit)
    if change.commit.entries:
        world.bus.publish(Hint(change.commit.task_id, change.commit.entries))


async def end(world: World, stored: Stored, status: TaskStatus, metadata: JsonObject | None = None) -> None:
    """Ends a task that nobody runs. The messages that wait were acknowledged, so they join its history.

    Raises:
        Fenced, StoreUnavailable: as `TaskStore.commit`.
    """
    working = TaskStatus(state=TaskState.WORKING, timestamp=status.timestamp)
    while True:
        posted = await world.store.inbox(stored.task.id)
        statuses = [*[working] * (len(posted) - 1), status]
        received = [one.message for one in posted]
        consumed = tuple([one.n for one in posted])
        try:
            await apply(world, Change(stored, statuses, metadata=metadata, received=received, consumed=consumed))
        except InboxPending:
            continue
        return


async def fail(world: World, stored: Stored, outcome: TurnOutcome) -> None:
    """Ends a task that nobody runs with this outcome, whose message has neither id nor addressee yet.

    Raises:
        Fenced, StoreUnavailable: as `TaskStore.commit`.
    """
    task, message = stored.task, outcome.message
    if message is not None:
        message = msgspec.structs.replace(
            message, message_id=world.ids.new(), task_id=task.id, context_id=task.context_id
        )
    status = TaskStatus(state=outcome.state, message=message, timestamp=world.clock.now())
    await end(world, stored, status, outcome.metadata)
