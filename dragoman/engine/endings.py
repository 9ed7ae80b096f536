"""How a turn ended, as the outcome that is stored: what its handler gave, or why it gave nothing."""

import asyncio
import enum
import logging

from dragoman.engine.world import World
from dragoman.ports.agent import TooLarge, TurnOutcome
from dragoman.types.content import Message, Part, Role
from dragoman.types.task import TaskState

__all__ = ["Ending", "Stop", "attempts_exhausted", "broken", "outcome_of", "worker_lost"]

log = logging.getLogger("dragoman.engine")

Ending = TurnOutcome | BaseException
"""How a handler ended: what it gave, or what it raised."""


class Stop(enum.Enum):
    """Why a run was asked to stop."""

    CANCELED = enum.auto()
    WORKER_LOST = enum.auto()
    """The server stops: the task ends as FAILED."""
    HANDED_BACK = enum.auto()
    """The server stops: the task stays as it is and is nobody's, for another worker to run it again."""
    DEADLINE = enum.auto()
    IDLE_TIMEOUT = enum.auto()

    @property
    def final(self) -> bool:
        """Whether it is the task that is to end, and not this server."""
        return self not in (Stop.WORKER_LOST, Stop.HANDED_BACK)


_OUT_OF_TIME = {
    Stop.DEADLINE: ("The agent took longer than it may.", "deadline"),
    Stop.IDLE_TIMEOUT: ("The agent was silent for longer than it may be.", "idle-timeout"),
}


def outcome_of(ending: Ending, stop: Stop | None, task_id: str, world: World) -> TurnOutcome:
    """The outcome of a turn whose handler ended like this; a stop goes before whatever the handler made of it."""
    if stop is None and isinstance(ending, TurnOutcome):
        return ending
    if stop is Stop.CANCELED:
        return TurnOutcome(state=TaskState.CANCELED)
    if stop is Stop.WORKER_LOST:
        return worker_lost()
    if stop in _OUT_OF_TIME:
        return _failed(*_OUT_OF_TIME[stop])
    if isinstance(ending, asyncio.CancelledError):
        return _failed("The agent stopped working on the task.", "handler-cancelled")
    return broken(ending, task_id, world) if isinstance(ending, BaseException) else ending


def broken(error: BaseException, task_id: str, world: World) -> TurnOutcome:
    """The outcome after a defect: a fixed text and a correlation id for the caller, the traceback for the log. Too much
    is told as that.
    """
    if isinstance(error, TooLarge):
        log.warning("task %s ends: %s", task_id, error)
        return _failed("The agent has made more than a task may hold.", error.reason)
    correlation = world.ids.new()
    log.error("task %s failed, correlation id %s", task_id, correlation, exc_info=error)
    return _failed(f"The agent failed. Correlation id: {correlation}", "handler-error", correlation)


def worker_lost() -> TurnOutcome:
    """The outcome of a task whose server stopped."""
    return _failed("The server stopped before the task was done.", "worker-lost")


def attempts_exhausted(attempts: int) -> TurnOutcome:
    """The outcome of a task whose worker was lost each time that it ran."""
    return _failed(f"The server stopped in each of {attempts} attempts at the task.", "attempts-exhausted")


def _failed(text: str, reason: str, correlation: str | None = None) -> TurnOutcome:
    metadata = {"reason": reason} if correlation is None else {"reason": reason, "correlationId": correlation}
    return TurnOutcome(
        state=TaskState.FAILED,
        message=Message(message_id="", role=Role.AGENT, parts=(Part(text=text),)),
        metadata=metadata,
    )
