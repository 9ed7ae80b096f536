"""`dragoman task push-config`: what agents push where, and a place to push to."""

from typing import TYPE_CHECKING

import click

from dragoman.cli.options import Command, Group, given_to, settings_of
from dragoman.cli.values import secret

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dragoman.cli.invocation import Invocation

__all__ = ["push_config"]

_COMMANDS = {
    "create": (f"{__name__}:_create", "Have a task pushed to a webhook."),
    "get": (f"{__name__}:_get", "Show a configuration of a task."),
    "list": (f"{__name__}:_list", "List the configurations of a task."),
    "delete": (f"{__name__}:_delete", "Have a task not pushed any more."),
    "listen": (f"{__name__}:_listen", "Be the webhook, and show what is pushed."),
}
_EXPOSED = "Shows up in the process table and the shell history."
_PORTS = 65_535


@click.group("push-config", cls=Group, commands_at=_COMMANDS)
def push_config() -> None:
    """Have tasks pushed to a webhook, or listen to what is pushed."""


def _perform(ctx: click.Context, work: "Callable[[Invocation], Awaitable[None]]") -> None:
    from dragoman.cli.invocation import perform

    perform(ctx, work)


def _task(ctx: click.Context, positional: str | None) -> str:
    return settings_of(given_to(ctx)).task_named(positional)


def _secret(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """A secret as it may be sent; the refusal does not repeat it."""
    try:
        return None if value is None else secret(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command("create", cls=Command)
@click.argument("task_id", required=False, metavar="TASK_ID")
@click.option("--url", required=True, metavar="URL", help="The webhook, as the agent reaches it.")
@click.option("--id", "config_id", default="", metavar="ID", help="Id of the configuration; the agent's choice if not.")
@click.option("--token", callback=_secret, metavar="TOKEN", help=f"Comes with each notification. {_EXPOSED}")
@click.option("--auth-scheme", metavar="SCHEME", help="How the agent authenticates to the webhook, such as Bearer.")
@click.option("--auth-credentials", callback=_secret, metavar="CREDENTIALS", help=f"What with. {_EXPOSED}")
@click.pass_context
def _create(  # noqa: PLR0917 -- click gives all by name
    ctx: click.Context,
    task_id: str | None,
    url: str,
    config_id: str,
    token: str | None,
    auth_scheme: str | None,
    auth_credentials: str | None,
) -> None:
    """Have a task pushed to a webhook; an id that is there already is replaced."""
    if auth_credentials is not None and auth_scheme is None:
        raise click.UsageError("--auth-credentials needs --auth-scheme")
    named = _task(ctx, task_id)

    from dragoman.cli.push_configs import create
    from dragoman.types.push import AuthenticationInfo, TaskPushNotificationConfig

    authentication = (
        None if auth_scheme is None else AuthenticationInfo(scheme=auth_scheme, credentials=auth_credentials)
    )
    config = TaskPushNotificationConfig(
        url=url, id=config_id, task_id=named, token=token, authentication=authentication
    )
    _perform(ctx, lambda invocation: create(invocation, config))


@click.command("get", cls=Command)
@click.argument("task_id", metavar="TASK_ID")
@click.argument("config_id", metavar="CONFIG_ID")
@click.pass_context
def _get(ctx: click.Context, task_id: str, config_id: str) -> None:
    """Show a configuration; its credentials are never shown again."""
    from dragoman.cli.push_configs import show

    named = _task(ctx, task_id)
    _perform(ctx, lambda invocation: show(invocation, named, config_id))


@click.command("list", cls=Command)
@click.argument("task_id", required=False, metavar="TASK_ID")
@click.option("--page-size", type=click.IntRange(1, 100), metavar="N", help="Configurations per page, 1 to 100.")
@click.option("--page-token", default="", metavar="TOKEN", help="The page that this token of an earlier answer names.")
@click.pass_context
def _list(ctx: click.Context, task_id: str | None, page_size: int | None, page_token: str) -> None:
    """List the configurations of a task, by page where there are many."""
    from dragoman.cli.push_configs import show_page

    named = _task(ctx, task_id)
    _perform(ctx, lambda invocation: show_page(invocation, named, page_size, page_token))


@click.command("delete", cls=Command)
@click.argument("task_id", metavar="TASK_ID")
@click.argument("config_id", metavar="CONFIG_ID")
@click.pass_context
def _delete(ctx: click.Context, task_id: str, config_id: str) -> None:
    """Have a task not pushed any more; a configuration that is not there counts as deleted."""
    from dragoman.cli.push_configs import delete

    named = _task(ctx, task_id)
    _perform(ctx, lambda invocation: delete(invocation, named, config_id))


class _Address(click.ParamType[tuple[str, int]]):
    """A host and a port."""

    name = "address"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        host, colon, port = str(value).rpartition(":")
        if not (colon and host and port.isascii() and port.isdigit() and int(port) <= _PORTS):
            self.fail(f"{value!r} is not an address such as 127.0.0.1:8443; port 0 takes a free one", param, ctx)
        return host.removeprefix("[").removesuffix("]"), int(port)


@click.command("listen", cls=Command)
@click.argument("task_id", required=False, metavar="[TASK_ID]")
@click.option(
    "--bind", type=_Address(), default="127.0.0.1:0", show_default=True, metavar="HOST:PORT", help="Where to listen."
)
@click.option("--public-url", metavar="URL", help="How agents reach it, if not by that address.")
@click.pass_context
def _listen(ctx: click.Context, task_id: str | None, bind: tuple[str, int], public_url: str | None) -> None:
    """Be the webhook of a task, or of any, and show each event that is pushed.

    With a task its agent is told to push it here, under a random token that nobody else knows, until it has ended.
    Without one the URL and a token are shown, for configurations made elsewhere, and it ends with --timeout. Whoever
    comes without the token is refused. --output json gives one event per line.
    """
    settings = settings_of(given_to(ctx))
    named = task_id or settings.task_id

    from dragoman.cli.listen import listen_to, listen_to_any

    if named is None:
        _perform(ctx, lambda invocation: listen_to_any(invocation, bind, public_url))
    else:
        known = settings.task_named(task_id)
        _perform(ctx, lambda invocation: listen_to(invocation, known, bind, public_url))
