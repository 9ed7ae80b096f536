"""The error tree: what went wrong and whose fault it is, without codes.

    DragomanError
    |-- A2AError                goes over the wire: the server raises it, the client receives the same class
    |   |-- TaskNotFoundError, TaskNotCancelableError, PushNotificationNotSupportedError,
    |   |   UnsupportedOperationError, ContentTypeNotSupportedError, InvalidAgentResponseError,
    |   |   ExtendedAgentCardNotConfiguredError, ExtensionSupportRequiredError, VersionNotSupportedError
    |   |-- ParseError, MethodNotFoundError, InvalidParamsError, InternalError
    |   |-- InvalidRequestError
    |   |   `-- RequestTooLargeError
    |   |-- UnauthenticatedError, PermissionDeniedError
    |   `-- UnavailableError
    |       `-- LimitExceededError
    |-- TransportError          the client could not talk to the agent
    |   |-- ConnectFailed, TimedOut
    |   `-- ReplyMalformed      the agent's fault, with an excerpt
    |-- StoreError              stays inside the process
    |   `-- Fenced, InboxPending, Duplicate, StoreUnavailable, StoreInUse
    `-- ConfigurationError      the agent was put together wrongly

The first group under `A2AError` is of specification section 3.3.2, the second and third are of section 9.5. Parts
that need errors of their own derive them from these. Codes of the bindings are in `dragoman.dialects.status`, in one
table.
"""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from dragoman.types.content import Message
from dragoman.types.json import JsonObject

__all__ = [
    "A2AError",
    "ConfigurationError",
    "ConnectFailed",
    "ContentTypeNotSupportedError",
    "DragomanError",
    "Duplicate",
    "ExtendedAgentCardNotConfiguredError",
    "ExtensionSupportRequiredError",
    "Fenced",
    "FieldViolation",
    "InboxPending",
    "InternalError",
    "InvalidAgentResponseError",
    "InvalidParamsError",
    "InvalidRequestError",
    "LimitExceededError",
    "MethodNotFoundError",
    "ParseError",
    "PermissionDeniedError",
    "PushNotificationNotSupportedError",
    "ReplyMalformed",
    "RequestTooLargeError",
    "StoreError",
    "StoreInUse",
    "StoreUnavailable",
    "TaskNotCancelableError",
    "TaskNotFoundError",
    "TimedOut",
    "TransportError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnsupportedOperationError",
    "VersionNotSupportedError",
]


class DragomanError(Exception):
    """Base of every error that this package raises on purpose."""


class FieldViolation(msgspec.Struct, frozen=True):
    """What is wrong with one member of a request: its path (`message.parts[0]`) and why."""

    field: str
    description: str


class A2AError(DragomanError):
    """An error that the protocol names. `details` is public; `__cause__` is never sent."""

    reason: ClassVar[str] = ""
    default_message: ClassVar[str] = "Error"

    def __init__(
        self,
        message: str | None = None,
        *,
        details: JsonObject | None = None,
        violations: Sequence[FieldViolation] = (),
    ) -> None:
        self.message = message if message is not None else self.default_message
        self.details: JsonObject = details if details is not None else {}
        self.violations = tuple(violations)
        super().__init__(self.message)


class TaskNotFoundError(A2AError):
    reason = "TASK_NOT_FOUND"
    default_message = "Task not found"


class TaskNotCancelableError(A2AError):
    reason = "TASK_NOT_CANCELABLE"
    default_message = "Task cannot be canceled"


class PushNotificationNotSupportedError(A2AError):
    reason = "PUSH_NOTIFICATION_NOT_SUPPORTED"
    default_message = "Push notifications are not supported"


class UnsupportedOperationError(A2AError):
    reason = "UNSUPPORTED_OPERATION"
    default_message = "This operation is not supported"


class ContentTypeNotSupportedError(A2AError):
    reason = "CONTENT_TYPE_NOT_SUPPORTED"
    default_message = "Incompatible content types"


class InvalidAgentResponseError(A2AError):
    reason = "INVALID_AGENT_RESPONSE"
    default_message = "Invalid agent response"


class ExtendedAgentCardNotConfiguredError(A2AError):
    reason = "EXTENDED_AGENT_CARD_NOT_CONFIGURED"
    default_message = "The extended agent card is not configured"


class ExtensionSupportRequiredError(A2AError):
    reason = "EXTENSION_SUPPORT_REQUIRED"
    default_message = "The agent requires an extension that the request does not name"


class VersionNotSupportedError(A2AError):
    reason = "VERSION_NOT_SUPPORTED"
    default_message = "This protocol version is not supported"


class ParseError(A2AError):
    """The bytes are not JSON."""

    reason = "PARSE_ERROR"
    default_message = "Invalid JSON payload"


class InvalidRequestError(A2AError):
    """JSON, but not a request."""

    reason = "INVALID_REQUEST"
    default_message = "Request payload validation error"


class RequestTooLargeError(InvalidRequestError):
    """The request is longer than the server takes."""

    reason = "REQUEST_TOO_LARGE"
    default_message = "The request is too large"


class MethodNotFoundError(A2AError):
    reason = "METHOD_NOT_FOUND"
    default_message = "Method not found"


class InvalidParamsError(A2AError):
    """Members of the request are missing or wrong; `violations` names them."""

    reason = "INVALID_PARAMS"
    default_message = "Invalid parameters"


class InternalError(A2AError):
    """Something broke inside the server; the message never tells what."""

    reason = "INTERNAL_ERROR"
    default_message = "Internal error"


class UnavailableError(A2AError):
    """The server cannot answer now; the same request may succeed later.

    `retry_after` says when, in seconds, if that is known: to the server, or to the client which was told.
    """

    retry_after: float | None = None
    reason = "UNAVAILABLE"
    default_message = "The service is temporarily unavailable"


class LimitExceededError(UnavailableError):
    """The caller asks for more, or more often, than is granted at a time; later, or with less open, it may succeed."""

    reason = "LIMIT_EXCEEDED"
    default_message = "A limit is exceeded"


class UnauthenticatedError(A2AError):
    """Nobody is known to call. `challenges` say how one makes oneself known (RFC 9110 section 11.6.1), each a scheme
    with its parameters.
    """

    challenges: tuple[str, ...] = ()
    reason = "UNAUTHENTICATED"
    default_message = "Authentication required"


class PermissionDeniedError(A2AError):
    """The caller is known, and may not. `challenges` say what would be needed, as far as that is public."""

    challenges: tuple[str, ...] = ()
    reason = "PERMISSION_DENIED"
    default_message = "Permission denied"


class TransportError(DragomanError):
    """The client could not talk to the agent. `task_id` is there if this was about a task that is known to exist."""

    task_id: str | None = None


class ConnectFailed(TransportError):
    """No connection: name resolution, TCP or TLS."""


class TimedOut(TransportError):
    """Nothing came within the time allowed."""


class ReplyMalformed(TransportError):
    """The agent answered something that is not A2A. `excerpt` is the beginning of it, at most 200 characters, those
    that cannot be printed escaped.
    """

    def __init__(self, message: str, excerpt: str = "") -> None:
        self.excerpt = _printable(excerpt[:200])[:200]
        super().__init__(f"{message}: {self.excerpt}" if excerpt else message)


def _printable(text: str) -> str:
    """Text that can stand in a log, or at a terminal, whoever has written it."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


class StoreError(DragomanError):
    """Base of what a store raises; the engine turns it into a meaning before it reaches a caller."""


class Fenced(StoreError):
    """A write came too late: another run, or another writer, has moved the task on."""


class InboxPending(StoreError):
    """The task cannot end yet, because a message to it is waiting for its turn."""


class Duplicate(StoreError):
    """A request that is known: its message id was used before in the same scope, and is not forgotten yet.

    `digest` says what the first request was, `task_id` which task it went to; `answer` is there instead if the agent
    answered directly.
    """

    def __init__(self, task_id: str, digest: str, answer: Message | None = None) -> None:
        super().__init__("The message is known")
        self.task_id = task_id
        self.digest = digest
        self.answer = answer


class StoreUnavailable(StoreError):
    """The store cannot read or write now (disk full, I/O error, closed). Nothing was acknowledged."""


class StoreInUse(StoreError):
    """Another server process, or another agent, has this store."""


class ConfigurationError(DragomanError):
    """The agent was put together in a way that cannot work; the message says what to do."""
