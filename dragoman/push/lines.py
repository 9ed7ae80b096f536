"""The lines in memory: found by configuration and by task, and bounded."""

from collections.abc import Collection, Iterator

from dragoman.ports.call import Scope
from dragoman.ports.push import Push
from dragoman.push.line import Line, Space

__all__ = ["Lines"]

MOST_LINES = 10_000
"""How many configurations are in memory at most."""
MOST_BYTES = 32_000_000
"""How much of their events."""


class Lines:
    """At most one line for each configuration. Those of direct answers have the empty task."""

    def __init__(self) -> None:
        self._space = Space(MOST_BYTES)
        self._lines: dict[tuple[str, str], Line] = {}
        self._by_task: dict[str, dict[Line, None]] = {}
        self._left: set[tuple[str, str] | str] | None = None

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Line]:
        return iter(tuple(self._lines.values()))

    @property
    def full(self) -> bool:
        return len(self._lines) >= MOST_LINES

    def add(self, task_id: str, config_id: str, scope: Scope, push: Push | None = None) -> Line:
        """A new line for a configuration that has none."""
        line = Line(task_id, config_id, scope, self._space, push)
        self._lines[line.key] = line
        self._by_task.setdefault(task_id, {})[line] = None
        return line

    def get(self, task_id: str, config_id: str) -> Line | None:
        return self._lines.get((task_id, config_id))

    def of(self, task_id: str) -> Collection[Line]:
        """The lines of a task, or of direct answers; as they are now, so nothing may leave while one goes through."""
        return self._by_task.get(task_id, ())

    def remove(self, line: Line) -> None:
        """Lets go of a line; one that is not known any more is no error."""
        line.close()
        self.left(line.task_id, line.config_id)
        if self._lines.get(line.key) is not line:
            return
        del self._lines[line.key]
        lines = self._by_task[line.task_id]
        del lines[line]
        if not lines:
            del self._by_task[line.task_id]

    # What is read from the store may be late.

    def reading(self) -> None:
        """Something is read from the store now: who leaves from here on is not brought back by it."""
        self._left = set()

    def left(self, task_id: str, config_id: str | None = None) -> None:
        """A configuration, or all of a task, leaves, or would if it were here."""
        if self._left is not None:
            self._left.add(task_id if config_id is None else (task_id, config_id))

    def has_left(self, push: Push) -> bool:
        """Whether that has happened since the last reading."""
        left = self._left
        return left is not None and ((push.task_id, push.id) in left or push.task_id in left)
