"""One turn as the agent sees it: what it is about, what may be said, and what an earlier run of it has left.

A run that was parked by a question starts again from the top once the answer is there. Up to the last answer it only
repeats itself, so what it emits on the way is held back and dropped; from there on it speaks. An attempt that runs from
the start, because that is its skill's policy, does not repeat another: it speaks at once.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

import msgspec

from dragoman.engine.inbox import TurnInbox, taken_memo
from dragoman.engine.output import Output
from dragoman.engine.persistence import until_available
from dragoman.engine.volume import Volume
from dragoman.engine.world import World
from dragoman.ports.agent import Parked
from dragoman.ports.call import Scope
from dragoman.ports.tasks import Memo, Posted, Query, Stored, TurnStart
from dragoman.types.content import Artifact, Message, Role
from dragoman.types.events import TaskUpdate
from dragoman.types.json import Json, JsonObject
from dragoman.types.task import Task, TaskState, TaskStatus

__all__ = ["Pending", "RunningTurn", "referenced"]

log = logging.getLogger("dragoman.engine")


class Pending(msgspec.Struct, frozen=True):
    """What a turn wants stored besides what it has emitted, and who waits for that."""

    memos: tuple[Memo, ...]
    posted: tuple[Posted, ...]
    futures: list[asyncio.Future[None]]


class RunningTurn:
    """The `Turn` of the agent port. Everything here happens on the event loop of the execution."""

    __slots__ = (
        "_asks",
        "_inbox",
        "_memos",
        "_posted",
        "_question",
        "_room",
        "_silent",
        "_start",
        "_step_kind",
        "_steps",
        "_stored",
        "_taken",
        "_unconsumed",
        "_unkeyed",
        "_wake",
        "_world",
        "afresh",
        "again",
        "attempt",
        "closed",
        "message",
        "number",
        "output",
        "references",
        "task",
    )  # fmt: skip

    def __init__(
        self,
        world: World,
        stored: Stored,
        task: Task,
        *,
        begun: tuple[int, TurnStart],
        memos: Sequence[Memo],
        references: tuple[Task, ...],
        again: bool = False,
        wake: Callable[[], None],
    ) -> None:
        self.number, self._start = begun
        self.attempt = stored.attempt if self.number == stored.turn else 1
        self.task = task
        self.message = task.history[self._start.index]
        self.references = references
        self.closed = False
        self._stored = stored
        self._world = world
        self._wake = wake
        self._step_kind = self._kind_of_steps()
        self.again = again
        self.afresh = again and self._step_kind != "step"
        self._asks = {memo.key: memo for memo in memos if memo.kind == "ask"} if memos else {}
        self._steps = {memo.key: memo for memo in memos if memo.kind == self._step_kind} if memos else {}
        self._taken = [memo.message for memo in memos if memo.kind == "inbox" and memo.message] if memos else ()
        self._unconsumed: set[str] = {key for key, memo in self._asks.items() if memo.answered} if memos else set()
        self._silent = bool(self._unconsumed) and not self.afresh
        volume = Volume(world.calls, task.artifacts, silent=self._silent)
        self.output = Output(task.id, task.context_id, f"{self.number}.0", volume)
        self._unkeyed = 0
        self._question: tuple[Memo, TaskStatus] | None = None
        self._memos: list[tuple[Memo, asyncio.Future[None]]] = []
        self._inbox: TurnInbox | None = None
        self._posted: list[Posted] = []
        self._room: list[asyncio.Future[None]] = []

    # What it is about.

    @property
    def skill(self) -> str:
        return self._stored.skill

    @property
    def caller(self) -> str:
        return self._start.caller or self._stored.scope.principal

    @property
    def request_metadata(self) -> JsonObject:
        return self._start.metadata or {}

    @property
    def output_modes(self) -> tuple[str, ...]:
        return self._start.output_modes

    @property
    def extensions(self) -> tuple[str, ...]:
        return self._start.extensions

    # What the agent says.

    def text(self, chunk: str) -> None:
        self._open()
        self.output.text(chunk)
        self._wake()

    def artifact(self, artifact: Artifact, *, append: bool = False, last_chunk: bool = True) -> None:
        self._open()
        self.output.artifact(artifact, append=append, last_chunk=last_chunk)
        self._wake()

    def status(self, message: Message) -> None:
        self._open()
        self.output.status(self._status(TaskState.WORKING, message))
        self._wake()

    @property
    def full(self) -> bool:
        return self.output.full and not self._silent

    async def room(self) -> None:
        while self.full:
            future = asyncio.get_running_loop().create_future()
            self._room.append(future)
            await future

    async def ask(self, key: str | None, question: Message, state: TaskState) -> tuple[Message | None, Json]:
        self._open()
        if key is None:
            self._unkeyed += 1
            key = f"#{self._unkeyed}"
        memo = self._asks.get(key)
        if memo is None or not memo.answered:
            self._park(key, question, state)
        assert memo is not None
        if memo.value != question.text:
            log.info("task %s asked %r again as %r; the stored answer stands", self.task.id, memo.value, question.text)
        self._consume(key)
        return memo.message, memo.answer

    def step(self, name: str) -> tuple[bool, Json]:
        memo = self._steps.get(name)
        return (False, None) if memo is None else (True, memo.value)

    async def remember(self, name: str, result: Json) -> None:
        self._open()
        memo = Memo(kind=self._step_kind, key=name, turn=self.number, value=result)
        await self._stored_with(memo)
        self._steps[name] = memo

    async def receive(self, *, wait: bool) -> Message | None:
        self._open()
        if self._inbox is None:
            self._inbox = TurnInbox(self._world, self.task.id, self._taken, self._take)
        message = await self._inbox.receive(wait=wait)
        self._open()
        return message

    async def related(self, limit: int) -> tuple[Task, ...]:
        query = Query(limit=limit + 1, context_id=self.task.context_id, artifacts=True)
        read = partial(self._world.store.page, query, self._stored.scope)
        page = await until_available(read, self.task.id, given_up=lambda: self.closed)
        return tuple(task for task in page.tasks if task.id != self.task.id)[:limit]

    # What the execution does with it.

    @property
    def waiting(self) -> bool:
        """Whether there is something to store now."""
        return bool(self._memos) or (bool(self.output) and not self._silent)

    def take(self) -> Pending:
        """What to store besides the output."""
        pending = Pending(
            tuple([memo for memo, _ in self._memos]),
            tuple(self._posted),
            [future for _, future in self._memos] + self._room,
        )
        self._memos.clear()
        self._posted.clear()
        self._room = []
        return pending

    def stored(self, pending: Pending) -> None:
        """Of what `take` gave: all is stored."""
        if self._inbox is not None and pending.posted:
            self._inbox.taken(pending.posted)
        for future in pending.futures:
            if not future.done():
                future.set_result(None)

    def look(self) -> None:
        """A message may have come that the run can take."""
        if self._inbox is not None:
            self._inbox.look()

    def begin_again(self, left: Mapping[str, Artifact | None]) -> None:
        """Says that earlier attempts at the turn have left these artifacts; see `Output.replace`."""
        self.output.replace(left)

    def last_words(self, *, whole: bool) -> list[TaskUpdate]:
        """What is left to say, with the text artifact ended. A run that is `whole`, because its handler has come to an
        end of its own, takes back what it has not said again.
        """
        self.output.end_text()
        if whole:
            self.output.withdraw()
        return self.output.take()

    @property
    def parked(self) -> tuple[Memo, TaskStatus] | None:
        """The open question and the status that asks it, once the run has parked."""
        return self._question

    @property
    def replaying(self) -> bool:
        """Whether the run still repeats what an earlier one has said."""
        return self._silent

    def addressed(self, message: Message) -> Message:
        """The agent's message with its id, task and context filled in."""
        return msgspec.structs.replace(
            message,
            message_id=message.message_id or self._world.ids.new(),
            role=Role.AGENT,
            task_id=self.task.id,
            context_id=self.task.context_id,
        )

    def now(self) -> datetime:
        return self._world.clock.now()

    def close(self) -> None:
        """Nothing may be emitted any more, and nobody is left waiting."""
        self.closed = True
        self._wake = _nobody
        for future in self._room:
            future.cancel()
        for _, future in self._memos:
            future.cancel()
        if self._inbox is not None:
            self._inbox.close()
            self._inbox = None

    def _status(self, state: TaskState, message: Message) -> TaskStatus:
        return TaskStatus(state=state, message=self.addressed(message), timestamp=self._world.clock.now())

    def _kind_of_steps(self) -> str:
        """An attempt that runs from the start does its steps itself; any other knows those of the attempts before."""
        if self.attempt > 1 and self._world.agent.policy(self.skill).on_crash == "rerun":
            return f"step {self.attempt}"
        return "step"

    def _take(self, posted: Posted) -> asyncio.Future[None]:
        self._open()
        self._posted.append(posted)
        return self._stored_with(taken_memo(posted, self.number))

    def _stored_with(self, memo: Memo) -> asyncio.Future[None]:
        """Has a memo stored; the future tells when it is."""
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._memos.append((memo, stored))
        self._wake()
        return stored

    def _park(self, key: str, question: Message, state: TaskState) -> None:
        memo = Memo(kind="ask", key=key, turn=self.number, value=question.text)
        self._silent = False
        self._question = (memo, self._status(state, question))
        raise Parked

    def _consume(self, key: str) -> None:
        if key not in self._unconsumed:
            return
        self._unconsumed.discard(key)
        answered = sum(1 for memo in self._asks.values() if memo.answered)
        if self._silent:
            self.output.clear()
            self._silent = bool(self._unconsumed)
            if not self._silent:
                self.output.volume.speak()
        else:
            self.output.end_text()
            self._wake()
        self.output.rename(f"{self.number}.{answered - len(self._unconsumed)}")

    def _open(self) -> None:
        """A run that has parked, or was stopped, is over, even if its handler does not know yet."""
        if self._question is not None:
            raise Parked
        if self.closed:
            raise asyncio.CancelledError


def _nobody() -> None:
    """Wakes the execution of a closed turn: it has let go of it, and must not be kept by it."""


async def referenced(world: World, message: Message, scope: Scope) -> tuple[Task, ...]:
    """The tasks that the message refers to, as far as they exist for this scope."""
    if not message.reference_task_ids:
        return ()
    found = [await world.store.get(task_id, scope) for task_id in message.reference_task_ids]
    return tuple(stored.task for stored in found if stored is not None)
