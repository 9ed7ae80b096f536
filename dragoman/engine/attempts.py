"""What attempts at a turn that broke off have left, for the attempt that runs the turn again; and how many broke off.

An attempt repeats its turn up to the last answer in silence. From there on it speaks as if nobody had spoken before:
whatever earlier attempts have said since that answer is replaced, artifact by artifact. One that runs from the start
does its steps itself, so what it comes to may be something else: it replaces what was said in the whole turn.
"""

from collections.abc import Mapping, Sequence

from dragoman.core.lifecycle import fold
from dragoman.engine.world import World
from dragoman.ports.tasks import Entry, Memo, Stored
from dragoman.types.content import Artifact
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from dragoman.types.task import Task, TaskStatus

__all__ = ["crashes", "left_behind", "stopped_memo"]


def stopped_memo(turn: int, attempt: int) -> Memo:
    """What a turn remembers of an attempt that ended because its server was told to stop: that was no crash."""
    return Memo(kind="stopped", key=str(attempt), turn=turn)


async def crashes(world: World, stored: Stored) -> int:
    """How many attempts at the turn a crash has ended, that of a lost owner included."""
    memos = await world.store.memos(stored.task.id, stored.turn)
    return stored.attempt - sum(memo.kind == "stopped" for memo in memos)


async def left_behind(world: World, stored: Stored, afresh: bool) -> Mapping[str, Artifact | None]:
    """The artifacts that were said since the last answer of the turn, or since its beginning, by their ids: each as it
    was then, or None if it was not there.
    """
    entries = await _log(world, stored)
    begin = _begin(entries, stored.start.index, answers=not afresh)
    touched = [entry.event.artifact for entry in entries[begin:] if isinstance(entry.event, TaskArtifactUpdateEvent)]
    if not touched:
        return {}
    blank = Task(id=stored.task.id, context_id=stored.task.context_id, status=stored.task.status)
    before = fold(blank, [(entry.event, None) for entry in entries[:begin]])
    known = {artifact.artifact_id: artifact for artifact in before.artifacts}
    return {artifact.artifact_id: known.get(artifact.artifact_id) for artifact in touched}


async def _log(world: World, stored: Stored) -> Sequence[Entry]:
    """The log up to the claim of this attempt."""
    entries: list[Entry] = []
    at = 1
    while at < stored.seq:
        entries += await world.store.entries(stored.task.id, stored.scope, at)
        if not entries or entries[-1].seq == at:
            break
        at = entries[-1].seq
    return entries


def _begin(entries: Sequence[Entry], index: int, *, answers: bool) -> int:
    """How many entries come before what is replaced: before the message that began the turn, which is at this index of
    the history; or, if answers count, before the last one.
    """
    begin, said = 0, 1
    before: TaskStatus | None = None
    for count, entry in enumerate(entries, 1):
        if isinstance(entry.event, TaskStatusUpdateEvent):
            if before is not None and before.state.interrupted:
                begin = count if answers else begin
                said += before.message is not None
            before = entry.event.status
        if entry.received is not None:
            if said == index:
                begin = count
            said += 1
    return begin
