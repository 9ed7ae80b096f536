"""Tasks that were read or written lately, in memory. Belongs to the event loop's thread.

It is as new as the last commit that callers know of, because no other process writes to the file.
"""

from dragoman.ports.tasks import Commit, Posted
from dragoman.stores.held import Held
from dragoman.types.task import TaskStatus

__all__ = ["Cache", "Load"]

CAPACITY = 10_000
CAPACITY_BYTES = 64_000_000

_TASK_BYTES = 2_000


class Load:
    """A task that is being read; `overtaken` when it was written meanwhile, so that what was read may be old."""

    __slots__ = ("overtaken",)

    def __init__(self) -> None:
        self.overtaken = False


class Cache:
    """Bounded by the number of tasks and by their estimated size; the task not used for longest goes first."""

    def __init__(self, capacity: int = CAPACITY, capacity_bytes: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity
        self._capacity_bytes = capacity_bytes
        self._held: dict[str, tuple[Held, int]] = {}
        self._bytes = 0
        self._loads: dict[str, list[Load]] = {}

    def get(self, task_id: str) -> Held | None:
        found = self._held.pop(task_id, None)
        if found is None:
            return None
        self._held[task_id] = found
        return found[0]

    def put(self, task_id: str, held: Held, size: int) -> None:
        """Keeps a task whose records are so many bytes."""
        self._overtake(task_id)
        self._remove(task_id)
        self._set(task_id, held, _TASK_BYTES + size)

    def update(self, commit: Commit, status: TaskStatus | None, size: int) -> None:
        """The change is durable; its records are so many bytes."""
        task_id = commit.task_id
        self._overtake(task_id)
        found = self._held.get(task_id)
        if found is None:
            return
        held, known = found
        self._remove(task_id)
        # A reader may have brought the change from the file before its writer told of it.
        if (held.seq, held.epoch) == (commit.after, commit.epoch):
            held.apply(commit, status)
            self._set(task_id, held, size + (_TASK_BYTES if commit.snapshot is not None else known))

    def post(self, task_id: str, posted: Posted, size: int) -> None:
        """The message is durable."""
        self._overtake(task_id)
        found = self._held.get(task_id)
        if found is None:
            return
        held, known = found
        self._remove(task_id)
        if held.posted + 1 == posted.n:
            held.post(posted)
            self._set(task_id, held, known + size)

    def drop(self, task_id: str) -> None:
        self._overtake(task_id)
        self._remove(task_id)

    def begin(self, task_id: str) -> Load:
        """A read of the task begins; `end` must follow."""
        load = Load()
        self._loads.setdefault(task_id, []).append(load)
        return load

    def end(self, task_id: str, load: Load) -> None:
        loads = self._loads[task_id]
        loads.remove(load)
        if not loads:
            del self._loads[task_id]

    def _overtake(self, task_id: str) -> None:
        for load in self._loads.get(task_id, ()):
            load.overtaken = True

    def _set(self, task_id: str, held: Held, size: int) -> None:
        self._held[task_id] = held, size
        self._bytes += size
        while len(self._held) > self._capacity or self._bytes > self._capacity_bytes:
            self._remove(next(iter(self._held)))

    def _remove(self, task_id: str) -> None:
        found = self._held.pop(task_id, None)
        if found is not None:
            self._bytes -= found[1]
