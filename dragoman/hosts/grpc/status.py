"""How a gRPC call ends where no dialect has a word for it (gRPC's status codes; PROTOCOL-HTTP2, "Responses")."""

import enum
from collections.abc import Mapping

from dragoman.dialects.grpc import error_headers

__all__ = ["OK", "Code", "Fault", "Fields", "fields", "trailers"]

Fields = list[tuple[bytes, bytes]]
"""Header fields or trailers as ASGI has them."""


class Code(enum.IntEnum):
    """The statuses that a host gives on its own."""

    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14


class Fault(Exception):
    """The call is none, or cannot go on: a status and what to tell the caller."""

    def __init__(self, code: Code, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)


OK: Fields = [(b"grpc-status", b"0")]


def trailers(code: Code, message: str) -> Fields:
    """The end of a call that went wrong."""
    return fields(error_headers(code, message))


def fields(headers: Mapping[str, str]) -> Fields:
    """Header fields as ASGI wants them."""
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
