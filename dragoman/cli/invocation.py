"""One run of the program: settings, output, what has been learnt of the task so far, and how failures end it."""

import asyncio
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Awaitable, Callable

import click

from dragoman.cli.credentials import Redactor
from dragoman.cli.failures import Interrupted, WaitTooLong, failure_of
from dragoman.cli.hints import hint_for
from dragoman.cli.options import Settings, given_to, settings_of
from dragoman.cli.output import Output
from dragoman.cli.render import Label, field, state_name
from dragoman.errors import A2AError
from dragoman.types.content import Message
from dragoman.types.events import StreamEvent
from dragoman.types.task import Task, TaskState

__all__ = ["Invocation", "perform"]

_CLOSED_PIPE = 141
_CARRIED = ("transport", "a2a_version", "config", "insecure", "network")
"""Options of the command line that a command to go on needs as well."""


class Invocation:
    """What the parts of a command share. It ends with the command: nothing of it is kept."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.redact = Redactor()
        for secret in (settings.bearer, settings.api_key):
            if secret is not None:
                self.redact.hide(secret)
        for name, value in settings.service_parameters:
            self.redact.hide_parameter(name, value)
        self.out = Output(
            self.redact,
            json=settings.json,
            stream=settings.stream,
            verbose=settings.verbose,
            debug=settings.debug,
        )
        self.named: str | None = None
        """The task that the command line names, which may not have been seen yet."""
        self.task_id: str | None = None
        self.context_id: str | None = None
        self.state: TaskState | None = None
        self.can_log_in = False
        """Whether the card has a scheme that `auth login` knows."""
        self.had_credentials = any((settings.bearer, settings.api_key, settings.service_parameters))
        self.code_of: Callable[[A2AError], int | str | None] = lambda _: None
        """The code that the binding in use has for an error which the agent sent."""

    def saw(self, event: StreamEvent) -> None:
        """Takes note of ids and state, for whatever has to be said if the run ends here."""
        if isinstance(event, Task):
            self.task_id, self.context_id, self.state = event.id, event.context_id, event.state
        elif not isinstance(event, Message):
            self.task_id, self.context_id = event.task_id, event.context_id
            self.state = getattr(getattr(event, "status", None), "state", self.state)

    def command(self, *words: str) -> str:
        """A command line to paste, with the agent and all else that it needs from this one, but for secrets."""
        extra = [word for key in _CARRIED for word in self._carried(key)]
        agent = ["-a", self.redact(self.settings.agent_card)] if self.settings.agent_card else []
        return "dragoman " + " ".join([*words[:1], *(shlex.quote(word) for word in [*agent, *extra]), *words[1:]])

    def _carried(self, key: str) -> list[str]:
        flag = "--" + key.replace("_", "-")
        values = self.settings.given.get(key, [])
        return [flag] if values == ["true"] else [word for value in values for word in (flag, value)]

    def ways_on(self) -> list[str]:
        """The commands that go on with the task that was seen, the likeliest first."""
        task_id = self.task_id or self.named
        if task_id is None:
            return []
        reply = self.command("send", "--task-id", shlex.quote(task_id), '"<reply>"')
        follow = self.command("task get", "--wait", shlex.quote(task_id))
        if self.state is None:
            return [follow]
        if self.state.terminal:
            again = self.command("send", "--context-id", shlex.quote(self.context_id or ""), '"<message>"')
            return [again] if self.context_id else []
        if self.state is TaskState.AUTH_REQUIRED:
            return [reply, follow]
        return [reply] if self.state.interrupted else [follow]

    def early(self, task_id: str, context_id: str) -> None:
        """Shows the ids of a task that is waited for, so that they outlive whatever ends the wait."""
        lines = [field(Label.TASK_ID, task_id), *([field(Label.CONTEXT_ID, context_id)] if context_id else [])]
        if self.settings.json:
            for line in lines:
                self.out.note(line)
        else:
            self.out.lines(lines)

    def closing(self) -> None:
        """What follows a task's output: the commands to go on, and a warning unless it completed."""
        ways = [field(Label.RESUME, way) for way in self.ways_on()]
        if not self.settings.json:
            self.out.lines(ways)
        elif self.state is not None and not self.state.terminal:
            for way in ways:
                self.out.note(way)
        if self.state is None or not self.state.settled or self.state is TaskState.COMPLETED:
            return
        if self.state.interrupted:
            self.out.warn(f"the task waits for you: {state_name(self.state)}")
        else:
            self.out.warn(f"the task did not complete: {state_name(self.state)}")

    def execute(self, work: Callable[["Invocation"], Awaitable[None]]) -> int:
        """Runs the command under its time limit; the exit code. Usage errors pass through."""
        try:
            asyncio.run(self._guarded(work))
        except click.UsageError:
            raise
        except BrokenPipeError:
            # Nobody reads any more, and the interpreter's own flush at its end must not complain either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return _CLOSED_PIPE
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets the envelope and the code
            return self._fail(error)
        return 0

    async def _guarded(self, work: Callable[["Invocation"], Awaitable[None]]) -> None:
        caught: list[int] = []
        running = asyncio.current_task()
        assert running is not None

        def interrupt(number: int) -> None:
            caught.append(number)
            running.cancel()

        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, interrupt, number)
        limit = self.settings.timeout
        scope = asyncio.timeout(limit)
        try:
            async with scope:
                await work(self)
        except TimeoutError as error:
            if not scope.expired():
                raise
            going_on = "; the task was not canceled" if self.task_id or self.named else ""
            raise WaitTooLong(f"nothing final within {limit:g} s{going_on}") from error
        except asyncio.CancelledError:
            if caught:
                raise Interrupted(caught[0]) from None
            raise

    def _fail(self, error: Exception) -> int:
        if self.settings.debug:
            for line in "".join(traceback.format_exception(error)).splitlines():
                self.out.debug(line)
        code = self.code_of(error) if isinstance(error, A2AError) else None
        failure = failure_of(error, hint=hint_for(error, self), a2a_code=code, had_credentials=self.had_credentials)
        self.out.fail(failure)
        if self.task_id is not None and not self.settings.json and isinstance(error, (Interrupted, WaitTooLong)):
            self._last_words()
        return failure.exit

    def _last_words(self) -> None:
        self.out.note(field(Label.TASK_ID, self.task_id))
        if self.context_id:
            self.out.note(field(Label.CONTEXT_ID, self.context_id))
        if self.state is not None:
            self.out.note(field(Label.STATE, state_name(self.state)))
        for way in self.ways_on():
            self.out.note(field(Label.RESUME, way))


def perform(ctx: click.Context, work: Callable[[Invocation], Awaitable[None]]) -> None:
    """Runs a command's work under the global options, and ends the program with its exit code."""
    ctx.exit(Invocation(settings_of(given_to(ctx))).execute(work))
