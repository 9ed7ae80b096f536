"""An extension that leaves a trail wherever it comes by, and agents that have it."""

from collections.abc import AsyncIterator
from typing import Any, cast

import msgspec

from dragoman import Agent, Message, Part, Role, TaskContext
from dragoman.errors import InvalidParamsError
from dragoman.extensions import Emitted, ExtendedCall, Extension, Request, Result, with_contents
from dragoman.types import (
    AgentCard,
    AgentExtension,
    Artifact,
    SendMessageRequest,
    StreamEvent,
    Task,
    TaskStatusUpdateEvent,
)

__all__ = ["BOTH", "INNER", "ONE", "OUTER", "PLAIN", "Trail", "direct", "tell", "trailing", "trails"]

OUTER = "https://extensions.example/outer/v1"
INNER = "https://extensions.example/inner/v1"
PLAIN = "https://extensions.example/plain/v1"
BOTH = {"a2a-extensions": f"{INNER}, {OUTER}"}
ONE = {"a2a-extensions": INNER}


class Offered:
    """What handlers are offered: the words of the caller, turned round."""

    def __init__(self, text: str) -> None:
        self.text = text[::-1]


class Trail(Extension):
    """Writes its name wherever it comes by, and does as the message says."""

    def __init__(self, uri: str, **stated: Any) -> None:
        self.uri = uri
        self.description = "Leaves a trail."
        self.params = {"name": self.name}
        for name, value in stated.items():
            setattr(self, name, value)

    @property
    def name(self) -> str:
        return self.uri.split("/")[-2]

    def entry(self, card: AgentCard) -> AgentExtension:
        declared = super().entry(card)
        return msgspec.structs.replace(declared, params={"name": self.name, "skills": [one.id for one in card.skills]})

    def marked(self, value: Any, place: str) -> Any:
        """The value with the name of this extension after those that are there."""
        metadata: dict[str, Any] = value.metadata or {}
        return msgspec.structs.replace(value, metadata={**metadata, place: [*metadata.get(place, []), self.name]})

    async def on_request(self, request: Request, call: ExtendedCall) -> Request:
        if isinstance(request, SendMessageRequest):
            assert call.operation in {"SendMessage", "SendStreamingMessage"}
            if request.message.text == "refuse":
                raise InvalidParamsError("not with this extension")
            if request.message.text == "break the request":
                raise RuntimeError("secret of the house")
            return msgspec.structs.replace(request, message=self.marked(request.message, "asked"))
        return request

    def on_response(self, result: Result, call: ExtendedCall) -> Result:
        del call
        if isinstance(result, Task) and result.history and result.history[0].text == "break the response":
            raise RuntimeError("secret of the house")
        return cast("Result", self.marked(result, "answered")) if isinstance(result, Task | Message) else result

    def on_event(self, event: StreamEvent, call: ExtendedCall) -> StreamEvent:
        del call
        status = event.status.message if isinstance(event, TaskStatusUpdateEvent) else None
        if status is not None and status.text == "break the stream":
            raise RuntimeError("secret of the house")
        return cast("StreamEvent", self.marked(event, "streamed"))

    def on_emit(self, said: Emitted) -> Emitted:
        def marked(content: Message | Artifact) -> Message | Artifact:
            if content.text == "break what is said":
                raise RuntimeError("secret of the house")
            return cast("Message | Artifact", self.marked(content, "said"))

        return with_contents(said, marked)

    def for_task(self, turn: Any) -> Offered:
        return Offered(turn.message.text)


def trailing(*, store: str = "memory", required: bool = False) -> Agent:
    """Says first how it is going, then what it was offered."""
    extensions: list[Extension | AgentExtension] = [Trail(OUTER), Trail(INNER, required=required)]
    extensions.append(AgentExtension(uri=PLAIN))
    agent = Agent("Trailing", "Leaves trails.", store=store, extensions=extensions)

    @agent.skill
    async def tell(task: TaskContext) -> AsyncIterator[str]:
        """Tell."""
        offered = task.extension(OUTER)
        assert offered is task.extension(OUTER)
        assert task.extension(PLAIN) is None
        await task.status(task.text)
        yield "nothing" if offered is None else offered.text

    return agent


def direct() -> Agent:
    agent = Agent("Direct", "Answers.", store="memory", extensions=[Trail(INNER)])

    @agent.skill
    async def answer(text: str) -> Message:
        """Answer."""
        return Message(message_id="", role=Role.AGENT, parts=(Part(text=text),))

    return agent


def trails(value: dict[str, Any]) -> dict[str, Any]:
    """What was written on its way, without what our own extension says there."""
    metadata = value.get("metadata", {})
    return {place: names for place, names in metadata.items() if not place.startswith("http")}


async def tell(text: str) -> str:
    return text
