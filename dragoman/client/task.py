"""A task in the caller's hand."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Unpack, cast

from dragoman.client.authorizing import authorized, remaining
from dragoman.client.content import Content, ReplyOptions, ResultOptions, WaitOptions
from dragoman.client.follow import settled
from dragoman.client.outcome import AuthRequired, InputRequired, TaskFailed
from dragoman.client.view import TaskView
from dragoman.errors import InvalidAgentResponseError
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.json import JsonObject
from dragoman.types.requests import CancelTaskRequest, GetTaskRequest
from dragoman.types.task import Task, TaskState, TaskStatus

if TYPE_CHECKING:
    from dragoman.client.client import Client

__all__ = ["Follow", "TaskHandle"]

Follow = Callable[[TaskView, ResultOptions], AsyncGenerator[StreamEvent, None]]
"""The events of the task that a view is about, added to it, until there is nothing more to wait for."""


class TaskHandle:
    """One task of one agent. `task` is what was last seen of it; every method that asks the agent renews it."""

    def __init__(
        self,
        client: "Client",
        task: Task,
        follow: Follow,
        answered: TaskStatus | None = None,
        ended: Callable[[], None] | None = None,
    ) -> None:
        self._client = client
        self._follow = follow
        self._answered = answered
        self._ended = ended
        """Called, at least once, when the task is seen to have ended."""
        self._task = task

    def __repr__(self) -> str:
        return f"TaskHandle(id={self.id!r}, state={self.state.value!r})"

    @property
    def task(self) -> Task:
        return self._task

    @property
    def id(self) -> str:
        return self.task.id

    @property
    def context_id(self) -> str:
        return self.task.context_id

    @property
    def state(self) -> TaskState:
        return self.task.state

    async def result(self, **options: Unpack[ResultOptions]) -> Task:
        """The completed task; waits for it as long as it takes, over however many connections.

        Where this handle came of a reply and the agent still shows the question that was answered, that is no end: it
        is one only if nothing else comes within the idle time-out.

        With `via` a receiver tells of it, which has the agent push the task if it does not yet: no stream is kept open,
        and the task is looked at once it is settled, and where nothing was pushed for a while.

        With `on_auth_required` of `connect` it goes on by itself where the task waits for an authorization.

        Raises:
            TaskFailed: it ended as failed, rejected or canceled.
            InputRequired: it waits for an answer; `AuthRequired` if for an authorization.
            TaskUnfinished: the deadline came first.
        """
        since = asyncio.get_running_loop().time()
        await self.settle(**options)
        told = self._client.on_auth_required
        if told is None or self.state is not TaskState.AUTH_REQUIRED:
            return self.completed()
        last = await authorized(self, told, remaining(options, since))
        self._saw(last.task)
        return last.completed()

    async def settle(self, **options: Unpack[ResultOptions]) -> Task:
        """The task once there is nothing to wait for: it has ended, or waits itself. Waits as `result` does.

        Raises:
            TaskUnfinished: the deadline came first.
        """
        view = TaskView(self.task, answered=self._answered)
        try:
            if not view.settled:
                await settled(view, self._follow(view, options))
        finally:
            self._saw(view.task)
        return self.task

    def completed(self) -> Task:
        """The task as last seen, if it completed; else raises as `result` does."""
        match self.state:
            case TaskState.COMPLETED:
                return self.task
            case TaskState.INPUT_REQUIRED:
                raise InputRequired(self.task, self)
            case TaskState.AUTH_REQUIRED:
                raise AuthRequired(self.task, self)
            case _:
                raise TaskFailed(self.task)

    async def events(self, **options: Unpack[WaitOptions]) -> AsyncGenerator[StreamEvent, None]:
        """What happens to the task from now on: the Task first, then updates, until it ends.

        Where the agent does not stream, the Task each time it has changed. Cuts are made up for as in `Client.stream`.
        Nothing is read ahead, and nothing kept of artifacts: in `task` they stay as they were in the last Task.
        """
        view = TaskView(task_id=self.id, answered=self._answered, whole=False)
        async with aclosing(self._follow(view, cast("ResultOptions", options))) as events:
            async for event in events:
                self._saw(view.task)
                yield event

    async def reply(self, content: Content, **options: Unpack[ReplyOptions]) -> "TaskHandle":
        """Sends a follow-up to this task and returns at once.

        Raises:
            InvalidAgentResponseError: the agent answered with a message instead of the task.
        """
        answer = await self._client.start(content, task_id=self.id, context_id=self.context_id, **options)
        if isinstance(answer, Message):
            raise InvalidAgentResponseError("The agent answered a follow-up with a message instead of the task")
        answer._answered = self._question()  # noqa: SLF001 -- a handle of its own making
        return answer

    def granted(self) -> "TaskHandle":
        """The task for who knows that what it waits for came another way: what it asks now counts as answered."""
        return TaskHandle(self._client, self.task, self._follow, self._question(), self._ended)

    def _question(self) -> TaskStatus | None:
        """What the task asks; None if it could not be told from the same question, asked again."""
        question = self.task.status
        return question if question.timestamp is not None or question.message is not None else None

    async def refresh(self, *, history_length: int | None = None) -> Task:
        """The task as it is now."""
        self._saw(await self._client.get_task(GetTaskRequest(id=self.id, history_length=history_length)))
        return self.task

    async def cancel(self, *, metadata: JsonObject | None = None) -> Task:
        """Asks the agent to stop; the task as the agent left it.

        Raises:
            TaskNotCancelableError: it has ended already.
        """
        self._saw(await self._client.cancel_task(CancelTaskRequest(id=self.id, metadata=metadata)))
        return self.task

    def _saw(self, task: Task | None) -> None:
        if task is not None:
            self._task = task
        if self._task.state.terminal and self._ended is not None:
            self._ended()
