"""How messages get into tasks: new tasks, answers to questions, messages that wait for their turn, cancellation.

Every step that others may take at the same time is one commit under the epoch fence; who loses looks again. A message
that comes twice is taken once, for callers whose messages are known again.
"""

import contextlib
from functools import partial

import msgspec

from dragoman.engine.bounds import Bounds
from dragoman.engine.execution import Execution
from dragoman.engine.recognition import Recognition
from dragoman.engine.runs import Runs
from dragoman.engine.turn import referenced
from dragoman.engine.unattended import Change, apply, end
from dragoman.engine.world import World
from dragoman.errors import (
    Duplicate,
    Fenced,
    FieldViolation,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from dragoman.ports.call import CallContext, Scope
from dragoman.ports.push import NewPush
from dragoman.ports.tasks import Key, Memo, NewTask, Stored, TurnStart
from dragoman.types.content import Message, Role
from dragoman.types.json import Json
from dragoman.types.reliable import RELIABLE
from dragoman.types.requests import SendMessageRequest
from dragoman.types.task import Task, TaskState, TaskStatus

__all__ = ["Accepted", "Exchange"]


class Accepted:
    """A message that is stored. `start` sets off the run that it needs, if any; call it once, after subscribing.

    `run` is what the run needs to know, None if there is one already. `again` says that the message was stored before.
    """

    def __init__(
        self,
        runs: Runs,
        stored: Stored,
        run: tuple[tuple[Memo, ...], tuple[Task, ...]] | None = None,
        *,
        again: bool = False,
    ) -> None:
        self._runs = runs
        self._stored = stored
        self._run = run
        self.again = again

    @property
    def task(self) -> Task:
        """The task as the message left it."""
        return self._stored.task

    def start(self) -> Execution | None:
        """The run, or None if the message waits for its turn in a run that is under way, or the task for a slot."""
        if self._run is None:
            return None
        if not self._stored.worker:
            self._runs.queued()
            return None
        memos, references = self._run
        return self._runs.start(self._stored, memos=memos, references=references)


class Exchange:
    """Takes messages and cancellations for the tasks of one agent."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._recognition = Recognition(world)
        self._bounds = Bounds(world)
        self.runs = Runs(world)

    async def accept(self, request: SendMessageRequest, context: CallContext) -> Accepted | Message:
        """Stores the message where it belongs; or the direct answer of an agent that makes no task.

        A message that is known again stays as it was stored: what comes back is its task as it is now, or its answer.

        Raises:
            TaskNotFoundError: it names a task that does not exist for this caller.
            UnsupportedOperationError: that task has ended, or takes no more.
            LimitExceededError: there are too many of them, or of tasks, for now.
            InvalidParamsError: its context is not that of the task, it does not fit the skill, or its id is that of
                another message where that is refused.
        """
        key = self._recognition.key(request, context)
        while True:
            try:
                return await self._taken(request, context, key)
            except Duplicate as known:
                assert key is not None
                if known.digest != key.digest:
                    key = self._recognition.another(key, request.message.message_id)
                    continue
                again = await self._again(known, context.scope(request.tenant))
            if again is not None:
                return again
            # Its task was removed between two looks: it is a new message.
            key = None

    async def authorize(self, task_id: str, value: Json) -> None:
        """Resumes a task in AUTH_REQUIRED with a value from outside."""
        while True:
            stored = await self._world.store.locate(task_id)
            if stored is None:
                raise TaskNotFoundError
            if stored.task.state is not TaskState.AUTH_REQUIRED:
                raise UnsupportedOperationError(f"The task is {stored.task.state.value}, it asks for no authorization")
            try:
                resumed = await self._resume(stored, None, value)
            except Fenced:
                continue
            resumed.start()
            return

    async def cancel(self, stored: Stored) -> None:
        """Tries to bring this task, as it was read, to CANCELED; how it ended is for the caller to look up."""
        if await self.runs.cancel(stored.task.id):
            return
        self.runs.slots.withdraw(stored.task.id)
        with contextlib.suppress(Fenced):
            await end(self._world, stored, TaskStatus(state=TaskState.CANCELED, timestamp=self._world.clock.now()))

    async def _taken(self, request: SendMessageRequest, context: CallContext, key: Key | None) -> Accepted | Message:
        """Raises `Duplicate` if the key is known."""
        if request.configuration.task_push_notification_config is not None:
            await self._check_push(request, context)
        if request.message.task_id:
            return await self._follow_up(request, context, key)
        assignment = await self._world.agent.assign(request, context)
        if not assignment.direct:
            return await self._begin(assignment.skill, request, context, key)
        answering = partial(self._answer, assignment.skill, request, context)
        push = self._push(request, context, "")
        if key is None:
            answer = await answering()
            if push is not None:
                await self._put(msgspec.structs.replace(push, answer=answer))
            return answer
        answer = await self._recognition.answered(context.scope(request.tenant), key, answering, push)
        self._stored(push)
        return answer

    async def _again(self, known: Duplicate, scope: Scope) -> Accepted | Message | None:
        """What became of the message that is known; None if that is gone."""
        if known.answer is not None:
            return known.answer
        stored = await self._world.store.get(known.task_id, scope)
        return None if stored is None else Accepted(self.runs, stored, again=True)

    # A new task.

    async def _begin(self, skill: str, request: SendMessageRequest, context: CallContext, key: Key | None) -> Accepted:
        world, scope = self._world, context.scope(request.tenant)
        context_id = request.message.context_id or world.ids.new()
        task_id = world.ids.task(request.tenant, context_id)
        message = msgspec.structs.replace(request.message, context_id=context_id, task_id=task_id)
        references = await referenced(world, message, scope)
        push = self._push(request, context, task_id)
        worker = self.runs.admit(task_id, scope)
        status = TaskStatus(state=_begun(worker), timestamp=world.clock.now())
        if push is not None:
            push = msgspec.structs.replace(push, cursor=0, opened=status)
        new = NewTask(
            task=Task(id=task_id, context_id=context_id, status=status, history=(message,)),
            scope=scope,
            skill=skill,
            start=_start(request, context),
            worker=worker,
            key=key,
            push=push,
        )
        stored = Stored(
            task=new.task,
            seq=1,
            epoch=1,
            scope=scope,
            skill=skill,
            turn=1,
            start=new.start,
            worker=worker,
            attempt=1 if worker else 0,
        )
        await self.runs.admitted(stored, world.store.create(new), references=references)
        self._stored(push)
        return Accepted(self.runs, stored, ((), references))

    async def _answer(self, skill: str, request: SendMessageRequest, context: CallContext) -> Message:
        answer = await self._world.agent.answer(skill, request, context)
        answer = msgspec.structs.replace(
            answer,
            message_id=answer.message_id or self._world.ids.new(),
            role=Role.AGENT,
            context_id=request.message.context_id or self._world.ids.new(),
        )
        made = self._world.extensions
        return answer if made is None else made.emitted(context.parameters.extensions, answer)

    # A message to a task that exists.

    async def _follow_up(self, request: SendMessageRequest, context: CallContext, key: Key | None) -> Accepted:
        scope = context.scope(request.tenant)
        push: NewPush | None = None
        counted = False
        while True:
            stored = await self._addressee(request.message, scope, key)
            await self._world.agent.admit(stored.skill, context)
            message = msgspec.structs.replace(request.message, context_id=stored.task.context_id)
            self._world.agent.check(stored.skill, message, answer=stored.task.state.interrupted)
            if not counted:
                await self._bounds.check(stored, message)
                counted = True
            if push is None and (push := self._push(request, context, stored.task.id)) is not None:
                if key is not None and (known := await self._world.store.known(scope, key.message_id)) is not None:
                    raise known
                # First, since nothing may come between an answer that is stored and its run. What the message brings
                # about is after the last event that was there before it.
                await self._put(msgspec.structs.replace(push, cursor=stored.seq))
            try:
                if stored.task.state.interrupted:
                    return await self._resume(stored, message, None, key)
                return await self._post(stored, message, request, context, key)
            except Fenced:
                continue

    async def _post(
        self, stored: Stored, message: Message, request: SendMessageRequest, context: CallContext, key: Key | None
    ) -> Accepted:
        await self._world.store.post(stored.task.id, stored.scope, message, _start(request, context), key)
        self.runs.posted(stored.task.id)
        return Accepted(self.runs, stored)

    async def _addressee(self, message: Message, scope: Scope, key: Key | None) -> Stored:
        assert message.task_id is not None
        stored = await self._world.store.get(message.task_id, scope)
        if stored is None:
            raise TaskNotFoundError(details={"taskId": message.task_id})
        if message.context_id and message.context_id != stored.task.context_id:
            wrong = FieldViolation("message.contextId", "is not the context of the task")
            raise InvalidParamsError("The message names another context than its task has", violations=(wrong,))
        if stored.task.state.terminal:
            # The message may be among those that have brought it there.
            known = None if key is None else await self._world.store.known(scope, key.message_id)
            raise known or UnsupportedOperationError(f"The task is already {stored.task.state.value}")
        return stored

    async def _resume(self, stored: Stored, message: Message | None, value: Json, key: Key | None = None) -> Accepted:
        """Stores the answer to the open question and claims the task for a new run of its turn."""
        memos = await self._world.store.memos(stored.task.id, stored.turn)
        answered = tuple(
            msgspec.structs.replace(memo, answered=True, answer=value, message=message)
            for memo in memos
            if memo.kind == "ask" and not memo.answered
        )
        kept = tuple({(memo.kind, memo.key): memo for memo in (*memos, *answered)}.values())
        references = await referenced(self._world, stored.task.history[stored.start.index], stored.scope)
        received = () if message is None else (message,)
        worker = self.runs.admit(stored.task.id, stored.scope, bounded=message is not None)
        status = TaskStatus(state=_begun(worker), timestamp=self._world.clock.now())
        # An answer goes on with the attempt that has asked; taking the task from the queue will count one more.
        attempt = stored.attempt if worker else stored.attempt - 1
        change = Change(stored, [status], received=received, memos=answered, worker=worker, attempt=attempt, key=key)
        await self.runs.admitted(change.result, apply(self._world, change), memos=kept, references=references)
        return Accepted(self.runs, change.result, (kept, references))

    # Configurations of push notifications that come with messages.

    async def _check_push(self, request: SendMessageRequest, context: CallContext) -> None:
        pushes, config = self._world.pushes, request.configuration.task_push_notification_config
        if pushes is not None and config is not None:
            await pushes.check(config, request.message.task_id or "", context.scope(request.tenant))

    def _push(self, request: SendMessageRequest, context: CallContext, task_id: str) -> NewPush | None:
        """The configuration that came with the message, for this task or for a direct answer."""
        pushes, config = self._world.pushes, request.configuration.task_push_notification_config
        if pushes is None or config is None:
            return None
        return pushes.new(config, task_id, context.scope(request.tenant), context.dialect)

    async def _put(self, push: NewPush) -> None:
        assert self._world.pushes is not None
        await self._world.pushes.put(push)

    def _stored(self, push: NewPush | None) -> None:
        """It was stored together with what it came with, if there is one."""
        if push is not None and self._world.pushes is not None:
            self._world.pushes.stored(push)


def _begun(worker: str) -> TaskState:
    """The state of a task that this worker runs at once, or that is queued."""
    return TaskState.WORKING if worker else TaskState.SUBMITTED


def _start(request: SendMessageRequest, context: CallContext) -> TurnStart:
    return TurnStart(
        metadata=request.metadata,
        output_modes=request.configuration.accepted_output_modes,
        # Ours is none of the agent's business.
        extensions=tuple([uri for uri in context.parameters.extensions if uri != RELIABLE]),
        trace=context.parameters.trace,
        caller=context.principal.id if context.principal.group else "",
    )
