"""The HTTP+JSON binding, whatever the version: a version has its own routes, codecs, and form of errors.

Paths are relative to the interface URL, optionally with one segment in front that names the tenant; the tenant of the
path wins over that of the body or the query. What the path names wins likewise.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, cast
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target, addressed
from dragoman.dialects.codec import Codec, parse_json
from dragoman.dialects.failures import (
    BESIDE_RESULT,
    JSON_TYPES,
    failure_of,
    media_type,
    read_failure,
)
from dragoman.dialects.parameters import headers_of, parameters_of
from dragoman.dialects.routes import Route, Routes
from dragoman.dialects.sse import frame
from dragoman.dialects.status import status_of
from dragoman.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    MethodNotFoundError,
    ReplyMalformed,
)
from dragoman.operations import Operation
from dragoman.types.events import StreamEvent

__all__ = ["A2A_JSON", "PLAIN_JSON", "RestBinding"]

A2A_JSON = "application/a2a+json"
PLAIN_JSON = "application/json"
_MAX_QUERY_MEMBERS = 100

_encode = msgspec.json.Encoder().encode


class _ReplyTo(msgspec.Struct, frozen=True):
    """The media type of a success, and for a wrong verb the verbs that there are."""

    media_type: str
    allow: str = ""


class RestBinding(ABC):
    """A dialect made of tables; an operation without a route does not exist.

    `Call.reply_to` is the media type of a success, and for a wrong verb the verbs that there are.
    """

    key: str
    binding = "HTTP+JSON"
    version: str

    routes: ClassVar[Routes]
    requests: ClassVar[Mapping[Operation, Codec[Any, Any]]]
    results: ClassVar[Mapping[Operation, Codec[Any, Any] | None]]

    @abstractmethod
    def error_body(self, error: A2AError, http: int) -> Any:
        """The body that says the error; `http` is the status that it is sent with."""

    def answer_type(self, accept: str) -> str:  # noqa: ARG002 -- for versions that have more than one
        """The media type of a success, by what the caller accepts."""
        return PLAIN_JSON

    error_type = PLAIN_JSON
    """The media type of errors."""

    def http_status(self, error: A2AError) -> int:
        return status_of(error).http

    def body_of(self, operation: Operation, members: dict[str, Any]) -> Any:  # noqa: ARG002 -- for versions to which it matters
        """What a client puts into a body, given the members of the request."""
        return members

    def decode_request(self, request: HttpRequest) -> Call | Refusal:
        reply_to = _ReplyTo(self.answer_type(request.headers.get("accept", "")))
        try:
            routes, members = self.routes.find(request.path)
            route = next((route for route in routes if request.method in route.verbs), None)
            if route is None:
                return _no_route(request, routes, reply_to)
            value = _decode(self.requests[route.operation], members, request)
        except A2AError as error:
            return Refusal(error, reply_to)
        return Call(route.operation, value, parameters_of(request.headers, self.version), reply_to)

    def encode_result(self, call: Call, result: Any) -> HttpReply:
        codec = self.results[call.operation]
        body = b"{}" if codec is None else _encode(codec.write(result))
        media = call.reply_to.media_type if isinstance(call.reply_to, _ReplyTo) else self.answer_type("")
        return HttpReply(200, {"content-type": media, **BESIDE_RESULT.get(call.operation, {})}, body)

    def encode_event(self, call: Call, event: StreamEvent, seq: int | None) -> bytes:
        codec = self.results[call.operation]
        assert codec is not None
        return frame(_encode(codec.write(event)), seq=seq)

    def encode_stream_error(self, call: Call, error: A2AError) -> bytes:
        return frame(self.encode_error(error, call.reply_to).body, event="error")

    def encode_error(self, error: A2AError, reply_to: Any) -> HttpReply:
        # A refusal for another reason, the version say, tells of that reason.
        allow = reply_to.allow if isinstance(reply_to, _ReplyTo) and isinstance(error, MethodNotFoundError) else ""
        http = 405 if allow else self.http_status(error)
        headers = {"content-type": self.error_type}
        if allow:
            headers["allow"] = allow
        return HttpReply(http, headers, _encode(self.error_body(error, http)))

    def encode_request(self, operation: Operation, request: Any, target: Target) -> HttpRequest:
        route = self.routes.of(operation)
        members: dict[str, Any] = msgspec.to_builtins(self.requests[operation].write(addressed(request, target)))
        tenant = members.pop("tenant", "")
        path = "/" + "/".join(([quote(tenant, safe="")] if tenant else []) + [route.path_of(members)])
        headers = headers_of(target.parameters, self.version)
        headers["accept"] = "text/event-stream, application/json" if operation.streams else f"{A2A_JSON}, {PLAIN_JSON}"
        if route.verbs[0] != "POST":
            given = {name: value for name, value in members.items() if name not in route.names}
            return HttpRequest(route.verbs[0], path, _query(given), headers)
        headers["content-type"] = PLAIN_JSON
        return HttpRequest("POST", path, "", headers, _encode(self.body_of(operation, members)))

    def decode_result(self, operation: Operation, reply: HttpReply) -> Any:
        if not 200 <= reply.status < 300:  # noqa: PLR2004 -- the range of success
            raise failure_of(reply)
        codec = self.results[operation]
        if codec is None:
            return None
        try:
            return codec.decode(reply.body)
        except ReplyMalformed as malformed:
            raise _error_in(reply.body) or malformed from None

    def decode_event(self, operation: Operation, data: str | bytes) -> StreamEvent:
        codec = self.results[operation]
        assert codec is not None
        body = data if isinstance(data, bytes) else data.encode(errors="replace")
        try:
            event: StreamEvent = codec.decode(body)
        except ReplyMalformed as malformed:
            raise _error_in(body) or malformed from None
        return event


def _error_in(body: bytes) -> A2AError | None:
    try:
        return read_failure(parse_json(body))
    except A2AError:
        return None


def _no_route(request: HttpRequest, routes: tuple[Route, ...], reply_to: _ReplyTo) -> Refusal:
    if not routes:
        return Refusal(MethodNotFoundError(f"There is nothing at {request.path[:100] or '/'}"), reply_to)
    verbs = ", ".join(sorted({verb for route in routes for verb in route.verbs}))
    error = MethodNotFoundError(f"{request.method[:20]} is not possible here, only {verbs}")
    return Refusal(error, msgspec.structs.replace(reply_to, allow=verbs))


def _decode(codec: Codec[Any, Any], members: dict[str, str], request: HttpRequest) -> Any:
    """The request made of body, query and path; what stands in the path counts before the others."""
    query = _read_query(request.query) if request.query else {}
    if request.method != "POST":
        return codec.convert(query | members, text=True)
    if request.body and media_type(request.headers) not in JSON_TYPES and "content-type" in request.headers:
        raise ContentTypeNotSupportedError(
            f"The request's content type is {request.headers['content-type'][:100]}; "
            f"it must be {PLAIN_JSON} or {A2A_JSON}"
        )
    tenant = members.get("tenant") or query.get("tenant")
    if request.body and not (members.keys() - {"tenant"}):
        value = codec.decode(request.body)
        if tenant and (not value.tenant or "tenant" in members):
            value = msgspec.structs.replace(value, tenant=tenant)
        return value
    body = _read_body(request.body)
    if tenant and "tenant" not in members and not body.get("tenant"):
        body["tenant"] = tenant
    return codec.convert(body | members)


def _read_body(body: bytes) -> dict[str, Any]:
    value = parse_json(body) if body.strip() else None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidParamsError("The body must be a JSON object")
    return cast("dict[str, Any]", value)


def _read_query(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, errors="strict", max_num_fields=_MAX_QUERY_MEMBERS)
    except ValueError as error:
        raise InvalidParamsError(f"The query cannot be read: {error}") from None
    return dict(pairs)


def _query(members: dict[str, Any]) -> str:
    text = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in members.items()}
    return urlencode(text, quote_via=quote, safe="")
