"""`task.delegate`: work that another agent does for a task, its questions included."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from dragoman.agent.content import as_json, as_message
from dragoman.ports.agent import Turn
from dragoman.types.content import Message, Part, Role, text_of
from dragoman.types.json import Json
from dragoman.types.task import Task, TaskState, TaskStatus

if TYPE_CHECKING:
    from dragoman.agent.context import Answer
    from dragoman.client.client import Client
    from dragoman.client.task import TaskHandle

__all__ = ["Ask", "Delegated", "Delegation"]

T = TypeVar("T")

Ask = Callable[[str, TaskState, Message], Awaitable["Answer"]]
"""Asks the caller under a key, in a state."""

WORDLESS = {
    TaskState.AUTH_REQUIRED: "An agent that works on this needs an authorization",
    TaskState.INPUT_REQUIRED: "An agent that works on this needs an answer",
}


class Delegated(str):
    """What the other agent has made of it: the text, as `Client.ask` gives it, with the completed task, without its
    history, or with the message of an agent that answered directly.
    """

    __slots__ = ("message", "task")

    task: Task | None
    message: Message | None

    def __new__(cls, task: Task | None, message: Message | None) -> Self:
        made = super().__new__(cls, message.text if message is not None else _text(task))
        made.task = task
        made.message = message
        return made


class _Made(msgspec.Struct, omit_defaults=True):
    """What is remembered of a beginning (the id) and of an end."""

    task_id: str | None = None
    task: Task | None = None
    message: Message | None = None


class Delegation:
    """One piece of work for another agent, in one turn; whatever is awaited here is done once, however often the
    handler runs. `name` tells it apart in the turn, `prefix` makes ids of messages that are the same in every run.
    """

    def __init__(self, turn: Turn, client: "Client", ask: Ask, *, name: str, prefix: str) -> None:
        self._turn = turn
        self._client = client
        self._ask = ask
        self._name = name
        self._prefix = prefix
        self._release: Callable[[], None] = _nothing

    async def outcome(self, message: Message) -> Delegated:
        """Begins the work or takes it up again, and sees it to its end."""
        made = self._known("outcome", _Made)
        if made is None:
            made = await self._made(await self._begun(message))
            self._release()
            await self._remember("outcome", made)
        return Delegated(made.task, made.message)

    async def _begun(self, message: Message) -> "TaskHandle | Message":
        made = self._known("task", _Made)
        if made is not None:
            if made.task_id is None:
                assert made.message is not None
                return made.message
            self._release = self._client.adopt(made.task_id)
            return await self._client.task(made.task_id)
        answer = await self._client.start(self._identified(message, "task"))
        made = _Made(message=answer) if isinstance(answer, Message) else _Made(task_id=answer.id)
        await self._remember("task", made)
        return answer

    async def _made(self, answer: "TaskHandle | Message") -> _Made:
        if isinstance(answer, Message):
            return _Made(message=answer)
        handle = answer
        for number in count(1):
            asked = await self._question(handle, number)
            if asked is None:
                break
            handle = await self._answered(handle, number, asked)
        return _Made(task=msgspec.structs.replace(handle.completed(), history=()))

    async def _question(self, handle: "TaskHandle", number: int) -> TaskStatus | None:
        """What the other agent asks for the so manieth time; None once its task has ended."""
        asked = self._known(f"question-{number}", TaskStatus)
        if asked is None:
            task = await handle.settle()
            if not task.state.interrupted:
                return None
            asked = task.status
            await self._remember(f"question-{number}", asked)
        return asked

    async def _answered(self, handle: "TaskHandle", number: int, asked: TaskStatus) -> "TaskHandle":
        """The task after the answer of our own caller has reached it."""
        name = f"answer-{number}"
        if self._turn.step(self._named(name))[0]:
            # It may take a moment until the other agent shows that it was answered.
            return handle.granted() if handle.task.status == asked else handle
        answer = await self._ask(self._named(f"question-{number}"), asked.state, _passed_up(asked))
        task = await handle.refresh()
        if task.state.interrupted:  # else it has gone on by itself, and nothing is sent that it does not wait for
            reply = _passed_down(answer)
            handle = handle.granted() if reply is None else await handle.reply(self._identified(reply, name))
        await self._remember(name, True)
        return handle

    def _identified(self, message: Message, name: str) -> Message:
        """The content of the message as one of ours to the other agent, which knows no ids of our caller's."""
        return Message(
            message_id=f"{self._prefix}.{self._named(name)}",
            role=Role.USER,
            parts=message.parts,
            metadata=message.metadata,
            extensions=message.extensions,
        )

    def _named(self, name: str) -> str:
        return f"{self._name}.{name}"

    def _known(self, name: str, kind: type[T]) -> T | None:
        known, stored = self._turn.step(self._named(name))
        return msgspec.convert(stored, kind) if known else None

    async def _remember(self, name: str, result: Any) -> None:
        await self._turn.remember(self._named(name), as_json(result))


def _text(task: Task | None) -> str:
    if task is None:
        return ""
    said = "".join(text_of(artifact.parts) for artifact in task.artifacts)
    return said or (task.status.message.text if task.status.message is not None else "")


def _passed_up(asked: TaskStatus) -> Message:
    """The question as ours: its content, under ids of our own."""
    if asked.message is None or not asked.message.parts:
        return as_message(WORDLESS[asked.state])
    return Message(message_id="", role=Role.AGENT, parts=asked.message.parts, metadata=asked.message.metadata)


def _passed_down(answer: "Answer") -> Message | None:
    """The answer as ours; None if there is nothing to say but that something was granted elsewhere."""
    if answer.message is not None:
        return Message(message_id="", role=Role.USER, parts=answer.message.parts, metadata=answer.message.metadata)
    value: Json = answer.value
    if value is None or isinstance(value, bool):
        return None
    part = Part(text=value) if isinstance(value, str) else Part(data=value)
    return Message(message_id="", role=Role.USER, parts=(part,))


def _nothing() -> None:
    """Of what is not there, nothing has to be released."""
