"""The JSON-RPC binding, whatever the version: a version has its own methods, codecs, and data of errors.

HTTP answers are 200, except where HTTP itself has something to say: 401, 403, 413, 429, 503.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET

from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target, addressed
from dragoman.dialects.codec import Codec, parse_json
from dragoman.dialects.envelope import ErrorObject, ErrorResponse, Opened, Response, ResultResponse, id_of, open_request
from dragoman.dialects.failures import BESIDE_RESULT, JSON_TYPES, failure_of, media_type, read_failure, sendable
from dragoman.dialects.parameters import headers_of, parameters_of
from dragoman.dialects.sse import frame
from dragoman.dialects.status import Status, status_of
from dragoman.errors import A2AError, ContentTypeNotSupportedError, MethodNotFoundError, ReplyMalformed
from dragoman.operations import Operation
from dragoman.types.events import StreamEvent

__all__ = ["JsonRpcBinding"]

_OWN_STATUS = frozenset({401, 403, 413, 429, 503})
_JSON = {"content-type": "application/json"}
# One HTTP exchange has one request, so its id need not be unique.
_ID = 1

_encode = msgspec.json.Encoder().encode
_response = msgspec.json.Decoder(Response)


class _Request(msgspec.Struct, tag_field="jsonrpc", tag="2.0"):
    """A request on its way out."""

    id: int
    method: str
    params: Any


class JsonRpcBinding(ABC):
    """A dialect made of tables; an operation without a method does not exist, of several a client uses the first.

    `Call.reply_to` is the request's id.
    """

    key: str
    binding = "JSONRPC"
    version: str

    methods: ClassVar[Mapping[str, Operation]]
    requests: ClassVar[Mapping[Operation, Codec[Any, Any]]]
    results: ClassVar[Mapping[Operation, Codec[Any, Any] | None]]
    _names: ClassVar[Mapping[Operation, str]]

    def __init_subclass__(cls) -> None:
        cls._names = {operation: name for name, operation in reversed(list(cls.methods.items()))}

    @abstractmethod
    def error_data(self, error: A2AError, status: Status) -> Any:
        """The `data` of an error; an empty list is none."""

    def reply_to(self, operation: Operation, opened: Opened) -> Any:  # noqa: ARG002 -- for versions to which it matters
        """What is needed to answer the request."""
        return opened.id

    def decode_request(self, request: HttpRequest) -> Call | Refusal:
        stated = request.headers.get("content-type", "")
        if stated != "application/json" and stated and media_type(request.headers) not in JSON_TYPES:
            return Refusal(_unsupported(stated), id_of(request.body))
        opened = open_request(request.body)
        if not isinstance(opened, Opened):
            return opened
        operation = self.methods.get(opened.method)
        if operation is None:
            return Refusal(MethodNotFoundError(f"Method not found: {opened.method[:100]}"), opened.id)
        try:
            value = self.requests[operation].decode(opened.params)
        except A2AError as error:
            return Refusal(error, self.reply_to(operation, opened))
        return Call(operation, value, parameters_of(request.headers, self.version), self.reply_to(operation, opened))

    def encode_result(self, call: Call, result: Any) -> HttpReply:
        codec = self.results[call.operation]
        value = None if codec is None else codec.write(result)
        headers = _JSON | BESIDE_RESULT.get(call.operation, {})
        return HttpReply(200, headers, _encode(ResultResponse(call.reply_to, value)))

    def encode_event(self, call: Call, event: StreamEvent, seq: int | None) -> bytes:
        codec = self.results[call.operation]
        assert codec is not None
        return frame(_encode(ResultResponse(call.reply_to, codec.write(event))), seq=seq)

    def encode_stream_error(self, call: Call, error: A2AError) -> bytes:
        return frame(self.encode_error(error, call.reply_to).body, event="error")

    def encode_error(self, error: A2AError, reply_to: Any) -> HttpReply:
        status = status_of(error)
        shown = ErrorObject(status.code, sendable(error.message), self.error_data(error, status))
        http = status.http if status.http in _OWN_STATUS else 200
        return HttpReply(http, dict(_JSON), _encode(ErrorResponse(reply_to, shown)))

    def encode_request(self, operation: Operation, request: Any, target: Target) -> HttpRequest:
        if operation not in self._names:
            raise MethodNotFoundError(f"There is no {operation.name} in JSON-RPC of version {self.version}")
        params = self.requests[operation].write(addressed(request, target))
        headers = headers_of(target.parameters, self.version)
        headers["content-type"] = "application/json"
        headers["accept"] = "text/event-stream, application/json" if operation.streams else "application/json"
        return HttpRequest("POST", "", "", headers, _encode(_Request(_ID, self._names[operation], params)))

    def decode_result(self, operation: Operation, reply: HttpReply) -> Any:
        if not 200 <= reply.status < 300:  # noqa: PLR2004 -- the range of success
            raise failure_of(reply)
        return self._decode(operation, reply.body)

    def decode_event(self, operation: Operation, data: str | bytes) -> StreamEvent:
        event: StreamEvent = self._decode(operation, data if isinstance(data, bytes) else data.encode(errors="replace"))
        return event

    def _decode(self, operation: Operation, body: bytes) -> Any:
        codec = self.results[operation]
        try:
            response = _response.decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            response = None
        if response is not None:
            if response.error is not UNSET and bytes(response.error) != b"null":
                raise _error_in(body)
            if codec is None:
                return None
            if response.result is not UNSET:
                return codec.decode(response.result)
        raise ReplyMalformed("The agent answered no JSON-RPC response", body[:200].decode(errors="replace"))


def _error_in(body: bytes) -> A2AError | ReplyMalformed:
    try:
        error = read_failure(parse_json(body))
    except A2AError:
        error = None
    return error or ReplyMalformed("The agent's error cannot be read", body[:200].decode(errors="replace"))


def _unsupported(stated: str) -> A2AError:
    return ContentTypeNotSupportedError(
        f"The request's content type is {stated[:100]}; it must be application/json or application/a2a+json"
    )
