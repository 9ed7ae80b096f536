"""Dragoman: serve and call agents that speak A2A, the Agent2Agent protocol.

agent = Agent("Echo", "Says back what it hears.")       # serve
async with connect("http://127.0.0.1:9999") as echo:    # call
print(await echo.ask("hello"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dragoman.agent import Agent, Answer, BlockingTaskContext, Fail, Reject, TaskContext, answer
    from dragoman.audit import AuditLog
    from dragoman.client import AuthRequired, Client, InputRequired, TaskFailed, TaskHandle, TaskUnfinished, connect
    from dragoman.errors import A2AError, ConfigurationError, DragomanError, TransportError
    from dragoman.hosts.connections import ConnectionLimits
    from dragoman.outbound.files import FetchFailed, FetchOptions, FetchRefused
    from dragoman.ports.limits import CallLimits, Rate
    from dragoman.push.options import PushOptions, Retry
    from dragoman.types import (
        AgentCard,
        AgentExtension,
        AgentInterface,
        AgentProvider,
        AgentSkill,
        Artifact,
        Message,
        Part,
        Role,
        StreamEvent,
        Task,
        TaskArtifactUpdateEvent,
        TaskState,
        TaskStatus,
        TaskStatusUpdateEvent,
    )

__all__ = [
    "A2AError",
    "Agent",
    "AgentCard",
    "AgentExtension",
    "AgentInterface",
    "AgentProvider",
    "AgentSkill",
    "Answer",
    "Artifact",
    "AuditLog",
    "AuthRequired",
    "BlockingTaskContext",
    "CallLimits",
    "Client",
    "ConfigurationError",
    "ConnectionLimits",
    "DragomanError",
    "Fail",
    "FetchFailed",
    "FetchOptions",
    "FetchRefused",
    "InputRequired",
    "Message",
    "Part",
    "PushOptions",
    "Rate",
    "Reject",
    "Retry",
    "Role",
    "StreamEvent",
    "Task",
    "TaskArtifactUpdateEvent",
    "TaskContext",
    "TaskFailed",
    "TaskHandle",
    "TaskState",
    "TaskStatus",
    "TaskStatusUpdateEvent",
    "TaskUnfinished",
    "TransportError",
    "answer",
    "connect",
]

# What is only called needs no server, and a command line that prints its help needs neither: each name is imported
# when it is first asked for.
_HOMES = {
    name: module
    for module, names in {
        "dragoman.agent": (
            "Agent",
            "Answer",
            "BlockingTaskContext",
            "Fail",
            "Reject",
            "TaskContext",
            "answer",
        ),
        "dragoman.audit": ("AuditLog",),
        "dragoman.client": (
            "AuthRequired",
            "Client",
            "InputRequired",
            "TaskFailed",
            "TaskHandle",
            "TaskUnfinished",
            "connect",
        ),
        "dragoman.errors": (
            "A2AError",
            "ConfigurationError",
            "DragomanError",
            "TransportError",
        ),
        "dragoman.hosts.connections": ("ConnectionLimits",),
        "dragoman.outbound.files": (
            "FetchFailed",
            "FetchOptions",
            "FetchRefused",
        ),
        "dragoman.ports.limits": (
            "CallLimits",
            "Rate",
        ),
        "dragoman.push.options": (
            "PushOptions",
            "Retry",
        ),
        "dragoman.types": (
            "AgentCard",
            "AgentExtension",
            "AgentInterface",
            "AgentProvider",
            "AgentSkill",
            "Artifact",
            "Message",
            "Part",
            "Role",
            "StreamEvent",
            "Task",
            "TaskArtifactUpdateEvent",
            "TaskState",
            "TaskStatus",
            "TaskStatusUpdateEvent",
        ),
    }.items()
    for name in names
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
