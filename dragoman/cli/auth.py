"""`dragoman auth`: log in to agents by OAuth 2 and OpenID Connect, see where one is logged in, and log out."""

from typing import Any

import click

from dragoman.cli.options import Command, Group, given_to

__all__ = ["auth"]

_COMMANDS = {
    "login": (f"{__name__}:_login", "Log in to an agent, as its card says."),
    "status": (f"{__name__}:_status", "Show which logins there are."),
    "logout": (f"{__name__}:_logout", "Give a login back, and forget it."),
}
_FLOWS = ("authorization-code", "client-credentials", "device-code")


@click.group("auth", cls=Group, commands_at=_COMMANDS)
def auth() -> None:
    """Log in to agents by OAuth 2 and OpenID Connect.

    Tokens are kept in files that only you can read (dragoman/tokens in XDG_STATE_HOME, by default ~/.local/state), and
    renewed when it is time. All commands use them, towards the agent that they are for. --bearer goes before.
    """


def _named(ctx: click.Context, _param: click.Parameter, agent: str | None) -> None:
    """The agent as an argument is the same as with -a."""
    if agent is not None:
        given = given_to(ctx)
        if given.get("agent_card", [agent]) != [agent]:
            raise click.UsageError("the agent is given twice")
        given["agent_card"] = [agent]


_agent = click.argument("agent", required=False, metavar="[AGENT]", callback=_named, expose_value=False)


@click.command("login", cls=Command)
@_agent
@click.option("--scheme", metavar="NAME", help="The security scheme of the card, if there are several.")
@click.option("--client-id", envvar="A2ACLI_CLIENT_ID", show_envvar=True, metavar="ID", help="As which you are known.")
@click.option(
    "--client-secret-env",
    default="A2ACLI_CLIENT_SECRET",
    show_default=True,
    metavar="NAME",
    help="The variable that has the client's secret, if it has one. It is read again when a token is renewed.",
)
@click.option(
    "--client-auth",
    type=click.Choice(["client_secret_basic", "client_secret_post"]),
    help="How the secret is sent; by default as the provider takes it.",
)
@click.option("--flow", type=click.Choice(_FLOWS), help="How to log in; by default as the card says.")
@click.option("--device", is_flag=True, help="The same as --flow device-code: open the page on any device.")
@click.option("--no-browser", is_flag=True, help="Show the page's URL only, and open nothing.")
@click.option("--scope", multiple=True, metavar="SCOPE", help="To ask for beside what the card asks. Repeatable.")
@click.option("--resource", metavar="URL", help="What the token is for; by default the agent's URL, '' says nothing.")
@click.option("--parameter", multiple=True, metavar="NAME=VALUE", help="Tell the provider this too. Repeatable.")
@click.option("--issuer", default="", metavar="URL", help="Trust this provider alone, whatever places the card names.")
@click.option("--redirect-port", type=click.IntRange(1, 65535), metavar="PORT", help="Of 127.0.0.1; by default any.")
@click.pass_context
def _login(ctx: click.Context, /, *, flow: str | None, device: bool, **options: Any) -> None:
    """Log in to AGENT, named as with -a, as its card says.

    The page to open and the code to enter are written to standard error; nothing is asked on standard input.
    """
    from dragoman.cli.invocation import perform
    from dragoman.cli.logins import Wishes, login

    if device and flow not in {None, "device-code"}:
        raise click.UsageError(f"--device and --flow {flow} exclude each other")
    wishes = Wishes(flow="device-code" if device else flow, **options)
    perform(ctx, lambda invocation: login(invocation, wishes))


@click.command("status", cls=Command)
@_agent
@click.option("--json", "as_json", is_flag=True, help="The same as -o json.")
@click.pass_context
def _status(ctx: click.Context, as_json: bool) -> None:
    """Show the logins to AGENT, or all: who, scheme, scopes, and until when. Never a token; nobody is asked."""
    from dragoman.cli.invocation import perform
    from dragoman.cli.logins import status

    if as_json:
        given_to(ctx)["output"] = ["json"]
    perform(ctx, status)


@click.command("logout", cls=Command)
@_agent
@click.pass_context
def _logout(ctx: click.Context) -> None:
    """Have the provider take back the tokens of AGENT, if it offers that, and remove them."""
    from dragoman.cli.invocation import perform
    from dragoman.cli.logins import logout

    perform(ctx, logout)
