"""What a run has emitted and nobody has stored yet.

Chunks of text that wait together share an event, up to 16 kB each; what is taken out is in the order of emission.
"""

from collections.abc import Mapping

import msgspec

from dragoman.core.lifecycle import continued
from dragoman.engine.volume import Volume
from dragoman.types.content import Artifact, Part
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.task import TaskStatus

__all__ = ["Output"]

MERGE_LIMIT = 16_384
"""Characters after which waiting text starts a further event."""
FULL_SIZE = 65_536
FULL_COUNT = 256


class _Text:
    """A run of text chunks on their way into one event."""

    __slots__ = ("artifact_id", "chunks", "first", "last", "size")

    def __init__(self, artifact_id: str, *, first: bool) -> None:
        self.artifact_id = artifact_id
        self.first = first
        self.last = False
        self.chunks: list[str] = []
        self.size = 0


class _Left:
    """What attempts that broke off have left: ids of artifacts, each with the artifact as it was before, or None if it
    was not there. And which of these have been replaced.
    """

    __slots__ = ("before", "replaced")

    def __init__(self, before: Mapping[str, Artifact | None]) -> None:
        self.before = before
        self.replaced: set[str] = set()

    def replacing(self, artifact: Artifact, *, append: bool) -> tuple[Artifact, bool]:
        """An artifact or chunk, and whether it is appended, so that the first of each id stands in place of what was
        left.
        """
        artifact_id = artifact.artifact_id
        if artifact_id not in self.before or artifact_id in self.replaced:
            return artifact, append
        self.replaced.add(artifact_id)
        before = self.before[artifact_id]
        return continued(before, artifact) if append and before is not None else artifact, False

    def untouched(self) -> list[Artifact]:
        """What was not replaced, as it was before; empty if it was not there."""
        return [
            before or Artifact(artifact_id=artifact_id, parts=(Part(text=""),))
            for artifact_id, before in self.before.items()
            if artifact_id not in self.replaced
        ]


class Output:
    """The emissions of one run of one task. Artifact ids are the same whenever the same run is repeated:
    they are made of turn, number of answers so far, and order of appearance.
    """

    __slots__ = (
        "_context_id",
        "_count",
        "_left",
        "_prefix",
        "_size",
        "_task_id",
        "_text_id",
        "_waiting",
        "volume",
    )

    def __init__(self, task_id: str, context_id: str, prefix: str, volume: Volume) -> None:
        self._task_id = task_id
        self._context_id = context_id
        self._prefix = prefix
        self._count = 0
        self._text_id: str | None = None
        self._waiting: list[_Text | TaskUpdate] = []
        self._size = 0
        self._left: _Left | None = None
        self.volume = volume

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def full(self) -> bool:
        """Whether enough is waiting that the agent should pause (64 kB or 256 events)."""
        return self._size >= FULL_SIZE or len(self._waiting) >= FULL_COUNT

    def replace(self, left: Mapping[str, Artifact | None]) -> None:
        """Has this run put its own in place of these artifacts, which an attempt that broke off has left: each id with
        the artifact as it was before that attempt, or None if it was not there.
        """
        self._left = _Left(left)
        self.volume.replace(left)

    def text(self, chunk: str) -> None:
        """Raises `TooLarge`, and so do `artifact` and `status`, and then takes nothing."""
        self.volume.text(len(chunk))
        run = self._open_run()
        run.chunks.append(chunk)
        run.size += len(chunk)
        self._size += len(chunk)

    def artifact(self, artifact: Artifact, *, append: bool, last_chunk: bool) -> None:
        if not artifact.artifact_id:
            artifact = msgspec.structs.replace(artifact, artifact_id=self._next_id())
        if self._left is not None:
            artifact, append = self._left.replacing(artifact, append=append)
        self._size += self.volume.artifact(artifact, append=append)
        self._add(artifact, append=append, last_chunk=last_chunk)

    def status(self, status: TaskStatus) -> None:
        self.volume.note(status.message)
        self._waiting.append(TaskStatusUpdateEvent(task_id=self._task_id, context_id=self._context_id, status=status))

    def end_text(self) -> None:
        """Marks the end of the text artifact: on its last chunk if that still waits, else with an empty one."""
        if self._text_id is None:
            return
        for item in reversed(self._waiting):
            if isinstance(item, _Text):
                item.last = True
                return
        run = self._open_run()
        run.chunks.append("")
        run.last = True

    def withdraw(self) -> None:
        """Takes back what an attempt that broke off has left and this run has put nothing in place of: an artifact that
        was there before is again as it was, any other is empty.
        """
        for artifact in self._left.untouched() if self._left is not None else ():
            self._add(artifact, append=False, last_chunk=True)

    def clear(self) -> None:
        """Forgets what waits, and that the text artifact was opened."""
        self._waiting.clear()
        if self._left is not None:
            self._left.replaced.clear()
        self._size = 0
        self._count = 0
        self._text_id = None
        self.volume.begin()

    def rename(self, prefix: str) -> None:
        """A new run, or a new part of one, begins: later artifacts are new ones."""
        self._prefix = prefix
        self._count = 0
        self._text_id = None
        self.volume.end_text()

    def take(self) -> list[TaskUpdate]:
        """All that waits, as events."""
        events = [self._event(item) if isinstance(item, _Text) else item for item in self._waiting]
        self._waiting.clear()
        self._size = 0
        return events

    def _open_run(self) -> _Text:
        last = self._waiting[-1] if self._waiting else None
        if isinstance(last, _Text) and last.size < MERGE_LIMIT and last.artifact_id == self._text_id:
            return last
        first = self._text_id is None
        if self._text_id is None:
            self._text_id = self._next_id()
            if self._left is not None:
                self._left.replaced.add(self._text_id)
        run = _Text(self._text_id, first=first)
        self._waiting.append(run)
        return run

    def _add(self, artifact: Artifact, *, append: bool, last_chunk: bool) -> None:
        self._waiting.append(
            TaskArtifactUpdateEvent(
                task_id=self._task_id,
                context_id=self._context_id,
                artifact=artifact,
                append=append,
                last_chunk=last_chunk,
            )
        )

    def _next_id(self) -> str:
        self._count += 1
        return f"{self._prefix}.{self._count}"

    def _event(self, run: _Text) -> TaskArtifactUpdateEvent:
        return TaskArtifactUpdateEvent(
            task_id=self._task_id,
            context_id=self._context_id,
            artifact=Artifact(artifact_id=run.artifact_id, parts=(Part(text="".join(run.chunks)),)),
            append=not run.first,
            last_chunk=run.last,
        )
