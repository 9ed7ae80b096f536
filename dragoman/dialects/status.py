"""The one table of errors: what each is called and which codes it has in every binding, in both directions.

Source: specification sections 3.3.2, 5.4 and 9.5, with the HTTP and gRPC statuses of 1.0.1 and later. Authentication,
overload and over-long requests have no row there; ours use the standard HTTP and gRPC statuses, and JSON-RPC codes
that other implementations already use or that every JSON-RPC client knows.
"""

import re

import msgspec

from dragoman import errors
from dragoman.errors import A2AError

__all__ = [
    "GRPC_0_3",
    "GRPC_DRAFT",
    "HTTP_0_3",
    "HTTP_DRAFT",
    "TABLE",
    "Status",
    "error_type",
    "named_error",
    "status_of",
]


class Status(msgspec.Struct, frozen=True):
    """One error: its class (whose `reason` is its name on the wire), JSON-RPC code, HTTP status, gRPC status."""

    error: type[A2AError]
    code: int
    http: int
    grpc: str


TABLE: tuple[Status, ...] = (
    Status(errors.TaskNotFoundError, -32001, 404, "NOT_FOUND"),
    Status(errors.TaskNotCancelableError, -32002, 400, "FAILED_PRECONDITION"),
    Status(errors.PushNotificationNotSupportedError, -32003, 400, "FAILED_PRECONDITION"),
    Status(errors.UnsupportedOperationError, -32004, 400, "FAILED_PRECONDITION"),
    Status(errors.ContentTypeNotSupportedError, -32005, 400, "INVALID_ARGUMENT"),
    Status(errors.InvalidAgentResponseError, -32006, 500, "INTERNAL"),
    Status(errors.ExtendedAgentCardNotConfiguredError, -32007, 400, "FAILED_PRECONDITION"),
    Status(errors.ExtensionSupportRequiredError, -32008, 400, "FAILED_PRECONDITION"),
    Status(errors.VersionNotSupportedError, -32009, 400, "FAILED_PRECONDITION"),
    Status(errors.ParseError, -32700, 400, "INVALID_ARGUMENT"),
    Status(errors.InvalidRequestError, -32600, 400, "INVALID_ARGUMENT"),
    Status(errors.MethodNotFoundError, -32601, 404, "UNIMPLEMENTED"),
    Status(errors.InvalidParamsError, -32602, 400, "INVALID_ARGUMENT"),
    Status(errors.InternalError, -32603, 500, "INTERNAL"),
    Status(errors.UnauthenticatedError, -31401, 401, "UNAUTHENTICATED"),
    Status(errors.PermissionDeniedError, -31403, 403, "PERMISSION_DENIED"),
    Status(errors.RequestTooLargeError, -32600, 413, "RESOURCE_EXHAUSTED"),
    Status(errors.LimitExceededError, -31429, 429, "RESOURCE_EXHAUSTED"),
    Status(errors.UnavailableError, -32603, 503, "UNAVAILABLE"),
)
"""Where a code stands twice, the first row is what the code alone means."""

GRPC_DRAFT: dict[type[A2AError], str] = {
    errors.PushNotificationNotSupportedError: "UNIMPLEMENTED",
    errors.UnsupportedOperationError: "UNIMPLEMENTED",
    errors.VersionNotSupportedError: "UNIMPLEMENTED",
}
"""The gRPC statuses that were others in the draft of 1.0 (its section 5.4)."""
GRPC_0_3: dict[type[A2AError], str] = {
    errors.TaskNotCancelableError: "UNIMPLEMENTED",
    errors.PushNotificationNotSupportedError: "UNIMPLEMENTED",
    errors.UnsupportedOperationError: "UNIMPLEMENTED",
    errors.ContentTypeNotSupportedError: "UNIMPLEMENTED",
}
"""The gRPC statuses that servers of 0.3 give; its specification has none."""

HTTP_DRAFT: dict[type[A2AError], int] = {
    errors.TaskNotCancelableError: 409,
    errors.ContentTypeNotSupportedError: 415,
    errors.InvalidAgentResponseError: 502,
}
"""The HTTP statuses that were others in the draft of 1.0 (its section 5.4)."""
HTTP_0_3: dict[type[A2AError], int] = {
    errors.TaskNotCancelableError: 409,
    errors.PushNotificationNotSupportedError: 501,
    errors.UnsupportedOperationError: 501,
    errors.ContentTypeNotSupportedError: 415,
    errors.InvalidAgentResponseError: 502,
    errors.ExtendedAgentCardNotConfiguredError: 404,
    errors.InvalidParamsError: 422,
}
"""Where the HTTP status is another in 0.3: the specification has none, these are those of the official Python SDK."""

_BY_ERROR = {status.error: status for status in TABLE}
_BY_CODE = {status.code: status.error for status in reversed(TABLE)}
_BY_REASON: dict[str, type[A2AError]] = {
    **{status.error.reason: status.error for status in TABLE},
    # Names that other implementations give.
    "JSON_PARSE": errors.ParseError,
    "JSONRPC_PARSE": errors.ParseError,
    "INTERNAL": errors.InternalError,
    "SERVER": errors.InternalError,
    "SERVER_ERROR": errors.InternalError,
    "PARSE": errors.ParseError,
    "UNAUTHORIZED": errors.PermissionDeniedError,
    "FORBIDDEN": errors.PermissionDeniedError,
    "AUTHENTICATED_EXTENDED_CARD_NOT_CONFIGURED": errors.ExtendedAgentCardNotConfiguredError,
    "EXTENDED_CARD_NOT_CONFIGURED": errors.ExtendedAgentCardNotConfiguredError,
    # Names of gRPC statuses, which stand alone where a gateway answers.
    "NOT_FOUND": errors.TaskNotFoundError,
    "UNIMPLEMENTED": errors.MethodNotFoundError,
    "RESOURCE_EXHAUSTED": errors.LimitExceededError,
}
_BY_HTTP: dict[int, type[A2AError]] = {
    400: errors.InvalidRequestError,
    401: errors.UnauthenticatedError,
    403: errors.PermissionDeniedError,
    404: errors.TaskNotFoundError,
    405: errors.MethodNotFoundError,
    409: errors.TaskNotCancelableError,
    413: errors.RequestTooLargeError,
    415: errors.ContentTypeNotSupportedError,
    422: errors.InvalidParamsError,
    429: errors.LimitExceededError,
    501: errors.UnsupportedOperationError,
    502: errors.UnavailableError,
    503: errors.UnavailableError,
    504: errors.UnavailableError,
}
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def status_of(error: A2AError) -> Status:
    """The row of an error: of its class, else of the nearest class above; an internal error if there is none."""
    for cls in type(error).__mro__:
        if cls in _BY_ERROR:
            return _BY_ERROR[cls]
    return _BY_ERROR[errors.InternalError]


def error_type(reason: str | None, code: int | None, http: int | None) -> type[A2AError]:
    """The error that a peer means: by its reason, else by its JSON-RPC code, else by the HTTP status.

    A reason may be spelled in upper snake case, as class name or in kebab case, or be a URI that ends in it.
    """
    found = named_error(reason) if reason else None
    if found is not None:
        return found
    if code is not None and code in _BY_CODE:
        return _BY_CODE[code]
    if http is not None and http in _BY_HTTP:
        return _BY_HTTP[http]
    if http is not None and 400 <= http < 500:  # noqa: PLR2004 -- the range of client errors
        return errors.InvalidRequestError
    return errors.InternalError


def named_error(reason: str) -> type[A2AError] | None:
    """The error of that name, in any of the spellings that `error_type` knows."""
    return _BY_REASON.get(reason) or _BY_REASON.get(_plain(reason))


def _plain(reason: str) -> str:
    words = _WORD_START.sub("_", reason.rsplit("/", 1)[-1]).replace("-", "_").upper()
    return words.removesuffix("_ERROR")
