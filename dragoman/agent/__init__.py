"""What a user writes an agent against."""

from dragoman.agent.context import Answer, Fail, Reject, TaskContext, answer
from dragoman.agent.definition import Agent
from dragoman.agent.delegation import Delegated
from dragoman.agent.threads import BlockingTaskContext

__all__ = ["Agent", "Answer", "BlockingTaskContext", "Delegated", "Fail", "Reject", "TaskContext", "answer"]
