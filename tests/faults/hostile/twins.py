"""The same agent without one of its defences, by the group of inputs that must show it."""

import sys
from typing import Any

import msgspec

from dragoman import CallLimits, ConnectionLimits

__all__ = ["BROKEN", "break_it", "calls", "connections"]

BROKEN = {
    "oversized": "a head that is too long",
    "deep": "data that are a little too deep",
    "slow": "half a head",
    "malformed": "a field of a connection",
    "fields": "two hosts",
    "smuggling": "another coding below chunks",
    "tokens": "a token for an identity",
    "keys": "a password with a NUL behind it",
    "operations": "a message of too many parts",
    "methods": "a target with a user",
}
"""One of the inputs that each of them takes otherwise."""
LIMITS: dict[str, dict[str, Any]] = {
    "oversized": {"max_head_bytes": 1_000_000},
    "slow": {"head_timeout": 1_000.0},
}


def connections(group: str, limits: ConnectionLimits) -> ConnectionLimits:
    """These limits, or what is left of them."""
    return msgspec.structs.replace(limits, **LIMITS.get(group, {}))


def calls(group: str, limits: CallLimits) -> CallLimits:
    """The same for calls."""
    return msgspec.structs.replace(limits, max_parts=None) if group == "operations" else limits


def break_it(group: str) -> None:
    """Takes a defence away in this process; with no name none."""
    match group:
        case "deep":
            _replace("dragoman.dialects.codec", "nested_too_deeply", _no)
        case "malformed":
            _replace("dragoman.hosts.http2.head", "OF_A_CONNECTION", frozenset[bytes]())
        case "fields" | "smuggling":
            _replace("dragoman.hosts.http1.connection", "expects_word", _no)
        case "tokens":
            _replace("dragoman.auth.jwt", "_KINDS", frozenset({"id_token+jwt"}))
        case "keys":
            _replace("dragoman.auth.basic", "_CONTROL", _no)
        case "methods":
            _replace("dragoman.hosts.http1.heads", "_absolute", _path_alone)
        case _:
            return


def _no(*_: Any) -> bool:
    return False


def _path_alone(_: bytes) -> tuple[bytes, bytes, None]:
    return b"/tasks/t", b"", None


def _replace(module: str, name: str, value: Any) -> None:
    __import__(module)
    assert hasattr(sys.modules[module], name)
    setattr(sys.modules[module], name, value)
