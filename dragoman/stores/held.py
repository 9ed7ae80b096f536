"""A task in memory: what is known of it besides its log. What `commit` promises is checked and done here."""

from collections.abc import Collection, Iterable

from dragoman.core.lifecycle import fold, status_of
from dragoman.core.views import EPOCH, Position, position
from dragoman.errors import Fenced, InboxPending
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Commit, Entry, Memo, NewTask, Posted, Stored, TurnStart
from dragoman.types.task import Task, TaskState, TaskStatus

__all__ = ["Held", "admit", "checked_status"]


def checked_status(commit: Commit) -> TaskStatus | None:
    """The last status among the entries of a change that is whole in itself.

    Raises:
        ValueError: the entries do not continue the log, or the snapshot of a settled task is missing.
    """
    entries = commit.entries
    if not entries:
        return None
    for number, entry in enumerate(entries, commit.after + 1):
        if entry.seq != number:
            raise ValueError(f"Entry {entry.seq} stands where {number} is due")
    last = status_of([entry.event for entry in entries])
    if last is None:
        return None
    if commit.snapshot is None and last.status.state.settled:
        raise ValueError("A settled task is stored with its snapshot")
    return last.status


def admit(commit: Commit, *, epoch: int, seq: int, state: TaskState, waiting: Collection[int]) -> None:
    """Lets a change pass to a task that stands like this, with these messages in its inbox.

    Raises:
        Fenced: epoch or `after` is not the task's, or the task is terminal.
        InboxPending: see `Commit`.
    """
    if commit.epoch != epoch:
        raise Fenced(f"Task {commit.task_id} is in epoch {epoch}, not {commit.epoch}")
    if commit.after != seq:
        raise Fenced(f"Task {commit.task_id} is at {seq}, not {commit.after}")
    if state.terminal:
        raise Fenced(f"Task {commit.task_id} has ended")
    if commit.unless_pending and not set(waiting) <= set(commit.consumed):
        raise InboxPending(f"A message to task {commit.task_id} waits")


class Held:
    """One task. `stored` folds what has come since the last snapshot, once, when it is asked for."""

    __slots__ = (
        "_base", "_stored", "_tail", "attempt", "context_id", "epoch", "inbox", "memos", "position", "posted", "scope",
        "seq", "skill", "start", "state", "task_id", "turn", "worker",
    )  # fmt: skip

    def __init__(self, stored: Stored, *, tail: Iterable[Entry] = ()) -> None:
        self.task_id = stored.task.id
        self.context_id = stored.task.context_id
        self.scope: Scope = stored.scope
        self.skill = stored.skill
        self.turn = stored.turn
        self.start: TurnStart = stored.start
        self.seq = stored.seq
        self.epoch = stored.epoch
        self.worker = stored.worker
        self.attempt = stored.attempt
        self.state: TaskState = stored.task.status.state
        self.position: Position = position(stored.task)
        self.inbox: dict[int, Posted] = {}
        self.posted = 0
        self.memos: dict[tuple[int, str, str], Memo] = {}
        self._base: Task = stored.task
        self._tail: list[Entry] = list(tail)
        self._stored: Stored | None = None if self._tail else stored

    @classmethod
    def created(cls, new: NewTask) -> "Held":
        """The task as it is right after its creation."""
        return cls(
            Stored(
                task=new.task,
                seq=1,
                epoch=1,
                scope=new.scope,
                skill=new.skill,
                turn=1,
                start=new.start,
                worker=new.worker,
                attempt=1 if new.worker else 0,
            )
        )

    def admit(self, commit: Commit) -> None:
        """Raises what forbids this change: `Fenced` or `InboxPending`."""
        admit(commit, epoch=self.epoch, seq=self.seq, state=self.state, waiting=self.inbox)

    def apply(self, commit: Commit, status: TaskStatus | None) -> None:
        """Does the change; `status` is the last one among its entries."""
        self._stored = None
        self.seq += len(commit.entries)
        self.epoch += commit.claim
        if commit.claim or commit.turn is not None or commit.start is not None:
            self._begin(commit)
        if status is not None:
            self.state = status.state
            self.position = status.timestamp or EPOCH, commit.task_id
        if commit.snapshot is not None:
            self._base = commit.snapshot
            self._tail.clear()
        else:
            self._tail.extend(commit.entries)
        for number in commit.consumed:
            self.inbox.pop(number, None)
        for memo in commit.memos:
            self.memos[memo.turn, memo.kind, memo.key] = memo

    def _begin(self, commit: Commit) -> None:
        """Another owner, another attempt, or another turn."""
        if commit.worker is not None:
            self.worker = commit.worker
        if commit.attempt is not None:
            self.attempt = commit.attempt
        if commit.turn is not None:
            self.turn = commit.turn
        if commit.start is not None:
            self.start = commit.start

    def post(self, posted: Posted) -> None:
        """Puts a message into the inbox."""
        self.posted = posted.n
        self.inbox[posted.n] = posted

    def stored(self) -> Stored:
        """The task now."""
        if self._stored is None:
            if self._tail:
                self._base = fold(self._base, [(entry.event, entry.received) for entry in self._tail])
                self._tail.clear()
            self._stored = Stored(
                task=self._base,
                seq=self.seq,
                epoch=self.epoch,
                scope=self.scope,
                skill=self.skill,
                turn=self.turn,
                start=self.start,
                worker=self.worker,
                attempt=self.attempt,
            )
        return self._stored

    def waiting(self) -> tuple[Posted, ...]:
        """The inbox, oldest first."""
        return tuple(self.inbox.values())

    def remembered(self, turn: int) -> tuple[Memo, ...]:
        """The memos of a turn, in the order in which their keys were first written."""
        return tuple(memo for memo in self.memos.values() if memo.turn == turn)
