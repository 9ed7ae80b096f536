"""The program: its commands, and the outermost handling of what goes wrong."""

import sys
from collections.abc import Sequence

import click

from dragoman.cli.options import Command, Group, wants_json

__all__ = ["help_", "main", "root", "run"]

_COMMANDS = {
    "card": ("dragoman.cli.card:card", "Show what an agent says about itself."),
    "send": ("dragoman.cli.send:send", "Send a message and wait for the outcome."),
    "task": ("dragoman.cli.task:task", "Read, list, follow and cancel tasks, and have them pushed."),
    "auth": ("dragoman.cli.auth:auth", "Log in to agents, see where you are logged in, and log out."),
    "serve": ("dragoman.cli.serve:serve", "Serve an agent from a file or a module."),
    "store": ("dragoman.cli.store:store", "Look after the file that tasks are kept in."),
    "push": ("dragoman.cli.push:push", "Look after the push notifications of an agent."),
    "help": ("dragoman.cli.main:help_", "Show the help of a command."),
}


def _print_version(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if not value:
        return
    from importlib.metadata import version

    click.echo(f"dragoman {version('dragoman')}")
    ctx.exit()


@click.group("dragoman", cls=Group, commands_at=_COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "-v",
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def root() -> None:
    """Talk to A2A agents, and serve your own.

    The agent is always named by -a/--agent-card. Output goes to standard output, everything else to standard error;
    the exit code says whether the program did its job, the state of the task says how the agent did.

    Exit codes: 0 done, 1 failed, 2 used wrongly, 3 agent not reachable, 4 credentials, 5 time-out.
    """


@click.command("help", cls=Command)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show the help of a command."""
    place = ctx.find_root()
    command: click.Command = root
    for word in words:
        below = command.get_command(place, word) if isinstance(command, click.Group) else None
        if below is None:
            raise click.UsageError(f"there is no command {' '.join(words)!r}")
        command = below
        place = click.Context(command, info_name=word, parent=place)
    click.echo(command.get_help(place))


def run(argv: Sequence[str]) -> int:
    """Runs one command line and gives its exit code. Nothing is raised."""
    try:
        code = root.main(args=list(argv), prog_name="dragoman", standalone_mode=False)
        sys.stdout.flush()
    except click.UsageError as error:
        return _refuse(error, argv)
    except (click.Abort, KeyboardInterrupt):
        from dragoman.cli.failures import Interrupted

        return _refuse(Interrupted(2), argv)
    except Exception as error:  # noqa: BLE001 - a fault of the program is told as every other failure
        return _refuse(error, argv)
    return code if isinstance(code, int) else 0


def _refuse(error: Exception, argv: Sequence[str]) -> int:
    from dragoman.cli.credentials import Redactor
    from dragoman.cli.failures import failure_of
    from dragoman.cli.hints import usage_hint
    from dragoman.cli.output import Output

    hint = usage_hint(error) if isinstance(error, click.UsageError) else None
    failure = failure_of(error, hint=hint)
    out = Output(Redactor(), json=wants_json(argv), stream="--stream" in argv, verbose=False, debug=False)
    out.fail(failure)
    return failure.exit


def main() -> None:
    """The entry point of the program `dragoman`."""
    sys.exit(run(sys.argv[1:]))
