"""A2A 1.0 over HTTP+JSON (specification section 11).

Paths are relative to the interface URL, optionally with one segment in front that names the tenant; the tenant of the
path wins over that of the body or the query. What the path names wins likewise.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, cast
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from dragoman import operations
from dragoman.dialects.base import Call, HttpReply, HttpRequest, Refusal, Target, addressed
from dragoman.dialects.codec import Codec, parse_json
from dragoman.dialects.failures import (
    BESIDE_RESULT,
    JSON_TYPES,
    details_of,
    failure_of,
    media_type,
    read_failure,
    sendable,
)
from dragoman.dialects.parameters import headers_of, parameters_of
from dragoman.dialects.routes import Route, Routes
from dragoman.dialects.sse import frame
from dragoman.dialects.status import status_of
from dragoman.dialects.v1_0.codecs import REQUESTS, RESULTS
from dragoman.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InvalidParamsError,
    MethodNotFoundError,
    ReplyMalformed,
)
from dragoman.operations import Operation
from dragoman.types.events import StreamEvent

__all__ = ["Rest"]

A2A_JSON = "application/a2a+json"
PLAIN_JSON = "application/json"
_CONFIGS = "tasks/{taskId}/pushNotificationConfigs"
_MAX_QUERY_MEMBERS = 100

_ROUTES = Routes(
    Route(operations.SEND_MESSAGE, ("POST",), "message:send"),
    Route(operations.SEND_STREAMING_MESSAGE, ("POST",), "message:stream"),
    Route(operations.GET_TASK, ("GET",), "tasks/{id}"),
    Route(operations.LIST_TASKS, ("GET",), "tasks"),
    Route(operations.CANCEL_TASK, ("POST",), "tasks/{id}:cancel"),
    Route(operations.SUBSCRIBE_TO_TASK, ("POST", "GET"), "tasks/{id}:subscribe"),
    Route(operations.CREATE_PUSH_CONFIG, ("POST",), _CONFIGS),
    Route(operations.LIST_PUSH_CONFIGS, ("GET",), _CONFIGS),
    Route(operations.GET_PUSH_CONFIG, ("GET",), f"{_CONFIGS}/{{id}}"),
    Route(operations.DELETE_PUSH_CONFIG, ("DELETE",), f"{_CONFIGS}/{{id}}"),
    Route(operations.GET_EXTENDED_AGENT_CARD, ("GET",), "extendedAgentCard"),
)

_encode = msgspec.json.Encoder().encode


class _ReplyTo(msgspec.Struct, frozen=True):
    """The media type of a success, and for a wrong verb the verbs that there are."""

    media_type: str
    allow: str = ""


class _Status(msgspec.Struct):
    """google.rpc.Status as JSON, with the HTTP status as code."""

    code: int
    status: str
    message: str
    details: list[Any]


class _ErrorBody(msgspec.Struct):
    error: _Status


class Rest:
    """HTTP+JSON, version 1.0. Successes are `application/a2a+json` unless the caller accepts `application/json` and
    not that; with `media_type="json"` they are always `application/json`.
    """

    key = "1.0/HTTP+JSON"
    binding = "HTTP+JSON"
    version = "1.0"

    routes: ClassVar[Routes] = _ROUTES
    _requests: ClassVar[Mapping[Operation, Codec[Any, Any]]] = REQUESTS
    _results: ClassVar[Mapping[Operation, Codec[Any, Any] | None]] = RESULTS

    def __init__(self, media_type: Literal["accept", "json"] = "accept") -> None:
        self._by_accept = media_type == "accept"

    def decode_request(self, request: HttpRequest) -> Call | Refusal:
        reply_to = _ReplyTo(self._answer_type(request.headers.get("accept", "")))
        try:
            routes, members = self.routes.find(request.path)
            route = next((route for route in routes if request.method in route.verbs), None)
            if route is None:
                return _no_route(request, routes, reply_to)
            value = _decode(self._requests[route.operation], members, request)
        except A2AError as error:
            return Refusal(error, reply_to)
        return Call(route.operation, value, parameters_of(request.headers, self.version), reply_to)

    def _answer_type(self, accept: str) -> str:
        if self._by_accept and (A2A_JSON in accept or PLAIN_JSON not in accept):
            return A2A_JSON
        return PLAIN_JSON

    def encode_result(self, call: Call, result: Any) -> HttpReply:
        codec = self._results[call.operation]
        body = b"{}" if codec is None else _encode(codec.write(result))
        media = call.reply_to.media_type if isinstance(call.reply_to, _ReplyTo) else self._answer_type("")
        return HttpReply(200, {"content-type": media, **BESIDE_RESULT.get(call.operation, {})}, body)

    def encode_event(self, call: Call, event: StreamEvent, seq: int | None) -> bytes:
        codec = self._results[call.operation]
        assert codec is not None
        return frame(_encode(codec.write(event)), seq=seq)

    def encode_stream_error(self, call: Call, error: A2AError) -> bytes:
        return frame(self.encode_error(error, call.reply_to).body, event="error")

    def encode_error(self, error: A2AError, reply_to: Any) -> HttpReply:
        status = status_of(error)
        # A refusal for another reason, the version say, tells of that reason.
        allow = reply_to.allow if isinstance(reply_to, _ReplyTo) and isinstance(error, MethodNotFoundError) else ""
        http = 405 if allow else status.http
        shown = _Status(http, status.grpc, sendable(error.message), [*details_of(error, status.error.reason)])
        headers = {"content-type": PLAIN_JSON}
        if allow:
            headers["allow"] = allow
        return HttpReply(http, headers, _encode(_ErrorBody(shown)))

    def encode_request(self, operation: Operation, request: Any, target: Target) -> HttpRequest:
        route = self.routes.of(operation)
        members: dict[str, Any] = msgspec.to_builtins(self._requests[operation].write(addressed(request, target)))
        tenant = members.pop("tenant", "")
        path = "/" + "/".join(([quote(tenant, safe="")] if tenant else []) + [route.path_of(members)])
        headers = headers_of(target.parameters, self.version)
        headers["accept"] = "text/event-stream, application/json" if operation.streams else f"{A2A_JSON}, {PLAIN_JSON}"
        if route.verbs[0] != "POST":
            given = {name: value for name, value in members.items() if name not in route.names}
            return HttpRequest(route.verbs[0], path, _query(given), headers)
        headers["content-type"] = PLAIN_JSON
        return HttpRequest("POST", path, "", headers, _encode(members))

    def decode_result(self, operation: Operation, reply: HttpReply) -> Any:
        if not 200 <= reply.status < 300:  # noqa: PLR2004 -- the range of success
            raise failure_of(reply)
        codec = self._results[operation]
        if codec is None:
            return None
        try:
            return codec.decode(reply.body)
        except ReplyMalformed as malformed:
            raise _error_in(reply.body) or malformed from None

    def decode_event(self, operation: Operation, data: str | bytes) -> StreamEvent:
        codec = self._results[operation]
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
