"""The 1.0 draft over HTTP+JSON (draft section 11): every path begins with `v1`, errors are problem documents.

Lists may be asked for with a body too, as the examples of draft section 6.5 do (conflict C6). Deviation: a blocking
SendMessage returns when the task is interrupted too, not only when it is terminal.
"""

from typing import Any, Literal

from dragoman import operations
from dragoman.dialects.base import Call, HttpRequest, Refusal
from dragoman.dialects.draft.codecs import REQUESTS, RESULTS
from dragoman.dialects.draft.failures import as_sent, problem_of
from dragoman.dialects.rest import A2A_JSON, PLAIN_JSON, RestBinding
from dragoman.dialects.routes import Route, Routes
from dragoman.dialects.status import HTTP_DRAFT, status_of
from dragoman.errors import A2AError

__all__ = ["Rest"]

_CONFIGS = "v1/tasks/{taskId}/pushNotificationConfigs"

_ROUTES = Routes(
    Route(operations.SEND_MESSAGE, ("POST",), "v1/message:send"),
    Route(operations.SEND_STREAMING_MESSAGE, ("POST",), "v1/message:stream"),
    Route(operations.GET_TASK, ("GET",), "v1/tasks/{id}"),
    Route(operations.LIST_TASKS, ("GET", "POST"), "v1/tasks"),
    Route(operations.LIST_TASKS, ("POST",), "v1/tasks/list"),
    Route(operations.CANCEL_TASK, ("POST",), "v1/tasks/{id}:cancel"),
    Route(operations.SUBSCRIBE_TO_TASK, ("POST", "GET"), "v1/tasks/{id}:subscribe"),
    Route(operations.CREATE_PUSH_CONFIG, ("POST",), _CONFIGS),
    Route(operations.LIST_PUSH_CONFIGS, ("GET",), _CONFIGS),
    Route(operations.GET_PUSH_CONFIG, ("GET",), f"{_CONFIGS}/{{configId}}"),
    Route(operations.DELETE_PUSH_CONFIG, ("DELETE",), f"{_CONFIGS}/{{configId}}"),
    Route(operations.GET_EXTENDED_AGENT_CARD, ("GET",), "v1/extendedAgentCard"),
)


class Rest(RestBinding):
    """HTTP+JSON, version 1.0 as the draft had it; media types of successes as in 1.0."""

    key = "draft/HTTP+JSON"
    version = "1.0"

    routes = _ROUTES
    requests = REQUESTS
    results = RESULTS
    error_type = "application/problem+json"

    def __init__(self, media_type: Literal["accept", "json"] = "accept") -> None:
        self._by_accept = media_type == "accept"

    def answer_type(self, accept: str) -> str:
        return A2A_JSON if self._by_accept and (A2A_JSON in accept or PLAIN_JSON not in accept) else PLAIN_JSON

    def http_status(self, error: A2AError) -> int:
        return HTTP_DRAFT.get(status_of(error).error, super().http_status(error))

    def error_body(self, error: A2AError, http: int) -> Any:
        return problem_of(error, status_of(error).error, http)

    def decode_request(self, request: HttpRequest) -> Call | Refusal:
        return as_sent(super().decode_request(request))
