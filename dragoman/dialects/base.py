"""What every dialect is: one binding in one protocol version, as pure functions between bytes and canonical values.

Nothing here awaits, logs or looks anything up. A dialect is total: whatever bytes come, it answers with a value.
Server half and client half of a dialect stand in one module, so that they cannot drift apart.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from dragoman.errors import A2AError
from dragoman.operations import Operation
from dragoman.types.events import StreamEvent
from dragoman.types.requests import ServiceParameters

__all__ = ["Call", "Dialect", "HttpReply", "HttpRequest", "Refusal", "Target", "addressed", "served_versions"]


class HttpRequest(msgspec.Struct, frozen=True):
    """A request as a host read it or a client will send it.

    `path` is relative to the interface URL (`/` or `/tasks/7:cancel`), percent-encoded; header names are lower case,
    and several fields of one name are joined by `, `. `query` has no question mark.
    """

    method: str
    path: str
    query: str = ""
    headers: dict[str, str] = {}
    body: bytes = b""


class HttpReply(msgspec.Struct, frozen=True):
    """A whole answer. Header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes = b""


class Call(msgspec.Struct, frozen=True):
    """A decoded request. `reply_to` is what only the dialect needs again (the JSON-RPC id, the media type)."""

    operation: Operation
    request: Any
    parameters: ServiceParameters
    reply_to: Any = None


class Refusal(msgspec.Struct, frozen=True):
    """A request that is none: what is wrong with it, and what the dialect needs to say so."""

    error: A2AError
    reply_to: Any = None


class Target(msgspec.Struct, frozen=True):
    """Where and how a client calls: tenant of the interface, service parameters, further headers."""

    tenant: str = ""
    parameters: ServiceParameters = ServiceParameters()


def addressed(request: Any, target: Target) -> Any:
    """The request with the tenant of the interface, unless it names one itself (specification section 8.3.2)."""
    if target.tenant and not request.tenant:
        return msgspec.structs.replace(request, tenant=target.tenant)
    return request


class Dialect(Protocol):
    """One binding in one version: eight pure functions.

    gRPC is HTTP too: the body is one message without its prefix, the headers of a request are its metadata, and
    `grpc-status`, `grpc-message` and `grpc-status-details-bin` stand in the headers of a reply; binary metadata is
    base64 text, as on the wire. The host and the channel do the rest: prefix, compression, trailers.
    """

    key: str
    """Names the dialect for good (`1.0/JSONRPC`, `draft/HTTP+JSON`); is stored with push configurations."""
    binding: str
    """The name in the agent card (`JSONRPC`, `HTTP+JSON`, `GRPC`)."""
    version: str
    """Major.Minor, as requests ask for it and cards declare it."""

    # The server half.

    def decode_request(self, request: HttpRequest) -> Call | Refusal:
        """The call that the request makes. Unknown members are ignored; wrong ones are named in the refusal."""
        ...

    def encode_result(self, call: Call, result: Any) -> HttpReply:
        """The answer to an operation that does not stream."""
        ...

    def encode_event(self, call: Call, event: StreamEvent, seq: int | None) -> bytes:
        """One event of a stream: a server-sent event whose id is `seq`, or a gRPC message."""
        ...

    def encode_stream_error(self, call: Call, error: A2AError) -> bytes:
        """An error after the stream has begun, as server-sent event; empty where trailers say it."""
        ...

    def encode_error(self, error: A2AError, reply_to: Any) -> HttpReply:
        """The answer to a refused or failed request."""
        ...

    # The client half.

    def encode_request(self, operation: Operation, request: Any, target: Target) -> HttpRequest:
        """The request to send, with all the headers that the dialect asks for."""
        ...

    def decode_result(self, operation: Operation, reply: HttpReply) -> Any:
        """The result of an operation that does not stream.

        Raises:
            A2AError: the agent answered with an error.
            ReplyMalformed: the answer is not of this dialect.
        """
        ...

    def decode_event(self, operation: Operation, data: str | bytes) -> StreamEvent:
        """One event, from the data of a server-sent event or from a gRPC message; raises as `decode_result` does."""
        ...


def served_versions(dialects: Sequence[Dialect]) -> tuple[str, ...]:
    """The versions among the dialects, each once, in their order."""
    return tuple(dict.fromkeys(dialect.version for dialect in dialects))
