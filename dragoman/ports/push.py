"""The store of push notification configurations, each with a cursor over the log of its task (section 4.3).

Nothing is enqueued when something happens: what is to be delivered is what stands in the log after the cursor, so
that nothing can be forgotten. A worker owns the configurations that it delivers for, as it owns tasks; every claim
raises the `epoch`, and a move under an old one is refused with `Fenced`.
"""

import enum
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from dragoman.ports.call import CallContext, Scope
from dragoman.types.content import Message
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.requests import (
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
)
from dragoman.types.task import TaskStatus

__all__ = ["DeadLetter", "Deliveries", "NewPush", "Push", "PushMove", "PushState", "PushStore", "Pushes"]


class PushState(enum.Enum):
    """Where a configuration stands."""

    LIVE = "live"
    """It is delivered to, now or when something happens."""
    ENDED = "ended"
    """Its task has ended, and everything was delivered."""
    DEAD = "dead"
    """Given up: the receiver was away for too long, or has said that it is gone."""


class NewPush(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A configuration to be stored.

    `task_id` is empty for the one that delivers a direct answer, which is then in `answer`, and only then. `cursor` is
    the number of the last event that is not to be delivered: 0 delivers the creation too, for which `opened` says the
    status that the task had then; None stands for the event that is the last when it is stored.
    """

    task_id: str
    id: str
    scope: Scope
    dialect: str
    """The key of the dialect in which it was registered, which is the dialect of its payloads."""
    origin: str
    """Scheme, host and port of its URL; nothing secret."""
    sealed: bytes
    """The configuration itself, which the store cannot read."""
    worker: str
    cursor: int | None = None
    opened: TaskStatus | None = None
    answer: Message | None = None


class Push(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A stored configuration. `seq` and `terminal` tell of its task as of the same moment."""

    n: int
    """Its number in the store, higher for later ones; a replacement keeps the number."""
    task_id: str
    id: str
    scope: Scope
    dialect: str
    origin: str
    sealed: bytes
    worker: str
    created: datetime
    cursor: int
    opened: TaskStatus | None = None
    answer: Message | None = None
    epoch: int = 1
    state: PushState = PushState.LIVE
    whole: bool = False
    """Whether the next delivery is the task as it is, and the cursor goes to its number."""
    attempts: int = 0
    """How often the next delivery has failed."""
    failing_since: datetime | None = None
    """When it has failed for the first time."""
    not_before: datetime | None = None
    """When it may be tried again."""
    trouble: str = ""
    """Why it has failed last, or why the configuration is dead: a few words without secrets."""
    seq: int = 0
    terminal: bool = False

    @property
    def behind(self) -> bool:
        """Whether there is something to deliver."""
        return self.whole or self.cursor < self.seq or self.answer is not None

    @property
    def due(self) -> bool:
        """Whether somebody has to look: it is live, and there is something to deliver, or its task has ended."""
        return self.state is PushState.LIVE and (self.behind or self.terminal)

    def moved(self, move: "PushMove") -> "Push":
        """The configuration after a change that its epoch has let in."""
        return msgspec.structs.replace(
            self,
            worker=move.worker if move.claim and move.worker is not None else self.worker,
            cursor=move.cursor,
            epoch=self.epoch + move.claim,
            state=move.state,
            whole=move.whole,
            attempts=move.attempts,
            failing_since=move.failing_since,
            not_before=move.not_before,
            trouble=move.trouble,
        )


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A delivery that the receiver has refused for good; the configuration went on after it."""

    seq: int
    at: datetime
    trouble: str


class PushMove(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One atomic change of one configuration under its epoch. It replaces all that it names.

    `claim` raises the epoch by one and makes the configuration the `worker`'s, if one is given. `letter` is added to
    its dead letters.
    """

    n: int
    epoch: int
    cursor: int
    state: PushState = PushState.LIVE
    whole: bool = False
    attempts: int = 0
    failing_since: datetime | None = None
    not_before: datetime | None = None
    trouble: str = ""
    claim: bool = False
    worker: str | None = None
    letter: DeadLetter | None = None


class PushStore(Protocol):
    """Keeps configurations beside the tasks, in the same transactions: a `NewTask` brings its own, to be stored with
    it or not at all. Promises as `TaskStore`; what belongs to a task goes with it. Logs, and tasks that have ended, are
    not pruned while a live configuration is behind. A direct answer belongs to no task: it goes when all of its
    principal's is erased, and one that was given up is pruned with the logs of its time.
    """

    async def put_push(self, new: NewPush) -> Push:
        """Stores a configuration. One with the same task and id is replaced under a new epoch: a live one keeps its
        cursor, a dead one lives again and has its next delivery `whole`, and one that has ended begins at the task's
        last event; nothing has failed then. A direct answer replaces nothing.

        Raises:
            Fenced: the task does not exist for this scope.
            ValueError: it is neither of a task nor of a direct answer, or of both.
        """
        ...

    async def get_push(self, task_id: str, scope: Scope, config_id: str) -> Push | None:
        """The configuration, or None if it, or its task, does not exist for this scope. With an empty task id, the last
        one of this scope with this id that delivers a direct answer.
        """
        ...

    async def page_pushes(self, task_id: str, scope: Scope, *, after: int, limit: int) -> tuple[Push, ...]:
        """The configurations of a task whose numbers come after `after`, in order."""
        ...

    async def drop_push(self, task_id: str, scope: Scope, config_id: str) -> None:
        """Removes a configuration and its dead letters for good; one that is not there is no error."""
        ...

    async def due_pushes(self, worker: str, dead_after: float, *, after: int, limit: int) -> tuple[Push, ...]:
        """Live configurations that are behind, or whose task has ended, with numbers after `after`, in order: those of
        this worker, and those of workers that have not beaten for `dead_after` seconds, by the clock of the store.
        """
        ...

    async def move_push(self, move: PushMove) -> None:
        """Applies one change. A direct answer that was delivered goes with its configuration: state ENDED removes it.

        Raises:
            Fenced: the epoch is not the configuration's, or it is gone.
        """
        ...

    async def read_pushes(self, state: PushState, *, after: int, limit: int) -> tuple[Push, ...]:
        """Configurations of any scope in this state, by number: for the agent's owner, never for a caller."""
        ...

    async def letters(self, n: int, limit: int) -> tuple[DeadLetter, ...]:
        """The dead letters of a configuration, the last first."""
        ...


class Pushes(Protocol):
    """What callers do with configurations (sections 3.1.7 to 3.1.10), and those that come with a message (section
    3.2.2). What waits may raise `StoreUnavailable`.
    """

    async def open(self, worker: Callable[[], str]) -> None:
        """Begins to deliver; `worker` says under which id this process is alive, which may change. The store is open.

        Raises:
            StoreUnavailable: nothing has begun then.
        """
        ...

    async def close(self, grace: float) -> None:
        """Ends the deliveries; those that are under way or due have so many seconds. The store is still open. May be
        called when `open` has failed.
        """
        ...

    async def create(self, config: TaskPushNotificationConfig, context: CallContext) -> TaskPushNotificationConfig:
        """Stores a configuration, or replaces the one with its id; gives it back as `get` does.

        Raises:
            TaskNotFoundError: the task does not exist for this caller.
            InvalidParamsError: the URL may not be called, or a member cannot be sent.
            UnsupportedOperationError: the task has as many configurations as it may have.
        """
        ...

    async def get(
        self, request: GetTaskPushNotificationConfigRequest, context: CallContext
    ) -> TaskPushNotificationConfig:
        """The configuration without its credentials; with an empty id the first of the task.

        Raises:
            TaskNotFoundError: it, or its task, does not exist for this caller.
        """
        ...

    async def page(
        self, request: ListTaskPushNotificationConfigsRequest, context: CallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """A page of the configurations of a task in the order of their creation, without credentials; all of them if no
        size is asked for.

        Raises:
            TaskNotFoundError: the task does not exist for this caller.
            InvalidParamsError: no page has this size or token.
        """
        ...

    async def delete(self, request: DeleteTaskPushNotificationConfigRequest, context: CallContext) -> None:
        """Removes a configuration; one that is not there is no error.

        Raises:
            TaskNotFoundError: the task does not exist for this caller.
        """
        ...

    async def check(self, config: TaskPushNotificationConfig, task_id: str, scope: Scope) -> None:
        """Looks at a configuration that comes with a message, before anything of that is stored. `task_id` is empty
        for a message that begins something.

        Raises:
            TaskNotFoundError, InvalidParamsError, UnsupportedOperationError: as `create` does.
        """
        ...

    def new(self, config: TaskPushNotificationConfig, task_id: str, scope: Scope, dialect: str) -> NewPush:
        """A configuration that was checked, sealed for this task, with the task's last event as its cursor. For a
        direct answer `task_id` is empty, and the configuration gets an id that no other has.
        """
        ...

    async def put(self, new: NewPush) -> None:
        """Stores it, and has it delivered to; nothing happens if its task is gone.

        Raises:
            UnsupportedOperationError: the task has as many by now as it may have.
        """
        ...

    def stored(self, new: NewPush) -> None:
        """Has it delivered to, now that it was stored with its task."""
        ...

    def erased(self, task_ids: Sequence[str]) -> None:
        """Says that these tasks are gone, and their configurations with them."""
        ...


class Deliveries(Protocol):
    """Delivers to all configurations of its store that this worker owns, or that nobody alive does."""

    async def open(self, worker: Callable[[], str]) -> None:
        """Begins; `worker` says under which id this process is alive, which may change.

        Raises:
            StoreUnavailable: nothing has begun then.
        """
        ...

    async def close(self, grace: float) -> None:
        """Goes on for at most so many seconds while deliveries are under way or due, then ends. What is left is found
        in the store by the next one. The store is still open. May be called when `open` has failed.
        """
        ...

    def stored(self, task_id: str, scope: Scope, config_id: str) -> None:
        """A configuration was stored or replaced just now: from here on its task is followed. Quick; never raises."""
        ...

    def dropped(self, task_id: str, config_id: str) -> None:
        """A configuration was removed just now: no delivery begins any more. Quick; never raises."""
        ...

    def erased(self, task_ids: Sequence[str]) -> None:
        """Tasks were removed just now, and their configurations with them: as `dropped`."""
        ...
