"""Callers who say from where they call, and the limit that a refusal names."""

from collections.abc import Awaitable, Callable
from typing import Any

from dragoman import Agent
from tests.behaviour.wire import Fault, Wire

__all__ = ["Called", "calling", "named", "somewhere"]

FROM = "x-from"

Called = Callable[[Agent], Awaitable[Wire]]
"""Serves an agent to callers who call from where they say."""


def calling(address: str) -> dict[str, str]:
    """The header by which a test says from where it calls."""
    return {FROM: address}


def somewhere(app: Any) -> Any:
    """The application for callers who say from where they call; the others call from this machine."""

    async def called(scope: Any, receive: Any, send: Any) -> None:
        headers = dict(scope.get("headers", ()))
        await app({**scope, "client": (headers.get(FROM.encode(), b"127.0.0.1").decode(), 1)}, receive, send)

    return called


def named(fault: Fault) -> str:
    """The limit that a refusal names."""
    return next(str(detail["metadata"]["limit"]) for detail in fault.details if "limit" in detail.get("metadata", {}))
