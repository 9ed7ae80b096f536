"""An agent that stamps what it says, and tells the stamp that it heard."""

from collections.abc import AsyncIterator

from dragoman import Agent, TaskContext
from dragoman.extensions import Timestamps

STAMPS = Timestamps()

agent = Agent("Stamped", "Says when.", store="memory", extensions=[STAMPS])


@agent.skill
async def tell(task: TaskContext) -> AsyncIterator[str]:
    """Tell what was heard."""
    await task.status("at it")
    yield f"{STAMPS.of(task.message)}"
