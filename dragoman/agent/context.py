"""`TaskContext`: what a handler knows about its task and can do with it."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from dragoman.agent.content import as_json, as_message
from dragoman.agent.conversation import Conversation
from dragoman.agent.delegation import Delegated, Delegation
from dragoman.agent.extending import Offers
from dragoman.agent.inbox import Inbox
from dragoman.errors import DragomanError
from dragoman.extensions.extension import Extension
from dragoman.ports.agent import Turn
from dragoman.types.content import Message, Part
from dragoman.types.fetching import Fetched
from dragoman.types.json import Json, JsonObject
from dragoman.types.task import Task, TaskState

if TYPE_CHECKING:
    from dragoman.client.client import Client

__all__ = ["Answer", "Content", "Fail", "Knowledge", "Reject", "TaskContext", "answer"]

Content = Message | Part | str | Mapping[str, Any]


class Reject(DragomanError):
    """Raised by a handler: the agent will not do this. The task ends REJECTED, the reason is told to the caller."""


class Fail(DragomanError):
    """Raised by a handler: the agent could not do this. The task ends FAILED, the reason is told to the caller."""


def answer(*content: Content) -> Message:
    """A message from the agent, for handlers annotated `-> Message`. Ids are filled in when it is sent."""
    return as_message(*content)


class Answer(str):
    """What the caller answered: the text, with the whole message, or with the value given out of band."""

    __slots__ = ("message", "value")

    message: Message | None
    value: Json

    def __new__(cls, message: Message | None, value: Json) -> Self:
        made = super().__new__(cls, message.text if message is not None else _text(value))
        made.message = message
        made.value = value
        return made

    @property
    def text(self) -> str:
        return str(self)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


class Knowledge:
    """What a handler may know: the same for handlers on the event loop and in threads."""

    def __init__(self, turn: Turn, extensions: Mapping[str, Extension] | None = None) -> None:
        self._turn = turn
        self._offers = Offers(extensions, turn) if extensions else None

    @property
    def id(self) -> str:
        return self._turn.task.id

    @property
    def context_id(self) -> str:
        return self._turn.task.context_id

    @property
    def text(self) -> str:
        """The text of the message that began this turn. Answers to questions do not change it."""
        return self._turn.message.text

    @property
    def message(self) -> Message:
        """The message that began this turn."""
        return self._turn.message

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said in this task before this run, oldest first: the caller's messages, the agent's questions."""
        return self._turn.task.history

    @property
    def messages(self) -> tuple[Message, ...]:
        """The caller's messages of this task, oldest first."""
        return tuple(said for said in self.history if said.role is self._turn.message.role)

    @property
    def references(self) -> tuple[Task, ...]:
        """The tasks that the message refers to, as far as the caller may see them."""
        return self._turn.references

    @property
    def caller(self) -> str:
        """Who calls; empty for callers who did not authenticate."""
        return self._turn.caller

    @property
    def metadata(self) -> JsonObject:
        """Metadata of the message that began this turn."""
        return self._turn.message.metadata or {}

    @property
    def request_metadata(self) -> JsonObject:
        """Metadata of the request that the message came in."""
        return self._turn.request_metadata

    @property
    def output_modes(self) -> tuple[str, ...]:
        """Media types that the caller accepts; empty means any."""
        return self._turn.output_modes

    @property
    def extensions(self) -> tuple[str, ...]:
        """The extensions that the caller named and the agent has."""
        return self._turn.extensions

    def extension(self, uri: str) -> Any:
        """What this extension has for handlers, the same each time; None if the caller did not name it."""
        return None if self._offers is None else self._offers.of(uri)

    @property
    def skill(self) -> str:
        """The id of the skill that this task has."""
        return self._turn.skill

    @property
    def attempt(self) -> int:
        """How often this turn has been begun, from 1. It is more than 1 only if the server was lost or stopped while it
        ran, and the skill says `on_crash="resume"` or `"rerun"`; running again with an answer is not another attempt.
        """
        return self._turn.attempt

    @property
    def idempotency_key(self) -> str:
        """The same in every run of this turn, and of no other: for calls elsewhere that must not be made twice. With a
        word of your own at its end it tells several calls of one turn apart.
        """
        return f"{self._turn.task.id}.{self._turn.number}"


class TaskContext(Knowledge):
    """A task, for handlers on the event loop. One for each run; not for use after the handler has returned."""

    def __init__(
        self,
        turn: Turn,
        in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
        extensions: Mapping[str, Extension] | None = None,
    ) -> None:
        super().__init__(turn, extensions)
        self._in_thread = in_thread
        self._delegations = 0
        self._runner = asyncio.current_task()

    @property
    def inbox(self) -> Inbox:
        """The messages that come while the handler works: `async for message in task.inbox`."""
        return Inbox(self._turn)

    @property
    def context(self) -> Conversation:
        """What else was said and done in this context: `await task.context.tasks()`."""
        return Conversation(self._turn)

    async def status(self, *content: Content) -> None:
        """Tells the caller how the work goes. The note passes with the next one; results belong into artifacts."""
        self._turn.status(as_message(*content))
        await self._turn.room()

    async def fetch(self, part: Part) -> Fetched:
        """As `await part.fetch()`."""
        return await part.fetch()

    async def ask(self, *question: Content, key: str | None = None) -> Answer:
        """Asks the caller, and gives the answer.

        The first time the run ends here, the task waits in INPUT_REQUIRED, and nothing of it stays in memory. When
        the answer comes the handler runs again from the top, and this returns at once. Questions are matched by
        `key`, else by their order; up to the last answer nothing is emitted twice.

        Raises:
            RuntimeError: awaited anywhere but in the handler itself (inside `gather`, in a task of its own).
        """
        return await self._ask(key, TaskState.INPUT_REQUIRED, *question)

    async def require_auth(self, *explanation: Content, key: str | None = None) -> Answer:
        """Waits in AUTH_REQUIRED for an authorization: a message, or `agent.authorize(task_id, value)`.

        Matched and repeated like `ask`. The state alone authorizes nothing (specification section 7.6.4).
        """
        return await self._ask(key, TaskState.AUTH_REQUIRED, *explanation)

    async def delegate(self, client: "Client", *content: Content, key: str | None = None) -> Delegated:
        """Has another agent do this, as long as it takes, and gives the text of what came of it.

        What that agent asks goes up to this task's caller, in INPUT_REQUIRED or AUTH_REQUIRED, and the answer goes down
        to that agent and to no other; so it goes through any number of agents. A value of `agent.authorize` goes down
        as a message, unless it is only `True`. While the caller is asked nothing stays in memory, as with `ask`; the
        other agent's task, its questions and its outcome are stored, so nothing is begun or answered twice, also over a
        restart. Several of one turn are told apart by `key`, else by their order.

        Raises:
            TaskFailed: the other agent's task ended as failed, rejected or canceled.
            A2AError: the other agent's word.
            TransportError: it is out of reach.
            RuntimeError: it has a question, and this is awaited anywhere but in the handler itself.
        """
        self._delegations += 1
        name = f"delegate:{self._delegations if key is None else key}"
        work = Delegation(self._turn, client, self._put, name=name, prefix=self.idempotency_key)
        return await work.outcome(as_message(*content))

    async def step(self, name: str, fn: Callable[..., Any], *args: Any) -> Json:
        """Calls `fn` once in this turn, however often the handler runs, and gives its result as JSON.

        A coroutine function is awaited, a plain function runs in a thread, and what it gives is awaited if it can be.
        The result is stored before this returns.
        """
        known, result = self._turn.step(name)
        if known:
            return result
        made = fn(*args) if inspect.iscoroutinefunction(fn) else await self._in_thread(partial(fn, *args))
        if inspect.isawaitable(made):
            made = await made  # also that of a lambda, say
        result = as_json(made)
        await self._turn.remember(name, result)
        return result

    async def _put(self, key: str, state: TaskState, question: Message) -> Answer:
        return await self._ask(key, state, question)

    async def _ask(self, key: str | None, state: TaskState, *question: Content) -> Answer:
        if asyncio.current_task() is not self._runner:
            raise RuntimeError(
                "a question ends the run, so it can only be awaited by the handler itself, "
                "not inside gather() or in a task of its own"
            )
        message = as_message(*question)
        if not message.parts:
            raise ValueError("a question needs words")
        return Answer(*await self._turn.ask(key, message, state))
