"""A2A 1.0 over gRPC: service `lf.a2a.v1.A2AService`, whose methods are named as the operations."""

from dragoman.dialects.grpc import GrpcBinding
from dragoman.dialects.v1_0.messages import REQUESTS, RESULTS
from dragoman.operations import OPERATIONS

__all__ = ["Grpc"]


class Grpc(GrpcBinding):
    """gRPC, version 1.0."""

    key = "1.0/GRPC"
    version = "1.0"

    service = "lf.a2a.v1.A2AService"
    methods = {operation.name: operation for operation in OPERATIONS}  # noqa: RUF012 -- a table, as the class it fills says
    requests = REQUESTS
    results = RESULTS
