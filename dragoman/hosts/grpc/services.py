"""What gRPC offers beside the operations, for balancers and tools: health and server reflection."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence

from dragoman.engine.service import Service
from dragoman.hosts.binding import Receive
from dragoman.hosts.grpc.health import Health
from dragoman.hosts.grpc.reflection import Reflection
from dragoman.hosts.grpc.response import Response

__all__ = ["GrpcServices"]

Method = Callable[[AsyncIterator[bytes], Receive, Response], Awaitable[None]]
"""Reads the messages of one call and writes those of its answer, but not its end."""


class GrpcServices:
    """The methods of gRPC's own services, which speak of the `served` ones: their full names."""

    def __init__(self, service: Service, served: Sequence[str]) -> None:
        health, reflection = Health(service, served), Reflection(served)
        self._methods: Mapping[str, Method] = {
            "/grpc.health.v1.Health/Check": health.check,
            "/grpc.health.v1.Health/List": health.list,
            "/grpc.health.v1.Health/Watch": health.watch,
            "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo": reflection.info,
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": reflection.info,
        }

    def method(self, path: str) -> Method | None:
        """The method with this full path, if there is one."""
        return self._methods.get(path)
