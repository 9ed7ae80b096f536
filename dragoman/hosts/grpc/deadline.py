"""How long a caller waits (PROTOCOL-HTTP2, "Timeout")."""

import re

from dragoman.hosts.grpc.status import Code, Fault

__all__ = ["timeout_of"]

_TIMEOUT = re.compile(r"([0-9]{1,8})([HMSmun])", re.ASCII)
_SECONDS = {"H": 3600.0, "M": 60.0, "S": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9}


def timeout_of(headers: dict[str, str]) -> float | None:
    """Seconds from the arrival of the request to the caller's deadline; None if the caller has none.

    Raises:
        Fault: what the caller says is no time.
    """
    stated = headers.get("grpc-timeout")
    if stated is None:
        return None
    found = _TIMEOUT.fullmatch(stated)
    if found is None:
        raise Fault(Code.INTERNAL, "grpc-timeout is not 1 to 8 digits and one of H, M, S, m, u, n")
    return int(found[1]) * _SECONDS[found[2]]
