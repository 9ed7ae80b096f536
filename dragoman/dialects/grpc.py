"""The gRPC binding, whatever the version (specification section 10): a version has its own service, codecs and data of
errors.

A body is one message without its prefix. A result is a reply with `grpc-status` 0; an error is one without a body,
with its status, its text, and in `grpc-status-details-bin` what programs read. `Call.reply_to` is None.
"""

import re
from abc import ABC
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from urllib.parse import quote, unquote

import pybase64

from dragoman import _proto, errors, operations
from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target, addressed
from dragoman.dialects.failures import DOMAIN, metadata_of, sendable
from dragoman.dialects.parameters import headers_of, last_event_in_metadata, parameters_of
from dragoman.dialects.protobuf import Codec
from dragoman.dialects.status import named_error, status_of
from dragoman.errors import A2AError, FieldViolation, MethodNotFoundError, ReplyMalformed
from dragoman.operations import Operation
from dragoman.types.events import StreamEvent

__all__ = ["STATUSES", "GrpcBinding", "error_headers"]

STATUSES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)
"""The names of gRPC statuses, in the order of their numbers."""

MAX_TEXT = 1_000
MAX_DETAILS = 4_096
"""Characters of an error's text and bytes of its details: a reader takes 8 KiB of metadata, as a rule."""

_NUMBERS = {name: number for number, name in enumerate(STATUSES)}
_PLAIN = " !\"#$&'()*+,/:;<=>?@[\\]^`{|}"
_NAMED = re.compile(r"(\w+Error): (.*)", re.DOTALL)
_OF_STATUS: dict[str, type[A2AError]] = {
    "INVALID_ARGUMENT": errors.InvalidParamsError,
    "FAILED_PRECONDITION": errors.UnsupportedOperationError,
    "DEADLINE_EXCEEDED": errors.UnavailableError,
}
"""What statuses mean that are not themselves names of errors, where nothing says more."""
_OK = {"grpc-status": "0"}


class GrpcBinding(ABC):
    """A dialect made of tables; an operation without a method does not exist, of several a client uses the first.

    `texts` says that errors have their name in their text, where some clients of 0.3 look for it; others look at the
    details, which all errors have.
    """

    key: str
    binding = "GRPC"
    version: str

    service: ClassVar[str]
    methods: ClassVar[Mapping[str, Operation]]
    requests: ClassVar[Mapping[Operation, Codec]]
    results: ClassVar[Mapping[Operation, Codec | None]]
    statuses: ClassVar[Mapping[type[A2AError], str]] = {}
    texts: ClassVar[bool] = False

    paths: ClassVar[Mapping[str, Operation]]
    """The operation behind each path, `/package.Service/Method`."""
    _path_of: ClassVar[Mapping[Operation, str]]

    def __init_subclass__(cls) -> None:
        cls.paths = {f"/{cls.service}/{method}": operation for method, operation in cls.methods.items()}
        cls._path_of = {operation: path for path, operation in reversed(cls.paths.items())}

    def decode_request(self, request: HttpRequest) -> Call | Refusal:
        operation = self.paths.get(request.path)
        if operation is None:
            return Refusal(MethodNotFoundError(f"Method not found: {request.path[:100]}"))
        try:
            value = self.requests[operation].decode(request.body)
        except A2AError as error:
            return Refusal(error)
        return Call(operation, value, parameters_of(request.headers, self.version))

    def encode_result(self, call: Call, result: Any) -> HttpReply:
        codec = self.results[call.operation]
        return HttpReply(200, dict(_OK), b"" if codec is None else codec.encode(result))

    def encode_event(self, call: Call, event: StreamEvent, seq: int | None) -> bytes:  # noqa: ARG002 -- gRPC has no event ids
        codec = self.results[call.operation]
        assert codec is not None
        return codec.encode(event)

    def encode_stream_error(self, call: Call, error: A2AError) -> bytes:  # noqa: ARG002 -- trailers say it
        return b""

    def encode_error(self, error: A2AError, reply_to: Any) -> HttpReply:  # noqa: ARG002 -- nothing to reply to
        row = status_of(error)
        number = _NUMBERS[self.statuses.get(row.error, row.grpc)]
        text = f"{row.error.__name__}: {error.message}" if self.texts else error.message
        return HttpReply(200, error_headers(number, text, _details(number, error, row.error.reason)))

    def encode_request(self, operation: Operation, request: Any, target: Target) -> HttpRequest:
        codec = self.requests.get(operation)
        if codec is None:
            raise MethodNotFoundError(f"There is no {operation.name} in gRPC of version {self.version}")
        body = codec.encode(addressed(request, target))
        headers = last_event_in_metadata(headers_of(target.parameters, self.version))
        return HttpRequest("POST", self._path_of[operation], "", headers, body)

    def decode_result(self, operation: Operation, reply: HttpReply) -> Any:
        if reply.headers.get("grpc-status") != "0":
            raise _failure(operation, reply.headers)
        codec = self.results[operation]
        return None if codec is None else codec.decode(reply.body)

    def decode_event(self, operation: Operation, data: str | bytes) -> StreamEvent:
        codec = self.results[operation]
        assert codec is not None
        event: StreamEvent = codec.decode(data if isinstance(data, bytes) else data.encode(errors="replace"))
        return event


def error_headers(number: int, text: str, details: bytes = b"") -> dict[str, str]:
    """The metadata that say a status: its number, the text percent-encoded and cut to `MAX_TEXT` characters, and the
    serialized google.rpc.Status, if any, in base64.
    """
    headers = {"grpc-status": str(number), "grpc-message": quote(sendable(text[:MAX_TEXT]), safe=_PLAIN)}
    if details:
        headers["grpc-status-details-bin"] = pybase64.b64encode(details).decode().rstrip("=")
    return headers


def _details(number: int, error: A2AError, reason: str) -> bytes:
    """The google.rpc.Status of an error. Of details that are too long only the reason is kept."""
    info = _proto.message("google.rpc.ErrorInfo")(reason=reason, domain=DOMAIN)
    full = _proto.message("google.rpc.ErrorInfo")(reason=reason, domain=DOMAIN, metadata=metadata_of(error))
    packed = [full]
    if error.violations:
        violations = [
            {"field": sendable(violation.field), "description": sendable(violation.description)}
            for violation in error.violations
        ]
        packed.append(_proto.message("google.rpc.BadRequest")(field_violations=violations))
    if isinstance(error, errors.UnavailableError) and error.retry_after is not None:
        seconds, rest = divmod(error.retry_after, 1)
        delay = {"seconds": int(seconds), "nanos": int(rest * 1_000_000_000)}
        packed.append(_proto.message("google.rpc.RetryInfo")(retry_delay=delay))
    serialized = _status(number, error, packed)
    return serialized if len(serialized) <= MAX_DETAILS else _status(number, error, [info])


def _status(number: int, error: A2AError, details: list[Any]) -> bytes:
    status = _proto.message("google.rpc.Status")(code=number, message=sendable(error.message[:MAX_TEXT]))
    for detail in details:
        status.details.add().Pack(detail)
    serialized: bytes = status.SerializeToString()
    return serialized


def _failure(operation: Operation, headers: Mapping[str, str]) -> A2AError | ReplyMalformed:
    """The error that metadata say: by its reason, else by its name in the text, else by the status."""
    given = headers.get("grpc-status", "")
    if not given.isdecimal() or not given.isascii():
        return ReplyMalformed("The agent's answer has no gRPC status", given)
    status = STATUSES[int(given)] if len(given) < 3 and int(given) < len(STATUSES) else "UNKNOWN"  # noqa: PLR2004 -- two digits
    text = unquote(headers.get("grpc-message", ""), errors="replace")
    details: dict[str, Any] = {}
    violations: list[FieldViolation] = []
    kind = None
    for reason in _read_details(headers.get("grpc-status-details-bin", ""), details, violations):
        kind = named_error(reason) or kind
    named = _NAMED.fullmatch(text)
    spoken = None if named is None else named_error(named[1])
    if named is not None and spoken is not None and kind in {None, spoken}:
        kind, text = spoken, named[2]
    if kind is None and status == "FAILED_PRECONDITION" and operation is operations.CANCEL_TASK:
        kind = errors.TaskNotCancelableError
    kind = kind or _OF_STATUS.get(status) or named_error(status) or errors.InternalError
    return kind(text or None, details=details, violations=violations)


def _read_details(encoded: str, details: dict[str, Any], violations: list[FieldViolation]) -> Iterator[str]:
    """The reasons in a google.rpc.Status; adds what it says besides. What cannot be read says nothing."""
    try:
        serialized = pybase64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
        status = _proto.parse("google.rpc.Status", serialized)
        for packed in status.details:
            match packed.type_url.rpartition("/")[2]:
                case "google.rpc.ErrorInfo" as name:
                    info = _proto.parse(name, packed.value)
                    details |= dict(info.metadata)
                    yield info.reason
                case "google.rpc.BadRequest" as name:
                    named = _proto.parse(name, packed.value).field_violations
                    violations += [FieldViolation(violation.field, violation.description) for violation in named]
                case _:
                    pass
    except ValueError:
        return
