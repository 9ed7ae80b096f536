"""A2A 0.3 over HTTP+JSON: the routes of the proto's annotations, and its ProtoJSON as the official SDKs deploy it.

Their servers and clients disagree about the verb of a subscription; both are taken, and GET is sent.
"""

from typing import Any

import msgspec

from dragoman import operations
from dragoman.dialects.failures import object_of, sendable
from dragoman.dialects.rest import RestBinding
from dragoman.dialects.routes import Route, Routes
from dragoman.dialects.status import HTTP_0_3, status_of
from dragoman.dialects.v0_3.codecs import PROTO_REQUESTS, PROTO_RESULTS
from dragoman.errors import A2AError
from dragoman.operations import Operation

__all__ = ["Rest"]

_CONFIGS = "v1/tasks/{taskId}/pushNotificationConfigs"


class _Error(msgspec.Struct, omit_defaults=True):
    code: int
    message: str
    type: str
    data: Any = []


class Rest(RestBinding):
    """HTTP+JSON, version 0.3."""

    key = "0.3/HTTP+JSON"
    version = "0.3"

    routes = Routes(
        Route(operations.SEND_MESSAGE, ("POST",), "v1/message:send"),
        Route(operations.SEND_STREAMING_MESSAGE, ("POST",), "v1/message:stream"),
        Route(operations.GET_TASK, ("GET",), "v1/tasks/{id}"),
        Route(operations.LIST_TASKS, ("GET",), "v1/tasks"),
        Route(operations.CANCEL_TASK, ("POST",), "v1/tasks/{id}:cancel"),
        Route(operations.SUBSCRIBE_TO_TASK, ("GET", "POST"), "v1/tasks/{id}:subscribe"),
        Route(operations.CREATE_PUSH_CONFIG, ("POST",), _CONFIGS),
        Route(operations.LIST_PUSH_CONFIGS, ("GET",), _CONFIGS),
        Route(operations.GET_PUSH_CONFIG, ("GET",), f"{_CONFIGS}/{{id}}"),
        Route(operations.DELETE_PUSH_CONFIG, ("DELETE",), f"{_CONFIGS}/{{id}}"),
        Route(operations.GET_EXTENDED_AGENT_CARD, ("GET",), "v1/card"),
    )
    requests = PROTO_REQUESTS
    results = PROTO_RESULTS

    def http_status(self, error: A2AError) -> int:
        status = status_of(error)
        return HTTP_0_3.get(status.error, status.http)

    def error_body(self, error: A2AError, http: int) -> Any:  # noqa: ARG002 -- the code is that of JSON-RPC
        status = status_of(error)
        return _Error(status.code, sendable(error.message), status.error.__name__, object_of(error) or [])

    def body_of(self, operation: Operation, members: dict[str, Any]) -> Any:
        """As the proto has it: servers of official SDKs refuse members that it does not know."""
        given = {name: value for name, value in members.items() if name not in self.routes.of(operation).names}
        return {"name": f"tasks/{members['id']}", **given} if operation is operations.CANCEL_TASK else given
