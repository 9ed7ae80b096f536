"""Tasks and their states (specification sections 4.1.1 to 4.1.3)."""

import enum
from datetime import datetime

import msgspec

from dragoman.types.content import Artifact, Message
from dragoman.types.json import JsonObject

__all__ = ["Task", "TaskState", "TaskStatus"]


class TaskState(enum.Enum):
    """Where a task stands. Terminal states are final; interrupted ones wait for the caller."""

    UNSPECIFIED = "unspecified"
    SUBMITTED = "submitted"
    WORKING = "working"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    INPUT_REQUIRED = "input-required"
    REJECTED = "rejected"
    AUTH_REQUIRED = "auth-required"

    # Identity is enough, and these are looked up with every event.
    __hash__ = object.__hash__

    terminal: bool
    """Whether nothing can happen to the task any more."""
    interrupted: bool
    """Whether the task waits for its caller: for input or for an authorization (section 3.2.2)."""
    settled: bool
    """Terminal or interrupted: what a blocking SendMessage waits for (section 3.2.2)."""


for _state in TaskState:
    _state.terminal = _state.value in ("completed", "failed", "canceled", "rejected")
    _state.interrupted = _state.value in ("input-required", "auth-required")
    _state.settled = _state.terminal or _state.interrupted


class TaskStatus(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """State, the agent's message about it, and when it was reached (aware, UTC, whole milliseconds)."""

    state: TaskState
    message: Message | None = None
    timestamp: datetime | None = None


class Task(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The unit of work between client and agent. `history` is oldest first."""

    id: str
    context_id: str
    status: TaskStatus
    artifacts: tuple[Artifact, ...] = ()
    history: tuple[Message, ...] = ()
    metadata: JsonObject | None = None

    @property
    def state(self) -> TaskState:
        return self.status.state

    @property
    def text(self) -> str:
        """The text of the artifacts in order, else that of the status message, else the empty string."""
        text = "".join(artifact.text for artifact in self.artifacts)
        if not text and self.status.message is not None:
            return self.status.message.text
        return text
