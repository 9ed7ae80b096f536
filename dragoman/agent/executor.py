"""The agent port over skills: picks the skill, and drives its handler, whatever its form."""

import asyncio
import contextlib
import contextvars
import inspect
from collections.abc import AsyncGenerator, Callable, Mapping
from functools import partial
from typing import Any

from dragoman.agent.content import as_artifact, as_message
from dragoman.agent.context import Fail, Reject, TaskContext
from dragoman.agent.skill import Form, Skill, check_modes
from dragoman.agent.threads import BlockingTaskContext
from dragoman.errors import (
    ConfigurationError,
    InternalError,
    InvalidAgentResponseError,
    InvalidParamsError,
    UnauthenticatedError,
)
from dragoman.extensions.extension import Extension
from dragoman.outbound.files import FileFetcher
from dragoman.ports.agent import Assignment, Policy, Turn, TurnOutcome
from dragoman.ports.call import CallContext
from dragoman.threads import LooseThreads
from dragoman.types.content import Message
from dragoman.types.fetching import fetching
from dragoman.types.requests import SendMessageRequest
from dragoman.types.task import TaskState

__all__ = ["SkillExecutor"]

MAX_THREADS = 64

DONE = TurnOutcome()


class SkillExecutor:
    """Runs skills. Handlers that are plain functions share up to 64 threads; further ones wait for a free thread.

    `files` fetches what parts name by URL; without it public addresses over https are called. `extensions`, by URI, are
    those that may have something to offer to handlers.
    """

    def __init__(
        self,
        skills: Mapping[str, Skill],
        router: Skill | None,
        input_modes: tuple[str, ...] | None,
        files: FileFetcher | None = None,
        extensions: Mapping[str, Extension] | None = None,
    ) -> None:
        self._skills = dict(skills)
        self._router = router
        self._input_modes = input_modes
        self._files = files or FileFetcher()
        self._extensions = extensions or {}
        self._threads: LooseThreads | None = None

    async def assign(self, request: SendMessageRequest, call: CallContext) -> Assignment:
        skill = await self._choose(request.message)
        if skill.auth is not None:
            await self.admit(skill.card.id, call)
        self.check(skill.card.id, request.message)
        return Assignment(skill.card.id, skill.direct)

    async def admit(self, skill: str, call: CallContext) -> None:
        known = self._skills.get(skill)
        if known is None or known.auth is None or call.trusted:
            return
        if call.credentials is None:
            raise UnauthenticatedError
        await known.auth.authenticate(call.credentials)

    def check(self, skill: str, message: Message, *, answer: bool = False) -> None:
        known = self._skill(skill)
        modes = known.card.input_modes or self._input_modes
        if modes:
            check_modes(message, modes)
        if not answer:
            known.check(message)

    def policy(self, skill: str) -> Policy:
        known = self._skills.get(skill)
        return Policy() if known is None else known.policy

    async def answer(self, skill: str, request: SendMessageRequest, call: CallContext) -> Message:  # noqa: ARG002 -- the port gives both
        known = self._skill(skill)
        made = await self._called(known, known.arguments(request.message, None))
        if not isinstance(made, (Message, str)):
            raise InvalidAgentResponseError(f"The skill {skill} answered with no message")
        return as_message(made)

    async def execute(self, turn: Turn) -> TurnOutcome:
        skill = self._skill(turn.skill)
        fetching.set(self._files)  # for this run, which has a task of its own
        try:
            if skill.form.threaded:
                return await self._in_thread(skill, turn)
            arguments = skill.arguments(turn.message, TaskContext(turn, self._run, self._extensions))
            if skill.form is Form.COROUTINE:
                return _said(turn, await skill.handler(**arguments), last=True)
            await _stream(turn, skill.handler(**arguments))
        except Reject as error:
            return TurnOutcome(state=TaskState.REJECTED, message=as_message(str(error) or "Rejected"))
        except Fail as error:
            return TurnOutcome(state=TaskState.FAILED, message=as_message(str(error) or "Failed"))
        return DONE

    def close(self) -> None:
        """Lets go of the threads; those still at work end on their own."""
        self._files.close()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
            self._threads = None

    def _skill(self, skill: str) -> Skill:
        known = self._skills.get(skill)
        if known is None:
            raise InternalError(f"This agent no longer has the skill {skill}")
        return known

    async def _choose(self, message: Message) -> Skill:
        if self._router is None:
            return next(iter(self._skills.values()))
        chosen = await self._called(self._router, self._router.arguments(message, None))
        for skill in self._skills.values():
            if chosen in (skill.card.id, skill.handler):
                return skill
        raise ConfigurationError(f"the router chose {chosen!r}, which is neither a skill nor the id of one")

    async def _called(self, skill: Skill, arguments: dict[str, Any]) -> Any:
        """The result of a function that needs no task; where there is none to end, reasons become errors."""
        fetching.set(self._files)
        try:
            if inspect.iscoroutinefunction(skill.handler):
                return await skill.handler(**arguments)
            return await self._run(lambda: skill.handler(**arguments))
        except Reject as error:
            raise InvalidParamsError(str(error) or "Rejected") from error
        except Fail as error:
            raise InternalError(str(error) or "Failed") from error

    async def _in_thread(self, skill: Skill, turn: Turn) -> TurnOutcome:
        context = BlockingTaskContext(turn, self._extensions)
        arguments = skill.arguments(turn.message, context)
        running = asyncio.ensure_future(self._run(lambda: _drive(skill, arguments, context, turn)))
        running.add_done_callback(_seen)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            context.stop()
            await asyncio.wait([running])
            raise

    async def _run(self, work: Callable[[], Any]) -> Any:
        if self._threads is None:
            self._threads = LooseThreads(MAX_THREADS, "dragoman-skill")
        context = contextvars.copy_context()
        return await asyncio.get_running_loop().run_in_executor(self._threads, context.run, work)


async def _stream(turn: Turn, items: AsyncGenerator[Any, None]) -> None:
    """Emits what a handler yields. A cancellation reaches it even while it waits, at a `yield`, for room."""
    try:
        async for item in items:
            _said(turn, item)
            if turn.full:
                try:
                    await turn.room()
                except asyncio.CancelledError as stop:
                    with contextlib.suppress(StopAsyncIteration):
                        _said(turn, await items.athrow(stop))
    except BaseException:
        await items.aclose()  # one that came to its end by itself is closed
        raise


def _drive(skill: Skill, arguments: dict[str, Any], context: BlockingTaskContext, turn: Turn) -> TurnOutcome:
    """Runs the handler to its end; in its thread."""
    context.enter()
    if context.cancelled:
        raise asyncio.CancelledError  # while it waited for a thread
    made = skill.handler(**arguments)
    if skill.form is Form.FUNCTION:
        outcomes: list[TurnOutcome] = []
        context.emit(lambda: outcomes.append(_said(turn, made, last=True)))
        return outcomes[0]
    try:
        for item in made:
            context.emit(partial(_say, turn, item))
    finally:
        made.close()
    return DONE


def _seen(running: asyncio.Future[Any]) -> None:
    """Nobody may be left to ask how a thread ended whose task is over."""
    if not running.cancelled():
        running.exception()


def _say(turn: Turn, item: Any) -> None:
    _said(turn, item)


def _said(turn: Turn, item: Any, *, last: bool = False) -> TurnOutcome:
    """Emits what a handler yielded or returned; a message that is returned goes with the end of the task."""
    if isinstance(item, str):
        turn.text(item)
    elif isinstance(item, Message):
        if last:
            return TurnOutcome(message=item)
        turn.status(item)
    elif item is not None:
        turn.artifact(as_artifact(item))
    return DONE
