"""`dragoman store`: looks after the file that tasks are kept in."""

import os
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from dragoman.cli.options import Group

__all__ = ["store"]

_COMMANDS = {
    "check": (f"{__name__}:_check", "Look for damage."),
    "vacuum": (f"{__name__}:_vacuum", "Give free space back, and bring the schema up to date."),
    "export": (f"{__name__}:_export", "Write all tasks as lines of JSON."),
    "import": (f"{__name__}:_import", "Read tasks in from lines of JSON."),
}
_HELP = {"help_option_names": ["-h", "--help"]}


@click.group("store", cls=Group, commands_at=_COMMANDS)
def store() -> None:
    """Look after the file that tasks are kept in.

    STORE is a path or a URL such as sqlite:///PATH. A server keeps them in .dragoman/NAME.db if it is told no other.
    check and export never change the file, and may run while a server has it; vacuum and import may not.
    """


@contextmanager
def _refusals() -> Generator[None]:
    """What the program was told to do cannot be done like this: it was used wrongly."""
    from dragoman.errors import ConfigurationError

    try:
        yield
    except ConfigurationError as error:
        raise click.UsageError(str(error)) from error


def _file(_ctx: click.Context, _param: click.Parameter, place: str) -> Path:
    from dragoman.stores import file_of

    with _refusals():
        return file_of(place)


_store = click.argument("path", metavar="STORE", callback=_file)


@click.command("check", context_settings=_HELP)
@_store
def _check(path: Path) -> None:
    """Look through STORE for damage, as of one moment. The exit code is 1 if there is any.

    What is checked: the pages and indexes of the database; that every record can be read; that the log of every task
    counts up without gap, unless it was pruned after the end; that epochs never decrease along it; that no snapshot
    is ahead of its log; that lists and totals agree with the tasks; that push notifications belong to tasks, and stand
    where those have been.
    """
    from dragoman.stores.sqlite.upkeep import check

    with _refusals():
        found = check(path)
    for problem in found.problems:
        click.echo(f"Problem: {problem}")
    click.echo(f"Tasks: {found.tasks}")
    click.echo(f"Problems: {len(found.problems)}")
    if found.problems:
        raise click.exceptions.Exit(1)


@click.command("vacuum", context_settings=_HELP)
@_store
def _vacuum(path: Path) -> None:
    """Give the space that STORE does not use any more back to the file system.

    The schema is brought up to date as well. While it works as much space again is needed.
    """
    from dragoman.stores.sqlite.upkeep import vacuum

    with _refusals():
        before, after = vacuum(path)
    click.echo(f"Bytes Before: {before}")
    click.echo(f"Bytes: {after}")


@click.command("export", context_settings=_HELP)
@_store
@click.argument("target", required=False, metavar="[FILE]", type=click.Path(path_type=Path))
def _export(path: Path, target: Path | None) -> None:
    """Write all of STORE, as of one moment, to FILE or to standard output.

    Each line is one JSON object: first what it is, with the number of its form (2) and the agent that the store
    belongs to; then a task with its log, its inbox and all else that belongs to it, or the key of a request, or a
    direct answer that waits for its webhook; last how many there are. Nothing in it is encrypted but the
    configurations of push notifications: to be delivered to elsewhere they need the key file of STORE as well.
    FILE must not be there yet; only its owner may read it.
    """
    from dragoman.stores.sqlite.upkeep import export

    with _refusals(), _written(target) as out:
        out.writelines(export(path))


@contextmanager
def _written(target: Path | None) -> Generator[BinaryIO]:
    """Standard output, or a new file that is whole or not there."""
    if target is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise click.UsageError(f"cannot write {target}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(descriptor)
    except BaseException:
        target.unlink()
        raise


@click.command("import", context_settings=_HELP)
@_store
@click.argument("source", required=False, metavar="[FILE]", default="-", type=click.File("rb"))
@click.option("--merge", is_flag=True, help="Add to the tasks that STORE holds. Without it STORE must be empty.")
@click.option("--owner", metavar="NAME", help="The agent that STORE belongs to. By default the one of the export.")
def _import(path: Path, source: Iterable[bytes], merge: bool, owner: str | None) -> None:
    """Read all tasks of an export in from FILE or standard input: all of them or, if anything is wrong, none.

    STORE is made if it is not there. A task that it holds already is an error; a key that it knows stays as it is.
    """
    from dragoman.stores.sqlite.upkeep import read_in

    with _refusals():
        added = read_in(path, source, owner=owner, merge=merge)
    click.echo(f"Tasks: {added.tasks}")
    click.echo(f"Keys: {added.keys}")
