"""Tasks whose every change is known beforehand, to be told to a store and compared with what it remembers."""

from collections.abc import Sequence

import msgspec

from dragoman.ports.call import Scope
from dragoman.ports.tasks import Commit, Entry, Key, Memo, NewTask, Stored, TaskStore, TurnStart
from dragoman.testing.clock import FakeClock, FakeIds
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.events import TaskArtifactUpdateEvent, TaskStatusUpdateEvent, TaskUpdate
from dragoman.types.json import JsonObject
from dragoman.types.task import Task, TaskState, TaskStatus

__all__ = ["ANYONE", "Narrator", "Story", "stored"]

ANYONE = Scope()
"""The scope of those who do not say who they are."""


class Narrator:
    """Begins stories with a clock and identifiers of its own."""

    def __init__(self, store: TaskStore, clock: FakeClock | None = None) -> None:
        self.store = store
        self.clock = clock or FakeClock()
        self.ids = FakeIds()

    def story(
        self,
        *,
        scope: Scope = ANYONE,
        context_id: str = "",
        metadata: JsonObject | None = None,
        worker: str = "",
        key: Key | None = None,
    ) -> "Story":
        """A task that the store does not know yet; without a context id it gets a context for itself."""
        context_id = context_id or self.ids.new()
        task_id = self.ids.task(scope.tenant, context_id)
        task = Task(
            id=task_id,
            context_id=context_id,
            status=TaskStatus(state=TaskState.SUBMITTED, timestamp=self.clock.now()),
            history=(self.message("hello", role=Role.USER),),
            metadata=metadata,
        )
        start = TurnStart(metadata={"asked": "politely"}, output_modes=("text/plain",), trace="00-trace-01")
        return Story(self, NewTask(task=task, scope=scope, skill="talk", start=start, worker=worker, key=key))

    async def begun(
        self, *, scope: Scope = ANYONE, context_id: str = "", worker: str = "", key: Key | None = None
    ) -> "Story":
        """A task that the store has."""
        story = self.story(scope=scope, context_id=context_id, worker=worker, key=key)
        await self.store.create(story.new)
        return story

    async def ended(
        self,
        state: TaskState = TaskState.COMPLETED,
        *,
        scope: Scope = ANYONE,
        context_id: str = "",
        key: Key | None = None,
    ) -> "Story":
        """A task that the store has in this state, with an artifact."""
        story = await self.begun(scope=scope, context_id=context_id, key=key)
        await self.store.commit(story.change(story.chunk("done"), story.status(state), snapshot=True))
        return story

    def message(self, text: str, *, role: Role = Role.AGENT) -> Message:
        return Message(message_id=self.ids.new(), role=role, parts=(Part(text=text),))


class Story:
    """One task as its only writer sees it: `expected` is what the store should hold once all changes are told."""

    def __init__(self, narrator: Narrator, new: NewTask) -> None:
        self.new = new
        self.expected = new.task
        self.seq = 1
        self.epoch = 1
        self.log: list[Entry] = []
        self._narrator = narrator

    @property
    def id(self) -> str:
        return self.new.task.id

    @property
    def scope(self) -> Scope:
        return self.new.scope

    def chunk(self, text: str) -> TaskArtifactUpdateEvent:
        """The next piece of the task's one text artifact."""
        return TaskArtifactUpdateEvent(
            task_id=self.id,
            context_id=self.new.task.context_id,
            artifact=Artifact(artifact_id="text", parts=(Part(text=text),)),
            append=True,
        )

    def status(self, state: TaskState, message: Message | None = None) -> TaskStatusUpdateEvent:
        """A status as of now."""
        return TaskStatusUpdateEvent(
            task_id=self.id,
            context_id=self.new.task.context_id,
            status=TaskStatus(state=state, message=message, timestamp=self._narrator.clock.now()),
        )

    def change(
        self,
        *events: TaskUpdate,
        snapshot: bool = False,
        received: Message | None = None,
        claim: bool = False,
        turn: int | None = None,
        start: TurnStart | None = None,
        memos: Sequence[Memo] = (),
        consumed: Sequence[int] = (),
        unless_pending: bool = False,
        worker: str | None = None,
        attempt: int | None = None,
        key: Key | None = None,
    ) -> Commit:
        """The next change. From here on the story expects it to be stored; `received` goes with the last event."""
        before, epoch = self.seq, self.epoch
        entries: list[Entry] = []
        for event in events:
            self.seq += 1
            last = received if len(entries) == len(events) - 1 else None
            entries.append(Entry(seq=self.seq, event=event, received=last))
            self._expect(event, last)
        self.log += entries
        self.epoch += claim
        return Commit(
            task_id=self.id,
            epoch=epoch,
            after=before,
            entries=tuple(entries),
            snapshot=self.expected if snapshot else None,
            claim=claim,
            turn=turn,
            start=start,
            memos=tuple(memos),
            consumed=tuple(consumed),
            unless_pending=unless_pending,
            worker=worker,
            attempt=attempt,
            key=key,
        )

    def _expect(self, event: TaskUpdate, received: Message | None) -> None:
        task = self.expected
        history = task.history
        if isinstance(event, TaskArtifactUpdateEvent):
            text = task.text if task.artifacts else ""
            artifact = msgspec.structs.replace(event.artifact, parts=(Part(text=text + event.artifact.text),))
            task = msgspec.structs.replace(task, artifacts=(artifact,))
        else:
            if task.state.interrupted and task.status.message is not None:
                history += (task.status.message,)
            task = msgspec.structs.replace(task, status=event.status)
        if received is not None:
            history += (received,)
        self.expected = msgspec.structs.replace(task, history=history)


async def stored(store: TaskStore, story: Story) -> Stored:
    """What the store has of a task that must be there."""
    found = await store.get(story.id, story.scope)
    assert found is not None
    return found
