"""An agent that does what the test says, when the test says it.

Give a `ScriptedAgent` to whatever runs agents, take up each `ScriptedRun` as it begins, and step it: emit this, ask
that, end. Every step returns when the agent has done it, so a test needs no sleeps to know where the agent stands.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from dragoman.errors import A2AError
from dragoman.ports.agent import Assignment, Parked, Policy, Turn, TurnOutcome
from dragoman.ports.call import CallContext
from dragoman.types.content import Artifact, Message, Part, Role
from dragoman.types.json import Json
from dragoman.types.requests import SendMessageRequest
from dragoman.types.task import TaskState

__all__ = ["RunOver", "ScriptedAgent", "ScriptedRun"]

T = TypeVar("T")


class RunOver(Exception):
    """The step was not done, because the run ended first: it was parked, cancelled or abandoned."""


class ScriptedAgent:
    """An `AgentExecutor` whose runs are stepped by the test, one at a time or several side by side.

    Args:
        play: Plays every run by itself, instead of having it stepped.
    """

    def __init__(self, play: Callable[[Turn], Awaitable[TurnOutcome]] | None = None) -> None:
        self.runs: list[ScriptedRun] = []
        """All runs so far, in the order in which they began; none while `play` plays them."""
        self.refusal: A2AError | None = None
        """Raised, if set, for every message that would begin a turn."""
        self.direct: Message | None = None
        """Given, if set, as the answer to every message that would begin a task."""
        self.policies = Policy()
        """What becomes of tasks in trouble."""
        self._play = play
        self._begun: asyncio.Queue[ScriptedRun] = asyncio.Queue()

    async def run(self) -> "ScriptedRun":
        """The next run that has begun and was not taken up yet; waits for it."""
        return await self._begun.get()

    @property
    def idle(self) -> bool:
        """Whether every run that has begun was taken up."""
        return self._begun.empty()

    # The agent port.

    def close(self) -> None:
        """Holds nothing that would have to be let go."""

    async def assign(self, request: SendMessageRequest, call: CallContext) -> Assignment:  # noqa: ARG002 -- as the port has it
        self.check("script", request.message)
        return Assignment("script", self.direct is not None)

    def check(self, skill: str, message: Message, *, answer: bool = False) -> None:  # noqa: ARG002 -- as the port has it
        if self.refusal is not None and not answer:
            raise self.refusal

    async def admit(self, skill: str, call: CallContext) -> None:
        """Whoever the agent lets in may send."""

    def policy(self, skill: str) -> Policy:  # noqa: ARG002 -- as the port has it
        return self.policies

    async def answer(self, skill: str, request: SendMessageRequest, call: CallContext) -> Message:  # noqa: ARG002 -- as the port has it
        assert self.direct is not None
        return self.direct

    async def execute(self, turn: Turn) -> TurnOutcome:
        if self._play is not None:
            return await self._play(turn)
        run = ScriptedRun(turn)
        self.runs.append(run)
        self._begun.put_nowait(run)
        return await run.follow()


class ScriptedRun:
    """One run of the agent. Steps are done in the order in which they are called, in the agent's own task."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.survives = 0
        """How many cancellations the run takes without ending, to clean up or to be stubborn."""
        self.cancelled = asyncio.Event()
        """Set when the run has been cancelled."""
        self.over = asyncio.Event()
        """Set when the run has ended, however it did."""
        self._steps: asyncio.Queue[_Step] = asyncio.Queue()

    async def text(self, *chunks: str) -> None:
        """Emits chunks of text, all at once."""

        async def say(turn: Turn) -> None:
            for chunk in chunks:
                turn.text(chunk)

        await self.do(say)

    async def artifact(self, artifact: Artifact, *, append: bool = False, last_chunk: bool = True) -> None:
        async def say(turn: Turn) -> None:
            turn.artifact(artifact, append=append, last_chunk=last_chunk)

        await self.do(say)

    async def status(self, text: str) -> None:
        async def say(turn: Turn) -> None:
            turn.status(_message(text))

        await self.do(say)

    async def room(self) -> None:
        """Waits as agents do while too much is not stored yet."""
        await self.do(lambda turn: turn.room())

    async def ask(
        self, question: str, *, key: str | None = None, state: TaskState = TaskState.INPUT_REQUIRED
    ) -> tuple[Message | None, Json]:
        """The stored answer.

        Raises:
            RunOver: there is none yet; the run has parked.
        """
        return await self.do(lambda turn: turn.ask(key, _message(question), state))

    async def remember(self, name: str, result: Json) -> None:
        """Stores the result of a step; returns when it is durable."""
        await self.do(lambda turn: turn.remember(name, result))

    async def end(self, state: TaskState = TaskState.COMPLETED, text: str | None = None) -> None:
        """Ends the run; returns when the agent is done with it."""
        message = None if text is None else _message(text)
        await self._ordered(_Step(outcome=TurnOutcome(state=state, message=message)))

    async def fail(self, error: BaseException) -> None:
        """Ends the run with this exception."""

        async def broken(_turn: Turn) -> None:
            raise error

        try:
            await self.do(broken)
        except RunOver:
            return

    async def do(self, work: Callable[[Turn], Awaitable[T]]) -> T:
        """Does anything in the agent's task, and gives its result.

        Raises:
            RunOver: the run ended with it, or before it.
        """
        return await self._ordered(_Step(work=work))  # type: ignore[no-any-return]  # a step holds work of any result

    async def follow(self) -> TurnOutcome:
        """The agent's side: does the steps until one ends the run."""
        try:
            while True:
                step = await self._next()
                if step.outcome is not None:
                    step.done.set_result(None)
                    return step.outcome
                await self._done(step)
        finally:
            self.over.set()

    async def _next(self) -> "_Step":
        while True:
            try:
                return await self._steps.get()
            except asyncio.CancelledError:
                self._cancel()

    async def _done(self, step: "_Step") -> None:
        assert step.work is not None
        try:
            result = await step.work(self.turn)
        except asyncio.CancelledError:
            step.leave()
            self._cancel()
        except (Exception, Parked):
            step.leave()
            raise
        else:
            step.settle(result)

    def _cancel(self) -> None:
        """Called where a cancellation has arrived; raises it again unless the run is to go on."""
        self.cancelled.set()
        self.survives -= 1
        if self.survives < 0:
            raise asyncio.CancelledError

    async def _ordered(self, step: "_Step") -> Any:
        self._steps.put_nowait(step)
        over = asyncio.ensure_future(self.over.wait())
        try:
            await asyncio.wait([step.done, over], return_when=asyncio.FIRST_COMPLETED)
        finally:
            over.cancel()
        if not step.done.done() or step.left:
            raise RunOver
        return step.done.result()


class _Step:
    """Something for the agent to do, and how the test hears that it is done."""

    def __init__(
        self, *, work: Callable[[Turn], Awaitable[Any]] | None = None, outcome: TurnOutcome | None = None
    ) -> None:
        self.work = work
        self.outcome = outcome
        self.left = False
        self.done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def settle(self, result: Any) -> None:
        if not self.done.done():
            self.done.set_result(result)

    def leave(self) -> None:
        self.left = True
        self.settle(None)


def _message(text: str) -> Message:
    return Message(message_id="", role=Role.AGENT, parts=(Part(text=text),))
