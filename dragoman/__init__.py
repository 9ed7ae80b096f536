"""Dragoman: serve and call agents that speak A2A, the Agent2Agent protocol.

agent = Agent("Echo", "Says back what it hears.")       # serve
async with connect("http://127.0.0.1:9999") as echo:    # call
print(await echo.ask("hello"))
"""

from dragoman.agent import Agent, Answer, BlockingTaskContext, Fail, Reject, TaskContext, answer
from dragoman.client import AuthRequired, Client, InputRequired, TaskFailed, TaskHandle, connect
from dragoman.errors import A2AError, ConfigurationError, DragomanError, TransportError
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
    "AuthRequired",
    "BlockingTaskContext",
    "Client",
    "ConfigurationError",
    "DragomanError",
    "Fail",
    "InputRequired",
    "Message",
    "Part",
    "Reject",
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
    "TransportError",
    "answer",
    "connect",
]
