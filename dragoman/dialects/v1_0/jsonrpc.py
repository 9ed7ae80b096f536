"""A2A 1.0 over JSON-RPC (specification section 9): method names are the operations' names, params their requests."""

from typing import Any

from dragoman.dialects.failures import details_of
from dragoman.dialects.jsonrpc import JsonRpcBinding
from dragoman.dialects.status import Status
from dragoman.dialects.v1_0.codecs import REQUESTS, RESULTS
from dragoman.errors import A2AError
from dragoman.operations import OPERATIONS

__all__ = ["JsonRpc"]


class JsonRpc(JsonRpcBinding):
    """JSON-RPC, version 1.0."""

    key = "1.0/JSONRPC"
    version = "1.0"

    methods = {operation.name: operation for operation in OPERATIONS}  # noqa: RUF012 -- declared as class variable above
    requests = REQUESTS
    results = RESULTS

    def error_data(self, error: A2AError, status: Status) -> Any:
        return [*details_of(error, status.error.reason)]
