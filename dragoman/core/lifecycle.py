"""What events do to a task, as pure functions. No time, no store, no wire.

The history holds the caller's messages, in the order in which they were taken up, and what the agent said when it
interrupted the task. Progress notes are status messages that pass (section 3.7: messages are no place for results).
"""

from collections.abc import Iterable, Sequence

import msgspec

from dragoman.types.content import Artifact, Message, Part
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.task import Task

__all__ = ["continued", "fold", "joined", "status_of"]


def fold(task: Task, updates: Iterable[tuple[TaskUpdate, Message | None]]) -> Task:
    """The task after these events, each with the caller's message that was taken up with it, if any.

    Costs as much as what is in the events and in the artifacts they touch, not their product.
    """
    status, history, artifacts = task.status, list(task.history), None
    for event, received in updates:
        if isinstance(event, TaskArtifactUpdateEvent):
            if artifacts is None:
                artifacts = _Artifacts(task.artifacts)
            artifacts.update(event)
        else:
            if status.state.interrupted and status.message is not None:
                history.append(status.message)
            status = event.status
        if received is not None:
            history.append(received)
    return Task(
        id=task.id,
        context_id=task.context_id,
        status=status,
        artifacts=task.artifacts if artifacts is None else artifacts.result(),
        history=tuple(history),
        metadata=task.metadata,
    )


def joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with neighbouring plain texts made one, and empty ones that say nothing left out."""
    result: list[Part] = []
    run: list[str] = []

    def end_run() -> None:
        if run:
            result.append(Part(text="".join(run)))
            run.clear()

    for part in parts:
        if part.plain_text:
            run.append(part.text or "")
        else:
            end_run()
            result.append(part)
    end_run()
    if len(result) > 1:
        result = [part for part in result if not (part.plain_text and not part.text)]
    return tuple(result)


def continued(artifact: Artifact, chunk: Artifact) -> Artifact:
    """The artifact with this chunk at its end."""
    return msgspec.structs.replace(_renewed(artifact, chunk), parts=joined([*artifact.parts, *chunk.parts]))


class _Artifacts:
    """Artifacts under construction: the parts of chunks are joined once, at the end, however many came."""

    def __init__(self, artifacts: tuple[Artifact, ...]) -> None:
        self._artifacts = {artifact.artifact_id: artifact for artifact in artifacts}
        self._continued: dict[str, list[Part]] = {}

    def update(self, event: TaskArtifactUpdateEvent) -> None:
        artifact = event.artifact
        known = self._artifacts.get(artifact.artifact_id)
        if known is None or not event.append:
            self._artifacts[artifact.artifact_id] = artifact
            self._continued.pop(artifact.artifact_id, None)
            return
        self._continued.setdefault(artifact.artifact_id, list(known.parts)).extend(artifact.parts)
        self._artifacts[artifact.artifact_id] = _renewed(known, artifact)

    def result(self) -> tuple[Artifact, ...]:
        for artifact_id, parts in self._continued.items():
            whole = msgspec.structs.replace(self._artifacts[artifact_id], parts=joined(parts))
            self._artifacts[artifact_id] = whole
        return tuple(self._artifacts.values())


def _renewed(known: Artifact, chunk: Artifact) -> Artifact:
    """The artifact's own members after a chunk: what the chunk states is the newer word."""
    if chunk.name is None and chunk.description is None and chunk.metadata is None and not chunk.extensions:
        return known
    metadata = known.metadata
    if chunk.metadata is not None:
        metadata = {**(known.metadata or {}), **chunk.metadata}
    return msgspec.structs.replace(
        known,
        name=chunk.name or known.name,
        description=chunk.description or known.description,
        metadata=metadata,
        extensions=tuple(dict.fromkeys(known.extensions + chunk.extensions)),
    )


def status_of(updates: Sequence[TaskUpdate]) -> TaskStatusUpdateEvent | None:
    """The last status among the events."""
    for event in reversed(updates):
        if isinstance(event, TaskStatusUpdateEvent):
            return event
    return None
