"""How what a caller asked for can end, other than well."""

from typing import TYPE_CHECKING, Any

from dragoman.errors import DragomanError
from dragoman.types.task import Task, TaskState

if TYPE_CHECKING:
    from dragoman.client.task import TaskHandle

__all__ = ["AuthRequired", "InputRequired", "TaskFailed", "TaskUnfinished"]


class TaskFailed(DragomanError):
    """The task ended as failed, rejected or canceled. `str()` of it is the agent's explanation, if there is one."""

    def __init__(self, task: Task) -> None:
        self.task = task
        said = task.status.message.text if task.status.message is not None else ""
        super().__init__(said or f"The task ended as {task.state.value}")

    @property
    def state(self) -> TaskState:
        return self.task.state


class TaskUnfinished(DragomanError, TimeoutError):
    """The caller's deadline came first. The task goes on: `client.task(error.task_id)` picks it up, in any process.

    `task_id` is None if the agent has not said that it has the message. `__cause__` is what stood in the way, if the
    agent was not merely at work.
    """

    def __init__(self, task_id: str | None, seconds: float, trouble: DragomanError | None = None) -> None:
        self.task_id = task_id
        what = "No answer" if task_id is None else f"The task {task_id} did not end"
        super().__init__(f"{what} within {seconds:g} s{'' if trouble is None else f': {trouble}'}")


class InputRequired(DragomanError):
    """The task waits for an answer: `question` says to what, `handle.reply(...)` gives it and goes on."""

    handle: "TaskHandle"

    def __init__(self, task: Task, handle: Any) -> None:
        # Any: the synchronous facade raises its own kind, with its own handles.
        self.handle = handle
        self.task = task
        message = self.task.status.message
        self.question = message.text if message is not None else ""
        """The agent's words; empty if it gave none."""
        super().__init__(self.question or f"The task is in state {self.task.state.value}")


class AuthRequired(InputRequired):
    """The task waits for an authorization, which may also reach the agent out of band (specification section 7.6)."""
