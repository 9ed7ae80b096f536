"""What one extension is: an entry of the card, and hooks on both sides of a call."""

from collections.abc import Awaitable
from typing import Any

import msgspec

from dragoman.ports.agent import Turn
from dragoman.ports.call import Principal
from dragoman.types.card import AgentCard, AgentExtension
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent, TaskUpdate
from dragoman.types.json import JsonObject
from dragoman.types.push import TaskPushNotificationConfig
from dragoman.types.requests import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    SendMessageRequest,
    SubscribeToTaskRequest,
)
from dragoman.types.task import Task

__all__ = ["Emitted", "ExtendedCall", "Extension", "Request", "Result"]

Request = (
    SendMessageRequest
    | GetTaskRequest
    | ListTasksRequest
    | CancelTaskRequest
    | SubscribeToTaskRequest
    | TaskPushNotificationConfig
    | GetTaskPushNotificationConfigRequest
    | ListTaskPushNotificationConfigsRequest
    | DeleteTaskPushNotificationConfigRequest
    | GetExtendedAgentCardRequest
)
"""What is asked, of any operation."""

Result = (
    Task
    | Message
    | ListTasksResponse
    | TaskPushNotificationConfig
    | ListTaskPushNotificationConfigsResponse
    | AgentCard
)
"""What is answered, by any operation that does not stream. A deletion answers nothing, and has no hook."""

Emitted = Message | TaskUpdate
"""What an agent says: a direct answer, or an update of a task."""


class ExtendedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The call that a hook is about."""

    operation: str
    """Its name in the specification, such as `SendMessage`."""
    extensions: tuple[str, ...] = ()
    """The URIs of all extensions in force for it."""
    principal: Principal = Principal()
    """Who calls, as the agent knows it; at the caller's own side it is empty."""


class Extension:
    """An extension; subclasses say its `uri`, and write the hooks that it needs. One object serves all calls at once.

    For an agent it is in force for the calls that name its URI, and its hooks run for no others. In a client it is in
    force where the agent's card declares it. Hooks get canonical values, whatever binding and version carries them,
    and give back the same or another of the same type. Those that may be awaited can be coroutine functions; an agent
    waits for each up to 30 seconds. On the way in, extensions take their turns as they are declared, on the way out in
    reverse.

    A hook refuses a call by raising an `A2AError`. Anything else that it raises is logged, and told as an internal
    error without any detail; the task, if there is one, is not touched by that.
    """

    uri: str = ""
    """Its identifier, which names its version: another version is another URI (section 4.6.3)."""
    description: str = ""
    required: bool = False
    """Whether the agent refuses callers who do not name it (section 3.3.4)."""
    params: JsonObject | None = None
    """What the card says beside that, for callers who know the extension."""

    def entry(self, card: AgentCard) -> AgentExtension:
        """How the agent declares it, given the rest of the card, skills included; under its own URI."""
        del card
        return AgentExtension(uri=self.uri, description=self.description, required=self.required, params=self.params)

    # At the agent.

    def on_request(self, request: Request, call: ExtendedCall) -> Request | Awaitable[Request]:
        """The request, before the agent looks at it. Of messages that come twice the same must be made each time:
        otherwise they are not known again.
        """
        del call
        return request

    def on_response(self, result: Result, call: ExtendedCall) -> Result | Awaitable[Result]:
        """The answer, for this caller alone: nothing of it is stored."""
        del call
        return result

    def on_event(self, event: StreamEvent, call: ExtendedCall) -> StreamEvent | Awaitable[StreamEvent]:
        """One event of a stream, for this caller alone: nothing of it is stored."""
        del call
        return event

    def on_emit(self, said: Emitted) -> Emitted:
        """What the agent says in a turn whose message came with the extension, just before it is stored: all readers
        get it so, now and later, webhooks included. It may be called again for what could not be stored. Ids and the
        state stay as they are. If it raises, what was said is stored as it was.
        """
        return said

    def for_task(self, turn: Turn) -> Any:
        """What `task.extension(uri)` gives to handlers, once for each run and only if it is asked for. By default the
        extension itself.
        """
        del turn
        return self

    # At the caller.

    def on_send(self, request: Request, call: ExtendedCall) -> Request | Awaitable[Request]:
        """What is sent. Of a message once, however often it has to be sent."""
        del call
        return request

    def on_receive(
        self, received: Result | StreamEvent, call: ExtendedCall
    ) -> Result | StreamEvent | Awaitable[Result | StreamEvent]:
        """What the agent answers: a result, or one event of a stream."""
        del call
        return received
