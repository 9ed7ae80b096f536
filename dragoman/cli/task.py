"""`dragoman task`: read, list, follow and cancel tasks, and have them pushed."""

from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from dragoman.cli.options import Command, Group, given_to, settings_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dragoman.cli.invocation import Invocation
    from dragoman.types.task import TaskState

__all__ = ["task"]

_COMMANDS = {
    "get": (f"{__name__}:_get", "Show a task, as it is or once it is settled."),
    "list": (f"{__name__}:_list", "List tasks by page."),
    "cancel": (f"{__name__}:_cancel", "Cancel a task."),
    "subscribe": (f"{__name__}:_subscribe", "Follow a task."),
    "push-config": ("dragoman.cli.push_config:push_config", "Have a task pushed to a webhook, or listen to one."),
}


@click.group("task", cls=Group, commands_at=_COMMANDS)
def task() -> None:
    """Read, list, follow and cancel tasks, and have them pushed."""


def _perform(ctx: click.Context, positional: str | None, work: "Callable[[Invocation, str], Awaitable[None]]") -> None:
    """Runs the work on the task that the argument or the options name."""
    from dragoman.cli.invocation import perform

    named = settings_of(given_to(ctx)).task_named(positional)

    async def known(invocation: "Invocation") -> None:
        invocation.named = named
        await work(invocation, named)

    perform(ctx, known)


@click.command("get", cls=Command)
@click.argument("task_id", required=False, metavar="TASK_ID")
@click.option("--history", type=click.IntRange(min=0), metavar="N", help="Show the latest N messages of the history.")
@click.pass_context
def _get(ctx: click.Context, task_id: str | None, history: int | None) -> None:
    """Show a task with its artifacts, as it is or (--wait) once it is terminal or interrupted."""
    from dragoman.cli.tasks import show

    _perform(ctx, task_id, lambda invocation, named: show(invocation, named, history))


@click.command("cancel", cls=Command)
@click.argument("task_id", required=False, metavar="TASK_ID")
@click.pass_context
def _cancel(ctx: click.Context, task_id: str | None) -> None:
    """Cancel a task; one that is canceled already counts as success."""
    from dragoman.cli.tasks import cancel

    _perform(ctx, task_id, cancel)


@click.command("subscribe", cls=Command)
@click.argument("task_id", required=False, metavar="TASK_ID")
@click.pass_context
def _subscribe(ctx: click.Context, task_id: str | None) -> None:
    """Follow a task until it is terminal or interrupted; with --stream each event is shown as it comes."""
    from dragoman.cli.tasks import follow

    _perform(ctx, task_id, follow)


class _State(click.ParamType["TaskState"]):
    """A state, as A2A spells it or without the prefix, in any case."""

    name = "state"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "TaskState":
        from dragoman.types.task import TaskState

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
    status: "TaskState | None",
    page_size: int | None,
    page_token: str,
    history: int | None,
    since: datetime | None,
    *,
    include_artifacts: bool,
) -> None:
    """List tasks, the newest first, by page; --context-id limits it to one context."""
    from dragoman.cli.invocation import perform
    from dragoman.cli.tasks import show_page
    from dragoman.types.requests import ListTasksRequest

    request = ListTasksRequest(
        context_id=settings_of(given_to(ctx)).flag("context_id"),
        status=status,
        page_size=page_size,
        page_token=page_token,
        history_length=history,
        status_timestamp_after=since,
        include_artifacts=include_artifacts,
    )
    perform(ctx, lambda invocation: show_page(invocation, request))
