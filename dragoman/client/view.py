"""A task as one client sees it, put together from events."""

import msgspec

from dragoman.errors import DragomanError
from dragoman.types.content import Artifact, Message, Part
from dragoman.types.events import StreamEvent, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.types.json import JsonObject
from dragoman.types.task import Task, TaskState, TaskStatus

__all__ = ["TaskView"]


class TaskView:
    """What is known after some events. A Task replaces all that was put together before it.

    Reading `task` costs as much as the task; adding an event costs as much as the event. Unless it is to be `whole`,
    artifacts stay as they were in the last Task, so that a view of an endless stream stays as small as that.
    """

    def __init__(
        self,
        task: Task | None = None,
        *,
        task_id: str | None = None,
        answered: TaskStatus | None = None,
        whole: bool = True,
    ) -> None:
        self._task = task
        self._whole = whole
        self._behind = False
        self._answered = answered
        self.task_id = task_id if task is None else task.id
        """The task that events are about, once that is known."""
        self.partial = False
        """Whether updates came without the task before them, so that what it held until then is not known."""
        self.unsure = False
        """Whether something may be missing or doubled, so that the task has to be looked at."""
        self.number: int | None = None
        """That of the last event, where the agent numbers them."""
        self.trouble: DragomanError | None = None
        """How the last attempt to hear of the task failed, if no news has come since."""
        self._artifacts: dict[str, _Growing] = {}
        self._stale = False
        self.message: Message | None = None
        """The direct answer of an agent that made no task."""

    def add(self, event: StreamEvent, number: int | None = None) -> None:
        self.number = number
        match event:
            case Message():
                self.message = event
            case Task():
                self._task, self._artifacts, self._stale, self._behind = event, {}, False, False
                self.task_id, self.partial = event.id, False
            case TaskStatusUpdateEvent():
                self._begun(event.task_id, event.context_id)
                self._task = msgspec.structs.replace(self._known, status=event.status)
            case TaskArtifactUpdateEvent():
                self._begun(event.task_id, event.context_id)
                if self._whole:
                    self._grow(event)
                else:
                    self._behind = True

    def has(self, number: int | None) -> bool:
        """Whether the event of this number was added, or is part of what was."""
        return number is not None and self.number is not None and number <= self.number

    def shows(self, task: Task) -> bool:
        """Whether the task is seen just so."""
        return not self._behind and task == self.task

    @property
    def task(self) -> Task | None:
        if self._stale:
            artifacts = tuple(growing.artifact() for growing in self._artifacts.values())
            self._task = msgspec.structs.replace(self._known, artifacts=artifacts)
            self._stale = False
        return self._task

    @property
    def state(self) -> TaskState:
        return TaskState.UNSPECIFIED if self._task is None else self._task.state

    @property
    def settled(self) -> bool:
        """Whether there is nothing to wait for: a direct answer, an end, or a question that was not `answered` yet."""
        return self.message is not None or (self.state.settled and not self.overtaken)

    @property
    def overtaken(self) -> bool:
        """Whether the task still shows the question that the caller has answered; told by time stamp and message."""
        seen, told = self._answered, self._task
        return seen is not None and told is not None and told.status == seen and told.state.interrupted

    @property
    def ended(self) -> bool:
        """Whether nothing can come any more."""
        return self.message is not None or self.state.terminal

    @property
    def _known(self) -> Task:
        assert self._task is not None
        return self._task

    def _begun(self, task_id: str, context_id: str) -> None:
        """Some agents stream updates without the task before them."""
        if self._task is None:
            self._task = Task(id=task_id, context_id=context_id, status=TaskStatus(state=TaskState.SUBMITTED))
            self.task_id, self.partial = task_id, True

    def _grow(self, event: TaskArtifactUpdateEvent) -> None:
        if not self._artifacts:
            self._artifacts = {artifact.artifact_id: _Growing(artifact) for artifact in self._known.artifacts}
        growing = self._artifacts.get(event.artifact.artifact_id)
        if growing is None or not event.append:
            self._artifacts[event.artifact.artifact_id] = _Growing(event.artifact)
        else:
            growing.append(event.artifact)
        self._stale = True


class _Growing:
    """An artifact whose chunks are joined when somebody looks."""

    def __init__(self, artifact: Artifact) -> None:
        self._first = artifact
        self._parts = list(artifact.parts)
        self._metadata: JsonObject | None = artifact.metadata

    def append(self, chunk: Artifact) -> None:
        self._parts.extend(chunk.parts)
        if chunk.metadata is not None:
            self._metadata = {**(self._metadata or {}), **chunk.metadata}

    def artifact(self) -> Artifact:
        self._parts = _joined(self._parts)
        return msgspec.structs.replace(self._first, parts=tuple(self._parts), metadata=self._metadata)


def _joined(parts: list[Part]) -> list[Part]:
    """The parts with neighbouring plain texts made one."""
    result: list[Part] = []
    run: list[str] = []
    for part in parts:
        if part.plain_text:
            run.append(part.text or "")
            continue
        if run:
            result.append(Part(text="".join(run)))
            run = []
        result.append(part)
    if any(run) or (run and not result):
        result.append(Part(text="".join(run)))
    return result
