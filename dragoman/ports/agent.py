"""The agent as the engine sees it: something that picks a skill, answers directly, or runs turns of a task."""

from typing import Literal, Protocol

import msgspec

from dragoman.ports.call import CallContext
from dragoman.types.content import Artifact, Message
from dragoman.types.json import Json, JsonObject
from dragoman.types.requests import SendMessageRequest
from dragoman.types.task import Task, TaskState

__all__ = ["AgentExecutor", "Assignment", "OnCrash", "Parked", "Policy", "TooLarge", "Turn", "TurnOutcome"]

OnCrash = Literal["fail", "resume", "rerun"]


class Assignment(msgspec.Struct, frozen=True, gc=False):
    """Which skill takes a new message; `direct` if it answers with a message and makes no task."""

    skill: str
    direct: bool = False


class Policy(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What becomes of the tasks of a skill in trouble; times in seconds."""

    on_crash: OnCrash = "fail"
    """When the worker of a run is lost: the task is FAILED with reason `worker-lost`; or another worker runs it again,
    resuming with the answers and steps that are stored, or from the start.
    """
    max_attempts: int = 3
    """How often a turn is begun at most, crash after crash; then the task is FAILED with reason `attempts-exhausted`.
    An answer, or an orderly stop of the server, is no crash.
    """
    deadline: float | None = None
    """How long the handler may take, from the beginning of a turn, or from the last answer; each attempt anew. Then the
    task is FAILED with reason `deadline`.
    """
    idle_timeout: float | None = None
    """How long the handler may emit nothing, results of steps included; then the task is FAILED with reason
    `idle-timeout`.
    """


class TurnOutcome(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a turn ended: a terminal state and, if the agent has something to say about it, a message."""

    state: TaskState = TaskState.COMPLETED
    message: Message | None = None
    metadata: JsonObject | None = None


class Parked(BaseException):
    """Ends a run whose task waits for the caller. Not an Exception, so that handlers do not catch it by accident."""


class TooLarge(Exception):
    """The agent has put more into its task than that may hold; `reason` says which limit. The task is FAILED for it,
    whatever the agent does with this.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"more was put into the task than it may hold: {reason}")


class Turn(Protocol):
    """One run of the agent for one task, and what the agent may do in it.

    The first group says what the run is about. Emitting never waits; `room` does, while too much is not yet stored.
    Emissions are stored and published in order, soon, and several together where they came together.
    """

    @property
    def task(self) -> Task:
        """The task as the run began."""
        ...

    @property
    def message(self) -> Message:
        """What began the turn. Answers to questions are not new turns."""
        ...

    @property
    def number(self) -> int:
        """Which turn of the task this is, from 1."""
        ...

    @property
    def attempt(self) -> int:
        """How often the turn has been begun, this run included. Going on with an answer is not another attempt."""
        ...

    @property
    def request_metadata(self) -> JsonObject: ...

    @property
    def output_modes(self) -> tuple[str, ...]:
        """Media types that the caller accepts; empty means any."""
        ...

    @property
    def extensions(self) -> tuple[str, ...]: ...

    @property
    def caller(self) -> str: ...

    @property
    def skill(self) -> str: ...

    @property
    def references(self) -> tuple[Task, ...]:
        """The tasks that the message refers to, as far as the caller may see them."""
        ...

    def text(self, chunk: str) -> None:
        """Continues the text artifact of this run; the first chunk opens it."""
        ...

    def artifact(self, artifact: Artifact, *, append: bool = False, last_chunk: bool = True) -> None:
        """Adds, replaces or continues an artifact. An empty id is filled in."""
        ...

    def status(self, message: Message) -> None:
        """Says how the work goes; the state stays WORKING."""
        ...

    @property
    def full(self) -> bool:
        """Whether so much waits to be stored that the agent should await `room`."""
        ...

    async def room(self) -> None:
        """Returns when little enough is waiting to be stored."""
        ...

    async def ask(self, key: str | None, question: Message, state: TaskState) -> tuple[Message | None, Json]:
        """The stored answer to this question, a message or a value, if there is one; else parks the task in `state`
        and raises `Parked`.

        Questions are matched by `key`, or without one by their order among those without.
        """
        ...

    def step(self, name: str) -> tuple[bool, Json]:
        """Whether a result is stored under this name in this turn, and the result."""
        ...

    async def remember(self, name: str, result: Json) -> None:
        """Stores the result of a step; durable when this returns."""
        ...

    async def receive(self, *, wait: bool) -> Message | None:
        """The next message that came to the task while it was worked on; waits for one, or gives None.

        It is part of the history, and begins no turn of its own: that is durable when this returns. A run that
        repeats gets the same messages again, in the same order.
        """
        ...

    async def related(self, limit: int) -> tuple[Task, ...]:
        """The other tasks of the context that the caller may see, newest status first, with all they hold."""
        ...


class AgentExecutor(Protocol):
    """The agent. At most one run of a task at a time; a run is stopped by cancelling it."""

    async def assign(self, request: SendMessageRequest, call: CallContext) -> Assignment:
        """Picks the skill for a message that begins a task.

        Raises:
            A2AError: the message is not fit for the skill; nothing has been stored then.
        """
        ...

    async def admit(self, skill: str, call: CallContext) -> None:
        """Raises `A2AError` if this caller may send nothing to the skill. Asked of messages to tasks; of one that
        begins a task, or is answered directly, `assign` has asked it.
        """
        ...

    def check(self, skill: str, message: Message, *, answer: bool = False) -> None:
        """Raises `A2AError` if this message cannot begin a turn of the skill, or cannot be an answer to it."""
        ...

    def policy(self, skill: str) -> Policy:
        """What becomes of this skill's tasks in trouble; the default for a skill that is not there any more."""
        ...

    async def answer(self, skill: str, request: SendMessageRequest, call: CallContext) -> Message:
        """The direct answer of a skill that makes no task."""
        ...

    async def execute(self, turn: Turn) -> TurnOutcome:
        """Runs the skill until it ends, parks (`Parked`) or fails (any exception)."""
        ...

    def close(self) -> None:
        """Lets go of what runs still hold; called when the last has ended or was abandoned. Never waits.

        Others may follow: what they need is made anew.
        """
        ...
