"""A task in the caller's hand."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Unpack

from dragoman.client.content import Content, ReplyOptions
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

Follow = Callable[[TaskView], AsyncGenerator[StreamEvent, None]]
"""The events of the task that a view is about, added to it, until there is nothing more to wait for."""


class TaskHandle:
    """One task of one agent. `task` is what was last seen of it; every method that asks the agent renews it."""

    def __init__(self, client: "Client", task: Task, follow: Follow, answered: TaskStatus | None = None) -> None:
        self._client = client
        self._follow = follow
        self._answered = answered
        self.task = task

    def __repr__(self) -> str:
        return f"TaskHandle(id={self.id!r}, state={self.state.value!r})"

    @property
    def id(self) -> str:
        return self.task.id

    @property
    def context_id(self) -> str:
        return self.task.context_id

    @property
    def state(self) -> TaskState:
        return self.task.state

    async def result(self) -> Task:
        """The completed task; waits for it as long as it takes.

        Where this handle came of a reply and the agent still shows the question that was answered, that is no end: it
        is one only if nothing else comes within the idle time-out.

        Raises:
            TaskFailed: it ended as failed, rejected or canceled.
            InputRequired: it waits for an answer; `AuthRequired` if for an authorization.
        """
        view = TaskView(self.task, answered=self._answered)
        if not view.settled:
            await settled(view, self._follow(view))
        self.task = view.task or self.task
        return self.completed()

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

    async def events(self) -> AsyncGenerator[StreamEvent, None]:
        """What happens to the task from now on: the Task first, then updates, until it ends.

        Where the agent does not stream, the Task each time it has changed. After a cut the next event is the Task.
        """
        view = TaskView(task_id=self.id, answered=self._answered)
        async with aclosing(self._follow(view)) as events:
            async for event in events:
                self.task = view.task or self.task
                yield event

    async def reply(self, content: Content, **options: Unpack[ReplyOptions]) -> "TaskHandle":
        """Sends a follow-up to this task and returns at once.

        Raises:
            InvalidAgentResponseError: the agent answered with a message instead of the task.
        """
        answer = await self._client.start(content, task_id=self.id, context_id=self.context_id, **options)
        if isinstance(answer, Message):
            raise InvalidAgentResponseError("The agent answered a follow-up with a message instead of the task")
        question = self.task.status
        told_apart = question.timestamp is not None or question.message is not None
        return TaskHandle(self._client, answer.task, self._follow, question if told_apart else None)

    async def refresh(self, *, history_length: int | None = None) -> Task:
        """The task as it is now."""
        self.task = await self._client.get_task(GetTaskRequest(id=self.id, history_length=history_length))
        return self.task

    async def cancel(self, *, metadata: JsonObject | None = None) -> Task:
        """Asks the agent to stop; the task as the agent left it.

        Raises:
            TaskNotCancelableError: it has ended already.
        """
        self.task = await self._client.cancel_task(CancelTaskRequest(id=self.id, metadata=metadata))
        return self.task
