"""`dragoman push`: how push notifications stand in the file that tasks are kept in, and those that were given up."""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dragoman.cli.options import Group

if TYPE_CHECKING:
    from dragoman.stores.sqlite.deliveries import Standing

__all__ = ["push"]

_COMMANDS = {
    "status": (f"{__name__}:_status", "Show how deliveries stand, by receiver."),
    "dead": (f"{__name__}:_dead", "Show what was given up, and what was refused."),
    "retry": (f"{__name__}:_retry", "Take up again what was given up."),
}
_Row = dict[str, str | int | None]
_HELP = {"help_option_names": ["-h", "--help"]}


@click.group("push", cls=Group, commands_at=_COMMANDS)
def push() -> None:
    """Look after the push notifications of an agent.

    STORE is a path or a URL such as sqlite:///PATH. A server keeps its tasks in .dragoman/NAME.db if it is told no
    other. status and dead never change the file, and may run while a server has it; retry may not.
    """


@contextmanager
def _refusals() -> Generator[None]:
    """What the program was told to do cannot be done like this: it was used wrongly."""
    from dragoman.errors import ConfigurationError, StoreInUse

    try:
        yield
    except (ConfigurationError, StoreInUse) as error:
        raise click.UsageError(str(error)) from error


def _file(_ctx: click.Context, _param: click.Parameter, place: str) -> Path:
    from dragoman.stores import file_of

    with _refusals():
        return file_of(place)


_store = click.argument("path", metavar="STORE", callback=_file)
_output = click.option(
    "-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How to show it."
)


@click.command("status", context_settings=_HELP)
@_store
@_output
def _status(path: Path, output: str) -> None:
    """Show how deliveries stand in STORE, by origin: scheme, host and port of the receivers.

    Behind are configurations for which there is something to deliver; events says how much. Failing are those of them
    whose next delivery has failed at least once. Dead were given up; letters counts deliveries that were refused for
    good, after which their configurations went on.
    """
    from dragoman.stores.sqlite.deliveries import standings

    with _refusals():
        rows = [_standing(one) for one in standings(path)]
    _show({"origins": rows}, output)


@click.command("dead", context_settings=_HELP)
@_store
@_output
def _dead(path: Path, output: str) -> None:
    """Show the configurations in STORE that were given up, and the deliveries that were refused for good."""
    from dragoman.stores.sqlite.deliveries import dead_letters, given_up

    with _refusals():
        dead: list[_Row] = [
            {
                "origin": one.origin,
                "taskId": one.task_id,
                "configId": one.id,
                "attempts": one.attempts,
                "failingSince": _time(one.failing_since),
                "trouble": one.trouble,
            }
            for one in given_up(path)
        ]
        letters: list[_Row] = [
            {
                "origin": one.origin,
                "taskId": one.task_id,
                "configId": one.id,
                "event": letter.seq,
                "refusedAt": _time(letter.at),
                "trouble": letter.trouble,
            }
            for one, letter in dead_letters(path)
        ]
    _show({"dead": dead, "letters": letters}, output)


@click.command("retry", context_settings=_HELP)
@_store
@_output
@click.option("--task-id", metavar="ID", help="Only those of this task.")
@click.option("--config-id", metavar="ID", help="Only those with this id.")
@click.option("--origin", metavar="URL", help="Only those of this origin, as status shows it.")
def _retry(path: Path, output: str, task_id: str | None, config_id: str | None, origin: str | None) -> None:
    """Take the configurations in STORE up again that were given up, those that match all that is said.

    When the server starts, each gets its task as it is then, and after that what happens to it.
    """
    from dragoman.stores.sqlite.deliveries import retry

    with _refusals():
        revived = retry(path, task_id=task_id, config_id=config_id, origin=origin)
    _show({"revived": revived}, output)


def _standing(one: "Standing") -> _Row:
    return {
        "origin": one.origin,
        "live": one.live,
        "behind": one.behind,
        "events": one.events,
        "failing": one.failing,
        "failingSince": _time(one.failing_since),
        "ended": one.ended,
        "dead": one.dead,
        "letters": one.letters,
    }


def _time(time: datetime | None) -> str | None:
    return None if time is None else time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _show(shown: Mapping[str, int | list[_Row]], output: str) -> None:
    """As one JSON document, or as `Label: value` in lines: for each thing that there are many of a block of its own."""
    if output == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(shown), indent=2))
        return
    for name, value in shown.items():
        rows = [] if isinstance(value, int) else value
        click.echo(f"{_label(name)}: {value if isinstance(value, int) else len(value)}")
        for row in rows:
            click.echo()
            click.echo("\n".join(_lines(row)))


def _lines(row: _Row) -> Iterator[str]:
    from dragoman.cli.render import visible

    for name, value in row.items():
        if value not in {None, ""}:
            yield f"{_label(name)}: {visible(str(value)).replace(chr(10), chr(92) + 'n')}"


def _label(name: str) -> str:
    """`failingSince` as `Failing Since`."""
    words = "".join(f" {char}" if char.isupper() else char for char in name)
    return words.title().replace(" Id", " ID")
