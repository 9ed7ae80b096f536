"""A2A 1.0 over HTTP+JSON (specification section 11)."""

from typing import Any, Literal

import msgspec

from dragoman import operations
from dragoman.dialects.failures import details_of, sendable
from dragoman.dialects.rest import A2A_JSON, PLAIN_JSON, RestBinding
from dragoman.dialects.routes import Route, Routes
from dragoman.dialects.status import status_of
from dragoman.dialects.v1_0.codecs import REQUESTS, RESULTS
from dragoman.errors import A2AError

__all__ = ["Rest"]

_CONFIGS = "tasks/{taskId}/pushNotificationConfigs"

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


class _Status(msgspec.Struct):
    """google.rpc.Status as JSON, with the HTTP status as code."""

    code: int
    status: str
    message: str
    details: list[Any]


class _ErrorBody(msgspec.Struct):
    error: _Status


class Rest(RestBinding):
    """HTTP+JSON, version 1.0. Successes are `application/a2a+json` unless the caller accepts `application/json` and
    not that; with `media_type="json"` they are always `application/json`.
    """

    key = "1.0/HTTP+JSON"
    version = "1.0"

    routes = _ROUTES
    requests = REQUESTS
    results = RESULTS

    def __init__(self, media_type: Literal["accept", "json"] = "accept") -> None:
        self._by_accept = media_type == "accept"

    def answer_type(self, accept: str) -> str:
        if self._by_accept and (A2A_JSON in accept or PLAIN_JSON not in accept):
            return A2A_JSON
        return PLAIN_JSON

    def error_body(self, error: A2AError, http: int) -> Any:
        status = status_of(error)
        return _ErrorBody(
            _Status(http, status.grpc, sendable(error.message), [*details_of(error, status.error.reason)])
        )
