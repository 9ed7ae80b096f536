"""`dragoman task`: read, list, follow and cancel tasks."""

from contextlib import suppress
from datetime import datetime
from typing import Any

import click

from dragoman.cli.follow import finish, get, play, poll
from dragoman.cli.invocation import Invocation, perform
from dragoman.cli.options import Command, Group, given_to, settings_of
from dragoman.cli.reach import Reached, reached
from dragoman.cli.render import page_lines, state_name
from dragoman.client.wire import encode
from dragoman.errors import A2AError, TaskNotCancelableError, TransportError, UnsupportedOperationError
from dragoman.types.requests import CancelTaskRequest, ListTasksRequest, SubscribeToTaskRequest
from dragoman.types.task import Task, TaskState

__all__ = ["task"]

_RESUMPTIONS = 3
"""How often in a row a subscription may break before polls take over."""


_COMMANDS = {
    "get": (f"{__name__}:_get", "Show a task, as it is or once it is settled."),
    "list": (f"{__name__}:_list", "List tasks by page."),
    "cancel": (f"{__name__}:_cancel", "Cancel a task."),
    "subscribe": (f"{__name__}:_subscribe", "Follow a task."),
}


@click.group("task", cls=Group, commands_at=_COMMANDS)
def task() -> None:
    """Read, list, follow and cancel tasks."""


def _id_of(ctx: click.Context, positional: str | None) -> str:
    return settings_of(given_to(ctx)).task_named(positional)


@click.command("get", cls=Command)
@click.argument("task_id", required=False, metavar="TASK_ID")
@click.option("--history", type=click.IntRange(min=0), metavar="N", help="Show the latest N messages of the history.")
@click.pass_context
def _get(ctx: click.Context, task_id: str | None, history: int | None) -> None:
    """Show a task with its artifacts, as it is or (--wait) once it is terminal or interrupted."""
    named = _id_of(ctx, task_id)

    async def work(invocation: Invocation) -> None:
        invocation.named = named
        async with reached(invocation) as agent:
            found = await get(agent, named, history)
            invocation.saw(found)
            if invocation.settings.wait and not found.state.settled:
                invocation.early(found.id, found.context_id)
                found = await poll(invocation, agent, named, history)
            finish(invocation, found, history=history is not None)

    perform(ctx, work)


@click.command("cancel", cls=Command)
@click.argument("task_id", required=False, metavar="TASK_ID")
@click.pass_context
def _cancel(ctx: click.Context, task_id: str | None) -> None:
    """Cancel a task; one that is canceled already counts as success."""
    named = _id_of(ctx, task_id)

    async def work(invocation: Invocation) -> None:
        invocation.named = named
        async with reached(invocation) as agent:
            request = CancelTaskRequest(id=named, metadata=invocation.settings.metadata)
            try:
                ended = await agent.client.cancel_task(request)
            except TaskNotCancelableError as error:
                ended = await _canceled_before(agent, named, error)
            invocation.saw(ended)
            finish(invocation, ended)

    perform(ctx, work)


async def _canceled_before(agent: Reached, task_id: str, refusal: TaskNotCancelableError) -> Task:
    found: Task | None = None
    with suppress(A2AError, TransportError):
        found = await get(agent, task_id)
    if found is None:
        raise refusal
    if found.state is not TaskState.CANCELED:
        raise TaskNotCancelableError(f"{refusal.message} (it is in {state_name(found.state)})") from refusal
    return found


class _State(click.ParamType[TaskState]):
    """A state, as A2A spells it or without the prefix, in any case."""

    name = "state"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TaskState:
        plain = str(value).lower().replace("_", "-").removeprefix("task-state-")
        try:
            return TaskState(plain)
        except ValueError:
            known = ", ".join(state.value for state in TaskState)
            self.fail(f"{value!r} is not a state; states are {known}", param, ctx)


class _Moment(click.ParamType[datetime]):
    """A time as RFC 3339 has it, with its offset."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        try:
            moment = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a time such as 2026-01-02T03:04:05Z", param, ctx)
        if moment.tzinfo is None:
            self.fail(f"{value!r} has no offset; end it with Z or +01:00", param, ctx)
        return moment


@click.command("list", cls=Command)
@click.option("--status", type=_State(), metavar="STATE", help="Only tasks in this state.")
@click.option("--page-size", type=click.IntRange(1, 100), metavar="N", help="Tasks per page, 1 to 100.")
@click.option("--page-token", default="", metavar="TOKEN", help="The page that this token of an earlier answer names.")
@click.option("--history", type=click.IntRange(min=0), metavar="N", help="With the latest N messages of each task.")
@click.option("--since", type=_Moment(), metavar="TIME", help="Only tasks whose status is as new as this (RFC 3339).")
@click.option("--include-artifacts", is_flag=True, help="With artifacts.")
@click.pass_context
def _list(  # noqa: PLR0917 - click gives all by name
    ctx: click.Context,
    status: TaskState | None,
    page_size: int | None,
    page_token: str,
    history: int | None,
    since: datetime | None,
    *,
    include_artifacts: bool,
) -> None:
    """List tasks, the newest first, by page; --context-id limits it to one context."""

    async def work(invocation: Invocation) -> None:
        request = ListTasksRequest(
            context_id=invocation.settings.flag("context_id"),
            status=status,
            page_size=page_size,
            page_token=page_token,
            history_length=history,
            status_timestamp_after=since,
            include_artifacts=include_artifacts,
        )
        async with reached(invocation) as agent:
            page = await agent.client.list_tasks(request)
        out = invocation.out
        if not out.json:
            out.lines(page_lines(page, verbose=out.verbose))
        elif out.stream:
            for item in page.tasks:
                out.document(encode(item))
        else:
            out.document(encode(page))

    perform(ctx, work)


@click.command("subscribe", cls=Command)
@click.argument("task_id", required=False, metavar="TASK_ID")
@click.pass_context
def _subscribe(ctx: click.Context, task_id: str | None) -> None:
    """Follow a task until it is terminal or interrupted; with --stream each event is shown as it comes."""
    named = _id_of(ctx, task_id)
    perform(ctx, lambda invocation: _follow(invocation, named))


async def _follow(invocation: Invocation, task_id: str) -> None:
    invocation.named = task_id
    async with reached(invocation) as agent:
        if not agent.card.capabilities.streaming:
            raise UnsupportedOperationError("the agent's card does not declare streaming")
        for _ in range(_RESUMPTIONS):
            try:
                outcome = await play(invocation, agent.client.subscribe_to_task(SubscribeToTaskRequest(id=task_id)))
            except UnsupportedOperationError:
                if invocation.task_id is None:
                    raise
                break
            if outcome.settled:
                break
        if invocation.state is not None and invocation.state.settled and invocation.settings.stream:
            finish(invocation, None)
            return
        finish(invocation, await poll(invocation, agent, task_id, at_once=True), wrapped=invocation.settings.stream)
