"""The 1.0 draft over JSON-RPC (draft section 9): PascalCase methods, results wrapped as over HTTP+JSON (conflict C7).

Deviations: a blocking SendMessage returns when the task is interrupted too, not only when it is terminal, as nothing
would come before the caller has answered. The push operation that the draft sets is also understood by the name that
its appendix gives, and so is the plural of the one that lists.
"""

from typing import Any

from dragoman import operations
from dragoman.dialects.base import Call, HttpRequest, Refusal
from dragoman.dialects.draft.codecs import REQUESTS, RESULTS
from dragoman.dialects.draft.failures import as_sent, data_of
from dragoman.dialects.jsonrpc import JsonRpcBinding
from dragoman.dialects.status import Status
from dragoman.errors import A2AError
from dragoman.operations import OPERATIONS

__all__ = ["JsonRpc"]

_NAMES = {
    operations.CREATE_PUSH_CONFIG: "SetTaskPushNotificationConfig",
    operations.LIST_PUSH_CONFIGS: "ListTaskPushNotificationConfig",
}


class JsonRpc(JsonRpcBinding):
    """JSON-RPC, version 1.0 as the draft had it."""

    key = "draft/JSONRPC"
    version = "1.0"

    methods = {_NAMES.get(operation, operation.name): operation for operation in OPERATIONS} | {
        operation.name: operation for operation in OPERATIONS
    }
    requests = REQUESTS
    results = RESULTS

    def error_data(self, error: A2AError, status: Status) -> Any:  # noqa: ARG002 -- codes say which error it is
        return data_of(error) or []

    def decode_request(self, request: HttpRequest) -> Call | Refusal:
        return as_sent(super().decode_request(request))
